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

/* A letter's place in the alphabet, in either case; other characters share the places. */
static unsigned place(char c)
{
    return (unsigned char)c & 31;
}

/*
 * Sums up the type that `text` begins with in a number below 32, in which small letters and
 * capitals, 32 apart, are the same. With this factor no two of the registered types share a number.
 * `*end` is the slash, or what else sorts before digits and letters: the text's end, or the "-" of
 * "x-world", as if that were the type "x" and a subtype.
 */
static unsigned kind_of(const char *text, const char **end)
{
    unsigned kind = 0;

    for (; (unsigned char)*text > '/'; text++) {
        kind = kind * 29 + (unsigned char)*text;
    }
    *end = text;
    return kind & 31;
}

/*
 * The bit of a type and the first letter of a subtype. With this factor, pictures, films, sounds,
 * fonts and archives in use share no bit with a name of the default list that begins otherwise.
 */
static uint64_t name_bit(unsigned kind, char first)
{
    return (uint64_t)1 << ((kind * 31 + place(first)) & 63);
}

void el_mediatype_sieve_add(el_mediatype_sieve_t *sieve, const char *pattern)
{
    const char *slash;
    unsigned kind = kind_of(pattern, &slash);

    if (*pattern == '*') {
        sieve->all = UINT32_MAX;
    } else if (slash[1] != '*') {
        sieve->names |= name_bit(kind, slash[1]);
    } else if (slash[2] == '\0') {
        sieve->all |= (uint32_t)1 << kind;
    } else {
        sieve->suffixed |= (uint32_t)1 << kind;
    }
}

el_mediatype_sieve_t el_mediatype_sieve_defaults(void)
{
    el_mediatype_sieve_t sieve = {0};

    for (const char *const *pattern = el_mediatype_defaults; *pattern; pattern++) {
        el_mediatype_sieve_add(&sieve, *pattern);
    }
    return sieve;
}

bool el_mediatype_sieve_passes(el_mediatype_sieve_t sieve, const char *type)
{
    const char *slash;
    unsigned kind;

    if (type == NULL) {
        return false;
    }
    kind = kind_of(begin(type), &slash);
    if (*slash == '\0') {
        return false;
    }
    return sieve.all >> kind & 1 || sieve.names & name_bit(kind, slash[1])
           || (sieve.suffixed >> kind & 1 && strchr(slash, '+'));
}
