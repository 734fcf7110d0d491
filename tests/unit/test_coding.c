#include "elastic/http.h"
#include "suites.h"

CASE(coding);

static const struct {
    const char *name;
    el_coding_t coding, any;
} names[] = {
    {"gzip", EL_GZIP, EL_GZIP}, {"x-gzip", EL_GZIP, EL_GZIP}, {"X-GZIP", EL_GZIP, EL_GZIP},
    {"GzIp", EL_GZIP, EL_GZIP}, {"br", EL_BR, EL_BR}, {"zstd", EL_ZSTD, EL_ZSTD},
    {"gzi", EL_IDENTITY, EL_IDENTITY}, {"identity", EL_IDENTITY, EL_IDENTITY},
    {"gzipp", EL_IDENTITY, EL_IDENTITY}, {"deflate", EL_IDENTITY, EL_IDENTITY},
    {"x-br", EL_IDENTITY, EL_IDENTITY}, {"", EL_IDENTITY, EL_IDENTITY},
    {"dcz", EL_IDENTITY, EL_DCZ}, {"DCB", EL_IDENTITY, EL_DCB},
};
EACH(coding, a_name_finds_its_coding, names)
{
    named_eq(row->name, el_coding_find(row->name, strlen(row->name)), row->coding);
    named_eq(row->name, el_coding_find_any(row->name, strlen(row->name)), row->any);
}

TEST(coding, each_has_a_row_and_only_differences_need_a_dictionary)
{
    ck_assert_int_eq(el_coding_find("gzip;q=1", 4), EL_GZIP);
    ck_assert_ptr_null(el_coding_info(EL_IDENTITY));
    ck_assert_ptr_null(el_coding_info(EL_ALL_CODINGS));
    for (int i = EL_GZIP; i < EL_ALL_CODINGS; i++) {
        ck_assert_int_eq(el_coding_find_any(el_coding_info((el_coding_t)i)->token,
                                            strlen(el_coding_info((el_coding_t)i)->token)), i);
        ck_assert_int_eq(el_coding_needs_dictionary((el_coding_t)i), i >= EL_CODINGS);
    }
}

static const struct {
    const char *list;
    const char *popped; /* the codings, outermost first, each with the length that is left */
} lists[] = {
    {"gzip", "gzip:0 "}, {"gzip, br", "br:4 gzip:0 "}, {"a,b,c", "c:3 b:1 a:0 "},
    {" \tgzip \t,\t br ", "br:6 gzip:0 "}, {",, gzip,, ,", "gzip:0 "}, {"", ""}, {" , ,", ""},
    {"identity", ""}, {"Identity, gzip, IDENTITY", "gzip:8 "}, {"xidentity", "xidentity:0 "},
    {"identit", "identit:0 "}, {"GZip", "GZip:0 "}, {"gz ip", "gz ip:0 "},
};
EACH(coding, a_list_gives_its_codings_from_the_outermost, lists)
{
    const char *list = row->list, *name;
    size_t len = strlen(list), name_len, at = 0;
    char popped[128] = "";

    while (el_encoding_pop(list, &len, &name, &name_len)) {
        at += (size_t)snprintf(popped + at, sizeof(popped) - at, "%.*s:%zu ", (int)name_len, name,
                               len);
    }
    named_str_eq(list, popped, row->popped);
    named_eq(list, len, 0);
}

static const struct {
    const char *data;
    size_t len;
    bool is_magic;
} beginnings[] = {
    {"\x1f\x8b\x08\x00", 4, true}, {"\x1f\x8b\x08", 3, true}, {"\x1f\x8b\x08", 2, false},
    {"\x1f\x8b\x07\x00", 4, false}, {"\x28\xb5\x2f\xfd", 4, true}, {"\x28\xb5\x2f\xfd", 3, false},
    {"<!doctype html>", 15, false}, {"", 0, false},
};

EACH(coding, an_encoded_body_is_known_by_its_beginning, beginnings)
{
    ck_assert(el_encoding_is_magic(row->data, row->len) == row->is_magic);
}
