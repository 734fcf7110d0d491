#include "elastic/exposition.h"

#include "suites.h"

#include <string.h>

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

    tcase_add_loop_test(tc, a_label_is_escaped_and_is_utf8, 0, ROWS(values));
    return suite_of("exposition", tc);
}
