#include "elastic/url_pattern.h"

#include "fuzz.h"

/* A pattern, a NUL, the path of the dictionary, a NUL, and what was asked for. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_string(data, size), *end = text + size;
    const char *pattern = text, *base, *target;

    base = pattern + strlen(pattern) < end ? pattern + strlen(pattern) + 1 : "/";
    target = base >= text && base <= end && base + strlen(base) < end ? base + strlen(base) + 1 : "/";
    if (el_url_pattern_fault(pattern)) {
        MUST(!el_url_pattern_match(pattern, base, target));
    } else {
        el_url_pattern_match(pattern, base, target);
        /* A path without anything special in it matches itself. */
        MUST(pattern[0] != '/' || strpbrk(pattern, "*:{\\?")
             || el_url_pattern_match(pattern, "/", pattern));
    }
    free(text);
    return 0;
}
