#include "elastic/utf8.h"

#include "suites.h"

#include <string.h>

static const struct {
    const char *text, *shown;
} rows[] = {
    {"", ""},
    {"/a/b?c=d&e", "/a/b?c=d&e"},
    {"/<script>\"'", "/<script>\"'"},      /* HTML's are for whoever writes HTML */
    {"/100% a", "/100%25%20a"},            /* so that no text looks like another one */
    {"/\t\r\n\x7f\x1b[31m", "/%09%0D%0A%7F%1B[31m"},
    {"/caf\xc3\xa9/\xe6\x97\xa5", "/caf\xc3\xa9/\xe6\x97\xa5"},
    {"/\xf0\x9f\x98\x80", "/\xf0\x9f\x98\x80"},
    {"/\xff\xfe", "/%FF%FE"},              /* no character */
    {"/\xc3", "/%C3"},                     /* cut off */
    {"/\xe6\x97", "/%E6%97"},
    {"/\xc0\xaf", "/%C0%AF"},              /* a slash in too many bytes */
    {"/\xed\xa0\x80", "/%ED%A0%80"},       /* a surrogate */
    {"/\xf4\x90\x80\x80", "/%F4%90%80%80"},
    {"/\xc2\x85", "/%C2%85"},              /* a control character */
    {"/\xc2\xa0x", "/%C2%A0x"},            /* a space that is not seen as one */
    {"/\xe2\x80\xaegpj.exe", "/%E2%80%AEgpj.exe"}, /* from right to left */
    {"/\xe2\x81\xa6x", "/%E2%81%A6x"},
    {"/\xe2\x80\x8bx", "/%E2%80%8Bx"},
    {"/\xef\xbb\xbfx", "/%EF%BB%BFx"},
    {"/\xf3\xa0\x81\xa1", "/%F3%A0%81%A1"}, /* a tag */
};

START_TEST(a_text_is_shown_as_it_is)
{
    char shown[EL_UTF8_SHOWN_ROOM(32)];

    ck_assert_uint_le(strlen(rows[_i].text), 32);
    el_utf8_show(rows[_i].text, shown);
    ck_assert_str_eq(shown, rows[_i].shown);
}
END_TEST

Suite *utf8_suite(void)
{
    TCase *tc = tcase_create("utf8");

    tcase_add_loop_test(tc, a_text_is_shown_as_it_is, 0, ROWS(rows));
    return suite_of("utf8", tc);
}
