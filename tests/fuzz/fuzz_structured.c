#include "elastic/http.h"

#include "fuzz.h"

#define HASH 32

/* What was read as a string is written as the same string. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *field = fuzz_string(data, size), *text = malloc(size + 1), *again;
    uint8_t bytes[HASH];

    MUST(text != NULL);
    MUST(!el_structured_bytes(field, bytes, sizeof(bytes)) || strlen(field) >= HASH * 4 / 3);
    if (el_structured_string(field, text, size + 1)) {
        size_t room = 2 * size + 8;
        char *written = malloc(room);
        el_structured_writer_t writer;

        MUST(written != NULL && el_structured_can_hold(text));
        writer = el_structured_begin(written, room);
        el_structured_add_string(&writer, "k", text);
        MUST(!writer.short_of_room && strncmp(written, "k=", 2) == 0);
        again = malloc(size + 1);
        MUST(again != NULL && el_structured_string(written + 2, again, size + 1));
        MUST(strcmp(text, again) == 0);
        free(again);
        free(written);
    } else {
        MUST(text[0] == '\0');
    }
    free(text);
    free(field);
    return 0;
}
