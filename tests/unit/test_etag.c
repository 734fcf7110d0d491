#include "elastic/etag.h"
#include "suites.h"

/* A rule for `accept`, with further members. */
#define RULE(...) (&(const el_etag_rule_t){.accept = __VA_ARGS__})

CASE(etag);

static el_accept_t accept_of(const char *line)
{
    el_accept_t accept;

    el_accept_parse(line, strlen(line), &accept);
    return accept;
}

/* Replaces ' by ". Valid for the next three calls. */
static const char *quoted(const char *text)
{
    static char rooms[4][128];
    static unsigned next;
    char *room = rooms[next++ % 4];

    ck_assert_uint_lt(strlen(text), sizeof(rooms[0]));
    strcpy(room, text);
    for (char *at = room; (at = strchr(at, '\'')) != NULL;) {
        *at = '"';
    }
    return room;
}

static const struct {
    const char *tag;
    el_etag_mode_t mode;
    el_coding_t coding;
    const char *encoded; /* NULL: removed */
} encodings[] = {
    {"'x'", EL_ETAG_WEAK, EL_GZIP, "W/'x-gzip'"}, {"'x'", EL_ETAG_WEAK, EL_ZSTD, "W/'x-zstd'"},
    {"W/'x'", EL_ETAG_WEAK, EL_GZIP, "W/'x-gzip'"}, {"'x'", EL_ETAG_SUFFIX, EL_GZIP, "'x-gzip'"},
    {"W/'x'", EL_ETAG_SUFFIX, EL_GZIP, "W/'x-gzip'"}, {"'x'", EL_ETAG_KEEP, EL_GZIP, "'x'"},
    {"W/'x'", EL_ETAG_KEEP, EL_GZIP, "W/'x'"}, {"'x'", EL_ETAG_REMOVE, EL_GZIP, NULL},
    {"x", EL_ETAG_REMOVE, EL_GZIP, NULL}, {"''", EL_ETAG_SUFFIX, EL_GZIP, "'-gzip'"},
    {"'x'", EL_ETAG_WEAK, EL_IDENTITY, "'x'"}, {"'x'", EL_ETAG_REMOVE, EL_IDENTITY, NULL},
    {"WW'x'", EL_ETAG_WEAK, EL_GZIP, "WW'x'"}, {"x", EL_ETAG_WEAK, EL_GZIP, "x"},
    {"W/x", EL_ETAG_SUFFIX, EL_GZIP, "W/x"}, {"'x", EL_ETAG_WEAK, EL_GZIP, "'x"},
    {"x'", EL_ETAG_WEAK, EL_GZIP, "x'"}, {"'", EL_ETAG_WEAK, EL_GZIP, "'"},
    {"w/'x'", EL_ETAG_WEAK, EL_GZIP, "w/'x'"}, {"", EL_ETAG_WEAK, EL_GZIP, ""},
};
EACH(etag, a_tag_is_encoded, encodings)
{
    size_t size = strlen(row->tag) + EL_ETAG_GROWTH;
    char *out = malloc(size);
    bool kept = el_etag_encode(quoted(row->tag), row->mode, row->coding, out, size);

    named_eq(row->tag, kept, row->encoded != NULL);
    named_str_eq(row->tag, out, quoted(kept ? row->encoded : ""));
    free(out);
}

/* The list's tags, joined by bars. */
static const struct {
    const char *list, *tags;
} lists[] = {
    {"'a'", "'a'|"}, {"'a', 'b','c'", "'a'|'b'|'c'|"}, {"W/'a', 'b', W/'c'", "W/'a'|'b'|W/'c'|"},
    {"'a,b', ','", "'a,b'|','|"}, {"'a b', 'c'", "'a b'|'c'|"}, {"'a\\', 'b'", "'a\\'|'b'|"},
    {"'', 'b'", "''|'b'|"}, {" ,\t,'a' \t, ,'b', ", "'a'|'b'|"}, {"'a' 'b'", "'a'|'b'|"}, {"*", ""},
    {"*, 'a'", "'a'|"}, {"", ""}, {"a, 'b', c", "'b'|"}, {"a'x, y', 'b'", "'b'|"}, {"a'x, 'b'", ""},
    {"w/'x', 'b'", "'b'|"}, {"W/, W/x, 'b', W/ 'c'", "'b'|"}, {"'a'x, 'b'", "'a'|'b'|"},
    {"'a', 'b", "'a'|"}, {"'a', W/'b", "'a'|"}, {"'a', x'b", "'a'|"}, {"'a', W", "'a'|"},
    {"'a', '", "'a'|"},
};
EACH(etag, a_list_gives_its_tags, lists)
{
    char joined[100] = "";
    const char *cursor = quoted(row->list);
    el_etag_t tag;

    while (el_etag_next(&cursor, &tag)) {
        strncat(joined, tag.text, tag.len);
        strcat(joined, "|");
        ck_assert(tag.weak == (tag.text[0] == 'W'));
    }
    named_str_eq(row->list, joined, quoted(row->tags));
    named_eq(row->list, *cursor, '\0');
    ck_assert(!el_etag_next(&cursor, &tag));
}

static const struct {
    const char *tag, *other;
    bool same;
} pairs[] = {
    {"'x'", "'x'", true}, {"W/'x'", "'x'", true}, {"'x'", "W/'x'", true}, {"W/'x'", "W/'x'", true},
    {"'x'", "'X'", false}, {"'x'", "'xy'", false}, {"'xy'", "'x'", false},
    {"'x-gzip'", "'x'", false}, {"'x'", "x", false}, {"'x'", "xyz", false},
    {"'x'", "'x'y'", false}, {"'x'", "", false}, {"''", "''", true},
};
EACH(etag, tags_compare_weakly, pairs)
{
    const char *cursor = quoted(row->tag);
    el_etag_t tag;

    ck_assert(el_etag_next(&cursor, &tag));
    ck_assert_msg(el_etag_same(&tag, quoted(row->other)) == row->same, "%s, %s", row->tag,
                  row->other);
}

/* The base counts from the opening quote. */
static const struct {
    const char *tag;
    el_coding_t coding;
    size_t base;
} suffixes[] = {
    {"'x-gzip'", EL_GZIP, 2}, {"'x-br'", EL_BR, 2}, {"'xyz-zstd'", EL_ZSTD, 4},
    {"'xyz-dcz'", EL_DCZ, 4}, {"W/'x-gzip'", EL_GZIP, 2}, {"'x-gzip-br'", EL_BR, 7},
    {"'-br'", EL_BR, 1}, {"'x'", EL_IDENTITY, 0}, {"''", EL_IDENTITY, 0},
    {"'gzip'", EL_IDENTITY, 0}, {"'x-GZIP'", EL_IDENTITY, 0}, {"'x-gzip1'", EL_IDENTITY, 0},
    {"'x-gunzip'", EL_IDENTITY, 0},
};
EACH(etag, a_suffix_gives_the_coding, suffixes)
{
    const char *cursor = quoted(row->tag);
    size_t base = 0;
    el_etag_t tag;

    ck_assert(el_etag_next(&cursor, &tag));
    named_eq(row->tag, el_etag_coding(&tag, &base), row->coding);
    named_eq(row->tag, base, row->base);
}

/* Inode, size and time; a time; a hash; a digest; and similar texts. */
static const struct {
    const char *text;
    bool made;
} shapes[] = {
    {"29cd-660c007f3220d", true}, {"1a-29cd-660c007f3220d", true}, {"660c007f3220d", true},
    {"d41d8cd98f00b204e9800998ecf8427e", true}, {"1234567890", true},
    {"2jmj7l5rSw0yVb/vlWAYkK/YBwk=", true}, {"2jmj7l5rSw0yVb/vlWAYkK/YBwkA", false},
    {"A2jmj7l5rSw0yVb/vlWAYkK/YBwk=", false}, {"2jmj7l5rSw0yVb-vlWAYkK/YBwk=", false},
    {"2jmj7l5rSw0yVb/vlWAYkK/YBwk-", false},
    {"home", false}, {"cafe", false},
    {"bad-decade", false}, {"2024-01-31", false}, {"20240131", false}, {"123456789", false},
    {"1-2-3-660c007f3220d", false}, {"660C007F3220D", false}, {"660c007f3220g", false},
    {"-660c007f3220d", false}, {"660c007f3220d-", false}, {"1--660c007f3220d", false},
    {"660c007f3220d-gzip", false}, {"", false},
};
EACH(etag, httpds_tags_are_told_from_others, shapes)
{
    named_eq(row->text, el_etag_is_made(row->text, strlen(row->text)), row->made);
}

/* Replaces x and y by tags of httpd's form. */
static const char *expand(const char *text, char *out)
{
    char *to = out;

    for (text = quoted(text); *text != '\0'; text++) {
        to += sprintf(to, "%.*s", *text == 'x' || *text == 'y' ? 20 : 1,
                      *text == 'x' ? "12-0123456789ab" : *text == 'y' ? "abcdef0123" : text);
    }
    *to = '\0';
    return out;
}

static const struct {
    const char *list, *accept, *bases;
    bool strong, decoded;
} based[] = {
    /* weak comparison, for If-None-Match */
    {"'x-gzip'", "gzip", ", W/'x'", .strong = false},
    {"W/'x-gzip'", "gzip", ", W/'x'", .strong = false},
    {"'x-gzip', W/'y-br'", "gzip, br", ", W/'x', W/'y'", .strong = false},
    {"'x-gzip', 'y-br'", "br", ", W/'y'", .strong = false},
    {"'x-gzip'", "gzip;q=0, *", "", .strong = false},
    {"'x-gzip'", "x-gzip", ", W/'x'", .strong = false}, {"'x', W/'y'", "gzip", "", .strong = false},
    {"'x,y-gzip'", "gzip", "", .strong = false}, {"'-br'", "br", "", .strong = false},
    {"'home-br', W/'x-br'", "br", ", W/'x'", .strong = false},
    {"'home-br'", "gzip", "", .strong = false}, {"*", "gzip", "", .strong = false},
    {"x-gzip, 'x-gzip", "gzip", "", .strong = false},
    {"'x-gzip-gzip'", "gzip", "", .strong = false},
    /* strong comparison, for If-Match */
    {"'x-gzip'", "gzip", ", 'x'", .strong = true}, {"W/'x-gzip'", "gzip", "", .strong = true},
    {"W/'x-gzip', 'y-br'", "gzip, br", ", 'y'", .strong = true},
    {"'x', *", "gzip", "", .strong = true}, {"'x-gzip', 'y-br'", "br", ", 'y'", .strong = true},
    {"'x-gunzip'", "gzip", "", .strong = true},
    {"'x-gunzip', W/'y-gunzip'", "", ", 'x'", .strong = true, .decoded = true},
    {"'x-gunzip-gzip'", "gzip", ", 'x'", .strong = true, .decoded = true},
    {"'home-gzip'", "gzip", "", .strong = true},
    /* decoded by INFLATE */
    {"'x-gunzip'", "", ", W/'x'", .decoded = true},
    {"W/'x-gunzip'", "", ", W/'x'", .decoded = true},
    {"W/'x-gunzip-gzip'", "gzip", ", W/'x'", .decoded = true},
    {"'x-gunzip-gzip'", "br", "", .decoded = true}, {"'x-gzip'", "gzip", "", .decoded = true},
    {"'x-gzip-gunzip'", "gzip", "", .decoded = true}, {"'-gunzip'", "", "", .decoded = true},
    {"'home-gunzip'", "", "", .decoded = true}, {"'x-foobar'", "", "", .decoded = true},
    {"'gunzip', ''", "", "", .decoded = true},
    {"'y-gunzip', 'z', 'x-gunzip'", "", ", W/'y', W/'x'", .decoded = true},
};
EACH(etag, a_list_gives_the_bases, based)
{
    char list[100], bases[100];
    size_t size = strlen(expand(row->list, list)) * 2 + 1, written;
    char *out = malloc(size);
    el_accept_t accept = accept_of(row->accept);

    written = el_etag_bases(list, RULE(&accept, .decoded = row->decoded, .strong = row->strong),
                            out, size);
    named_eq(row->list, written, strlen(out));
    named_str_eq(row->list, out, expand(row->bases, bases));
    free(out);
}

/* Two bases take 26 and 16 bytes, and a NUL. */
static const struct {
    size_t size, written;
    const char *bases;
} rooms[] = {
    {43, 42, ", W/'123456789-0123456789', W/'0123456789'"}, {42, 26, ", W/'123456789-0123456789'"},
    {17, 16, ", W/'0123456789'"}, {16, 0, ""}, {1, 0, ""}, {0, 0, "!"},
};
EACH(etag, a_base_that_does_not_fit_is_left_out_whole, rooms)
{
    static const char list[] = "\"123456789-0123456789-gzip\", \"0123456789-gzip\"";
    el_accept_t accept = accept_of("gzip");
    char out[64] = "!";

    ck_assert_uint_eq(el_etag_bases(list, RULE(&accept), out, row->size), row->written);
    ck_assert_str_eq(out, quoted(row->bases));
}

static const struct {
    const char *list, *current, *accept;
    const char *named; /* NULL: none */
    bool decoded;
} names[] = {
    {"'x'", "'x'", "", "'x'", false}, {"W/'x'", "'x'", "", "W/'x'", false},
    {"'x'", "W/'x'", "", "'x'", false}, {"'x-gzip'", "'x'", "gzip", "'x-gzip'", false},
    {"W/'x-br'", "'x'", "gzip, br", "W/'x-br'", false},
    {"W/'x-br'", "W/'x'", "gzip, br", "W/'x-br'", false}, {"'x-gzip'", "'x'", "br", NULL, false},
    {"'y'", "'x'", "gzip", NULL, false}, {"'y-gzip'", "'x'", "gzip", NULL, false},
    {"'xx-gzip'", "'x'", "gzip", NULL, false}, {"'x-gzip'", "'xx'", "gzip", NULL, false},
    {"'x-gzip', 'x'", "'x'", "gzip", "'x'", false},
    {"'x-br', 'x-gzip'", "'x'", "gzip, br", "'x-br'", false},
    {"'x-br', 'x-gzip'", "'x'", "gzip", "'x-gzip'", false},
    {"'a', W/'b-gzip', 'x-gzip'", "'x'", "gzip", "'x-gzip'", false},
    {"'x-gzip'", "'x-gzip'", "", "'x-gzip'", false}, {"'x', 'x-gzip'", "x", "gzip", NULL, false},
    {"'x-gzip'", "xyz", "gzip", NULL, false}, {"*", "'x'", "gzip", NULL, false},
    {"", "'x'", "gzip", NULL, false},
    {"'x-gunzip'", "'x'", "", "'x-gunzip'", true},
    {"W/'x-gunzip-gzip'", "'x'", "gzip", "W/'x-gunzip-gzip'", true},
    {"'x-gunzip-gzip'", "'x'", "br", NULL, true}, {"'x-gzip'", "'x'", "gzip", NULL, true},
    {"'x-gzip-gunzip'", "'x'", "gzip", NULL, true}, {"'x-foobar'", "'x'", "", NULL, true},
};
EACH(etag, a_list_names_a_representation, names)
{
    el_accept_t accept = accept_of(row->accept);
    el_etag_t named = {"", 0, false};
    bool found;

    found = el_etag_named(quoted(row->list), quoted(row->current),
                          RULE(&accept, .decoded = row->decoded), &named);
    named_eq(row->list, found, row->named != NULL);
    if (found) {
        named_eq(row->list, named.len, strlen(row->named));
        named_assert(row->list, memcmp(named.text, quoted(row->named), named.len) == 0);
        named_eq(row->list, named.weak, row->named[0] == 'W');
    }
}

static const struct {
    const char *tag;
    el_etag_mode_t mode;
    const char *decoded; /* NULL: removed */
} decodings[] = {
    {"'x'", EL_ETAG_SUFFIX, "'x-gunzip'"}, {"W/'x'", EL_ETAG_SUFFIX, "W/'x-gunzip'"},
    {"'x'", EL_ETAG_WEAK, "W/'x-gunzip'"}, {"'x'", EL_ETAG_KEEP, "'x'"},
    {"'x'", EL_ETAG_REMOVE, NULL}, {"x", EL_ETAG_SUFFIX, "x"},
};
EACH(etag, a_tag_is_decoded, decodings)
{
    char out[32];
    bool kept = el_etag_decode(quoted(row->tag), row->mode, out, sizeof(out));

    named_eq(row->tag, kept, row->decoded != NULL);
    named_str_eq(row->tag, out, quoted(kept ? row->decoded : ""));
}

/* Tags in If as RESOURCE:TAG, joined by bars; ! marks Not. */
static const struct {
    const char *field, *states;
} states[] = {
    {"(['a'])", ":'a'|"}, {"([W/'a'])", ":W/'a'|"}, {"(['a'] ['b'])", ":'a'|:'b'|"},
    {"(['a']) (<t>) (['b'])", ":'a'|:'b'|"}, {"(<t> ['a'] <u>)", ":'a'|"},
    {"(Not ['a'] ['b'])", "!:'a'|:'b'|"}, {"(Not <t> ['a'])", ":'a'|"}, {"(Not) (['a'])", ":'a'|"},
    {"<u> (['a']) (['b']) <v>(['c'])", "u:'a'|u:'b'|v:'c'|"}, {" ( [ 'a']\t) ", ":'a'|"},
    {"< u> (['a'])", "u:'a'|"}, {"([] [a] ['b' ] ['c'x] ['d'])", ":'d'|"}, {"['a']", ""},
    {"(['a'] (['b']))", ":'a'|"}, {"(['a'] ['b'", ":'a'|"}, {"<u (['a'])", ""}, {"(['a']", ":'a'|"},
    {"(No", ""}, {"([abc] ['d'])", ":'d'|"}, {"([abc] <,'d'>)", ""}, {"(t> ['a'])", ""},
    {"(['a']), (['b'])", ":'a'|"},
    {"", ""},
};
EACH(etag, webdavs_if_gives_its_tags, states)
{
    el_etag_state_t state = {.at = quoted(row->field)};
    char joined[100] = "";

    while (el_etag_next_state(&state)) {
        strcat(joined, state.negated ? "!" : "");
        strncat(joined, state.uri != NULL ? state.uri : "", state.uri_len);
        strcat(joined, ":");
        strncat(joined, state.tag.text, state.tag.len);
        strcat(joined, "|");
    }
    named_str_eq(row->field, joined, quoted(row->states));
    ck_assert(!el_etag_next_state(&state));
}

static const char *const units[] = {
    "'", ",", "W/", "W/'", "x'", "'a'x", "'-br'", "*,", "(", "<", "([", "(['a'])", "<u>", "Not",
};
EACH(etag, a_hostile_list_costs_no_more_than_its_bytes, units)
{
    size_t size = 16 * 65536;
    char *list = repeat(quoted(*row), size), *out = malloc(2 * size + 1);
    el_etag_state_t state = {.at = list};
    el_accept_t accept = accept_of("*");
    el_etag_t named;

    ck_assert_uint_le(el_etag_bases(list, RULE(&accept), out, 2 * size + 1), 2 * size);
    ck_assert(!el_etag_named(list, "\"current\"", RULE(&accept), &named));
    while (el_etag_next_state(&state)) {
        ck_assert(state.at > list && state.at <= list + size);
    }
    free(out);
}
