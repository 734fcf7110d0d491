#include "elastic/mediatype.h"

#include "text.h"

#include <string.h>

const char *const el_mediatype_defaults[] = {
    "text/*",
    "application/javascript",
    "application/json",
    "application/*+json",
    "application/xml",
    "application/*+xml",
    "application/xhtml+xml",
    "application/x-javascript",
    "application/x-tar",
    "application/manifest+json",
    "application/wasm",
    "application/vnd.ms-fontobject",
    "font/otf",
    "font/ttf",
    "image/svg+xml",
    "image/bmp",
    "image/x-icon",
    NULL,
};

/* The two names of a type or a pattern: views into its text. */
typedef struct {
    const char *type;
    size_t type_len;
    const char *subtype;
    size_t subtype_len;
} names_t;

/* Where the type begins in a field's value. */
static const char *begin(const char *value)
{
    while (el_text_is_space(*value)) {
        value++;
    }
    return value;
}

/* Splits what `text` begins with, two tokens around a slash; what follows is not looked at. */
static bool split(const char *text, names_t *names)
{
    names->type = text;
    names->type_len = el_text_token(text, strlen(text));
    if (names->type_len == 0 || text[names->type_len] != '/') {
        return false;
    }
    names->subtype = text + names->type_len + 1;
    names->subtype_len = el_text_token(names->subtype, strlen(names->subtype));
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

bool el_mediatype_pattern_ok(const char *pattern)
{
    names_t p;

    if (!split(pattern, &p) || p.subtype[p.subtype_len] != '\0') {
        return false;
    }
    if (is_star(p.type, p.type_len)) {
        return is_star(p.subtype, p.subtype_len);
    }
    if (has_star(p.type, p.type_len)) {
        return false;
    }
    if (is_star(p.subtype, p.subtype_len)) {
        return true;
    }
    if (is_star_suffix(p.subtype, p.subtype_len)) {
        return !has_star(p.subtype + 1, p.subtype_len - 1);
    }
    return !has_star(p.subtype, p.subtype_len);
}

/*
 * Whether `pattern`, from its subtype on, matches the subtype that `type` begins with. A type is
 * compared with a whole list for each response: nothing is measured that a first difference makes
 * needless.
 */
static bool subtype_matches(const char *pattern, const char *type)
{
    size_t len, suffix;

    if (*pattern == '*' && pattern[1] == '\0') {
        return el_text_is_token(*type);
    }
    if (*pattern == '*') {
        len = el_text_token(type, strlen(type));
        suffix = strlen(pattern + 1);
        return len > suffix && el_text_same(pattern + 1, type + len - suffix, suffix);
    }
    while (*pattern != '\0' && el_text_lower(*pattern) == el_text_lower(*type)) {
        pattern++;
        type++;
    }
    return *pattern == '\0' && !el_text_is_token(*type);
}

bool el_mediatype_match(const char *pattern, const char *type)
{
    names_t names;

    if (type == NULL) {
        return false;
    }
    type = begin(type);
    if (*pattern == '*') {
        return split(type, &names);
    }
    while (*pattern != '/' && el_text_lower(*pattern) == el_text_lower(*type)) {
        pattern++;
        type++;
    }
    return *pattern == '/' && *type == '/' && subtype_matches(pattern + 1, type + 1);
}

uint32_t el_mediatype_hash(const char *type)
{
    /* FNV-1a: short, and spreads short texts well. */
    uint32_t hash = 2166136261u;
    names_t names;

    if (type == NULL || !split(begin(type), &names)) {
        return 0;
    }
    for (const char *c = names.type; c < names.subtype + names.subtype_len; c++) {
        hash = (hash ^ (unsigned char)el_text_lower(*c)) * 16777619u;
    }
    return hash ? hash : 1;
}
