#include "elastic/http.h"

#include "fuzz.h"

static bool matches(const el_mediatype_t *pattern, const char *value)
{
    el_mediatype_t type;

    return el_mediatype_read(value, &type) && el_mediatype_match(pattern, &type);
}

/* A pattern without a star matches itself, alone and with parameters. */
static void check_literal(const el_mediatype_t *pattern, const char *text)
{
    size_t len = strlen(text);
    char *with = malloc(len + 8);

    MUST(with != NULL);
    memcpy(with, text, len);
    memcpy(with + len, "; q=\"x\"", 8);
    MUST(matches(pattern, text));
    MUST(matches(pattern, with));
    free(with);
}

/* The input is a pattern and a type around a zero byte. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_string(data, size);
    size_t len = strlen(text);
    const char *value = len < size ? text + len + 1 : text;
    el_mediatype_t pattern, type;
    bool readable = el_mediatype_read(value, &type), listed = false;

    if (el_mediatype_pattern(text, &pattern)) {
        MUST(strchr(text, '/') != NULL && strpbrk(text, " \t;,\"") == NULL);
        MUST(readable || !matches(&pattern, value));
        if (strchr(text, '*') == NULL) {
            check_literal(&pattern, text);
        }
    }
    MUST(el_mediatype_pattern("*/*", &pattern));
    MUST(matches(&pattern, value) == readable);
    for (size_t i = 0; readable && i < el_mediatype_defaults_count; i++) {
        listed = listed || el_mediatype_match(&el_mediatype_defaults[i], &type);
    }
    MUST(listed == el_mediatype_is_default(value));
    MUST(!el_mediatype_read(NULL, &type));
    free(text);
    return 0;
}
