#include "elastic/mediatype.h"

#include "fuzz.h"

/* A pattern without a star matches itself, alone and with parameters. */
static void check_literal(const char *pattern)
{
    size_t len = strlen(pattern);
    char *with = malloc(len + 8);

    MUST(with != NULL);
    memcpy(with, pattern, len);
    memcpy(with + len, "; q=\"x\"", 8);
    MUST(el_mediatype_match(pattern, pattern));
    MUST(el_mediatype_match(pattern, with));
    free(with);
}

/* The input is a pattern and a type around a zero byte. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *pattern = fuzz_string(data, size);
    size_t len = strlen(pattern);
    const char *type = len < size ? pattern + len + 1 : pattern;
    bool anything = el_mediatype_match("*/*", type);

    el_mediatype_sieve_t sieve = {0};

    if (el_mediatype_pattern_ok(pattern)) {
        el_mediatype_sieve_add(&sieve, pattern);
        MUST(strchr(pattern, '/') != NULL && strpbrk(pattern, " \t;,\"") == NULL);
        if (el_mediatype_match(pattern, type)) {
            MUST(anything);
            MUST(el_mediatype_sieve_passes(sieve, type));
        }
        if (strchr(pattern, '*') == NULL) {
            check_literal(pattern);
        }
    }
    for (size_t i = 0; el_mediatype_defaults[i] != NULL; i++) {
        MUST(anything || !el_mediatype_match(el_mediatype_defaults[i], type));
    }
    MUST(!el_mediatype_match("*/*", NULL));
    free(pattern);
    return 0;
}
