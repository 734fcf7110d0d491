#include "elastic/dictionary.h"

#include "bytes.h"
#include "elastic/http.h"

#include <stdio.h>

const char *const el_dictionary_notes[EL_DICTIONARY_REASON_COUNT] = {
#define X(id, note, text) [EL_DICTIONARY_##id] = note,
    EL_DICTIONARY_REASONS(X)
#undef X
};

/* Browsers remove `.` and `..` from paths and from patterns, there also right before a `*`. */
static bool dictionary_has_dot_segment(const char *pattern)
{
    const char *end = pattern + strcspn(pattern, "?");

    while (pattern < end) {
        size_t dots = strspn(pattern, ".");

        if ((dots == 1 || dots == 2) && (pattern + dots == end || strchr("/*", pattern[dots]))) {
            return true;
        }
        pattern += strcspn(pattern, "/?") + 1;
    }
    return false;
}

const char *el_dictionary_pattern_fault(const char *pattern)
{
    const char *query = strchr(pattern, '?');

    if (*pattern == '\0' || *pattern == '?') {
        return *pattern ? "it has no path" : "it is empty";
    }
    if (strlen(pattern) >= EL_MATCH_ROOM) {
        return "it is too long";
    }
    if (strstr(pattern, "://")) {
        return "it is a path, without a scheme and a host";
    }
    if (dictionary_has_dot_segment(pattern)) {
        return "browsers take the segments . and .. out of URLs";
    }
    /* Behind a `*`, browsers read these as modifiers of a group. */
    if (strstr(pattern, "**") || strstr(pattern, "*?")) {
        return "neither * nor ? may come right behind a *";
    }
    if (query && strchr(query + 1, '?')) {
        return "there may be one ?, which begins the query";
    }
    if (strpbrk(pattern, "{}()\\:+#")) {
        return "it may have no { } ( ) : + # and no backslash";
    }
    for (const char *at = pattern; *at; at++) {
        char lower = el_text_lower(*at);

        /* The other allowed characters: browsers leave them unchanged in a path and a query. */
        if ((lower < 'a' || lower > 'z') && !el_text_is_digit(*at)
            && !strchr("*?-._~!$&;,=@/%[]", *at)) {
            return "in a URL this character is escaped";
        }
    }
    return NULL;
}

/* A part of a URL or of a pattern. */
typedef struct {
    const char *at;
    const char *end;
} part_t;

/*
 * On a mismatch only the last `*` takes one more character: earlier ones took the least possible,
 * which leaves the most to later ones. Takes at most the product of both lengths: 512 bytes of a
 * pattern and a request line.
 */
static bool dictionary_matches(part_t pattern, part_t text)
{
    part_t star = {NULL, NULL}; /* after the last `*`, and the end of its match */

    while (text.at < text.end) {
        if (pattern.at < pattern.end && *pattern.at == '*') {
            star = (part_t){++pattern.at, text.at};
        } else if (pattern.at < pattern.end && *pattern.at == *text.at) {
            pattern.at++;
            text.at++;
        } else if (star.at) {
            pattern.at = star.at;
            text.at = ++star.end;
        } else {
            return false;
        }
    }
    while (pattern.at < pattern.end && *pattern.at == '*') {
        pattern.at++;
    }
    return pattern.at == pattern.end;
}

/* Length of the path's directory, with its last slash. */
static size_t dictionary_directory(const char *path)
{
    return (size_t)(strrchr(path, '/') - path) + 1;
}

bool el_dictionary_pattern_match(const char *pattern, const char *path, const char *target)
{
    part_t text = {target, target + strcspn(target, "?")};
    part_t wanted = {pattern, pattern + strcspn(pattern, "?")};
    const char *query = strchr(pattern, '?');

    if (*pattern != '/') {
        size_t len = path ? dictionary_directory(path) : 0;

        if (!path) {
            return true;
        }
        if ((size_t)(text.end - text.at) < len || memcmp(text.at, path, len) != 0) {
            return false;
        }
        text.at += len;
    }
    if (!dictionary_matches(wanted, text)) {
        return false;
    }
    text.at = text.end + (*text.end == '?');
    text.end = text.at + strlen(text.at);
    return !query || dictionary_matches((part_t){query + 1, query + strlen(query)}, text);
}

/* First line of an entry's text; the number is the version. */
#define TITLE "elastic-dictionary 1\n"

/* Last line's name. */
#define EXPIRES "expires "

size_t el_dictionary_entry_write(const el_dictionary_entry_t *entry, char *text)
{
    return (size_t)snprintf(text, EL_DICTIONARY_TEXT_MOST,
                            TITLE "origin %s\npath %s\nmatch %s\nmatch-dest %s\nid %s\n" EXPIRES
                                  "%llu\n",
                            entry->origin, entry->path, entry->match, entry->dest, entry->id,
                            (unsigned long long)entry->expires);
}

/* Takes `wanted` off the beginning of the rest. */
static bool dictionary_take(const char **at, const char *end, const char *wanted)
{
    size_t len = strlen(wanted);

    if ((size_t)(end - *at) < len || memcmp(*at, wanted, len) != 0) {
        return false;
    }
    *at += len;
    return true;
}

/* Takes a line: `name`, which ends with a space, and a text that with its NUL fits into `room`. */
static bool dictionary_take_line(const char **at, const char *end, const char *name, char *text,
                                 size_t room)
{
    const char *newline;
    size_t len;

    if (!dictionary_take(at, end, name)) {
        return false;
    }
    newline = memchr(*at, '\n', (size_t)(end - *at));
    len = newline ? (size_t)(newline - *at) : room;
    if (len >= room || memchr(*at, '\0', len)) {
        return false;
    }
    memcpy(text, *at, len);
    text[len] = '\0';
    *at = newline + 1;
    return el_structured_can_hold(text);
}

size_t el_dictionary_entry_parse(const char *text, size_t len, el_dictionary_entry_t *entry)
{
    const char *at = text, *end = text + len;

    memset(entry, 0, sizeof(*entry));
    if (dictionary_take(&at, end, TITLE)
        && dictionary_take_line(&at, end, "origin ", entry->origin, sizeof(entry->origin))
        && dictionary_take_line(&at, end, "path ", entry->path, sizeof(entry->path))
        && dictionary_take_line(&at, end, "match ", entry->match, sizeof(entry->match))
        && dictionary_take_line(&at, end, "match-dest ", entry->dest, sizeof(entry->dest))
        && dictionary_take_line(&at, end, "id ", entry->id, sizeof(entry->id))
        && dictionary_take(&at, end, EXPIRES)
        && el_text_number(&at, end, &entry->expires) && dictionary_take(&at, end, "\n")
        && entry->origin[0] && entry->path[0] == '/'
        && !el_dictionary_pattern_fault(entry->match)) {
        return (size_t)(at - text);
    }
    memset(entry, 0, sizeof(*entry));
    return 0;
}

bool el_dictionary_entry_same(const el_dictionary_entry_t *a, const el_dictionary_entry_t *b)
{
    size_t len = dictionary_directory(a->path);

    return strcmp(a->origin, b->origin) == 0 && strcmp(a->match, b->match) == 0
           && strcmp(a->dest, b->dest) == 0 && strcmp(a->id, b->id) == 0
           && (*a->match == '/'
               || (len == dictionary_directory(b->path) && memcmp(a->path, b->path, len) == 0));
}

static bool dictionary_has_word(const char *words, const char *word)
{
    size_t len = strlen(word);

    for (words += strspn(words, " "); *words; words += strspn(words, " ")) {
        size_t n = strcspn(words, " ");

        if (n == len && memcmp(words, word, n) == 0) {
            return true;
        }
        words += n;
    }
    return false;
}

el_dictionary_reason_t el_dictionary_entry_fits(const el_dictionary_entry_t *entry,
                                                const el_dictionary_request_t *request)
{
    if (strcmp(entry->origin, request->origin) != 0) {
        return EL_DICTIONARY_UNKNOWN;
    }
    if (entry->expires <= request->now) {
        return EL_DICTIONARY_EXPIRED;
    }
    if (!el_dictionary_pattern_match(entry->match, entry->path, request->target)) {
        return EL_DICTIONARY_MATCH;
    }
    if (entry->dest[0] && request->dest && !dictionary_has_word(entry->dest, request->dest)) {
        return EL_DICTIONARY_DEST;
    }
    return strcmp(entry->id, request->id ? request->id : "") == 0 ? EL_DICTIONARY_USED
                                                                   : EL_DICTIONARY_ID;
}

bool el_dictionary_permitted(const el_dictionary_readers_t *readers, unsigned *depends)
{
    *depends = EL_DEPENDS_SITE;
    if (!readers->site || strcmp(readers->site, "same-origin") == 0) {
        return true;
    }
    *depends |= EL_DEPENDS_MODE;
    if (!readers->mode || strcmp(readers->mode, "navigate") == 0
        || strcmp(readers->mode, "same-origin") == 0) {
        return true;
    }
    if (strcmp(readers->mode, "cors") != 0 || !readers->allowed) {
        return false;
    }
    *depends |= EL_DEPENDS_ORIGIN;
    return readers->origin
           && (strcmp(readers->allowed, "*") == 0
               || strcmp(readers->allowed, readers->origin) == 0);
}

bool el_dictionary_origin_secure(const char *origin)
{
    static const char http[] = "http://", https[] = "https://", below[] = ".localhost";
    const size_t below_len = sizeof(below) - 1;
    const char *host = origin + sizeof(http) - 1;
    size_t len;

    if (strncmp(origin, https, sizeof(https) - 1) == 0) {
        return true;
    }
    if (strncmp(origin, http, sizeof(http) - 1) != 0) {
        return false;
    }
    /* Without the port. */
    len = strcspn(host, *host == '[' ? "]" : ":");
    return el_text_is(host, len, "localhost") || el_text_is(host, len, "[::1")
           || (len > below_len && el_text_is(host + len - below_len, below_len, below))
           || (strncmp(host, "127.", 4) == 0 && strspn(host, ".0123456789") == len);
}

#define WHOLE 10000

/* Highest ratio stored: a longer body counts as twice as long. */
#define RATIO_MAX (2 * WHOLE)

/*
 * A key's mean is one word, for single reads and writes: 16 bits of ratio, 24 of the key's tag, 8
 * of weight (the number of bodies), and 16 of the time of the last one. Zeroed memory has no
 * weight.
 */
#define RATIO_BITS 16
#define TAG_BITS 24
#define TAG_SHIFT (32 - TAG_BITS) /* lower bits of the hash choose the place */
#define WEIGHT_SHIFT (RATIO_BITS + TAG_BITS)
#define STAMP_SHIFT (WEIGHT_SHIFT + 8)

_Static_assert(RATIO_MAX < 1 << RATIO_BITS, "a ratio has sixteen bits");
_Static_assert(EL_RATIO_PLACES <= 1 << TAG_SHIFT, "place and tag together are the hash");

/* Stamps count units of 16 s: 16 bits last for twelve days. */
#define STAMP_UNIT 16

/* Units by which the clock of another process may be ahead. */
#define AHEAD_MOST 4

/* A weight halves in a quarter of an hour: enough for a mean, and it follows a site's day. */
#define HALF_LIFE (900 / STAMP_UNIT)

/* Highest weight: each later body moves the mean by 1 / WEIGHT_MAX of its difference. */
#define WEIGHT_MAX 64

/* A ratio further from the mean than this factor counts as that far. */
#define OUTLIER 2

typedef struct {
    uint32_t ratio; /* encoded size in ten-thousandths of the body's */
    uint32_t tag;
    uint32_t weight; /* as of now */
} entry_t;

static entry_t dictionary_unpack(uint64_t word, uint16_t now)
{
    uint16_t age = (uint16_t)(now - (word >> STAMP_SHIFT));
    unsigned halvings = age <= UINT16_MAX - AHEAD_MOST ? age / HALF_LIFE : 0;
    uint32_t weight = (uint32_t)(word >> WEIGHT_SHIFT & 0xff);

    return (entry_t){
        .ratio = (uint32_t)(word & ((1u << RATIO_BITS) - 1)),
        .tag = (uint32_t)(word >> RATIO_BITS & ((1u << TAG_BITS) - 1)),
        .weight = halvings < 8 ? weight >> halvings : 0,
    };
}

static int64_t dictionary_bounded(double value, double low, double high)
{
    return (int64_t)(value < low ? low : value > high ? high : value);
}

/* The way of `key` in its place; if it has none, the way with the least weight. */
static unsigned dictionary_way_of(const el_ratios_t *ratios, uint32_t key, uint16_t now)
{
    const _Atomic uint64_t *place = ratios->word[key % EL_RATIO_PLACES];
    unsigned lightest = 0;
    uint32_t least = UINT32_MAX;

    for (unsigned way = 0; way < EL_RATIO_WAYS; way++) {
        entry_t e = dictionary_unpack(atomic_load_explicit(&place[way], memory_order_relaxed), now);

        if (e.tag == key >> TAG_SHIFT) {
            return way;
        }
        if (e.weight < least) {
            least = e.weight;
            lightest = way;
        }
    }
    return lightest;
}

uint32_t el_ratio_key(const char *origin, unsigned kind, const char *text)
{
    uint64_t hash = el_hash_add(EL_HASH_START, kind);

    for (; *origin || *text; origin += *origin != 0) {
        hash = el_hash_add(hash, (unsigned char)(*origin ? *origin : *text++));
    }
    return (uint32_t)el_hash_mix(hash, 0) | 1u << 31;
}

void el_ratio_update(el_ratios_t *ratios, uint32_t key, uint64_t in, uint64_t out, uint32_t now)
{
    uint16_t stamp = (uint16_t)(now / STAMP_UNIT);
    _Atomic uint64_t *word;
    uint64_t before, after;
    int64_t ratio, mean;
    entry_t e;

    if (key == 0 || in < EL_RATIO_LEAST) {
        return;
    }
    ratio = dictionary_bounded((double)out * WHOLE / (double)in, 1, RATIO_MAX);
    word = &ratios->word[key % EL_RATIO_PLACES][dictionary_way_of(ratios, key, stamp)];
    before = atomic_load_explicit(word, memory_order_relaxed);
    e = dictionary_unpack(before, stamp);
    if (e.weight == 0 || e.tag != key >> TAG_SHIFT) {
        e = (entry_t){(uint32_t)ratio, key >> TAG_SHIFT, 1};
    } else {
        mean = e.ratio;
        e.weight = e.weight < WEIGHT_MAX ? e.weight + 1 : e.weight;
        ratio = dictionary_bounded((double)ratio, (double)(mean / OUTLIER),
                                   (double)(mean * OUTLIER)) - mean;
        e.ratio = (uint32_t)dictionary_bounded((double)(mean + ratio / (int64_t)e.weight), 1,
                                               RATIO_MAX);
    }
    after = e.ratio | (uint64_t)e.tag << RATIO_BITS | (uint64_t)e.weight << WEIGHT_SHIFT
            | (uint64_t)stamp << STAMP_SHIFT;
    /* Fails if another writer was faster; this body is then left out. */
    atomic_compare_exchange_strong_explicit(word, &before, after, memory_order_relaxed,
                                            memory_order_relaxed);
}

uint32_t el_ratio_mean(const el_ratios_t *ratios, uint32_t key, uint32_t least, uint32_t now)
{
    uint16_t stamp = (uint16_t)(now / STAMP_UNIT);
    unsigned way = dictionary_way_of(ratios, key, stamp);
    const _Atomic uint64_t *word = &ratios->word[key % EL_RATIO_PLACES][way];
    entry_t e = dictionary_unpack(atomic_load_explicit(word, memory_order_relaxed), stamp);

    return e.tag == key >> TAG_SHIFT && e.weight >= least ? e.ratio : 0;
}
