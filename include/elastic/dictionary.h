#ifndef ELASTIC_DICTIONARY_H
#define ELASTIC_DICTIONARY_H

#include "elastic/http.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Compression dictionaries (RFC 9842): what a server knows of one that it gave out, for which
 * requests it may be used, and how a body begins that is encoded against it.
 *
 * Pure; any thread.
 */

/* Bytes of texts, with the NUL: a host has 253 characters at most, an id 1024 (RFC 9842 §2.1.3). */
#define EL_ORIGIN_ROOM 280
#define EL_PATH_ROOM 1024
#define EL_MATCH_ROOM 513
#define EL_DEST_ROOM 256
#define EL_ID_ROOM 1025

/* X(identifier, note, what it means) */
#define EL_DICTIONARY_REASONS(X)                                                                   \
    X(USED, "used", "a dictionary was there for it")                                               \
    X(MALFORMED, "malformed", "Available-Dictionary or Dictionary-ID is not what it should be")    \
    X(UNKNOWN, "unknown", "this server does not have the dictionary, or gave it out elsewhere")    \
    X(EXPIRED, "expired", "the time for which the dictionary was given out is over")               \
    X(MATCH, "match", "the dictionary is for other URLs")                                          \
    X(DEST, "dest", "the dictionary is for other destinations")                                    \
    X(ID, "id", "the dictionary was given out under another id")                                   \
    X(CROSS_ORIGIN, "cross-origin", "another site asks, and may not read the response")            \
    X(UNPREPARED, "unprepared", "memory is short, or no library can use the dictionary")          \
    X(OUTDONE, "outdone", "what it leaves was expected to cost more than another coding")

/* Why a request that names a dictionary has it, or not. */
typedef enum {
#define X(id, note, text) EL_DICTIONARY_##id,
    EL_DICTIONARY_REASONS(X)
#undef X
    EL_DICTIONARY_REASON_COUNT
} el_dictionary_reason_t;

/* The reason as one word. */
extern const char *const el_dictionary_notes[EL_DICTIONARY_REASON_COUNT];

/*
 * The patterns that say for which URLs a dictionary is (§2.1.1). Of the WHATWG's URL patterns these
 * are the ones of fixed text and `*`, which stands for any text, also for none: a path, and behind
 * the first `?` a query. Without a `?` any query matches. A path that does not begin with `/` is
 * relative to the directory of the dictionary's path.
 *
 * Names, groups and repetitions are refused. So are hosts and fragments: the origin is compared
 * elsewhere. So is what a browser would have to change before it compares: characters to be
 * escaped, segments `.` and `..`.
 */

/* NULL if the pattern may be used; otherwise what is wrong with it, for people. */
const char *el_dictionary_pattern_fault(const char *pattern);

/*
 * True if a pattern that may be used matches `target`, a path with its query, as in a request.
 * `path` is the dictionary's own, without a query; NULL: any, so that every target may be one that
 * a relative pattern matches.
 */
bool el_dictionary_pattern_match(const char *pattern, const char *path, const char *target);

/* A dictionary as it was given out to one origin. Texts are printable ASCII. */
typedef struct {
    char origin[EL_ORIGIN_ROOM]; /* https://host:port, without the usual port */
    char path[EL_PATH_ROOM];     /* its own, without a query */
    char match[EL_MATCH_ROOM];
    char dest[EL_DEST_ROOM];     /* words between spaces; "": any */
    char id[EL_ID_ROOM];         /* "": none */
    uint64_t expires;            /* seconds since 1970: from then on no browser asks with it */
} el_dictionary_entry_t;

/* Bytes of an entry's text, without a NUL, at most. */
#define EL_DICTIONARY_TEXT_MOST                                                                    \
    (EL_ORIGIN_ROOM + EL_PATH_ROOM + EL_MATCH_ROOM + EL_DEST_ROOM + EL_ID_ROOM + 128)

/*
 * Writes the entry as lines of text to `text`, of EL_DICTIONARY_TEXT_MOST bytes. Returns their
 * number.
 */
size_t el_dictionary_entry_write(const el_dictionary_entry_t *entry, char *text);

/*
 * Reads what el_dictionary_entry_write() wrote, at the beginning of `len` bytes; returns how many
 * bytes it takes. 0 if they begin with anything else: another version, lines that are missing,
 * too long, not printable or in another order, a pattern that may not be used; then `entry` is
 * zeroed.
 */
size_t el_dictionary_entry_parse(const char *text, size_t len, el_dictionary_entry_t *entry);

/*
 * True if both are for the same requests of the same origin, but for when they end. The path makes
 * a difference only if the pattern is relative to it, and then only its directory does.
 */
bool el_dictionary_entry_same(const el_dictionary_entry_t *a, const el_dictionary_entry_t *b);

/* A request that names a dictionary. */
typedef struct {
    const char *origin; /* as in an entry */
    const char *target; /* the path and query */
    const char *dest;   /* Sec-Fetch-Dest; NULL: none was sent, and any will do */
    const char *id;     /* of Dictionary-ID; NULL: none was sent */
    uint64_t now;       /* seconds since 1970 */
} el_dictionary_request_t;

/* True if the dictionary is for the request: EL_DICTIONARY_USED, or why not. */
el_dictionary_reason_t el_dictionary_entry_fits(const el_dictionary_entry_t *entry,
                                                const el_dictionary_request_t *request);

/* The fields that say whether whoever asks may read the response; NULL if there is none. */
typedef struct {
    const char *site;    /* Sec-Fetch-Site */
    const char *mode;    /* Sec-Fetch-Mode */
    const char *origin;  /* Origin */
    const char *allowed; /* Access-Control-Allow-Origin of the response */
} el_dictionary_readers_t;

/* The fields that an answer depended on, for Vary: a set. */
#define EL_DEPENDS_SITE 1u
#define EL_DEPENDS_MODE 2u
#define EL_DEPENDS_ORIGIN 4u

/*
 * True if the response may be encoded against a dictionary, or become one: the server's part of the
 * protection of responses that another site may not read (RFC 9842 §9.3.3). `*depends` is a set of
 * the request's fields that decided.
 */
bool el_dictionary_permitted(const el_dictionary_readers_t *readers, unsigned *depends);

/*
 * True if browsers use dictionaries of this origin (§8): https, or a host that is this machine by
 * its name, localhost or a name below it, 127.0.0.0/8 or [::1].
 */
bool el_dictionary_origin_secure(const char *origin);

/*
 * Ratios: running means of bytes after by bytes before, with dictionaries and without, by key. Of
 * the keys that share a place, the one with the least weight is replaced. Nobody waits: two writers
 * that meet lose one measurement.
 */

/*
 * Places, and keys in each: those of the pages of the last minutes. The places are a power of two.
 */
#define EL_RATIO_PLACES 64
#define EL_RATIO_WAYS 4

/* Bytes below which the ratio depends on the coding's framing more than on the content. */
#define EL_RATIO_LEAST 1024

/*
 * In shared memory; zeroed memory has no keys. Every response with a dictionary at hand writes
 * here, so nothing else is in the same cache lines.
 */
typedef struct el_ratios {
    _Alignas(64) _Atomic uint64_t word[EL_RATIO_PLACES][EL_RATIO_WAYS];
} el_ratios_t;

/* A key that only this kind of text of an origin has, by all likelihood; never 0. */
uint32_t el_ratio_key(const char *origin, unsigned kind, const char *text);

/*
 * Adds a whole body of `key`, a hash, at `now` (seconds of any clock that all callers share). A
 * body below EL_RATIO_LEAST or without a key (0) is left out.
 */
void el_ratio_update(el_ratios_t *ratios, uint32_t key, uint64_t in, uint64_t out, uint32_t now);

/*
 * The mean of `key` at `now`, in ten-thousandths; 0 if it is made of less than `least` bodies.
 * Of those half are forgotten in a quarter of an hour.
 */
uint32_t el_ratio_mean(const el_ratios_t *ratios, uint32_t key, uint32_t least, uint32_t now);

#endif
