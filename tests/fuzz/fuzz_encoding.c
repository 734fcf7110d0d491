#include "elastic/http.h"

#include "fuzz.h"

/* Codings come off the end of the list, each within what is left of it, until nothing is left. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *list = fuzz_string(data, size);
    size_t len = strlen(list), before = len + 1, name_len;
    const char *name;

    while (el_encoding_pop(list, &len, &name, &name_len)) {
        MUST(len < before);
        before = len;
        MUST(name >= list + len && name + name_len <= list + strlen(list));
        MUST(name_len > 0);
        el_coding_find(name, name_len);
    }
    free(list);
    return 0;
}
