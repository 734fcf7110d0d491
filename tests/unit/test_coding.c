#include "elastic/coding.h"

#include "suites.h"

static const struct {
    const char *label;
    el_coding_t coding;
    el_coding_info_t info;
} known[] = {
    {"gzip's names and bounds", EL_GZIP,
     {"gzip", "x-gzip", "-gzip", EL_GZIP, ".gz", 1, 12, 1, 9, 6, EL_GZIP}},
    {"br's names and bounds", EL_BR, {"br", NULL, "-br", EL_BR, ".br", 0, 11, 0, 6, 5, EL_BR}},
    {"zstd's names and bounds", EL_ZSTD,
     {"zstd", NULL, "-zstd", EL_ZSTD, ".zst", 1, 19, 1, 9, 3, EL_GZIP}},
    {"a difference by brotli has no levels", EL_DCB,
     {.token = "dcb", .tag_suffix = "-dcb", .base = EL_BR}},
    {"a difference by zstd has no levels", EL_DCZ,
     {.token = "dcz", .tag_suffix = "-dcz", .base = EL_ZSTD}},
};

CASE(coding);

EACH(coding, a_coding_has_its_row, known)
{
    const el_coding_info_t *got = el_coding_info(row->coding);
    const el_coding_info_t *want = &row->info;

    row_assert(got != NULL);
    ck_assert_str_eq(got->token, want->token);
    ck_assert_pstr_eq(got->alias, want->alias);
    ck_assert_str_eq(got->tag_suffix, want->tag_suffix);
    ck_assert_int_eq(got->base, want->base);
    ck_assert_pstr_eq(got->extension, want->extension);
    ck_assert_int_eq(got->level_min, want->level_min);
    ck_assert_int_eq(got->level_max, want->level_max);
    ck_assert_int_eq(got->default_min, want->default_min);
    ck_assert_int_eq(got->default_max, want->default_max);
    ck_assert_int_eq(got->stock_level, want->stock_level);
    ck_assert_int_eq(got->stock, want->stock);
}

TEST(coding, identity_has_no_row)
{
    ck_assert_ptr_null(el_coding_info(EL_IDENTITY));
    ck_assert_ptr_null(el_coding_info(EL_ALL_CODINGS));
}

static const struct {
    const char *label;
    const char *name;
    el_coding_t coding;
} names[] = {
    {"a token", "gzip", EL_GZIP},
    {"the alias", "x-gzip", EL_GZIP},
    {"the alias in capitals", "X-GZIP", EL_GZIP},
    {"mixed case", "GzIp", EL_GZIP},
    {"br", "br", EL_BR},
    {"br in capitals", "BR", EL_BR},
    {"zstd", "zstd", EL_ZSTD},
    {"identity is no row", "identity", EL_IDENTITY},
    {"a prefix of a token", "gzi", EL_IDENTITY},
    {"a token and more", "gzipp", EL_IDENTITY},
    {"a registered coding that is not offered", "deflate", EL_IDENTITY},
    {"no alias for a coding without one", "x-br", EL_IDENTITY},
    {"nothing", "", EL_IDENTITY},
    {"one that needs a dictionary", "dcz", EL_IDENTITY},
};

EACH(coding, a_name_finds_its_coding, names)
{
    row_eq(el_coding_find(row->name, strlen(row->name)), row->coding);
}

TEST(coding, only_the_given_bytes_count)
{
    ck_assert_int_eq(el_coding_find("gzip;q=1", 4), EL_GZIP);
    ck_assert_int_eq(el_coding_find("gzip", 2), EL_IDENTITY);
}

TEST(coding, all_codings_are_found_where_they_are_asked_for)
{
    ck_assert_int_eq(el_coding_find_any("dcz", 3), EL_DCZ);
    ck_assert_int_eq(el_coding_find_any("DCB", 3), EL_DCB);
    ck_assert_int_eq(el_coding_find_any("x-gzip", 6), EL_GZIP);
    ck_assert_int_eq(el_coding_find_any("dc", 2), EL_IDENTITY);
}

TEST(coding, only_differences_need_a_dictionary)
{
    for (int i = EL_IDENTITY; i < EL_ALL_CODINGS; i++) {
        ck_assert_int_eq(el_coding_needs_dictionary((el_coding_t)i), i >= EL_CODINGS);
    }
}

static const struct {
    const char *label;
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

CASE(encoding);

EACH(encoding, a_list_gives_its_codings_from_the_outermost, lists)
{
    const char *list = row->list, *name;
    size_t len = strlen(list), name_len, at = 0;
    char popped[128] = "";

    while (el_encoding_pop(list, &len, &name, &name_len)) {
        at += (size_t)snprintf(popped + at, sizeof(popped) - at, "%.*s:%zu ", (int)name_len, name,
                               len);
    }
    row_str_eq(popped, row->popped);
    row_eq(len, 0);
}

static const struct {
    const char *label;
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

EACH(encoding, an_encoded_body_is_known_by_its_beginning, beginnings)
{
    row_eq(el_encoding_is_magic(row->data, row->len), row->is_magic);
}
