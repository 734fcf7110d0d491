#include "elastic/accept.h"

#include "suites.h"

/* Identity's weight where nothing names it, and full weight. */
#define U EL_Q_UNLISTED_IDENTITY
#define ONE EL_Q_ONE

static const struct {
    const char *label;
    const char *line;
    uint16_t identity, gzip, br, zstd;
} lines[] = {
    /* what the field means */
    {"no field: identity only", NULL, U, 0, 0, 0},
    {"an empty field: identity only", "", U, 0, 0, 0},
    {"blanks and commas only", " \t, ,,\t", U, 0, 0, 0},
    {"one coding", "gzip", U, ONE, 0, 0},
    {"what browsers send", "gzip, deflate, br, zstd", U, ONE, ONE, ONE},
    {"unknown codings are passed over", "deflate, compress, exi", U, 0, 0, 0},
    {"x-gzip is gzip", "x-gzip", U, ONE, 0, 0},
    {"x-gzip refused is gzip refused", "x-gzip;q=0", U, 0, 0, 0},
    {"any case of letters", "GZip, BR, ZStD", U, ONE, ONE, ONE},
    {"identity by name", "identity", ONE, 0, 0, 0},
    {"identity in capitals", "IDENTITY;q=0.5", 1000, 0, 0, 0},
    {"identity refused", "gzip, identity;q=0", 0, ONE, 0, 0},
    {"a name that begins like identity", "identity2;q=0", U, 0, 0, 0},
    {"a beginning of identity", "ident;q=0", U, 0, 0, 0},

    /* weights */
    {"one digit", "gzip;q=0.5", U, 1000, 0, 0},
    {"two digits", "gzip;q=0.25", U, 500, 0, 0},
    {"one", "gzip;q=1", U, ONE, 0, 0},
    {"one with a bare point", "gzip;q=1.", U, ONE, 0, 0},
    {"one with zeros", "gzip;q=1.000", U, ONE, 0, 0},
    {"zero", "gzip;q=0", U, 0, 0, 0},
    {"zero with a bare point", "gzip;q=0.", U, 0, 0, 0},
    {"zero with three digits", "gzip;q=0.000", U, 0, 0, 0},
    {"Q in capitals", "gzip;Q=0.5", U, 1000, 0, 0},
    {"weights stay with their coding", "gzip;q=0.1, br;q=0.2, zstd;q=0.3, identity;q=0.4", 800,
     200, 400, 600},

    /* weights that are none: as though absent, as httpd's own tests want it */
    {"four digits of zero", "gzip;q=0.0000", U, ONE, 0, 0},
    {"no weight after the semicolon", "gzip;", U, ONE, 0, 0},
    {"an empty weight", "gzip;q=", U, ONE, 0, 0},
    {"a weight without =", "gzip;q", U, ONE, 0, 0},
    {"above one", "gzip;q=1.001", U, ONE, 0, 0},
    {"two digits before the point", "gzip;q=00", U, ONE, 0, 0},
    {"ten", "gzip;q=10", U, ONE, 0, 0},
    {"nothing before the point", "gzip;q=.5", U, ONE, 0, 0},
    {"negative", "gzip;q=-0", U, ONE, 0, 0},
    {"a letter after the fraction", "gzip;q=0.5x", U, ONE, 0, 0},
    {"a hyphen in the fraction", "gzip;q=0.-", U, ONE, 0, 0},
    {"an exponent", "gzip;q=0e0", U, ONE, 0, 0},
    {"a quoted weight", "gzip;q=\"0\"", U, ONE, 0, 0},
    {"the weight after one that is none", "gzip;q=x;q=0.5", U, 1000, 0, 0},
    {"the weight after one beyond one", "gzip;q=1.001;q=0.5", U, 1000, 0, 0},
    {"the weight after one too long", "gzip;q=00;q=0.5", U, 1000, 0, 0},
    {"the weight after one with a letter", "gzip;q=0.x;q=0.5", U, 1000, 0, 0},
    {"the first of two weights", "gzip;q=0.5;q=0", U, 1000, 0, 0},
    {"the first of two weights, if it is one", "gzip;q=1;q=0", U, ONE, 0, 0},

    /* the star */
    {"a star is for all", "*", ONE, ONE, ONE, ONE},
    {"a star with a weight", "*;q=0.5", 1000, 1000, 1000, 1000},
    {"a star refuses all", "*;q=0", 0, 0, 0, 0},
    {"a star spares what is named before it", "gzip;q=0.5, *;q=0", 0, 1000, 0, 0},
    {"a star spares what is named after it", "*;q=0, gzip;q=0.5", 0, 1000, 0, 0},
    {"a star spares a refusal", "gzip;q=0, *", ONE, 0, ONE, ONE},
    {"a star spares identity", "identity;q=0.3, *;q=0", 600, 0, 0, 0},
    {"the first star counts", "*;q=0.5, *;q=0", 1000, 1000, 1000, 1000},
    {"a star and more is no star", "**", U, 0, 0, 0},

    /* duplicates */
    {"the first mention counts", "gzip;q=0.5, gzip;q=0", U, 1000, 0, 0},
    {"a refusal is not lifted", "gzip;q=0, gzip", U, 0, 0, 0},
    {"the alias is a mention", "x-gzip;q=0.5, gzip;q=1", U, 1000, 0, 0},
    {"the token is a mention", "gzip;q=0, x-gzip", U, 0, 0, 0},
    {"the first mention of identity counts", "identity;q=0, identity", 0, 0, 0, 0},

    /* whitespace */
    {"no space at all", "gzip;q=0.5,br;q=0.25", U, 1000, 500, 0},
    {"spaces around the semicolon", "gzip ; q=0.5", U, 1000, 0, 0},
    {"tabs around the semicolon", "gzip\t;\tq=0.5", U, 1000, 0, 0},
    {"spaces around the equals sign", "gzip;q = 0.5", U, 1000, 0, 0},
    {"a refusal with spaces is one", "gzip;q\t= 0 , br", U, 0, ONE, 0},
    {"spaces around the comma", "gzip \t,\t br", U, ONE, ONE, 0},
    {"leading and trailing", " \tgzip;q=0.5\t ", U, 1000, 0, 0},
    {"empty members", ",,gzip,, ,br,", U, ONE, ONE, 0},
    {"empty parameters", "gzip;;;q=0.5;", U, 1000, 0, 0},

    /* other parameters */
    {"a parameter before the weight", "gzip;level=9;q=0.5", U, 1000, 0, 0},
    {"a parameter that ends in q", "gzip;xq=0", U, ONE, 0, 0},
    {"a parameter that begins with q", "gzip;qx=0", U, ONE, 0, 0},
    {"a comma within quotes", "gzip;x=\"a, br\";q=0.5", U, 1000, 0, 0},
    {"a weight within quotes", "gzip;x=\";q=0\"", U, ONE, 0, 0},
    {"an escaped quote", "gzip;x=\"\\\", br\";q=0.5, zstd", U, 1000, 0, ONE},
    {"an escaped backslash", "gzip;x=\"\\\\\", br", U, ONE, ONE, 0},
    {"an empty string", "gzip;x=\"\", br", U, ONE, ONE, 0},

    /* members that are none */
    {"a space within a name", "gz ip, br", U, 0, ONE, 0},
    {"two names without a comma", "gzip br", U, 0, 0, 0},
    {"text after the weight", "gzip;q=0.5 x, br", U, 0, ONE, 0},
    {"text after a string", "gzip;x=\"a\"b, br", U, 0, ONE, 0},
    {"a slash", "gzip/1.0, br", U, 0, ONE, 0},
    {"no name", ";q=0, br", U, 0, ONE, 0},
    {"a string for a name", "\"gzip\", br", U, 0, ONE, 0},
    {"a comma within a stray string", "@\"a, gzip\", br", U, 0, ONE, 0},
    {"a string that never closes", "br, gzip;x=\"a, zstd", U, 0, ONE, 0},
    {"an escaped quote at the end of it", "br, gzip;x=\"a\\\"", U, 0, ONE, 0},
    {"a backslash at the end of it", "br, gzip;x=\"a\\", U, 0, ONE, 0},
    {"a control character", "gzip\001, br", U, 0, ONE, 0},
    {"bytes beyond ASCII", "gzip\xc3\xa9, \xff, br", U, 0, ONE, 0},
    {"an equals sign alone", "gzip;=0, br", U, 0, ONE, 0},
    {"a skipped mention is none", "gzip x;q=0, gzip;q=0.5", U, 1000, 0, 0},
};

CASE(accept);

EACH(accept, a_line_gives_weights, lines)
{
    el_accept_t a;

    el_accept_parse(row->line, row->line != NULL ? strlen(row->line) : 0, &a);
    row_eq(a.q[EL_IDENTITY], row->identity);
    row_eq(a.q[EL_GZIP], row->gzip);
    row_eq(a.q[EL_BR], row->br);
    row_eq(a.q[EL_ZSTD], row->zstd);
}

TEST(accept, only_len_bytes_are_read)
{
    static const char text[] = "gzip;q=\"a\\\"b\", br;q=0.125 , *;q=0";
    el_accept_t a;

    for (size_t len = 0; len < sizeof(text); len++) {
        char *exact = copy_of(text, len);

        el_accept_parse(exact, len, &a);
        free(exact);
    }
    el_accept_parse("gzip, br", 4, &a);
    ck_assert(a.q[EL_GZIP] == ONE && a.q[EL_BR] == 0);
    /* Nor does a zero end them. */
    el_accept_parse("gzip\0, br", 9, &a);
    ck_assert(a.q[EL_GZIP] == 0 && a.q[EL_BR] == ONE);
}

TEST(accept, every_weight_of_three_digits_is_read)
{
    for (unsigned thousandths = 0; thousandths < 1000; thousandths++) {
        char text[24];
        el_accept_t a;
        int len = snprintf(text, sizeof(text), "br;q=0.%03u", thousandths);

        el_accept_parse(text, (size_t)len, &a);
        ck_assert_uint_eq(a.q[EL_BR], 2 * thousandths);
    }
}

/*
 * Each is repeated to 1 MB, sixteen lines of 64 KB. Work that grew with the square of the length
 * would take hours; libcheck's time limit is four seconds.
 */
static const char *const hostile[] = {
    ",", " ", ";", "=", "\"", "\\", "\"\\", "gzip,", "gzip;", "gzip;q=0,", "gzip;x=\"", "*;q=",
    "gzip;x=\"a\",", "a ", "@", "@\"", "q=", ";q=0.", "identity;q=0,", "\t;\t",
};

EACH(accept, a_hostile_line_costs_no_more_than_its_bytes, hostile)
{
    size_t size = 16 * 65536;
    char *line = repeat(*row, size);
    el_accept_t a;

    el_accept_parse(line, size, &a);
    for (unsigned c = 0; c < EL_ALL_CODINGS; c++) {
        ck_assert_uint_le(a.q[c], EL_Q_ONE);
    }
    free(line);
}

static const struct {
    const char *label;
    const char *line;
    uint16_t dcb, dcz;
} differences[] = {
    {"what browsers send that have a dictionary", "gzip, deflate, br, zstd, dcb, dcz", ONE, ONE},
    {"what they send otherwise", "gzip, deflate, br, zstd", 0, 0},
    {"a star has no dictionary", "*", 0, 0},
    {"a star beside one", "dcz;q=0.5, *", 0, ONE / 2},
    {"one is refused", "dcb, dcz;q=0", ONE, 0},
    {"capitals", "DCZ", 0, ONE},
};

EACH(accept, a_coding_that_needs_a_dictionary_is_named, differences)
{
    el_accept_t a;

    el_accept_parse(row->line, strlen(row->line), &a);
    row_eq(a.q[EL_DCB], row->dcb);
    row_eq(a.q[EL_DCZ], row->dcz);
}

TEST(accept, the_last_member_of_a_long_line_counts)
{
    static const char last[] = ", br;q=0.5";
    size_t size = 65536;
    char *line = repeat("x", size);
    el_accept_t a;

    strcpy(line + size - strlen(last), last);
    el_accept_parse(line, size, &a);
    ck_assert_uint_eq(a.q[EL_BR], 1000);
    free(line);
}

static const struct {
    const char *label;
    const char *line;
    el_coding_t order[EL_CODINGS];
    size_t count;
    el_coding_t chosen;
} choices[] = {
    {"the server's order among equals", "gzip, br", {EL_BR, EL_GZIP}, 2, EL_BR},
    {"the server's order, the other way", "br, gzip", {EL_GZIP, EL_BR}, 2, EL_GZIP},
    {"the heavier one", "gzip;q=1, br;q=0.9", {EL_BR, EL_GZIP}, 2, EL_GZIP},
    {"the heavier one, last in order", "gzip;q=0.1, br;q=0.2, zstd;q=0.3",
     {EL_GZIP, EL_BR, EL_ZSTD}, 3, EL_ZSTD},
    {"the heavier one, first in order", "gzip;q=0.3, br;q=0.2", {EL_GZIP, EL_BR}, 2, EL_GZIP},
    {"a thousandth decides", "gzip;q=0.501, br;q=0.5", {EL_BR, EL_GZIP}, 2, EL_GZIP},
    {"what is not enabled is not chosen", "br", {EL_GZIP}, 1, EL_IDENTITY},
    {"nothing enabled", "gzip", {EL_GZIP}, 0, EL_IDENTITY},
    {"no field", NULL, {EL_GZIP, EL_BR}, 2, EL_IDENTITY},
    {"all refused", "*;q=0", {EL_GZIP, EL_BR}, 2, EL_IDENTITY},
    {"the least weight beats identity unnamed", "gzip;q=0.001", {EL_GZIP}, 1, EL_GZIP},
    {"identity preferred", "gzip;q=0.5, identity", {EL_GZIP}, 1, EL_IDENTITY},
    {"the coding wins at equal weight", "gzip;q=0.5, identity;q=0.5", {EL_GZIP}, 1, EL_GZIP},
    {"a star is a wish for codings too", "*", {EL_BR, EL_GZIP}, 2, EL_BR},
    {"identity preferred by a star", "gzip;q=0.5, *", {EL_GZIP}, 1, EL_IDENTITY},
    {"a star for another coding", "gzip;q=0.5, *", {EL_GZIP, EL_BR}, 2, EL_BR},
    {"all but one refused", "br;q=0.1, *;q=0", {EL_GZIP, EL_BR}, 2, EL_BR},
    {"a refused coding, even if identity is too", "gzip;q=0, identity;q=0", {EL_GZIP}, 1,
     EL_IDENTITY},
};

EACH(accept, the_best_coding_is_chosen, choices)
{
    el_accept_t a;

    el_accept_parse(row->line, row->line != NULL ? strlen(row->line) : 0, &a);
    row_eq(el_accept_choose(&a, row->order, row->count), row->chosen);
}

TEST(accept, a_weight_above_zero_is_taken)
{
    el_accept_t a;

    el_accept_parse("gzip;q=0.001, br;q=0", 20, &a);
    ck_assert(el_accept_takes(&a, EL_GZIP) && !el_accept_takes(&a, EL_BR));
    ck_assert(el_accept_takes(&a, EL_IDENTITY) && !el_accept_takes(&a, EL_ZSTD));
    el_accept_parse("identity;q=0", 12, &a);
    ck_assert(!el_accept_takes(&a, EL_IDENTITY));
}
