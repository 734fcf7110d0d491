#include "elastic/http.h"
#include "suites.h"

static const struct {
    const char *pattern;
    bool ok;
} patterns[] = {
    {"text/html", true}, {"application/vnd.ms-x+json", true}, {"text/*", true},
    {"application/*+json", true}, {"*/*", true}, {"application/*+x", true}, {"text", false},
    {"", false}, {"/html", false}, {"text/", false}, {"text/html/x", false},
    {"text/html;charset=utf-8", false}, {"text/html ", false}, {" text/html", false},
    {"text/html,text/css", false}, {"*/html", false}, {"*/*+json", false}, {"te*t/html", false},
    {"text/ht*", false}, {"text/*html", false}, {"application/*+", false},
    {"application/*+js*n", false}, {"application/*+js*", false}, {"text/**", false},
};

CASE(mediatype);

EACH(mediatype, a_pattern_is_one_or_not, patterns)
{
    el_mediatype_t pattern;

    named_eq(row->pattern, el_mediatype_pattern(row->pattern, &pattern), row->ok);
}

static const struct {
    const char *pattern, *type;
    bool match;
} matches[] = {
    {"text/html", "text/html", true}, {"text/html", "text/html; charset=utf-8", true},
    {"text/html", "text/html;charset=utf-8", true}, {"text/html", "text/html ", true},
    {"text/html", " \ttext/html", true}, {"text/html", "Text/HTML", true},
    {"TEXT/Html", "text/html", true}, {"text/html", "text/css", false},
    {"text/html", "image/html", false}, {"text/html", "text/html5", false},
    {"text/html", "text/htm", false}, {"text/html", "texts/html", false},
    {"text/html", "tex/html", false}, {"text/*", "text/css", true}, {"text/*", "image/png", false},
    {"application/*+json", "application/ld+json", true},
    {"application/*+json", "application/LD+JSON;x=y", true},
    {"application/*+json", "application/ld+xml", false},
    {"application/*+json", "application/ld+jsonx", false},
    {"application/*+json", "application/json", false},
    {"application/*+json", "application/+json", false},
    {"application/*+json", "application/a+b+json", true},
    {"application/*+json", "text/ld+json", false}, {"~x!0.1/_", "~X!0.1/_", true},
    {"*/*", "image/png", true}, {"*/*", "", false}, {"*/*", "text/", false}, {"*/*", NULL, false},
    {"text/*", "text", false}, {"text/*", "/html", false},
};
EACH(mediatype, a_type_matches_or_not, matches)
{
    el_mediatype_t pattern, type;
    bool matches_it;

    ck_assert(el_mediatype_pattern(row->pattern, &pattern));
    matches_it = el_mediatype_read(row->type, &type) && el_mediatype_match(&pattern, &type);
    ck_assert_msg(matches_it == row->match, "%s, %s", row->pattern, row->type);
}

/* A test against httpd has the whole list. */
TEST(mediatype, some_types_are_listed_by_default)
{
    static const char *const others[] = {
        "image/png", "application/zip", "video/mp4", "text/", "text", "", "audio/mpeg",
        "model/step+zip", "multipart/x+json", NULL};
    static const char *const listed[] = {
        "application/ld+json", " \tText/HTML; charset=utf-8", "image/vnd.microsoft.icon",
        "application/x-font-otf", "application/openapi+yaml;version=3", "application/geo+json-seq",
        "audio/x-scpls", "font/sfnt", "model/gltf+json", "model/stl"};

    for (int i = 0; i < ROWS(listed); i++) {
        ck_assert_msg(el_mediatype_is_default(listed[i]), "%s", listed[i]);
    }
    for (int i = 0; i < ROWS(others); i++) {
        ck_assert(!el_mediatype_is_default(others[i]));
    }
}
