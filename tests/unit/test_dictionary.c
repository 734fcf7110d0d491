#include "elastic/dictionary.h"

#include "suites.h"

#define HEAD "elastic-dictionary 1\n"
#define REST "path /d\nmatch /*\nmatch-dest \nid \nexpires 100\n"

/* The patterns are those of a dictionary at /dir/sub/dict. */
static const struct {
    const char *label;
    const char *pattern;
    const char *target;
    bool matches;
} patterns[] = {
    {"fixed text", "/app.js", "/app.js", true},
    {"fixed text, and more", "/app.js", "/app.jsx", false},
    {"fixed text, and less", "/app.js", "/app.j", false},
    {"a dot is no other character", "/app.js", "/app-js", false},
    {"letters have their case", "/app.js", "/App.js", false},
    {"a path begins where the target's does", "/app.js", "/x/app.js", false},
    {"no target", "/app.js", "", false},
    {"escapes stay as they are", "/a%20b", "/a%20b", true},
    {"escapes are not read", "/a%41", "/aA", false},
    {"escapes have their case", "/%c3", "/%C3", false},
    {"two slashes", "//a", "//a", true},
    {"dots within a segment", "/a..b/.x/x./...", "/a..b/.x/x./...", true},
    {"any text", "/app.*.js", "/app.1.js", true},
    {"any text is also none", "/app.*.js", "/app..js", true},
    {"any text has slashes", "/app.*.js", "/app.a/b.js", true},
    {"what is behind any text must be there", "/app.*.js", "/app.js", false},
    {"what is behind any text ends the path", "/app.*.js", "/app.1.jsx", false},
    {"any text takes more where it must", "/a*bc", "/abcbbc", true},
    {"any text at the end", "/a/*", "/a/b/c", true},
    {"no text at the end", "/a/*", "/a/", true},
    {"the slash before any text must be there", "/a/*", "/a", false},
    {"any text twice", "/*/x/*", "/a/b/x/c", true},
    {"any text twice, none of it there", "/*/x/*", "//x/", true},
    {"any text twice, and nothing between", "/*/x/*", "/x/", false},
    {"the first of two takes as little as can be", "/*a*b", "/aab", true},
    {"a star is text like any other", "/*b", "/a*b", true},
    {"any query where none is said", "/a", "/a?b=c?d", true},
    {"an empty query where none is said", "/a", "/a?", true},
    {"a query is no part of the path", "/a*b", "/ac?b", false},
    {"a query", "/a?b=1", "/a?b=1", true},
    {"a query, and more", "/a?b=1", "/a?b=12", false},
    {"a query is compared from its beginning", "/a?b=1", "/a?c=1&b=1", false},
    {"a query that is not there", "/a?b=1", "/a", false},
    {"a query with dots", "/a?b=/../c", "/a?b=/../c", true},
    {"any text in a query", "/app.js?v=*", "/app.js?v=1/2?3", true},
    {"no text in a query", "/app.js?v=*", "/app.js?v=", true},
    {"any text of another query", "/app.js?v=*", "/app.js?w=1", false},
    {"any text in both", "/a*c?*b", "/a/c?d=b", true},
    {"any text as a query", "/a?*", "/a", true},
    {"no query but an empty one", "/a?", "/a?", true},
    {"no query at all", "/a?", "/a", true},
    {"a query where there may be none", "/a?", "/a?b", false},
    {"a relative path", "x-*", "/dir/sub/x-y/z", true},
    {"a relative path of another directory", "x-*", "/dir/x-y", false},
    {"a relative path is not from the root", "x-*", "/x-y", false},
    {"a relative path with a query", "x?v=*", "/dir/sub/x?v=2", true},
    {"any text below the directory", "*", "/dir/sub/", true},
    {"the directory without its slash", "*", "/dir/sub", false},
    {"the directory is in the path", "*", "/dir?/sub/", false},
};

CASE(dictionary);

EACH(dictionary, a_pattern_matches, patterns)
{
    const char *pattern = row->pattern, *target = row->target;
    const char *fault = el_dictionary_pattern_fault(pattern);

    row_assert(!fault);
    row_assert(el_dictionary_pattern_match(pattern, "/dir/sub/dict", target) == row->matches);
}

TEST(dictionary, a_relative_pattern_is_for_any_directory_where_none_is_known)
{
    ck_assert(el_dictionary_pattern_match("x-*", NULL, "/y"));
    ck_assert(el_dictionary_pattern_match("/x-*", NULL, "/x-y"));
    ck_assert(!el_dictionary_pattern_match("/x-*", NULL, "/y"));
}

/* And a part of what is said of it. */
static const struct {
    const char *label;
    const char *pattern;
    const char *fault;
} faults[] = {
    {"nothing", "", "empty"},
    {"a query only", "?a=1", "no path"},
    {"a name", "/:page", "no backslash"},
    {"a name in a query", "/a?b=:c", "no backslash"},
    {"a colon without a name", "/a:/b", "no backslash"},
    {"a regular expression", "/a(b", "no backslash"},
    {"the end of one", "/a)b", "no backslash"},
    {"a group", "/{a", "no backslash"},
    {"the end of a group", "/a}", "no backslash"},
    {"what may be repeated", "/a+", "no backslash"},
    {"an escape", "/\\a", "no backslash"},
    {"a fragment", "/a#b", "no backslash"},
    {"any text that may be there", "/a/*?", "right behind a *"},
    {"any text that may be there, before a query", "/a*?b=1", "right behind a *"},
    {"any text any number of times", "/a/**", "right behind a *"},
    {"two stars in a query", "/a?**", "right behind a *"},
    {"a question in a query", "/a?b?c", "one ?"},
    {"two questions", "/a??", "one ?"},
    {"a URL", "https://example.org/*", "without a scheme and a host"},
    {"a URL with a port", "https://example.org:443/*", "without a scheme and a host"},
    {"any scheme", "*://example.org/*", "without a scheme and a host"},
    {"a space", "/a b", "escaped"},
    {"a quote", "/a\"b", "escaped"},
    {"a byte above ASCII", "/\xc3\xa9", "escaped"},
    {"a control character", "/\n", "escaped"},
    {"a segment of one dot", "/a/./b", "segments . and .."},
    {"a segment of two dots", "/a/..", "segments . and .."},
    {"a relative segment of two dots", "../a", "segments . and .."},
    {"a dot before the query", "/a/.?b", "segments . and .."},
    {"a dot before any text", "/.*", "segments . and .."},
    {"two dots before any text", "..*", "segments . and .."},
};

EACH(dictionary, a_pattern_is_refused, faults)
{
    const char *fault = el_dictionary_pattern_fault(row->pattern);

    ck_assert_msg(fault && strstr(fault, row->fault), "%s: %s", row->label,
                  fault ? fault : "nothing");
}

TEST(dictionary, a_pattern_has_a_longest)
{
    char pattern[EL_MATCH_ROOM + 1];

    memset(pattern, '/', EL_MATCH_ROOM);
    pattern[EL_MATCH_ROOM] = '\0';
    ck_assert_str_eq(el_dictionary_pattern_fault(pattern), "it is too long");
    pattern[EL_MATCH_ROOM - 1] = '\0';
    ck_assert_ptr_null(el_dictionary_pattern_fault(pattern));
}

/* Each `*` could take any part of the target. */
TEST(dictionary, many_stars_take_no_long_time)
{
    char pattern[EL_MATCH_ROOM] = "/", target[8192];

    for (size_t i = 1; i + 3 < sizeof(pattern); i += 2) {
        memcpy(pattern + i, "*a", 3);
    }
    memset(target, 'a', sizeof(target) - 1);
    target[0] = '/';
    target[sizeof(target) - 1] = '\0';
    ck_assert_ptr_null(el_dictionary_pattern_fault(pattern));
    ck_assert(el_dictionary_pattern_match(pattern, "/", target));
    target[sizeof(target) - 2] = 'b';
    ck_assert(!el_dictionary_pattern_match(pattern, "/", target));
}

static const el_dictionary_entry_t entry = {
    .origin = "https://example.org",
    .path = "/dir/dict",
    .match = "/dir/*",
    .dest = "document iframe",
    .id = "d 1",
    .expires = 1000,
};

TEST(dictionary, an_entry_is_written_and_read)
{
    char text[EL_DICTIONARY_TEXT_MOST];
    size_t len = el_dictionary_entry_write(&entry, text);
    el_dictionary_entry_t read;

    ck_assert_uint_eq(el_dictionary_entry_parse(text, len, &read), len);
    ck_assert_mem_eq(&read, &entry, sizeof(entry));
    for (size_t cut = 0; cut < len; cut++) {
        ck_assert_msg(!el_dictionary_entry_parse(text, cut, &read), "%zu of %zu bytes", cut, len);
        ck_assert_str_eq(read.origin, "");
    }
}

TEST(dictionary, the_longest_entry_has_room)
{
    el_dictionary_entry_t longest = {.expires = UINT64_MAX}, read;
    char text[EL_DICTIONARY_TEXT_MOST];
    size_t len;

    memset(longest.origin, 'o', sizeof(longest.origin) - 1);
    memset(longest.path, '/', sizeof(longest.path) - 1);
    memset(longest.match, '/', sizeof(longest.match) - 1);
    memset(longest.dest, 'd', sizeof(longest.dest) - 1);
    memset(longest.id, 'i', sizeof(longest.id) - 1);
    len = el_dictionary_entry_write(&longest, text);
    ck_assert_uint_lt(len, sizeof(text));
    ck_assert_uint_eq(el_dictionary_entry_parse(text, len, &read), len);
    ck_assert_mem_eq(&read, &longest, sizeof(longest));
}

static const struct {
    const char *label;
    const char *text;
    bool good;
} texts[] = {
    {"an entry", HEAD "origin https://a\n" REST, true},
    {"no origin", HEAD "origin \n" REST, false},
    {"another version", "elastic-dictionary 2\norigin https://a\n" REST, false},
    {"another order", HEAD REST "origin https://a\n", false},
    {"a line twice", HEAD "origin https://a\norigin https://a\n" REST, false},
    {"a control character", HEAD "origin https://\ra\n" REST, false},
    {"a path that is none", HEAD "origin https://a\npath d\nmatch /*\nmatch-dest \nid \nexpires 1\n",
     false},
    {"a pattern that may not be used",
     HEAD "origin https://a\npath /d\nmatch /:a\nmatch-dest \nid \nexpires 1\n", false},
    {"no time", HEAD "origin https://a\npath /d\nmatch /*\nmatch-dest \nid \nexpires \n", false},
    {"a time that is none", HEAD "origin https://a\npath /d\nmatch /*\nmatch-dest \nid \nexpires -1\n",
     false},
};

EACH(dictionary, what_is_no_entry_is_refused, texts)
{
    el_dictionary_entry_t read;

    size_t len = strlen(row->text);

    row_assert(el_dictionary_entry_parse(row->text, len, &read) == (row->good ? len : 0));
}

TEST(dictionary, what_is_behind_an_entry_is_left)
{
    static const char both[] = HEAD "origin https://a\n" REST HEAD "origin https://b\n" REST;
    size_t len = strlen(both) / 2;
    el_dictionary_entry_t read;

    ck_assert_uint_eq(el_dictionary_entry_parse(both, strlen(both), &read), len);
    ck_assert_str_eq(read.origin, "https://a");
    ck_assert_uint_eq(el_dictionary_entry_parse(both + len, len, &read), len);
    ck_assert_str_eq(read.origin, "https://b");
}

/* Whether two entries are for the same requests. */
static const struct {
    const char *label;
    const char *match;
    const char *path, *other;
    bool same;
} pairs[] = {
    {"another path", "/*", "/d/1", "/e/1", true},
    {"another path of the same directory", "*.txt", "/d/1", "/d/2", true},
    {"another directory", "*.txt", "/d/1", "/e/1", false},
    {"a longer directory", "*.txt", "/d/1", "/d/d/1", false},
};

EACH(dictionary, a_path_counts_where_the_pattern_is_relative, pairs)
{
    el_dictionary_entry_t a = entry, b;

    strcpy(a.match, row->match);
    strcpy(a.path, row->path);
    b = a;
    strcpy(b.path, row->other);
    b.expires++;
    row_eq(el_dictionary_entry_same(&a, &b), row->same);
    strcpy(b.path, a.path);
    strcpy(b.id, "other");
    row_assert(!el_dictionary_entry_same(&a, &b));
}

TEST(dictionary, a_line_that_is_too_long_is_refused)
{
    char text[EL_DICTIONARY_TEXT_MOST];
    el_dictionary_entry_t read;
    int len = snprintf(text, sizeof(text), HEAD "origin %0*d\n" REST, EL_ORIGIN_ROOM, 1);

    ck_assert(!el_dictionary_entry_parse(text, (size_t)len, &read));
}

static const struct {
    const char *label;
    el_dictionary_request_t request;
    el_dictionary_reason_t reason;
} requests[] = {
    {"all as it was given out", {"https://example.org", "/dir/a", "document", "d 1", 999},
     EL_DICTIONARY_USED},
    {"a client without destinations", {"https://example.org", "/dir/a?b", NULL, "d 1", 0},
     EL_DICTIONARY_USED},
    {"the last of the destinations", {"https://example.org", "/dir/a", "iframe", "d 1", 0},
     EL_DICTIONARY_USED},
    {"another scheme", {"http://example.org", "/dir/a", "document", "d 1", 999},
     EL_DICTIONARY_UNKNOWN},
    {"another host", {"https://example.org.evil", "/dir/a", "document", "d 1", 999},
     EL_DICTIONARY_UNKNOWN},
    {"the second when it ends", {"https://example.org", "/dir/a", "document", "d 1", 1000},
     EL_DICTIONARY_EXPIRED},
    {"another path", {"https://example.org", "/a", "document", "d 1", 0},
     EL_DICTIONARY_MATCH},
    {"another destination", {"https://example.org", "/dir/a", "script", "d 1", 0},
     EL_DICTIONARY_DEST},
    {"a part of a destination", {"https://example.org", "/dir/a", "frame", "d 1", 0},
     EL_DICTIONARY_DEST},
    {"the beginning of a destination", {"https://example.org", "/dir/a", "doc", "d 1", 0},
     EL_DICTIONARY_DEST},
    {"another id", {"https://example.org", "/dir/a", "document", "d 2", 0}, EL_DICTIONARY_ID},
    {"no id", {"https://example.org", "/dir/a", "document", NULL, 0}, EL_DICTIONARY_ID},
};

EACH(dictionary, a_dictionary_is_for_certain_requests, requests)
{
    el_dictionary_reason_t reason = el_dictionary_entry_fits(&entry, &row->request);

    row_eq(reason, row->reason);
}

TEST(dictionary, without_destinations_and_id_it_is_for_more)
{
    el_dictionary_entry_t open = entry;
    el_dictionary_request_t request = {entry.origin, "/dir/a", "script", NULL, 0};

    open.dest[0] = open.id[0] = '\0';
    ck_assert_int_eq(el_dictionary_entry_fits(&open, &request), EL_DICTIONARY_USED);
    request.id = "";
    ck_assert_int_eq(el_dictionary_entry_fits(&open, &request), EL_DICTIONARY_USED);
    request.id = "d 1";
    ck_assert_int_eq(el_dictionary_entry_fits(&open, &request), EL_DICTIONARY_ID);
}

#define SITE EL_DEPENDS_SITE
#define MODE (EL_DEPENDS_SITE | EL_DEPENDS_MODE)
#define ORIGIN (EL_DEPENDS_SITE | EL_DEPENDS_MODE | EL_DEPENDS_ORIGIN)
#define CROSS "cross-site"

/* RFC 9842 §9.3.3, its steps in order. */
static const struct {
    const char *label;
    el_dictionary_readers_t readers;
    bool permitted;
    unsigned depends;
} readers[] = {
    {"no Sec-Fetch-Site", {NULL, "no-cors", NULL, NULL}, true, SITE},
    {"the same origin", {"same-origin", "no-cors", NULL, NULL}, true, SITE},
    {"no Sec-Fetch-Mode", {CROSS, NULL, NULL, NULL}, true, MODE},
    {"a navigation", {CROSS, "navigate", NULL, NULL}, true, MODE},
    {"a navigation by hand", {"none", "navigate", NULL, NULL}, true, MODE},
    {"mode same-origin", {CROSS, "same-origin", NULL, NULL}, true, MODE},
    {"cors, and nobody is allowed", {CROSS, "cors", "https://b", NULL}, false, MODE},
    {"cors without an origin", {CROSS, "cors", NULL, "*"}, false, ORIGIN},
    {"cors, and all are allowed", {CROSS, "cors", "https://b", "*"}, true, ORIGIN},
    {"cors, and the origin is allowed", {CROSS, "cors", "https://b", "https://b"}, true, ORIGIN},
    {"cors, and another is allowed", {CROSS, "cors", "https://b", "https://c"}, false, ORIGIN},
    {"the same site is not the same origin", {"same-site", "no-cors", NULL, "*"}, false, MODE},
    {"no-cors", {CROSS, "no-cors", "https://b", "*"}, false, MODE},
    {"an unknown mode", {CROSS, "websocket", "https://b", "*"}, false, MODE},
    {"an empty mode", {CROSS, "", "https://b", "*"}, false, MODE},
    {"an unknown site", {"Same-Origin", "no-cors", NULL, NULL}, false, MODE},
};

EACH(dictionary, who_may_read_the_response_may_have_a_difference, readers)
{
    unsigned depends = 0;
    bool permitted = el_dictionary_permitted(&row->readers, &depends);

    row_eq(permitted, row->permitted);
    row_eq(depends, row->depends);
}

static const struct {
    const char *origin;
    bool secure;
} origins[] = {
    {"https://example.org", true},
    {"http://example.org", false},
    {"http://localhost", true},
    {"http://LocalHost:8080", true},
    {"http://a.localhost", true},
    {"http://.localhost", false},
    {"http://localhost.example.org", false},
    {"http://xlocalhost", false},
    {"http://127.0.0.1:8080", true},
    {"http://127.3.2.1", true},
    {"http://127.evil.example", false},
    {"http://[::1]:80", true},
    {"http://[::1]", true},
    {"http://[::2]", false},
    {"http://", false},
    {"ftp://localhost", false},
};

EACH(dictionary, an_origin_is_secure, origins)
{
    ck_assert_msg(el_dictionary_origin_secure(row->origin) == row->secure, "%s",
                  row->origin);
}

TEST(dictionary, reasons_have_notes)
{
    ck_assert_str_eq(el_dictionary_note(EL_DICTIONARY_CROSS_ORIGIN), "cross-origin");
    for (int i = 0; i < EL_DICTIONARY_REASON_COUNT; i++) {
        ck_assert_uint_gt(strlen(el_dictionary_note((el_dictionary_reason_t)i)), 1);
    }
}
