#include "elastic/encoding.h"

#include "suites.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *guards;
    const char *list;
    const char *popped; /* the codings, outermost first, each before the length that is left */
} lists[] = {
    {"one coding", "gzip", "gzip:0 "},
    {"the last is the outermost", "gzip, br", "br:4 gzip:0 "},
    {"no space is needed", "a,b,c", "c:3 b:1 a:0 "},
    {"white space around members", " \tgzip \t,\t br ", "br:6 gzip:0 "},
    {"empty members", ",, gzip,, ,", "gzip:0 "},
    {"an empty list", "", ""},
    {"nothing but commas", " , ,", ""},
    {"identity is no coding", "identity", ""},
    {"identity in any case, anywhere", "Identity, gzip, IDENTITY", "gzip:8 "},
    {"a longer word is not identity", "xidentity", "xidentity:0 "},
    {"a shorter word is not identity", "identit", "identit:0 "},
    {"case is kept", "GZip", "GZip:0 "},
    {"a member of two words is one name", "gz ip", "gz ip:0 "},
};

START_TEST(a_list_gives_its_codings_from_the_outermost)
{
    const char *list = lists[_i].list, *name;
    size_t len = strlen(list), name_len, at = 0;
    char popped[128] = "";

    while (el_encoding_pop(list, &len, &name, &name_len)) {
        at += (size_t)snprintf(popped + at, sizeof(popped) - at, "%.*s:%zu ", (int)name_len, name,
                               len);
    }
    ck_assert_msg(strcmp(popped, lists[_i].popped) == 0, "%s: %s", lists[_i].guards, popped);
    ck_assert_msg(len == 0, "%s: %zu bytes are left", lists[_i].guards, len);
}
END_TEST

static const struct {
    const char *guards;
    const char *data;
    size_t len;
    bool is_magic;
} beginnings[] = {
    {"gzip", "\x1f\x8b\x08\x00", 4, true},
    {"gzip, as short as can be", "\x1f\x8b\x08", 3, true},
    {"gzip, cut off", "\x1f\x8b\x08", 2, false},
    {"another method than deflate", "\x1f\x8b\x07\x00", 4, false},
    {"zstd", "\x28\xb5\x2f\xfd", 4, true},
    {"zstd, cut off", "\x28\xb5\x2f\xfd", 3, false},
    {"text", "<!doctype html>", 15, false},
    {"nothing", "", 0, false},
};

START_TEST(an_encoded_body_is_known_by_its_beginning)
{
    ck_assert_msg(el_encoding_is_magic(beginnings[_i].data, beginnings[_i].len)
                      == beginnings[_i].is_magic, "%s", beginnings[_i].guards);
}
END_TEST

Suite *encoding_suite(void)
{
    TCase *tc = tcase_create("encoding");

    tcase_add_loop_test(tc, a_list_gives_its_codings_from_the_outermost, 0, ROWS(lists));
    tcase_add_loop_test(tc, an_encoded_body_is_known_by_its_beginning, 0, ROWS(beginnings));
    return suite_of("encoding", tc);
}
