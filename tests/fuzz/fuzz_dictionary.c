#include "elastic/dictionary.h"

#include "fuzz.h"

/* What was read is written as the same bytes, but for zeros before the time. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char text[EL_DICTIONARY_TEXT_MOST];
    char *exact = fuzz_string(data, size);
    el_dictionary_entry_t entry, again;
    size_t taken = el_dictionary_entry_parse(exact, size, &entry);

    if (taken > 0) {
        size_t len = el_dictionary_entry_write(&entry, text);
        el_dictionary_request_t request = {entry.origin, entry.path, NULL, entry.id, 0};

        MUST(taken <= size && len < sizeof(text) && len <= taken);
        MUST(el_dictionary_entry_parse(text, len, &again) == len);
        MUST(el_dictionary_entry_same(&entry, &again));
        MUST(memcmp(&entry, &again, sizeof(entry)) == 0);
        el_dictionary_entry_fits(&entry, &request);
        el_dictionary_origin_secure(entry.origin);
    } else {
        MUST(entry.origin[0] == '\0' && entry.expires == 0);
    }
    free(exact);
    return 0;
}
