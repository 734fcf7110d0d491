#include "elastic/mediatype.h"

#include "text.h"

#include <string.h>

#define NAMES(type, subtype) {type, subtype, sizeof(type) - 1, sizeof(subtype) - 1}

/* docs/manual/directives.md says why each is here. */
const el_mediatype_t el_mediatype_defaults[] = {
    NAMES("text", "*"),
    NAMES("application", "javascript"),
    NAMES("application", "json"),
    NAMES("application", "*+json"),
    NAMES("application", "xml"),
    NAMES("application", "*+xml"),
    NAMES("application", "xhtml+xml"),
    NAMES("application", "x-javascript"),
    NAMES("application", "manifest+json"),
    NAMES("application", "ecmascript"),
    NAMES("application", "wasm"),
    NAMES("application", "x-tar"),
    NAMES("application", "json-seq"),
    NAMES("application", "*+json-seq"),
    NAMES("application", "x-ndjson"),
    NAMES("application", "ndjson"),
    NAMES("application", "jsonl"),
    NAMES("application", "yaml"),
    NAMES("application", "x-yaml"),
    NAMES("application", "*+yaml"),
    NAMES("application", "toml"),
    NAMES("application", "graphql"),
    NAMES("application", "sql"),
    NAMES("application", "xml-dtd"),
    NAMES("application", "n-triples"),
    NAMES("application", "n-quads"),
    NAMES("application", "trig"),
    NAMES("application", "sparql-query"),
    NAMES("application", "vnd.apple.mpegurl"),
    NAMES("application", "x-mpegurl"),
    NAMES("application", "x-ns-proxy-autoconfig"),
    NAMES("application", "x-sh"),
    NAMES("application", "rtf"),
    NAMES("application", "postscript"),
    NAMES("application", "vnd.ms-fontobject"),
    NAMES("application", "x-font-ttf"),
    NAMES("application", "x-font-otf"),
    NAMES("audio", "mpegurl"),
    NAMES("audio", "x-mpegurl"),
    NAMES("audio", "x-scpls"),
    NAMES("font", "otf"),
    NAMES("font", "ttf"),
    NAMES("font", "collection"),
    NAMES("font", "sfnt"),
    NAMES("image", "svg+xml"),
    NAMES("image", "bmp"),
    NAMES("image", "x-ms-bmp"),
    NAMES("image", "x-icon"),
    NAMES("image", "vnd.microsoft.icon"),
    NAMES("model", "*+json"),
    NAMES("model", "*+xml"),
    NAMES("model", "gltf-binary"),
    NAMES("model", "obj"),
    NAMES("model", "mtl"),
    NAMES("model", "stl"),
};
/* How many rows in a run are of one type, which is compared once for them. */
static const uint8_t rows_of_type[] = {1, 36, 3, 4, 5, 6};

const size_t el_mediatype_defaults_count =
    sizeof(el_mediatype_defaults) / sizeof(el_mediatype_defaults[0]);

/*
 * Splits what `value` begins with, two tokens around a slash; what follows is not looked at. NUL is
 * no part of a token.
 */
static bool split(const char *value, el_mediatype_t *names)
{
    names->type = value;
    names->type_len = el_text_token(value, SIZE_MAX);
    if (names->type_len == 0 || value[names->type_len] != '/') {
        return false;
    }
    names->subtype = value + names->type_len + 1;
    names->subtype_len = el_text_token(names->subtype, SIZE_MAX);
    return names->subtype_len > 0;
}

static bool is_star(const char *name, size_t len)
{
    return len == 1 && *name == '*';
}

static bool has_star(const char *name, size_t len)
{
    return memchr(name, '*', len) != NULL;
}

/* "*+suffix", where the suffix is not empty. */
static bool is_star_suffix(const char *name, size_t len)
{
    return len > 2 && name[0] == '*' && name[1] == '+';
}

static const char *after_space(const char *value)
{
    while (el_text_is_space(*value)) {
        value++;
    }
    return value;
}

bool el_mediatype_read(const char *value, el_mediatype_t *type)
{
    return value != NULL && split(after_space(value), type);
}

bool el_mediatype_pattern(const char *value, el_mediatype_t *pattern)
{
    if (!split(value, pattern) || pattern->subtype[pattern->subtype_len] != '\0') {
        return false;
    }
    if (is_star(pattern->subtype, pattern->subtype_len)) {
        return is_star(pattern->type, pattern->type_len)
               || !has_star(pattern->type, pattern->type_len);
    }
    if (has_star(pattern->type, pattern->type_len)) {
        return false;
    }
    if (is_star_suffix(pattern->subtype, pattern->subtype_len)) {
        return !has_star(pattern->subtype + 1, pattern->subtype_len - 1);
    }
    return !has_star(pattern->subtype, pattern->subtype_len);
}

static inline bool subtype_matches(const el_mediatype_t *pattern, const el_mediatype_t *type)
{
    const char *end = type->subtype + type->subtype_len;
    size_t len = pattern->subtype_len;

    if (*pattern->subtype != '*') {
        return len == type->subtype_len && el_text_same(pattern->subtype, type->subtype, len);
    }
    /* What is behind the star: nothing, or a suffix that something precedes. */
    len--;
    return type->subtype_len > len && el_text_same(pattern->subtype + 1, end - len, len);
}

static bool type_matches(const el_mediatype_t *pattern, const el_mediatype_t *type)
{
    return *pattern->type == '*'
           || (pattern->type_len == type->type_len
               && el_text_same(pattern->type, type->type, type->type_len));
}

bool el_mediatype_match(const el_mediatype_t *pattern, const el_mediatype_t *type)
{
    return type_matches(pattern, type) && subtype_matches(pattern, type);
}

/* Whether `value` begins with the type of `pattern` and a slash. */
static bool has_type_of(const el_mediatype_t *pattern, const char *value)
{
    const char *type = pattern->type;

    while (*type && el_text_lower(*value) == *type) {
        value++;
        type++;
    }
    return !*type && *value == '/';
}

/* As el_mediatype_read() and el_mediatype_match() with each, but that a type is compared once. */
bool el_mediatype_is_default(const char *value)
{
    const el_mediatype_t *pattern = el_mediatype_defaults;
    char first;

    value = value ? after_space(value) : "";
    first = el_text_lower(*value);
    for (size_t run = 0; run < sizeof(rows_of_type); pattern += rows_of_type[run++]) {
        if (first == *pattern->type && has_type_of(pattern, value)) {
            el_mediatype_t type = {.subtype = value + pattern->type_len + 1};

            type.subtype_len = el_text_token(type.subtype, SIZE_MAX);
            for (size_t row = 0; row < rows_of_type[run]; row++) {
                if (subtype_matches(&pattern[row], &type)) {
                    return true;
                }
            }
            return false;
        }
    }
    return false;
}
