#include "elastic/etag.h"

#include "suites.h"

/* The rule of an `accept`, and what else is set of it. */
#define RULE(...) (&(const el_etag_rule_t){.accept = __VA_ARGS__})

static const struct {
    const char *label;
    const char *tag;
    el_etag_mode_t mode;
    el_coding_t coding;
    const char *encoded; /* NULL: removed */
} encodings[] = {
    {"weak", "\"x\"", EL_ETAG_WEAK, EL_GZIP, "W/\"x-gzip\""},
    {"weak, br", "\"x\"", EL_ETAG_WEAK, EL_BR, "W/\"x-br\""},
    {"weak, zstd", "\"x\"", EL_ETAG_WEAK, EL_ZSTD, "W/\"x-zstd\""},
    {"weak of weak", "W/\"x\"", EL_ETAG_WEAK, EL_GZIP, "W/\"x-gzip\""},
    {"suffix", "\"x\"", EL_ETAG_SUFFIX, EL_GZIP, "\"x-gzip\""},
    {"suffix, br", "\"x\"", EL_ETAG_SUFFIX, EL_BR, "\"x-br\""},
    {"suffix of weak", "W/\"x\"", EL_ETAG_SUFFIX, EL_GZIP, "W/\"x-gzip\""},
    {"keep", "\"x\"", EL_ETAG_KEEP, EL_GZIP, "\"x\""},
    {"keep of weak", "W/\"x\"", EL_ETAG_KEEP, EL_GZIP, "W/\"x\""},
    {"remove", "\"x\"", EL_ETAG_REMOVE, EL_GZIP, NULL},
    {"remove of no tag", "x", EL_ETAG_REMOVE, EL_GZIP, NULL},
    {"the empty tag", "\"\"", EL_ETAG_SUFFIX, EL_GZIP, "\"-gzip\""},
    {"no coding", "\"x\"", EL_ETAG_WEAK, EL_IDENTITY, "\"x\""},
    {"unquoted", "x", EL_ETAG_WEAK, EL_GZIP, "x"},
    {"unquoted but weak", "W/x", EL_ETAG_SUFFIX, EL_GZIP, "W/x"},
    {"quoted in front only", "\"x", EL_ETAG_WEAK, EL_GZIP, "\"x"},
    {"quoted behind only", "x\"", EL_ETAG_WEAK, EL_GZIP, "x\""},
    {"one quote", "\"", EL_ETAG_WEAK, EL_GZIP, "\""},
    {"a small w", "w/\"x\"", EL_ETAG_WEAK, EL_GZIP, "w/\"x\""},
    {"nothing", "", EL_ETAG_WEAK, EL_GZIP, ""},
    {"httpd's own", "\"2aa6-5f1b3c\"", EL_ETAG_WEAK, EL_BR, "W/\"2aa6-5f1b3c-br\""},
};

CASE(etag);

EACH(etag, a_tag_is_encoded, encodings)
{
    const char *tag = row->tag;
    size_t size = strlen(tag) + EL_ETAG_GROWTH;
    char *out = malloc(size);
    bool kept;

    ck_assert_ptr_nonnull(out);
    kept = el_etag_encode(tag, row->mode, row->coding, out, size);
    row_eq(kept, (row->encoded != NULL));
    row_str_eq(out, kept ? row->encoded : "");
    free(out);
}

/* The tags of the list, joined by bars. */
static const struct {
    const char *label;
    const char *list;
    const char *tags;
} lists[] = {
    {"one", "\"a\"", "\"a\"|"},
    {"several", "\"a\", \"b\",\"c\"", "\"a\"|\"b\"|\"c\"|"},
    {"weak ones", "W/\"a\", \"b\", W/\"c\"", "W/\"a\"|\"b\"|W/\"c\"|"},
    {"commas within tags", "\"a,b\", \",\"", "\"a,b\"|\",\"|"},
    {"a space within a tag", "\"a b\", \"c\"", "\"a b\"|\"c\"|"},
    {"a backslash is a character like others", "\"a\\\", \"b\"", "\"a\\\"|\"b\"|"},
    {"the empty tag", "\"\", \"b\"", "\"\"|\"b\"|"},
    {"blanks, tabs, empty members", " ,\t,\"a\" \t, ,\"b\", ", "\"a\"|\"b\"|"},
    {"a space for a comma", "\"a\" \"b\"", "\"a\"|\"b\"|"},
    {"the star", "*", ""},
    {"a star among tags", "*, \"a\"", "\"a\"|"},
    {"nothing", "", ""},
    {"unquoted members", "a, \"b\", c", "\"b\"|"},
    {"a quoted part of garbage", "a\"x, y\", \"b\"", "\"b\"|"},
    {"a quote in garbage hides up to the next", "a\"x, \"b\"", ""},
    {"a small w", "w/\"x\", \"b\"", "\"b\"|"},
    {"W/ without a tag", "W/, W/x, \"b\", W/ \"c\"", "\"b\"|"},
    {"text behind a tag", "\"a\"x, \"b\"", "\"a\"|\"b\"|"},
    {"a tag that never closes", "\"a\", \"b", "\"a\"|"},
    {"a weak tag that never closes", "\"a\", W/\"b", "\"a\"|"},
    {"garbage that never closes", "\"a\", x\"b", "\"a\"|"},
    {"W at the end", "\"a\", W", "\"a\"|"},
    {"a quote at the end", "\"a\", \"", "\"a\"|"},
};

EACH(etag, a_list_gives_its_tags, lists)
{
    char joined[100] = "";
    const char *cursor = row->list;
    el_etag_t tag;

    while (el_etag_next(&cursor, &tag)) {
        strncat(joined, tag.text, tag.len);
        strcat(joined, "|");
        ck_assert(tag.weak == (tag.text[0] == 'W'));
    }
    row_str_eq(joined, row->tags);
    row_eq(*cursor, '\0');
    ck_assert(!el_etag_next(&cursor, &tag));
}

static const struct {
    const char *label;
    const char *tag;
    const char *other;
    bool same;
} pairs[] = {
    {"the same", "\"x\"", "\"x\"", true},
    {"weak and strong", "W/\"x\"", "\"x\"", true},
    {"strong and weak", "\"x\"", "W/\"x\"", true},
    {"both weak", "W/\"x\"", "W/\"x\"", true},
    {"case counts", "\"x\"", "\"X\"", false},
    {"a longer one", "\"x\"", "\"xy\"", false},
    {"a shorter one", "\"xy\"", "\"x\"", false},
    {"a suffix", "\"x-gzip\"", "\"x\"", false},
    {"unquoted", "\"x\"", "x", false},
    {"nothing", "\"x\"", "", false},
    {"the empty tag", "\"\"", "\"\"", true},
};

EACH(etag, tags_compare_weakly, pairs)
{
    const char *cursor = row->tag;
    el_etag_t tag;

    ck_assert(el_etag_next(&cursor, &tag));
    row_eq(el_etag_same(&tag, row->other), row->same);
}

static const struct {
    const char *label;
    const char *tag;
    el_coding_t coding;
    size_t base;
} suffixes[] = {
    {"gzip's", "\"x-gzip\"", EL_GZIP, 2},
    {"br's", "\"x-br\"", EL_BR, 2},
    {"zstd's", "\"xyz-zstd\"", EL_ZSTD, 4},
    {"that of a difference", "\"xyz-dcz\"", EL_DCZ, 4},
    {"of a weak tag, the base counts from the quote", "W/\"x-gzip\"", EL_GZIP, 2},
    {"the last of two", "\"x-gzip-br\"", EL_BR, 7},
    {"of the empty tag", "\"-br\"", EL_BR, 1},
    {"none", "\"x\"", EL_IDENTITY, 0},
    {"the empty tag", "\"\"", EL_IDENTITY, 0},
    {"without its hyphen", "\"gzip\"", EL_IDENTITY, 0},
    {"in capitals", "\"x-GZIP\"", EL_IDENTITY, 0},
    {"not at the end", "\"x-gzip1\"", EL_IDENTITY, 0},
    {"mod_deflate's for inflated bodies", "\"x-gunzip\"", EL_IDENTITY, 0},
};

EACH(etag, a_suffix_gives_the_coding, suffixes)
{
    const char *cursor = row->tag;
    size_t base = 0;
    el_etag_t tag;

    ck_assert(el_etag_next(&cursor, &tag));
    row_eq(el_etag_coding(&tag, &base), row->coding);
    row_eq(base, row->base);
}

static const struct {
    const char *label;
    const char *text;
    bool made;
} shapes[] = {
    {"size and time, as httpd's files have", "29cd-660c007f3220d", true},
    {"inode, size and time", "1a-29cd-660c007f3220d", true},
    {"a time alone", "660c007f3220d", true},
    {"a hash", "d41d8cd98f00b204e9800998ecf8427e", true},
    {"as long as a time just is", "1234567890", true},
    {"a digest", "2jmj7l5rSw0yVb/vlWAYkK/YBwk=", true},
    {"a digest without its sign", "2jmj7l5rSw0yVb/vlWAYkK/YBwkA", false},
    {"a digest that is too long", "A2jmj7l5rSw0yVb/vlWAYkK/YBwk=", false},
    {"a name", "home", false},
    {"a name of such letters", "cafe", false},
    {"two of them", "bad-decade", false},
    {"a date", "2024-01-31", false},
    {"a date without dashes", "20240131", false},
    {"not as long as a time", "123456789", false},
    {"four numbers", "1-2-3-660c007f3220d", false},
    {"capitals", "660C007F3220D", false},
    {"another letter", "660c007f3220g", false},
    {"a dash in front", "-660c007f3220d", false},
    {"a dash behind", "660c007f3220d-", false},
    {"two dashes", "1--660c007f3220d", false},
    {"with a suffix", "660c007f3220d-gzip", false},
    {"nothing", "", false},
};

EACH(etag, httpds_tags_are_told_from_others, shapes)
{
    const char *text = row->text;

    row_eq(el_etag_is_made(text, strlen(text)), row->made);
}

/* The rows below have x and y for such tags. */
static const char *expand(const char *row, char *out)
{
    char *to = out;

    for (; *row != '\0'; row++) {
        to += sprintf(to, "%.*s", *row == 'x' || *row == 'y' ? 20 : 1,
                      *row == 'x' ? "12-0123456789ab" : *row == 'y' ? "abcdef0123" : row);
    }
    *to = '\0';
    return out;
}

static const struct {
    const char *label;
    const char *list;
    const char *accept;
    const char *bases;
    bool unsure;
} based[] = {
    {"one", "\"x-gzip\"", "gzip", ", W/\"x\"", false},
    {"a weak one", "W/\"x-gzip\"", "gzip", ", W/\"x\"", false},
    {"of two codings", "\"x-gzip\", W/\"y-br\"", "gzip, br", ", W/\"x\", W/\"y\"", false},
    {"only of codings that are taken", "\"x-gzip\", \"y-br\"", "br", ", W/\"y\"", false},
    {"not of a refused one", "\"x-gzip\"", "gzip;q=0, *", "", false},
    {"the alias takes it", "\"x-gzip\"", "x-gzip", ", W/\"x\"", false},
    {"no suffix", "\"x\", W/\"y\"", "gzip", "", false},
    {"a comma within", "\"x,y-gzip\"", "gzip", "", true},
    {"of the empty tag", "\"-br\"", "br", "", true},
    {"a name that ends so", "\"home-br\", W/\"x-br\"", "br", ", W/\"x\"", true},
    {"a name that ends in what is not taken", "\"home-br\"", "gzip", "", false},
    {"the star", "*", "gzip", "", false},
    {"garbage", "x-gzip, \"x-gzip", "gzip", "", false},
    {"one suffix is taken off, not two", "\"x-gzip-gzip\"", "gzip", "", true},
};

EACH(etag, a_list_gives_the_bases, based)
{
    char list[100], bases[100];
    size_t size = strlen(expand(row->list, list)) * 2 + 1;
    char *out = malloc(size);
    bool unsure = false;
    el_accept_t accept;
    size_t written;

    ck_assert_ptr_nonnull(out);
    el_accept_parse(row->accept, strlen(row->accept), &accept);
    written = el_etag_bases(list, RULE(&accept), out, size, &unsure);
    row_str_eq(out, expand(row->bases, bases));
    ck_assert_uint_eq(written, strlen(out));
    row_eq(unsure, row->unsure);
    free(out);
}

TEST(etag, a_base_that_does_not_fit_is_left_out_whole)
{
    static const char list[] = "\"123456789-0123456789-gzip\", \"0123456789-gzip\"";
    el_accept_t accept;
    bool unsure = false;
    char out[64];

    el_accept_parse("gzip", 4, &accept);
    /* `, W/"0123456789"` and its zero take 17 bytes. */
    ck_assert_uint_eq(el_etag_bases(list, RULE(&accept), out, 17, &unsure), 16);
    ck_assert_str_eq(out, ", W/\"0123456789\"");
    ck_assert_uint_eq(el_etag_bases(list, RULE(&accept), out, 16, &unsure), 0);
    ck_assert_str_eq(out, "");
    out[0] = '!';
    ck_assert_uint_eq(el_etag_bases(list, RULE(&accept), out, 1, &unsure), 0);
    ck_assert_str_eq(out, "");
    out[0] = '!';
    ck_assert_uint_eq(el_etag_bases(list, RULE(&accept), out, 0, &unsure), 0);
    ck_assert_int_eq(out[0], '!');
    /* Both, exactly. */
    ck_assert_uint_eq(el_etag_bases(list, RULE(&accept), out, 43, &unsure), 42);
    ck_assert_str_eq(out, ", W/\"123456789-0123456789\", W/\"0123456789\"");
    ck_assert_uint_eq(el_etag_bases(list, RULE(&accept), out, 42, &unsure), 26);
}

TEST(etag, the_bases_of_the_tightest_list_fit)
{
    /* Nothing between the members, and as little in them as can be. */
    static const char list[] = "\"0123456789-br\"\"0123456789-br\"\"0123456789-br\"";
    char out[2 * sizeof(list) - 1];
    bool unsure = false;
    el_accept_t accept;

    el_accept_parse("br", 2, &accept);
    ck_assert_uint_eq(el_etag_bases(list, RULE(&accept), out, sizeof(out), &unsure), 3 * 16);
}

static const struct {
    const char *label;
    const char *list;
    const char *current;
    const char *accept;
    const char *named; /* NULL: none */
} names[] = {
    {"the identity's", "\"x\"", "\"x\"", "", "\"x\""},
    {"the identity's, weakly", "W/\"x\"", "\"x\"", "", "W/\"x\""},
    {"the identity's is weak itself", "\"x\"", "W/\"x\"", "", "\"x\""},
    {"a coding's", "\"x-gzip\"", "\"x\"", "gzip", "\"x-gzip\""},
    {"a coding's, weak", "W/\"x-br\"", "\"x\"", "gzip, br", "W/\"x-br\""},
    {"a coding's of a weak identity", "W/\"x-br\"", "W/\"x\"", "gzip, br", "W/\"x-br\""},
    {"a coding's that is not taken", "\"x-gzip\"", "\"x\"", "br", NULL},
    {"another tag", "\"y\"", "\"x\"", "gzip", NULL},
    {"another tag with the suffix", "\"y-gzip\"", "\"x\"", "gzip", NULL},
    {"a longer tag with the suffix", "\"xx-gzip\"", "\"x\"", "gzip", NULL},
    {"a shorter tag with the suffix", "\"x-gzip\"", "\"xx\"", "gzip", NULL},
    {"the identity's is preferred", "\"x-gzip\", \"x\"", "\"x\"", "gzip", "\"x\""},
    {"the first of two codings", "\"x-br\", \"x-gzip\"", "\"x\"", "gzip, br", "\"x-br\""},
    {"the second, where the first is not taken", "\"x-br\", \"x-gzip\"", "\"x\"", "gzip",
     "\"x-gzip\""},
    {"behind others", "\"a\", W/\"b-gzip\", \"x-gzip\"", "\"x\"", "gzip", "\"x-gzip\""},
    {"an identity whose tag ends so", "\"x-gzip\"", "\"x-gzip\"", "", "\"x-gzip\""},
    {"a current tag that is none", "\"x\", \"x-gzip\"", "x", "gzip", NULL},
    {"the star names none", "*", "\"x\"", "gzip", NULL},
    {"nothing", "", "\"x\"", "gzip", NULL},
};

EACH(etag, a_list_names_a_representation, names)
{
    const char *want = row->named;
    el_accept_t accept;
    el_etag_t named = {"", 0, false};
    bool found;

    el_accept_parse(row->accept, strlen(row->accept), &accept);
    found = el_etag_named(row->list, row->current, RULE(&accept), &named);
    row_eq(found, (want != NULL));
    if (found) {
        ck_assert_msg(named.len == strlen(want) && memcmp(named.text, want, named.len) == 0,
                      "%s: %.*s", row->label, (int)named.len, named.text);
        ck_assert(named.weak == (want[0] == 'W'));
    }
}

TEST(etag, an_encoded_tag_names_its_representation)
{
    static const char *const tags[] = {"\"x\"", "W/\"x\"", "\"\"", "\"a,b\"", "\"x-gzip\""};
    el_accept_t accept;

    el_accept_parse("*, dcb, dcz", 11, &accept);
    for (int i = 0; i < ROWS(tags); i++) {
        for (int coding = EL_GZIP; coding < EL_ALL_CODINGS; coding++) {
            char encoded[32];
            el_etag_t named;
            size_t base;

            el_etag_encode(tags[i], EL_ETAG_WEAK, (el_coding_t)coding, encoded, sizeof(encoded));
            ck_assert(el_etag_named(encoded, tags[i], RULE(&accept), &named));
            ck_assert_int_eq(el_etag_coding(&named, &base), coding);
        }
    }
}

static const struct {
    const char *label;
    const char *tag;
    el_etag_mode_t mode;
    const char *decoded; /* NULL: removed */
} decodings[] = {
    {"a strong tag stays strong", "\"x\"", EL_ETAG_SUFFIX, "\"x-gunzip\""},
    {"a weak one weak", "W/\"x\"", EL_ETAG_SUFFIX, "W/\"x-gunzip\""},
    {"weak by the rule", "\"x\"", EL_ETAG_WEAK, "W/\"x-gunzip\""},
    {"kept", "\"x\"", EL_ETAG_KEEP, "\"x\""},
    {"removed", "\"x\"", EL_ETAG_REMOVE, NULL},
    {"no tag", "x", EL_ETAG_SUFFIX, "x"},
};

EACH(etag, a_tag_is_decoded, decodings)
{
    char out[32];
    bool kept = el_etag_decode(row->tag, row->mode, out, sizeof(out));

    row_eq(kept, (row->decoded != NULL));
    row_str_eq(out, kept ? row->decoded : "");
}

static const struct {
    const char *label;
    const char *list;
    const char *accept;
    const char *bases;
    bool named; /* whether the list names what "x" becomes */
} decoded_lists[] = {
    {"decoded", "\"x-gunzip\"", "", ", W/\"x\"", true},
    {"weak", "W/\"x-gunzip\"", "", ", W/\"x\"", true},
    {"and encoded again", "W/\"x-gunzip-gzip\"", "gzip", ", W/\"x\"", true},
    {"and in a coding that is not taken", "\"x-gunzip-gzip\"", "br", "", false},
    {"encoded only", "\"x-gzip\"", "gzip", "", false},
    {"the other way round", "\"x-gzip-gunzip\"", "gzip", "", false},
    {"of the empty tag", "\"-gunzip\"", "", "", false},
    {"a name that ends so", "\"home-gunzip\"", "", "", false},
    {"another ending, as long", "\"x-foobar\"", "", "", false},
    {"shorter than the suffix", "\"gunzip\", \"\"", "", "", false},
    {"several", "\"y-gunzip\", \"z\", \"x-gunzip\"", "", ", W/\"y\", W/\"x\"", true},
};

EACH(etag, a_list_of_decoded_tags, decoded_lists)
{
    char list[100], bases[100], current[30], out[100];
    bool unsure = false;
    el_accept_t accept;
    el_etag_t named;

    el_accept_parse(row->accept, strlen(row->accept), &accept);
    expand(row->list, list);
    el_etag_bases(list, RULE(&accept, .decoded = true), out, sizeof(out), &unsure);
    row_str_eq(out, expand(row->bases, bases));
    row_assert(
               el_etag_named(list, expand("\"x\"", current), RULE(&accept, .decoded = true), &named) == row->named);
}

static const struct {
    const char *label;
    const char *list;
    const char *given;
    bool decoded;
    const char *bases;
} strong_lists[] = {
    {"a strong one", "\"x-gzip\"", "gzip", false, ", \"x\""},
    {"no weak one", "W/\"x-gzip\"", "gzip", false, ""},
    {"of two, the strong one", "W/\"x-gzip\", \"y-br\"", "gzip, br", false, ", \"y\""},
    {"no suffix", "\"x\", *", "gzip", false, ""},
    {"only of codings that are given", "\"x-gzip\", \"y-br\"", "br", false, ", \"y\""},
    {"none of what was decoded", "\"x-gunzip\"", "gzip", false, ""},
    {"decoded", "\"x-gunzip\", W/\"y-gunzip\"", "", true, ", \"x\""},
    {"decoded and encoded", "\"x-gunzip-gzip\"", "gzip", true, ", \"x\""},
    {"a name that ends so", "\"home-gzip\"", "gzip", false, ""},
};

EACH(etag, a_list_of_strong_tags, strong_lists)
{
    char list[100], bases[100], out[100];
    el_accept_t given;
    bool unsure = false;
    size_t written;

    el_accept_parse(row->given, strlen(row->given), &given);
    written = el_etag_bases(expand(row->list, list),
                            RULE(&given, .decoded = row->decoded, .strong = true), out,
                            sizeof(out), &unsure);
    row_str_eq(out, expand(row->bases, bases));
    ck_assert_uint_eq(written, strlen(out));
}

/* What If speaks of: each tag as RESOURCE:TAG, behind ! where Not is said of it, joined by bars. */
static const struct {
    const char *label;
    const char *field;
    const char *states;
} states[] = {
    {"one", "([\"a\"])", ":\"a\"|"},
    {"a weak one", "([W/\"a\"])", ":W/\"a\"|"},
    {"several in a list", "([\"a\"] [\"b\"])", ":\"a\"|:\"b\"|"},
    {"several lists", "([\"a\"]) (<t>) ([\"b\"])", ":\"a\"|:\"b\"|"},
    {"tokens beside them", "(<t> [\"a\"] <u>)", ":\"a\"|"},
    {"Not is said of the next alone", "(Not [\"a\"] [\"b\"])", "!:\"a\"|:\"b\"|"},
    {"Not before a token", "(Not <t> [\"a\"])", ":\"a\"|"},
    {"Not ends with its list", "(Not) ([\"a\"])", ":\"a\"|"},
    {"resources", "<u> ([\"a\"]) ([\"b\"]) <v>([\"c\"])", "u:\"a\"|u:\"b\"|v:\"c\"|"},
    {"blanks", " ( [ \"a\"]\t) ", ":\"a\"|"},
    {"a blank before a resource", "< u> ([\"a\"])", "u:\"a\"|"},
    {"brackets without a tag", "([] [a] [\"b\" ] [\"c\"x] [\"d\"])", ":\"d\"|"},
    {"no list", "[\"a\"]", ""},
    {"a list in a list", "([\"a\"] ([\"b\"]))", ":\"a\"|"},
    {"a tag that never closes", "([\"a\"] [\"b\"", ":\"a\"|"},
    {"a resource that never closes", "<u ([\"a\"])", ""},
    {"a list that never closes", "([\"a\"]", ":\"a\"|"},
    {"a part of Not", "(No", ""},
    {"a comma", "([\"a\"]), ([\"b\"])", ":\"a\"|"},
    {"nothing", "", ""},
};

EACH(etag, webdavs_if_gives_its_tags, states)
{
    el_etag_state_t state = {.at = row->field};
    char joined[100] = "";

    while (el_etag_next_state(&state)) {
        strcat(joined, state.negated ? "!" : "");
        strncat(joined, state.uri != NULL ? state.uri : "", state.uri_len);
        strcat(joined, ":");
        strncat(joined, state.tag.text, state.tag.len);
        strcat(joined, "|");
    }
    row_str_eq(joined, row->states);
    ck_assert(!el_etag_next_state(&state));
}

static const char *const units[] = {"\"", ",", "W/", "W/\"", "x\"", "\"a\"x", "\"-br\"", "*,",
                                   "(", "<", "([", "([\"a\"])", "<u>", "Not"};

EACH(etag, a_hostile_list_costs_no_more_than_its_bytes, units)
{
    const char *unit = *row;
    size_t size = 16 * 65536, len = strlen(unit);
    char *list = malloc(size + 1);
    char *out = malloc(2 * size + 1);
    el_etag_state_t state = {.at = list};
    bool unsure = false;
    el_accept_t accept;
    el_etag_t named;

    ck_assert(list != NULL && out != NULL);
    for (size_t i = 0; i < size; i++) {
        list[i] = unit[i % len];
    }
    list[size] = '\0';
    el_accept_parse("*", 1, &accept);
    ck_assert_uint_le(el_etag_bases(list, RULE(&accept), out, 2 * size + 1, &unsure), 2 * size);
    ck_assert(!el_etag_named(list, "\"current\"", RULE(&accept), &named));
    while (el_etag_next_state(&state)) {
        ck_assert(state.at > list && state.at <= list + size);
    }
    free(list);
    free(out);
}
