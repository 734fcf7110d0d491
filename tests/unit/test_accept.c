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
