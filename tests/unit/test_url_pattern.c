#include "elastic/url_pattern.h"

#include "suites.h"

#include <string.h>

/* A dictionary at this path gave the pattern. */
#define BASE "/dir/sub/dict?v=1"

static const struct {
    const char *guards;
    const char *pattern;
    const char *matches[4];
    const char *others[6];
} patterns[] = {
    {"fixed text", "/app.js", {"/app.js"}, {"/app.jsx", "/app", "/App.js", "/x/app.js", ""}},
    {"any query where none is said", "/a", {"/a", "/a?", "/a?b=c?d"}, {"/a/", "/ab?"}},
    {"any text", "/app.*.js", {"/app.1.js", "/app..js", "/app.a/b.js"}, {"/app.js", "/app.1.jsx"}},
    {"any text at the end", "/a/*", {"/a/", "/a/b", "/a/b/c?d"}, {"/a", "/b/a/"}},
    {"any text twice", "/*/x/*", {"/a/x/", "/a/b/x/c", "//x/"}, {"/x/", "/a/x"}},
    {"a segment", "/:name/x", {"/a/x", "/abc/x?y"}, {"//x", "/a/b/x", "/x"}},
    {"a segment's part", "/app-:version.js", {"/app-1.2.js"}, {"/app-.js", "/app-1/2.js"}},
    {"names go on with digits", "/:a1b/x", {"/q/x"}, {"//x"}},
    {"two segments", "/:a/:b", {"/x/y"}, {"/x", "/x/y/z", "/x/"}},
    {"a group of text", "/a{bc}d", {"/abcd"}, {"/ad", "/abcbcd"}},
    {"a group, perhaps", "/a{bc}?d", {"/abcd", "/ad"}, {"/abcbcd", "/abd"}},
    {"a group, any number", "/a{bc}*d", {"/ad", "/abcd", "/abcbcbcd"}, {"/abcbd"}},
    {"a group, one at least", "/a{bc}+d", {"/abcd", "/abcbcd"}, {"/ad"}},
    {"a group with a name", "/x{-:n.js}?", {"/x", "/x-1.js"}, {"/x-.js", "/x-1.jsx"}},
    {"a group with any text", "{/a*z}+", {"/az", "/abz/az"}, {"/a", "", "/az/"}},
    {"a segment with its slash, perhaps", "/a/:b?", {"/a", "/a/b"}, {"/a/", "/a/b/c"}},
    {"segments, any number", "/a/:b*", {"/a", "/a/b/c"}, {"/a/", "/a//c", "/ab"}},
    {"segments, one at least", "/a/:b+", {"/a/b/c"}, {"/a"}},
    {"any text with its slash, perhaps", "/a/*?", {"/a", "/a/", "/a/b/c"}, {"/ab"}},
    {"a slash in a group is its own", "/a{/}?:b?", {"/a", "/a/", "/a/b", "/ab"}, {"/a/b/c"}},
    {"a query", "/a?b=1", {"/a?b=1"}, {"/a", "/a?b=12", "/a?", "/a?c=1&b=1"}},
    {"any text in a query", "/a?b=*", {"/a?b=", "/a?b=/?"}, {"/a", "/a?c=1"}},
    {"a name in a query takes slashes", "/a?b=:c", {"/a?b=/x/y"}, {"/a?b="}},
    {"no query but an empty one", "/a?", {"/a", "/a?"}, {"/a?b"}},
    {"a name in both", "/:a/x?b=:a", {"/y/x?b=z"}, {"/y/x"}},
    {"? behind a name is no query", "/a/:b?b=1", {"/a/xb=1", "/ab=1"}, {"/a/x?b=1", "/a?b=1"}},
    {"an escaped star", "/a\\*b", {"/a*b"}, {"/axb", "/a\\*b"}},
    {"an escaped letter", "/\\a", {"/a"}, {"/\\a"}},
    {"escapes stay as they are", "/a%20b", {"/a%20b"}, {"/a b", "/a%2520b"}},
    {"a relative path", "x-*", {"/dir/sub/x-", "/dir/sub/x-y/z"}, {"/x-", "/dir/x-", "x-"}},
    {"a relative name", ":x.js", {"/dir/sub/a.js"}, {"/dir/sub/.js", "/a.js"}},
    {"a group that begins with a slash", "{/b}c", {"/bc"}, {"/dir/sub//bc", "/dir/sub/bc"}},
    {"dots within a segment", "/a..b/.x/x.", {"/a..b/.x/x."}, {"/a/.x/x."}},
};

START_TEST(a_pattern_matches)
{
    const char *pattern = patterns[_i].pattern;

    ck_assert_msg(!el_url_pattern_fault(pattern), "%s: %s", patterns[_i].guards,
                  el_url_pattern_fault(pattern));
    for (int i = 0; i < 4 && patterns[_i].matches[i]; i++) {
        ck_assert_msg(el_url_pattern_match(pattern, BASE, patterns[_i].matches[i]), "%s: %s",
                      patterns[_i].guards, patterns[_i].matches[i]);
    }
    for (int i = 0; i < 6 && patterns[_i].others[i]; i++) {
        ck_assert_msg(!el_url_pattern_match(pattern, BASE, patterns[_i].others[i]), "%s: not %s",
                      patterns[_i].guards, patterns[_i].others[i]);
    }
}
END_TEST

static const struct {
    const char *guards;
    const char *pattern;
} faults[] = {
    {"nothing", ""},
    {"a regular expression", "/(\\d+)"},
    {"one behind a name", "/:a([a-z]+)"},
    {"a URL", "https://example.org/*"},
    {"a fragment", "/a#b"},
    {"a query only", "?a=1"},
    {"a colon without a name", "/a:/b"},
    {"a name that begins with a digit", "/:1"},
    {"one name twice", "/:a/:a"},
    {"one name twice in a query", "/a?:a&:a"},
    {"too many names", "/:a:b:c:d:e:f:g:h:i:j:k:l:m:n:o:p:q"},
    {"a group in a group", "/{a{b}}"},
    {"two wildcards in a group", "/{*:a}"},
    {"a group without an end", "/{a"},
    {"an end without a group", "/a}"},
    {"a plus behind text", "/a+"},
    {"two modifiers", "/{a}?+"},
    {"a question in a query", "/a?b?c"},
    {"an escaped colon", "/a\\:b"},
    {"an escaped question in a path", "/a\\?"},
    {"a backslash at the end", "/a\\"},
    {"a space", "/a b"},
    {"a quote", "/a\"b"},
    {"a byte above ASCII", "/\xc3\xa9"},
    {"a control character", "/\n"},
    {"the beginning of a group", "/a(b"},
    {"the end of a group", "/a)b"},
    {"a segment of one dot", "/a/./b"},
    {"a segment of two dots", "/a/.."},
    {"a relative segment of two dots", "../a"},
    {"a dot before the query", "/a/.?b"},
};

START_TEST(a_pattern_is_refused)
{
    ck_assert_msg(el_url_pattern_fault(faults[_i].pattern) != NULL, "%s", faults[_i].guards);
    ck_assert_msg(!el_url_pattern_match(faults[_i].pattern, "/", faults[_i].pattern), "%s",
                  faults[_i].guards);
}
END_TEST

/* The worst that fits in time that depends on the lengths only. */
START_TEST(no_pattern_takes_long)
{
    char pattern[EL_URL_PATTERN_MOST + 2] = "/", target[4096];

    for (size_t i = 1; i + 2 < EL_URL_PATTERN_MOST; i += 2) {
        memcpy(pattern + i, "*a", 3);
    }
    memset(target, 'a', sizeof(target) - 1);
    target[0] = '/';
    target[sizeof(target) - 1] = '\0';
    ck_assert_ptr_null(el_url_pattern_fault(pattern));
    ck_assert(el_url_pattern_match(pattern, "/", target));
    target[sizeof(target) - 2] = 'b';
    ck_assert(!el_url_pattern_match(pattern, "/", target));
    memset(pattern, 'a', EL_URL_PATTERN_MOST + 1);
    ck_assert_ptr_nonnull(el_url_pattern_fault(pattern));
}
END_TEST

START_TEST(a_directory_that_is_too_long_matches_nothing)
{
    char base[8192], target[8192];

    memset(base, 'a', sizeof(base) - 1);
    base[0] = base[sizeof(base) - 2] = '/';
    base[sizeof(base) - 1] = '\0';
    memcpy(target, base, sizeof(base));
    ck_assert(!el_url_pattern_match("*", base, target));
    ck_assert(el_url_pattern_match("/*", base, target));
}
END_TEST

Suite *url_pattern_suite(void)
{
    TCase *tc = tcase_create("url_pattern");

    tcase_add_loop_test(tc, a_pattern_matches, 0, ROWS(patterns));
    tcase_add_loop_test(tc, a_pattern_is_refused, 0, ROWS(faults));
    tcase_add_test(tc, no_pattern_takes_long);
    tcase_add_test(tc, a_directory_that_is_too_long_matches_nothing);
    return suite_of("url_pattern", tc);
}
