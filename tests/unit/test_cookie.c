#include "elastic/cookie.h"

#include "suites.h"

#include <string.h>

static const struct {
    const char *guards;
    const char *field;
    const char *value; /* NULL: none */
} fields[] = {
    {"nothing", "", NULL},
    {"one cookie", "sid=abc", "abc"},
    {"among others", "a=b; sid=abc; c=d", "abc"},
    {"the last one", "a=b; sid=abc", "abc"},
    {"another name", "side=abc", NULL},
    {"the end of a name", "psid=abc", NULL},
    {"another case", "Sid=abc", NULL},
    {"a value that is named like it", "a=sid; b=sid=abc", NULL},
    {"no value", "sid=; a=b", NULL},
    {"no value and no sign", "sid; a=b", NULL},
    {"a sign within the value", "sid=a=b==", "a=b=="},
    {"quotes", "sid=\"a b\"", "\"a b\""},
    {"no spaces", "a=b;sid=abc;c=d", "abc"},
    {"many spaces", "a=b; \t sid=abc \t; c=d", "abc"},
    {"two of the name", "sid=abc; sid=def", NULL},
    {"two that are the same", "sid=abc; sid=abc", NULL},
    {"two, one without a value", "sid=; sid=abc", NULL},
    {"only signs", ";;=;", NULL},
};

START_TEST(a_cookie_is_found)
{
    size_t len;
    const char *found = el_cookie_find(fields[_i].field, "sid", &len), *wanted = fields[_i].value;

    ck_assert_msg(!found == !wanted, "%s", fields[_i].guards);
    ck_assert_msg(!wanted || (len == strlen(wanted) && memcmp(found, wanted, len) == 0), "%s",
                  fields[_i].guards);
}
END_TEST

START_TEST(a_name_is_a_token)
{
    ck_assert(el_cookie_name("__Host-sid"));
    ck_assert(!el_cookie_name(""));
    ck_assert(!el_cookie_name("a=b"));
    ck_assert(!el_cookie_name("a b"));
    ck_assert(!el_cookie_name("a;"));
}
END_TEST

Suite *cookie_suite(void)
{
    TCase *tc = tcase_create("cookie");

    tcase_add_loop_test(tc, a_cookie_is_found, 0, ROWS(fields));
    tcase_add_test(tc, a_name_is_a_token);
    return suite_of("cookie", tc);
}
