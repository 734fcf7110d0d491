#include "elastic/exposition.h"

#include "suites.h"

#include <string.h>

#define OPEN EL_EXPOSITION_OPEN
#define TEXT EL_EXPOSITION_TEXT

/* What each of the two handlers answers: that which is named after OpenMetrics, and the other one. */
static const struct {
    const char *accept;
    el_exposition_t open, text;
} wishes[] = {
    {NULL, OPEN, TEXT},
    {"", OPEN, TEXT},
    {"*/*", OPEN, TEXT},
    {"text/html,application/xml;q=0.9,*/*;q=0.8", OPEN, TEXT},
    {"text/plain", TEXT, TEXT},
    {"text/plain;version=0.0.4;q=0.5,*/*;q=0.1", TEXT, TEXT},
    {"application/openmetrics-text", OPEN, OPEN},
    {"Application/OpenMetrics-Text ; version=1.0.0", OPEN, OPEN},
    {"text/plain, application/openmetrics-text", OPEN, OPEN},
    {"application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;"
     "q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1", OPEN, OPEN},
    {"application/openmetrics-text;q=0.4, text/plain;q=0.5", TEXT, TEXT},
    {"application/openmetrics-text;q=0.5, text/plain;q=0.4", OPEN, OPEN},
    {"application/openmetrics-text; q=0", TEXT, TEXT},
    {"application/openmetrics-text;q=x", OPEN, OPEN},
    {"application/openmetrics-text;a=\"b,text/plain;q=1\";q=0.3,text/plain;q=0.2", OPEN, OPEN},
    {"application/openmetrics-textual", OPEN, TEXT},
    {"application/openmetrics-text;a=\"open", OPEN, OPEN},
    {",,;q,text/plain;;;q=", TEXT, TEXT},
};

START_TEST(the_format_is_what_accept_asks_for)
{
    ck_assert_int_eq(el_exposition_choose(wishes[_i].accept, OPEN), wishes[_i].open);
    ck_assert_int_eq(el_exposition_choose(wishes[_i].accept, TEXT), wishes[_i].text);
}
END_TEST

START_TEST(a_format_has_its_media_type)
{
    ck_assert_str_eq(el_exposition_type(OPEN),
                     "application/openmetrics-text; version=1.0.0; charset=utf-8");
    ck_assert_str_eq(el_exposition_type(TEXT), "text/plain; version=0.0.4; charset=utf-8");
}
END_TEST

static const struct {
    const char *value, *text;
} values[] = {
    {"", ""},
    {"gzip", "gzip"},
    {"a\\b\"c\nd", "a\\\\b\\\"c\\nd"},
    {"\t\r{}=,", "\t\r{}=,"},
    {"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"},
    {"\x80", "?"},
    {"\xc3", "?"},
    {"\xc3(", "?("},
    {"\xc0\xaf", "??"},
    {"\xed\xa0\x80", "???"},
    {"\xf4\x90\x80\x80", "????"},
    {"\xf0\x9f\x98", "???"},
    {"\xff\"", "?\\\""},
};

START_TEST(a_label_is_escaped_and_is_utf8)
{
    const char *value = values[_i].value;
    char *exact = malloc(EL_EXPOSITION_ROOM(strlen(value)));

    el_exposition_escape(value, exact);
    ck_assert_str_eq(exact, values[_i].text);
    free(exact);
}
END_TEST

Suite *exposition_suite(void)
{
    TCase *tc = tcase_create("exposition");

    tcase_add_loop_test(tc, the_format_is_what_accept_asks_for, 0, ROWS(wishes));
    tcase_add_test(tc, a_format_has_its_media_type);
    tcase_add_loop_test(tc, a_label_is_escaped_and_is_utf8, 0, ROWS(values));
    return suite_of("exposition", tc);
}
