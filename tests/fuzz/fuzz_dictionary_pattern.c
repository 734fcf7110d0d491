#include "elastic/dictionary.h"

#include "fuzz.h"

#define LENGTH 1024

/* Whether a target's path, or its query, matches the pattern's: by a table of all beginnings. */
static bool is_match(const char *pattern, size_t pattern_len, const char *text, size_t len)
{
    static bool match[EL_MATCH_ROOM][LENGTH + 1];

    for (size_t p = 0; p <= pattern_len; p++) {
        for (size_t t = 0; t <= len; t++) {
            if (p == 0) {
                match[p][t] = t == 0;
            } else if (pattern[p - 1] == '*') {
                match[p][t] = match[p - 1][t] || (t > 0 && match[p][t - 1]);
            } else {
                match[p][t] = t > 0 && pattern[p - 1] == text[t - 1] && match[p - 1][t - 1];
            }
        }
    }
    return match[pattern_len][len];
}

/* The same for a pattern that begins with a slash. */
static bool is_absolute_match(const char *pattern, const char *target)
{
    size_t path = strcspn(pattern, "?"), target_path = strcspn(target, "?");
    const char *query = target + target_path + (target[target_path] == '?');

    return is_match(pattern, path, target, target_path)
           && (pattern[path] == '\0'
               || is_match(pattern + path + 1, strlen(pattern + path + 1), query, strlen(query)));
}

/* A pattern, a NUL, the path of the dictionary, a NUL, and what was asked for. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_string(data, size), *end = text + size;
    const char *pattern = text, *path, *target;

    path = pattern + strlen(pattern) < end ? pattern + strlen(pattern) + 1 : "/";
    target = path >= text && path <= end && path + strlen(path) < end ? path + strlen(path) + 1 : "/";
    if (!el_dictionary_pattern_fault(pattern) && *path == '/') {
        bool matches = el_dictionary_pattern_match(pattern, path, target);

        MUST(!matches || el_dictionary_pattern_match(pattern, NULL, target));
        if (*pattern == '/' && strlen(target) <= LENGTH) {
            MUST(matches == is_absolute_match(pattern, target));
        }
    }
    free(text);
    return 0;
}
