#include "elastic/dictionary.h"
#include "suites.h"

CASE(dictionary);

/* For a dictionary at /dir/sub/dict. A fuzz target has a second matcher of absolute patterns. */
static const struct {
    const char *pattern, *target;
    bool matches;
} patterns[] = {
    {"/app.js", "/app.js", true}, {"/app.js", "/app.jsx", false}, {"/app.js", "/App.js", false},
    {"/a%20b", "/a%20b", true}, {"/a%41", "/aA", false}, {"/%c3", "/%C3", false},
    {"/a..b/.x/x./...", "/a..b/.x/x./...", true}, {"/app.*.js", "/app.1.js", true},
    {"/z", "/z", true}, {"/a*b", "/a", false}, {"/a*", "/a*", true},
    {"/app.*.js", "/app..js", true}, {"/app.*.js", "/app.js", false}, {"/a/*", "/a/b/c", true},
    {"/a/*", "/a/", true}, {"/a/*", "/a", false}, {"/*/x/*", "/a/b/x/c", true},
    {"/*/x/*", "/x/", false}, {"/*a*b", "/aab", true}, {"/a", "/a?b=c?d", true},
    {"/a*b", "/ac?b", false}, {"/a?b=1", "/a?b=1", true}, {"/a?b=1", "/a?c=1&b=1", false},
    {"/a?b=1", "/a", false}, {"/app.js?v=*", "/app.js?v=1/2?3", true}, {"/a?*", "/a", true},
    {"/a?", "/a", true}, {"/a?", "/a?b", false}, {"x-*", "/dir/sub/x-y/z", true},
    {"x-*", "/dir/x-y", false}, {"x-*", "/dir/sux/x-y", false}, {"x-*", "/x-y", false},
    {"x?v=*", "/dir/sub/x?v=2", true},
    {"*", "/dir/sub/", true}, {"*", "/dir/sub", false}, {"*", "/dir?/sub/", false},
};
EACH(dictionary, a_pattern_matches, patterns)
{
    ck_assert_ptr_null(el_dictionary_pattern_fault(row->pattern));
    ck_assert_msg(el_dictionary_pattern_match(row->pattern, "/dir/sub/dict", row->target)
                      == row->matches, "%s, %s", row->pattern, row->target);
}

TEST(dictionary, a_relative_pattern_is_for_any_directory_where_none_is_known)
{
    ck_assert(el_dictionary_pattern_match("x-*", NULL, "/y"));
    ck_assert(el_dictionary_pattern_match("/x-*", NULL, "/x-y"));
    ck_assert(!el_dictionary_pattern_match("/x-*", NULL, "/y"));
}

/* The path is unescaped, the target is not. */
TEST(dictionary, a_directory_does_not_reach_into_a_query)
{
    ck_assert(!el_dictionary_pattern_match("*", "/a?b/dict", "/a?b/c"));
}

/* `fault` is a part of the message. */
static const struct {
    const char *pattern, *fault;
} faults[] = {
    {"", "empty"}, {"?a=1", "no path"}, {"/:page", "no backslash"}, {"/a?b=:c", "no backslash"},
    {"/a:/b", "no backslash"}, {"/a(b", "no backslash"}, {"/a)b", "no backslash"},
    {"/{a", "no backslash"}, {"/a}", "no backslash"}, {"/a+", "no backslash"},
    {"/\\a", "no backslash"}, {"/a#b", "no backslash"}, {"/a/*?", "right behind a *"},
    {"/a*?b=1", "right behind a *"}, {"/a/**", "right behind a *"}, {"/a?**", "right behind a *"},
    {"/a?b?c", "one ?"}, {"/a??", "one ?"},
    {"https://example.org/*", "without a scheme and a host"},
    {"https://example.org:443/*", "without a scheme and a host"},
    {"*://example.org/*", "without a scheme and a host"}, {"/a b", "escaped"}, {"/a\"b", "escaped"},
    {"/\xc3\xa9", "escaped"}, {"/\n", "escaped"}, {"/a|b", "escaped"},
    {"/a/./b", "segments . and .."},
    {"/a/..", "segments . and .."}, {"../a", "segments . and .."}, {"/a/.?b", "segments . and .."},
    {"/.*", "segments . and .."}, {"..*", "segments . and .."},
};
EACH(dictionary, a_pattern_is_refused, faults)
{
    const char *fault = el_dictionary_pattern_fault(row->pattern);

    named_assert(row->pattern, fault && strstr(fault, row->fault));
}

TEST(dictionary, a_pattern_has_a_longest)
{
    char *pattern = repeat("/", EL_MATCH_ROOM);

    ck_assert_str_eq(el_dictionary_pattern_fault(pattern), "it is too long");
    pattern[EL_MATCH_ROOM - 1] = '\0';
    ck_assert_ptr_null(el_dictionary_pattern_fault(pattern));
}

/* Each `*` could take any part of the target. */
TEST(dictionary, many_stars_take_no_long_time)
{
    char *pattern = repeat("a*", EL_MATCH_ROOM - 2), *target = repeat("a", 8191);

    pattern[0] = target[0] = '/';
    ck_assert_ptr_null(el_dictionary_pattern_fault(pattern));
    ck_assert(el_dictionary_pattern_match(pattern, "/", target));
    target[8190] = 'b';
    ck_assert(!el_dictionary_pattern_match(pattern, "/", target));
}

static const el_dictionary_entry_t entry = {
    .origin = "https://example.org", .path = "/dir/dict", .match = "/dir/*",
    .dest = "document iframe", .id = "d 1", .expires = 1000,
};

/* Every truncation must be rejected. */
static void assert_written(const el_dictionary_entry_t *written)
{
    char text[EL_DICTIONARY_TEXT_MOST];
    size_t len = el_dictionary_entry_write(written, text);
    el_dictionary_entry_t read;

    ck_assert_uint_lt(len, sizeof(text));
    ck_assert_uint_eq(el_dictionary_entry_parse(text, len, &read), len);
    ck_assert_mem_eq(&read, written, sizeof(read));
    for (size_t cut = 0; cut < len; cut++) {
        ck_assert_msg(!el_dictionary_entry_parse(text, cut, &read), "%zu of %zu bytes", cut, len);
        ck_assert_str_eq(read.origin, "");
    }
}

TEST(dictionary, an_entry_is_written_and_read)
{
    el_dictionary_entry_t longest = {.expires = UINT64_MAX};

    memset(longest.origin, 'o', sizeof(longest.origin) - 1);
    memset(longest.path, '/', sizeof(longest.path) - 1);
    memset(longest.match, '/', sizeof(longest.match) - 1);
    memset(longest.dest, 'd', sizeof(longest.dest) - 1);
    memset(longest.id, 'i', sizeof(longest.id) - 1);
    assert_written(&entry);
    assert_written(&longest);
}

#define HEAD "elastic-dictionary 1\n"
#define REST "path /d\nmatch /*\nmatch-dest \nid \nexpires 100\n"
#define A HEAD "origin https://a\n"

static const struct {
    const char *label, *text;
    bool good;
} texts[] = {
    {"an entry", A REST, true},
    {"no origin", HEAD "origin \n" REST, false},
    {"another version", "elastic-dictionary 2\norigin https://a\n" REST, false},
    {"another order", HEAD REST "origin https://a\n", false},
    {"a line twice", A "origin https://a\n" REST, false},
    {"a control character", HEAD "origin https://\ra\n" REST, false},
    {"no path", A "path d\nmatch /*\nmatch-dest \nid \nexpires 1\n", false},
    {"no pattern", A "path /d\nmatch /:a\nmatch-dest \nid \nexpires 1\n", false},
    {"lines without names", HEAD "https://a\n/d\n/*\n\n\nexpires 1\n", false},
    {"no time", A "path /d\nmatch /*\nmatch-dest \nid \nexpires \n", false},
    {"a time that is none", A "path /d\nmatch /*\nmatch-dest \nid \nexpires -1\n", false},
};
EACH(dictionary, what_is_no_entry_is_refused, texts)
{
    el_dictionary_entry_t read;
    size_t len = strlen(row->text);

    row_eq(el_dictionary_entry_parse(row->text, len, &read), (row->good ? len : 0));
}

TEST(dictionary, a_line_with_a_nul_is_refused)
{
    static const char text[] = HEAD "origin https://a\0b\n" REST;
    el_dictionary_entry_t read;

    ck_assert(!el_dictionary_entry_parse(text, sizeof(text) - 1, &read));
}

TEST(dictionary, a_line_that_is_too_long_is_refused)
{
    char text[EL_DICTIONARY_TEXT_MOST];
    el_dictionary_entry_t read;
    int len = snprintf(text, sizeof(text), HEAD "origin %0*d\n" REST, EL_ORIGIN_ROOM, 1);

    ck_assert(!el_dictionary_entry_parse(text, (size_t)len, &read));
}

/* Entries for the same requests: the path counts if the pattern is relative. */
static const struct {
    const char *match, *path, *other;
    bool same;
} pairs[] = {
    {"/*", "/d/1", "/e/1", true}, {"*.txt", "/d/1", "/d/2", true}, {"*.txt", "/d/1", "/e/1", false},
    {"*.txt", "/d/1", "/d/d/1", false},
};
EACH(dictionary, entries_are_for_the_same_requests, pairs)
{
    el_dictionary_entry_t a = entry, b;

    strcpy(a.match, row->match);
    strcpy(a.path, row->path);
    b = a;
    strcpy(b.path, row->other);
    b.expires++;
    named_eq(row->other, el_dictionary_entry_same(&a, &b), row->same);
    strcpy(b.path, a.path);
    for (int field = 0; field < 4; field++) {
        el_dictionary_entry_t other = b;

        strcpy((char *[]){other.origin, other.match, other.dest, other.id}[field], "other");
        ck_assert(!el_dictionary_entry_same(&a, &other));
    }
}

#define HERE "https://example.org"

static const struct {
    const char *label;
    el_dictionary_request_t request;
    el_dictionary_reason_t reason;
} requests[] = {
    ROW({HERE, "/dir/a", "document", "d 1", 999}, EL_DICTIONARY_USED),
    ROW({HERE, "/dir/a?b", NULL, "d 1", 0}, EL_DICTIONARY_USED),
    ROW({HERE, "/dir/a", "iframe", "d 1", 0}, EL_DICTIONARY_USED),
    ROW({"http://example.org", "/dir/a", "document", "d 1", 999}, EL_DICTIONARY_UNKNOWN),
    ROW({"https://example.org.evil", "/dir/a", "document", "d 1", 999}, EL_DICTIONARY_UNKNOWN),
    ROW({HERE, "/dir/a", "document", "d 1", 1000}, EL_DICTIONARY_EXPIRED),
    ROW({HERE, "/a", "document", "d 1", 0}, EL_DICTIONARY_MATCH),
    ROW({HERE, "/dir/a", "script", "d 1", 0}, EL_DICTIONARY_DEST),
    ROW({HERE, "/dir/a", "frame", "d 1", 0}, EL_DICTIONARY_DEST),
    ROW({HERE, "/dir/a", "doc", "d 1", 0}, EL_DICTIONARY_DEST),
    ROW({HERE, "/dir/a", "documents", "d 1", 0}, EL_DICTIONARY_DEST),
    ROW({HERE, "/dir/a", "document", "d 2", 0}, EL_DICTIONARY_ID),
    ROW({HERE, "/dir/a", "document", NULL, 0}, EL_DICTIONARY_ID),
};
EACH(dictionary, a_dictionary_is_for_certain_requests, requests)
{
    row_eq(el_dictionary_entry_fits(&entry, &row->request), row->reason);
    ck_assert_uint_gt(strlen(el_dictionary_notes[row->reason]), 1);
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

/* RFC 9842 §9.3.3, in order: site, mode, origin, allowed origin. */
static const struct {
    el_dictionary_readers_t readers;
    bool permitted;
    unsigned depends;
} readers[] = {
    {{NULL, "no-cors", NULL, NULL}, true, SITE},
    {{"same-origin", "no-cors", NULL, NULL}, true, SITE}, {{CROSS, NULL, NULL, NULL}, true, MODE},
    {{CROSS, "navigate", NULL, NULL}, true, MODE}, {{"none", "navigate", NULL, NULL}, true, MODE},
    {{CROSS, "same-origin", NULL, NULL}, true, MODE},
    {{CROSS, "cors", "https://b", NULL}, false, MODE}, {{CROSS, "cors", NULL, "*"}, false, ORIGIN},
    {{CROSS, "cors", "https://b", "*"}, true, ORIGIN},
    {{CROSS, "cors", "https://b", "https://b"}, true, ORIGIN},
    {{CROSS, "cors", "https://b", "https://c"}, false, ORIGIN},
    {{"same-site", "no-cors", NULL, "*"}, false, MODE},
    {{CROSS, "no-cors", "https://b", "*"}, false, MODE},
    {{CROSS, "websocket", "https://b", "*"}, false, MODE},
    {{CROSS, "", "https://b", "*"}, false, MODE},
    {{"Same-Origin", "no-cors", NULL, NULL}, false, MODE},
};
EACH(dictionary, who_may_read_the_response_may_have_a_difference, readers)
{
    unsigned depends = 0;

    ck_assert(el_dictionary_permitted(&row->readers, &depends) == row->permitted);
    ck_assert_uint_eq(depends, row->depends);
}

static const struct {
    const char *origin;
    bool secure;
} origins[] = {
    {"https://example.org", true}, {"http://example.org", false}, {"http://localhost", true},
    {"http://LocalHost:8080", true}, {"http://a.localhost", true}, {"http://.localhost", false},
    {"http://localhost.example.org", false}, {"http://xlocalhost", false},
    {"http://127.0.0.1:8080", true}, {"http://127.3.2.1", true}, {"http://127.evil.example", false},
    {"http://[::1]:80", true}, {"http://[::1]", true}, {"http://[::2]", false}, {"http://", false},
    {"ftp://localhost", false}, {"file://localhost", false},
};
EACH(dictionary, an_origin_is_secure, origins)
{
    named_eq(row->origin, el_dictionary_origin_secure(row->origin), row->secure);
}

#define HOUR 3600

static el_ratios_t ratios;

CASE(ratio, ZEROED(ratios));

static void update(int times, uint32_t key, uint64_t out, uint32_t now)
{
    for (int i = 0; i < times; i++) {
        el_ratio_update(&ratios, key, 10000, out, now);
    }
}

/* The mean at 1000 s, of at least one body. */
static uint32_t mean(uint32_t key)
{
    return el_ratio_mean(&ratios, key, 1, 1000);
}

TEST(ratio, a_mean_is_of_as_many_bodies_as_are_wanted)
{
    ck_assert_uint_eq(el_ratio_mean(&ratios, 7, 0, 1000), 0);
    update(1, 7, 100, 1000);
    ck_assert(mean(7) == 100 && mean(8) == 0 && mean(0) == 0);
    ck_assert_uint_eq(el_ratio_mean(&ratios, 7, 2, 1000), 0);
    update(1, 7, 120, 1000);
    ck_assert_uint_eq(el_ratio_mean(&ratios, 7, 2, 1000), 110);
}

TEST(ratio, a_key_does_not_change_another)
{
    const uint32_t same_place = 7 + (1u << 8);

    update(64, 7, 10000, 1000);
    ck_assert(mean(8) == 0 && mean(same_place) == 0);
    update(64, same_place, 2000, 1000);
    ck_assert(mean(7) == 10000 && mean(same_place) == 2000);
}

/* Measurements after 64 bodies. */
static const struct {
    const char *label;
    uint64_t before;
    int times;
    uint64_t out;
    uint32_t least, most;
} changes[] = {
    {"a change that lasts is followed", 10000, 10, 2500, 0, 9500},
    {"to its end", 10000, 1000, 2500, 0, 2700},
    {"one body changes little", 10000, 1, 1, 9900, 10000},
    {"a huge one as well", 9300, 1, 1000000000, 9300, 9500},
};
EACH(ratio, the_mean_follows, changes)
{
    update(64, 7, row->before, 1000);
    update(row->times, 7, row->out, 1000);
    row_assert(mean(7) >= row->least && mean(7) <= row->most);
}

TEST(ratio, old_measurements_do_not_count)
{
    update(64, 7, 10000, 1000);
    ck_assert_uint_eq(el_ratio_mean(&ratios, 7, 8, 1000 + HOUR / 2), 10000);
    ck_assert_uint_eq(el_ratio_mean(&ratios, 7, 8, 1000 + HOUR), 0);
    /* Some weight is left, so half of the bodies suffice. */
    update(4, 7, 10000, 1000 + HOUR);
    ck_assert_uint_eq(el_ratio_mean(&ratios, 7, 8, 1000 + HOUR), 10000);
    update(1, 8, 10000, 1000);
    ck_assert_uint_eq(el_ratio_mean(&ratios, 8, 1, 1000 + HOUR), 0);
    /* Another process's clock may be behind. */
    update(64, 9, 10000, 1600);
    ck_assert_uint_eq(el_ratio_mean(&ratios, 9, 8, 1600 - 4 * 16), 10000);
    ck_assert_uint_eq(el_ratio_mean(&ratios, 9, 8, 1600 - 5 * 16), 0);
}

/* Pages are often numbered, and each has a ratio of each kind. */
TEST(ratio, keys_of_numbered_pages_do_not_meet)
{
    enum { KINDS = 3, PAGES = 200 };
    uint32_t keys[KINDS * PAGES];
    char page[32];

    for (unsigned i = 0; i < KINDS * PAGES; i++) {
        snprintf(page, sizeof(page), "/list?page=%u", i % PAGES);
        keys[i] = el_ratio_key("https://a.example", i / PAGES, page);
        ck_assert_uint_ne(keys[i], 0);
        for (unsigned j = 0; j < i; j++) {
            ck_assert_uint_ne(keys[i], keys[j]);
        }
    }
    ck_assert_uint_ne(el_ratio_key("https://b.example", 0, "/list?page=0"), keys[0]);
    ck_assert_uint_ne(el_ratio_key("https://a.example", 0, ""),
                      el_ratio_key("https://b.example", 0, ""));
}

TEST(ratio, small_bodies_and_those_without_a_key_do_not_count)
{
    for (int i = 0; i < 64; i++) {
        el_ratio_update(&ratios, 7, EL_RATIO_LEAST - 1, 2000, 1000);
    }
    update(64, 0, 10000, 1000);
    ck_assert(mean(7) == 0 && mean(0) == 0);
    el_ratio_update(&ratios, 7, EL_RATIO_LEAST, EL_RATIO_LEAST, 1000);
    ck_assert_uint_eq(mean(7), 10000);
}

TEST(ratio, a_ratio_is_rounded_down_and_has_bounds)
{
    el_ratio_update(&ratios, 7, 20000, 39999, 1000);
    el_ratio_update(&ratios, 8, 20000, 60000, 1000);
    el_ratio_update(&ratios, 9, 20000, 1, 1000);
    ck_assert(mean(7) == 19999 && mean(8) == 20000 && mean(9) == 1);
}

/* Otherwise the mean of an old key would hardly move. */
TEST(ratio, a_weight_has_a_bound)
{
    update(100, 7, 10000, 1000);
    ck_assert_uint_eq(el_ratio_mean(&ratios, 7, 64, 1000), 10000);
    ck_assert_uint_eq(el_ratio_mean(&ratios, 7, 65, 1000), 0);
}

TEST(ratio, a_full_place_replaces_the_key_with_the_least_weight)
{
    uint32_t key = 5;

    for (unsigned way = 0; way < EL_RATIO_WAYS; way++) {
        update(way == 1 ? 20 : 40, key + (way << 8), 10000, 1000);
    }
    update(10, key + (EL_RATIO_WAYS << 8), 10000, 1000);
    for (unsigned way = 0; way <= EL_RATIO_WAYS; way++) {
        ck_assert_uint_eq(mean(key + (way << 8)), way == 1 ? 0 : 10000);
    }
}
