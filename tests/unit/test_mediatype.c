#include "elastic/mediatype.h"

#include "suites.h"

static const struct {
    const char *label;
    const char *pattern;
    bool ok;
} patterns[] = {
    {"a type", "text/html", true},
    {"a subtype with dots, plus, hyphen", "application/vnd.ms-x+json", true},
    {"every subtype", "text/*", true},
    {"every subtype with a suffix", "application/*+json", true},
    {"everything", "*/*", true},
    {"a suffix of one letter", "application/*+x", true},
    {"no slash", "text", false},
    {"nothing", "", false},
    {"no type", "/html", false},
    {"no subtype", "text/", false},
    {"a second slash", "text/html/x", false},
    {"a parameter", "text/html;charset=utf-8", false},
    {"a space behind", "text/html ", false},
    {"a space before", " text/html", false},
    {"a comma", "text/html,text/css", false},
    {"any type, one subtype", "*/html", false},
    {"any type with a suffix", "*/*+json", false},
    {"a star within a type", "te*t/html", false},
    {"a star within a subtype", "text/ht*", false},
    {"a star before a subtype", "text/*html", false},
    {"a suffix of nothing", "application/*+", false},
    {"a star within the suffix", "application/*+js*n", false},
    {"a star at the end of the suffix", "application/*+js*", false},
    {"two stars", "text/**", false},
};

CASE(mediatype);

EACH(mediatype, a_pattern_is_one_or_not, patterns)
{
    el_mediatype_t pattern;

    row_eq(el_mediatype_pattern(row->pattern, &pattern), row->ok);
}

static const struct {
    const char *label;
    const char *pattern;
    const char *type;
    bool match;
} matches[] = {
    {"the same", "text/html", "text/html", true},
    {"parameters do not count", "text/html", "text/html; charset=utf-8", true},
    {"parameters without a space", "text/html", "text/html;charset=utf-8", true},
    {"a space behind", "text/html", "text/html ", true},
    {"a space before", "text/html", " \ttext/html", true},
    {"capitals in the type", "text/html", "Text/HTML", true},
    {"capitals in the pattern", "TEXT/Html", "text/html", true},
    {"another subtype", "text/html", "text/css", false},
    {"another type", "text/html", "image/html", false},
    {"a longer subtype", "text/html", "text/html5", false},
    {"a shorter subtype", "text/html", "text/htm", false},
    {"a longer type", "text/html", "texts/html", false},
    {"a shorter type", "text/html", "tex/html", false},
    {"every subtype", "text/*", "text/css", true},
    {"every subtype, in any case", "text/*", "TEXT/css", true},
    {"every subtype of another type", "text/*", "image/png", false},
    {"a suffix", "application/*+json", "application/ld+json", true},
    {"a suffix in capitals", "application/*+json", "application/LD+JSON;x=y", true},
    {"another suffix", "application/*+json", "application/ld+xml", false},
    {"a suffix that goes on", "application/*+json", "application/ld+jsonx", false},
    {"the suffix without its plus", "application/*+json", "application/json", false},
    {"nothing before the suffix", "application/*+json", "application/+json", false},
    {"the last of two suffixes", "application/*+json", "application/a+b+json", true},
    {"a suffix of another type", "application/*+json", "text/ld+json", false},
    {"a type with a hyphen", "x-world/x-vrml", "X-world/x-vrml", true},
    {"every subtype of a type with a hyphen", "x-world/*", "x-world/x-vrml", true},
    {"a suffix of a type with a hyphen", "x-world/*+x", "x-world/vrml+x", true},
    {"a type with all kinds of letters", "~x!0.1/_", "~X!0.1/_", true},
    {"everything", "*/*", "image/png", true},
    {"everything, but not nothing", "*/*", "", false},
    {"everything, but not a half", "*/*", "text/", false},
    {"no type known", "*/*", NULL, false},
    {"a type without subtype", "text/*", "text", false},
    {"a subtype without type", "text/*", "/html", false},
};

EACH(mediatype, a_type_matches_or_not, matches)
{
    el_mediatype_t pattern, type;

    ck_assert(el_mediatype_pattern(row->pattern, &pattern));
    row_eq((el_mediatype_read(row->type, &type) && el_mediatype_match(&pattern, &type)),
           row->match);
}

/* What users are told that the default is. */
static const char *const documented[] = {
    "text/*", "application/javascript", "application/json", "application/*+json",
    "application/xml", "application/*+xml", "application/xhtml+xml", "application/x-javascript",
    "application/x-tar", "application/manifest+json", "application/wasm",
    "application/vnd.ms-fontobject", "font/otf", "font/ttf", "image/svg+xml", "image/bmp",
    "image/x-icon",
};

TEST(mediatype, the_defaults_are_those_documented)
{
    ck_assert_uint_eq(el_mediatype_defaults_count, (size_t)ROWS(documented));
    for (int i = 0; i < ROWS(documented); i++) {
        const el_mediatype_t *known = &el_mediatype_defaults[i];
        el_mediatype_t pattern;

        ck_assert(el_mediatype_pattern(documented[i], &pattern));
        ck_assert_uint_eq(known->type_len, pattern.type_len);
        ck_assert_mem_eq(known->type, pattern.type, pattern.type_len);
        ck_assert_uint_eq(known->subtype_len, pattern.subtype_len);
        ck_assert_mem_eq(known->subtype, pattern.subtype, pattern.subtype_len);
    }
}

static const struct {
    const char *type;
    bool listed;
} by_default[] = {
    {"text/html", true},
    {"text/event-stream", true},
    {"application/javascript", true},
    {"application/x-javascript", true},
    {"application/json", true},
    {"application/ld+json", true},
    {"application/manifest+json", true},
    {"application/xml", true},
    {"application/rss+xml", true},
    {"application/xhtml+xml", true},
    {"application/x-tar", true},
    {"application/wasm", true},
    {"application/vnd.ms-fontobject", true},
    {"font/otf", true},
    {"font/ttf", true},
    {"image/svg+xml", true},
    {"image/bmp", true},
    {"image/x-icon", true},
    {"font/woff2", false},
    {"image/png", false},
    {"image/jpeg", false},
    {"image/gif", false},
    {"image/webp", false},
    {"audio/mpeg", false},
    {"video/mp4", false},
    {"application/zip", false},
    {"application/gzip", false},
    {"application/octet-stream", false},
};

EACH(mediatype, the_defaults_list_what_shrinks, by_default)
{
    el_mediatype_t type;

    ck_assert(el_mediatype_read(row->type, &type));
    ck_assert_msg(el_mediatype_is_default(&type) == row->listed, "%s",
                  row->type);
}
