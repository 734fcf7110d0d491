#include "elastic/http.h"
#include "suites.h"

/* Weight of an unlisted identity, and full weight. */
#define U EL_Q_UNLISTED_IDENTITY
#define ONE EL_Q_ONE

static const struct {
    const char *line;
    uint16_t identity, gzip, br, zstd;
} lines[] = {
    /* meaning of the field */
    {NULL, U, 0, 0, 0}, {"", U, 0, 0, 0}, {" \t, ,,\t", U, 0, 0, 0}, {"gzip", U, ONE, 0, 0},
    {"gzip, deflate, br, zstd", U, ONE, ONE, ONE}, {"deflate, compress, exi", U, 0, 0, 0},
    {"x-gzip", U, ONE, 0, 0}, {"x-gzip;q=0", U, 0, 0, 0}, {"GZip, BR, ZStD", U, ONE, ONE, ONE},
    {"identity", ONE, 0, 0, 0}, {"IDENTITY;q=0.5", 1000, 0, 0, 0},
    {"gzip, identity;q=0", 0, ONE, 0, 0}, {"identity2;q=0", U, 0, 0, 0}, {"ident;q=0", U, 0, 0, 0},
    /* weights */
    {"gzip;q=0.5", U, 1000, 0, 0}, {"gzip;q=0.25", U, 500, 0, 0}, {"br;q=0.125", U, 0, 250, 0},
    {"gzip;q=1", U, ONE, 0, 0}, {"gzip;q=1.", U, ONE, 0, 0}, {"gzip;q=1.000", U, ONE, 0, 0},
    {"gzip;q=0", U, 0, 0, 0}, {"gzip;q=0.", U, 0, 0, 0}, {"gzip;q=0.000", U, 0, 0, 0},
    {"gzip;Q=0.5", U, 1000, 0, 0},
    {"gzip;q=0.1, br;q=0.2, zstd;q=0.3, identity;q=0.4", 800, 200, 400, 600},
    /* invalid weights: ignored, as httpd's own tests expect */
    {"gzip;q=0.0000", U, ONE, 0, 0}, {"gzip;", U, ONE, 0, 0}, {"gzip;q=", U, ONE, 0, 0},
    {"gzip;q", U, ONE, 0, 0}, {"gzip;q=1.001", U, ONE, 0, 0}, {"gzip;q=00", U, ONE, 0, 0},
    {"gzip;q=10", U, ONE, 0, 0}, {"gzip;q=.5", U, ONE, 0, 0}, {"gzip;q=-0", U, ONE, 0, 0},
    {"gzip;q=1.-", U, ONE, 0, 0}, {"gzip;q=2", U, ONE, 0, 0}, {"gzip;q=x", U, ONE, 0, 0},
    {"gzip;q=0.5x", U, ONE, 0, 0}, {"gzip;q=0.-", U, ONE, 0, 0}, {"gzip;q=0e0", U, ONE, 0, 0},
    {"gzip;q=\"0\"", U, ONE, 0, 0}, {"gzip;q=x;q=0.5", U, 1000, 0, 0},
    {"gzip;q=1.001;q=0.5", U, 1000, 0, 0}, {"gzip;q=00;q=0.5", U, 1000, 0, 0},
    {"gzip;q=0.x;q=0.5", U, 1000, 0, 0}, {"gzip;q=0.5;q=0", U, 1000, 0, 0},
    {"gzip;q=1;q=0", U, ONE, 0, 0},
    /* the star */
    {"*", ONE, ONE, ONE, ONE}, {"*;q=0.5", 1000, 1000, 1000, 1000}, {"*;q=0", 0, 0, 0, 0},
    {"gzip;q=0.5, *;q=0", 0, 1000, 0, 0}, {"*;q=0, gzip;q=0.5", 0, 1000, 0, 0},
    {"gzip;q=0, *", ONE, 0, ONE, ONE}, {"identity;q=0.3, *;q=0", 600, 0, 0, 0},
    {"*;q=0.5, *;q=0", 1000, 1000, 1000, 1000}, {"**", U, 0, 0, 0},
    /* duplicates */
    {"gzip;q=0.5, gzip;q=0", U, 1000, 0, 0}, {"gzip;q=0, gzip", U, 0, 0, 0},
    {"x-gzip;q=0.5, gzip;q=1", U, 1000, 0, 0}, {"gzip;q=0, x-gzip", U, 0, 0, 0},
    {"identity;q=0, identity", 0, 0, 0, 0},
    /* whitespace */
    {"gzip;q=0.5,br;q=0.25", U, 1000, 500, 0}, {"gzip ; q=0.5", U, 1000, 0, 0},
    {"gzip\t;\tq=0.5", U, 1000, 0, 0}, {"gzip;q = 0.5", U, 1000, 0, 0},
    {"gzip;q\t= 0 , br", U, 0, ONE, 0}, {"gzip \t,\t br", U, ONE, ONE, 0},
    {" \tgzip;q=0.5\t ", U, 1000, 0, 0}, {",,gzip,, ,br,", U, ONE, ONE, 0},
    {"gzip;;;q=0.5;", U, 1000, 0, 0},
    /* other parameters */
    {"gzip;level=9;q=0.5", U, 1000, 0, 0}, {"gzip;xq=0", U, ONE, 0, 0}, {"gzip;qx=0", U, ONE, 0, 0},
    {"gzip;x=0", U, ONE, 0, 0}, {"x;q=0.5", U, 0, 0, 0}, {";q=0.5;x=\"a, br\", zstd", U, 0, 0, ONE},
    {"gzip;x=\"a, br\";q=0.5", U, 1000, 0, 0}, {"gzip;x=\";q=0\"", U, ONE, 0, 0},
    {"gzip;x=\"\\\", br\";q=0.5, zstd", U, 1000, 0, ONE}, {"gzip;x=\"\\\\\", br", U, ONE, ONE, 0},
    {"gzip;x=\"\", br", U, ONE, ONE, 0},
    /* invalid members */
    {"gz ip, br", U, 0, ONE, 0}, {"gzip br", U, 0, 0, 0}, {"gzip;q=0.5 x, br", U, 0, ONE, 0},
    {"gzip;x=\"a\"b, br", U, 0, ONE, 0}, {"gzip/1.0, br", U, 0, ONE, 0}, {";q=0, br", U, 0, ONE, 0},
    {"\"gzip\", br", U, 0, ONE, 0}, {"@\"a, gzip\", br", U, 0, ONE, 0},
    {"br, gzip;x=\"a, zstd", U, 0, ONE, 0}, {"br, gzip;x=\"a\\\"", U, 0, ONE, 0},
    {"br, gzip;x=\"a\\", U, 0, ONE, 0}, {"gzip\001, br", U, 0, ONE, 0},
    {"gzip\xc3\xa9, \xff, br", U, 0, ONE, 0}, {"gzip;=0, br", U, 0, ONE, 0},
    {"gzip x;q=0, gzip;q=0.5", U, 1000, 0, 0},
};

CASE(accept);

EACH(accept, a_line_gives_weights, lines)
{
    el_accept_t a;

    el_accept_parse(row->line, row->line != NULL ? strlen(row->line) : 0, &a);
    named_eq(row->line, a.q[EL_IDENTITY], row->identity);
    named_eq(row->line, a.q[EL_GZIP], row->gzip);
    named_eq(row->line, a.q[EL_BR], row->br);
    named_eq(row->line, a.q[EL_ZSTD], row->zstd);
}

TEST(accept, only_len_bytes_are_read)
{
    static const char text[] = "gzip;q=\"a\\\"b\", br;q=0.125 , *;q=0";
    el_accept_t a;

    for (size_t len = 0; len < sizeof(text); len++) {
        el_accept_parse(copy_of(text, len), len, &a);
    }
    el_accept_parse("gzip, br", 4, &a);
    ck_assert(a.q[EL_GZIP] == ONE && a.q[EL_BR] == 0);
    /* A NUL does not end the text either. */
    el_accept_parse("gzip\0, br", 9, &a);
    ck_assert(a.q[EL_GZIP] == 0 && a.q[EL_BR] == ONE);
}

/* Each is repeated to 1 MB. Quadratic time would take hours. */
static const char *const hostile[] = {
    ",", " ", ";", "=", "\"", "\\", "\"\\", "gzip,", "gzip;", "gzip;q=0,", "gzip;x=\"", "*;q=",
    "gzip;x=\"a\",", "a ", "@", "@\"", "q=", ";q=0.", "identity;q=0,", "\t;\t",
};
EACH(accept, a_hostile_line_costs_no_more_than_its_bytes, hostile)
{
    el_accept_t a;

    el_accept_parse(repeat(*row, 16 * 65536), 16 * 65536, &a);
    for (unsigned c = 0; c < EL_ALL_CODINGS; c++) {
        ck_assert_uint_le(a.q[c], EL_Q_ONE);
    }
}

static const struct {
    const char *line;
    uint16_t dcb, dcz;
} differences[] = {
    {"gzip, deflate, br, zstd, dcb, dcz", ONE, ONE}, {"gzip, deflate, br, zstd", 0, 0}, {"*", 0, 0},
    {"dcz;q=0.5, *", 0, ONE / 2}, {"dcb, dcz;q=0", ONE, 0}, {"DCZ", 0, ONE},
};
EACH(accept, a_coding_that_needs_a_dictionary_is_named, differences)
{
    el_accept_t a;

    el_accept_parse(row->line, strlen(row->line), &a);
    named_eq(row->line, a.q[EL_DCB], row->dcb);
    named_eq(row->line, a.q[EL_DCZ], row->dcz);
}

static const struct {
    const char *line;
    el_coding_t order[EL_CODINGS];
    size_t count;
    el_coding_t chosen;
} choices[] = {
    {"gzip, br", {EL_BR, EL_GZIP}, 2, EL_BR}, {"gzip;q=1, br;q=0.9", {EL_BR, EL_GZIP}, 2, EL_GZIP},
    {"gzip;q=0.1, br;q=0.2, zstd;q=0.3", {EL_GZIP, EL_BR, EL_ZSTD}, 3, EL_ZSTD},
    {"gzip;q=0.501, br;q=0.5", {EL_BR, EL_GZIP}, 2, EL_GZIP}, {"br", {EL_GZIP}, 1, EL_IDENTITY},
    {"gzip", {EL_GZIP}, 0, EL_IDENTITY}, {"gzip;q=0.001", {EL_GZIP}, 1, EL_GZIP},
    {"gzip;q=0.5, identity", {EL_GZIP}, 1, EL_IDENTITY},
    {"gzip;q=0.5, identity;q=0.5", {EL_GZIP}, 1, EL_GZIP}, {"*", {EL_BR, EL_GZIP}, 2, EL_BR},
    {"gzip;q=0.5, *", {EL_GZIP}, 1, EL_IDENTITY}, {"gzip;q=0.5, *", {EL_GZIP, EL_BR}, 2, EL_BR},
    {"gzip;q=0, identity;q=0", {EL_GZIP}, 1, EL_IDENTITY},
};
EACH(accept, the_best_coding_is_chosen, choices)
{
    el_accept_t a;

    el_accept_parse(row->line, strlen(row->line), &a);
    named_eq(row->line, el_accept_choose(&a, row->order, row->count), row->chosen);
}

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

static const struct {
    const char *field;
    el_cache_control_t control;
} fields[] = {
    {"", {0}}, {"max-age=60", {.has_max_age = true, .max_age = 60}},
    {"PRIVATE, Max-Age=1", {.only_mine = true, .has_max_age = true, .max_age = 1}},
    {"xprivate, private2, no-stores", {0}},
    {"no-store,no-cache , \tprivate", {.no_store = true, .no_cache = true, .only_mine = true}},
    {"private=\"set-cookie, no-store\", no-cache=\"a\"", {.only_mine = true, .no_cache = true}},
    {"ext=\"\\\", no-store\", private", {.only_mine = true}},
    {"ext=\"abc, no-store", {0}}, {"ext=\"a\", no-store", {.no_store = true}},
    {"ext;\"a, no-store", {.no_store = true}}, {"ext=\"a\\", {0}},
    {"max-age=0, stale-while-revalidate=86400", {.has_max_age = true}},
    {"max-age=\"60\"", {.has_max_age = true, .max_age = 60}}, {"max-age=x", {.has_max_age = true}},
    {"max-age=60x", {.has_max_age = true}}, {"max-age", {.has_max_age = true}},
    {"max-age=-1", {.has_max_age = true}},
    {"max-age=60, max-age=10, max-age=20", {.has_max_age = true, .max_age = 10}},
    {"max-age=99999999999", {.has_max_age = true, .max_age = 2147483647}},
    {"max-age=99999999999999999999999", {.has_max_age = true}}, {"s-maxage=60", {0}},
    {"=, ;;, @, private", {.only_mine = true}}, {",, ,no-store,", {.no_store = true}},
};

TEST(coding, a_difference_begins_with_a_magic_number_and_the_dictionarys_hash)
{
    static const char dcb[] = "\xff\x44\x43\x42", dcz[] = "\x5e\x2a\x4d\x18\x20\0\0\0";
    uint8_t hash[EL_DICTIONARY_HASH], head[EL_DICTIONARY_HEAD];

    memset(hash, 'h', sizeof(hash));
    ck_assert_uint_eq(el_dictionary_head(EL_DCB, hash, head), 4 + sizeof(hash));
    ck_assert(memcmp(head, dcb, 4) == 0 && memcmp(head + 4, hash, sizeof(hash)) == 0);
    ck_assert_uint_eq(el_dictionary_head(EL_DCZ, hash, head), 8 + sizeof(hash));
    ck_assert(memcmp(head, dcz, 8) == 0 && memcmp(head + 8, hash, sizeof(hash)) == 0);
}

CASE(cache_control);

EACH(cache_control, a_field_says_how_long, fields)
{
    el_cache_control_t found = el_cache_control_parse(row->field);

    named_eq(row->field, found.no_store, row->control.no_store);
    named_eq(row->field, found.no_cache, row->control.no_cache);
    named_eq(row->field, found.only_mine, row->control.only_mine);
    named_eq(row->field, found.has_max_age, row->control.has_max_age);
    named_eq(row->field, found.max_age, row->control.max_age);
}

static const struct {
    const char *pattern;
    bool ok;
} patterns[] = {
    {"text/html", true}, {"application/vnd.ms-x+json", true}, {"text/*", true},
    {"application/*+json", true}, {"*/*", true}, {"application/*+x", true}, {"text", false},
    {"", false}, {"/html", false}, {"text/", false}, {"text/html/x", false},
    {"text/html;charset=utf-8", false}, {"text/html ", false}, {" text/html", false},
    {"text/html,text/css", false}, {"*/html", false}, {"*/h", false}, {"*/*+json", false},
    {"te*t/html", false},
    {"text/ht*", false}, {"text/*html", false}, {"application/*+", false},
    {"application/*+js*n", false}, {"application/*+js*", false}, {"text/**", false},
    {"application/x+js*", false}, {"application/**+x", false}, {"application/x*+x", false},
};

CASE(mediatype);

EACH(mediatype, a_pattern_is_one_or_not, patterns)
{
    el_mediatype_t pattern;

    named_eq(row->pattern, el_mediatype_pattern(row->pattern, &pattern), row->ok);
}

static const struct {
    const char *pattern, *type;
    bool match;
} matches[] = {
    {"text/html", "text/html", true}, {"text/html", "text/html; charset=utf-8", true},
    {"text/html", "text/html;charset=utf-8", true}, {"text/html", "text/html ", true},
    {"text/html", " \ttext/html", true}, {"text/html", "Text/HTML", true},
    {"TEXT/Html", "text/html", true}, {"text/html", "text/css", false},
    {"text/html", "image/html", false}, {"text/html", "text/html5", false},
    {"text/html", "text/htm", false}, {"text/html", "texts/html", false},
    {"text/html", "tex/html", false}, {"text/*", "text/css", true}, {"text/*", "image/png", false},
    {"application/*+json", "application/ld+json", true},
    {"application/*+json", "application/LD+JSON;x=y", true},
    {"application/*+json", "application/ld+xml", false},
    {"application/*+json", "application/ld+jsonx", false},
    {"application/*+json", "application/json", false},
    {"application/*+json", "application/+json", false},
    {"application/*+json", "application/a+b+json", true},
    {"application/*+json", "text/ld+json", false}, {"~x!0.1/_", "~X!0.1/_", true},
    {"*/*", "image/png", true}, {"*/*", "", false}, {"*/*", "text/", false}, {"*/*", NULL, false},
    {"text/*", "text", false}, {"text/*", "/html", false}, {"text/html", "text;html", false},
    {"text/html", "text/xtml", false}, {"text/html", "font/html", false},
};
EACH(mediatype, a_type_matches_or_not, matches)
{
    el_mediatype_t pattern, type;
    bool matches_it;

    ck_assert(el_mediatype_pattern(row->pattern, &pattern));
    matches_it = el_mediatype_read(row->type, &type) && el_mediatype_match(&pattern, &type);
    ck_assert_msg(matches_it == row->match, "%s, %s", row->pattern, row->type);
}

/* A test against httpd has the whole list. */
TEST(mediatype, some_types_are_listed_by_default)
{
    static const char *const others[] = {
        "image/png", "application/zip", "video/mp4", "text/", "text", "", "audio/mpeg",
        "model/step+zip", "multipart/x+json", "tart/html", "te/html", "textxhtml",
        "application/mpegurl", NULL};
    static const char *const listed[] = {
        "application/ld+json", " \tText/HTML; charset=utf-8", "image/vnd.microsoft.icon",
        "application/x-font-otf", "application/openapi+yaml;version=3", "application/geo+json-seq",
        "audio/x-scpls", "font/sfnt", "model/gltf+json", "model/stl"};

    for (int i = 0; i < ROWS(listed); i++) {
        ck_assert_msg(el_mediatype_is_default(listed[i]), "%s", listed[i]);
    }
    for (int i = 0; i < ROWS(others); i++) {
        ck_assert(!el_mediatype_is_default(others[i]));
    }
}

static const struct {
    const char *field;
    const char *hex; /* NULL: refused */
} sequences[] = {
    {":AAECAw==:", "00010203"}, {":+/zZ9w==:", "fbfcd9f7"}, {"  :AAECAw==: ", "00010203"},
    {"\t:AAECAw==:", NULL}, {":AAEC:", NULL}, {":AAECAwQ=:", NULL}, {":AAECAw:", NULL},
    {":AAECAw=:", NULL}, {":AAEC==Aw:", NULL}, {":AAECAx==:", NULL}, {":-_zZ9w==:", NULL},
    {":AAEC w==:", NULL}, {":AAECAw==", NULL}, {"AAECAw==:", NULL}, {":", NULL}, {"::", NULL},
    {"xAAECAw==:", NULL}, {":AAECAw=A:", NULL}, {":AAECA===:", NULL}, {":AAECAwQF:", NULL},
    {"", NULL}, {" ", NULL}, {":AAECAw==:;q=1", NULL}, {":AAECAw==:, :AAECAw==:", NULL},
    {"\"AAECAw==\"", NULL},
};

CASE(structured);

EACH(structured, a_byte_sequence_is_read, sequences)
{
    uint8_t bytes[4] = {0};
    char hex[9];
    bool is_one = el_structured_bytes(row->field, bytes, sizeof(bytes));

    named_eq(row->field, is_one, row->hex != NULL);
    snprintf(hex, sizeof(hex), "%02x%02x%02x%02x", bytes[0], bytes[1], bytes[2], bytes[3]);
    named_str_eq(row->field, hex, is_one ? row->hex : hex);
}

TEST(structured, a_byte_sequence_may_end_without_padding)
{
    uint8_t bytes[3];

    ck_assert(el_structured_bytes(":AAEC:", bytes, sizeof(bytes)));
    ck_assert(memcmp(bytes, "\0\1\2", 3) == 0);
}

static const struct {
    const char *field;
    const char *text; /* NULL: refused */
} strings[] = {
    {"\"abc\"", "abc"}, {"\"\"", ""}, {"\"a\\\"b\\\\\"", "a\"b\\"}, {" \"abc\"  ", "abc"},
    {"\" a \"", " a "}, {"\"1234567\"", "1234567"}, {"\"12345678\"", NULL}, {"\"\\n\"", NULL},
    {"\"abc\\\"", NULL}, {"\"a\"b\"", NULL}, {"\"a\x01\"", NULL}, {"\"a\x7f\"", NULL},
    {"\"\xc3\xa9\"", NULL}, {"\"abc", NULL}, {"\"", NULL}, {"abc", NULL}, {"\"abc\";q", NULL},
    {"\"a\", \"b\"", NULL}, {"", NULL},
};
EACH(structured, a_string_is_read, strings)
{
    char text[8] = "before";
    bool is_one = el_structured_string(row->field, text, sizeof(text));

    named_eq(row->field, is_one, row->text != NULL);
    named_str_eq(row->field, text, is_one ? row->text : "");
}

TEST(structured, a_dictionary_is_written)
{
    char text[200], small[8];
    el_structured_writer_t writer = el_structured_begin(text, sizeof(text));

    ck_assert_str_eq(text, "");
    el_structured_add_string(&writer, "match", "/a\"b\\c");
    el_structured_add_words(&writer, "match-dest", "  document  script ");
    el_structured_add_words(&writer, "none", "");
    ck_assert_str_eq(text,
                     "match=\"/a\\\"b\\\\c\", match-dest=(\"document\" \"script\"), none=()");
    ck_assert(!writer.short_of_room);

    writer = el_structured_begin(text, sizeof(text));
    el_structured_add_bare(&writer, "a", "token");
    el_structured_param_bare(&writer, "b", "1.5");
    el_structured_param_string(&writer, "c", "\"\\\n\xff~");
    el_structured_add_bare(&writer, "d", "2");
    ck_assert_str_eq(text, "a=token; b=1.5; c=\"\\\"\\\\??~\", d=2");

    writer = el_structured_begin(small, sizeof(small));
    el_structured_add_string(&writer, "id", "123");
    ck_assert(writer.short_of_room && strlen(small) < sizeof(small));
}

TEST(structured, what_a_string_can_hold_is_printable)
{
    ck_assert(el_structured_can_hold("") && el_structured_can_hold(" ~\"\\"));
    ck_assert(!el_structured_can_hold("a\n") && !el_structured_can_hold("\x7f"));
    ck_assert(!el_structured_can_hold("\xc3\xa9"));
}
