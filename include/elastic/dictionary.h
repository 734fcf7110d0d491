#ifndef ELASTIC_DICTIONARY_H
#define ELASTIC_DICTIONARY_H

#include "elastic/http.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Compression dictionaries (RFC 9842): the record of one that the server gave out, the requests
 * that it applies to, and size ratios.
 *
 * Pure; any thread.
 */

/* Bytes of texts, with the NUL. A host has at most 253 characters, an id 1024 (RFC 9842 §2.1.3). */
#define EL_ORIGIN_ROOM 280
#define EL_PATH_ROOM 1024
#define EL_MATCH_ROOM 513
#define EL_DEST_ROOM 256
#define EL_ID_ROOM 1025

/* X(identifier, note, meaning) */
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

/* Outcomes of a request that names a dictionary. */
typedef enum {
#define X(id, note, text) EL_DICTIONARY_##id,
    EL_DICTIONARY_REASONS(X)
#undef X
    EL_DICTIONARY_REASON_COUNT
} el_dictionary_reason_t;

/* The note of each reason: one word. */
extern const char *const el_dictionary_notes[EL_DICTIONARY_REASON_COUNT];

/*
 * Patterns of the URLs that a dictionary is for (§2.1.1). Only a subset of WHATWG URL patterns is
 * allowed: fixed text and `*`, which stands for any text, also for none. The pattern is a path, and
 * after the first `?` a query. Without a `?` any query matches. A path that does not begin with `/`
 * is relative to the directory of the dictionary's path.
 *
 * Names, groups and repetitions are refused. Hosts and fragments are refused as well: the origin is
 * compared separately. Text that a browser would normalize before it compares is refused too:
 * characters to be escaped, segments `.` and `..`.
 */

/* NULL if the pattern is allowed, otherwise the fault in words. */
const char *el_dictionary_pattern_fault(const char *pattern);

/*
 * True if an allowed pattern matches `target`, a request's path with its query. `path` is the
 * dictionary's own path without a query. NULL: unknown, and relative patterns match every target.
 */
bool el_dictionary_pattern_match(const char *pattern, const char *path, const char *target);

/* A dictionary that was given out to one origin. Texts are printable ASCII. */
typedef struct {
    char origin[EL_ORIGIN_ROOM]; /* https://host:port, without a default port */
    char path[EL_PATH_ROOM];     /* the dictionary's own, without a query */
    char match[EL_MATCH_ROOM];
    char dest[EL_DEST_ROOM];     /* words separated by spaces; "": any */
    char id[EL_ID_ROOM];         /* "": none */
    uint64_t expires;            /* seconds since 1970; browsers do not offer it from then on */
} el_dictionary_entry_t;

/* Largest size of an entry's text, without a NUL. */
#define EL_DICTIONARY_TEXT_MOST                                                                    \
    (EL_ORIGIN_ROOM + EL_PATH_ROOM + EL_MATCH_ROOM + EL_DEST_ROOM + EL_ID_ROOM + 128)

/* Writes the entry's text to `text`, of EL_DICTIONARY_TEXT_MOST bytes. Returns the length. */
size_t el_dictionary_entry_write(const el_dictionary_entry_t *entry, char *text);

/*
 * Parses the text of el_dictionary_entry_write() at the beginning of `len` bytes. Returns its
 * length. 0, and a zeroed `entry`, if anything is wrong: another version, lines that are missing,
 * too long, not printable or in another order, a pattern that is not allowed.
 */
size_t el_dictionary_entry_parse(const char *text, size_t len, el_dictionary_entry_t *entry);

/*
 * True if both apply to the same requests of the same origin; ignores `expires`. The directory of
 * the path is compared only if the pattern is relative.
 */
bool el_dictionary_entry_same(const el_dictionary_entry_t *a, const el_dictionary_entry_t *b);

/* A request that names a dictionary. */
typedef struct {
    const char *origin; /* as in an entry */
    const char *target; /* the path and query */
    const char *dest;   /* Sec-Fetch-Dest; NULL: not sent, any matches */
    const char *id;     /* Dictionary-ID; NULL: not sent */
    uint64_t now;       /* seconds since 1970 */
} el_dictionary_request_t;

/* EL_DICTIONARY_USED if the dictionary applies to the request, otherwise the reason. */
el_dictionary_reason_t el_dictionary_entry_fits(const el_dictionary_entry_t *entry,
                                                const el_dictionary_request_t *request);

/* Fields that tell whether the client's page may read the response; NULL: absent. */
typedef struct {
    const char *site;    /* Sec-Fetch-Site */
    const char *mode;    /* Sec-Fetch-Mode */
    const char *origin;  /* Origin */
    const char *allowed; /* Access-Control-Allow-Origin of the response */
} el_dictionary_readers_t;

/* A set of the request's fields that an answer depended on, for Vary. */
#define EL_DEPENDS_SITE 1u
#define EL_DEPENDS_MODE 2u
#define EL_DEPENDS_ORIGIN 4u

/*
 * True if the response may be encoded against a dictionary, or become one: the server's part in
 * protecting responses that another site may not read (RFC 9842 §9.3.3). Sets `*depends` to the
 * request's fields that decided.
 */
bool el_dictionary_permitted(const el_dictionary_readers_t *readers, unsigned *depends);

/*
 * True if browsers use dictionaries of this origin (§8): https, or a local host: localhost or a
 * name below it, 127.0.0.0/8 or [::1].
 */
bool el_dictionary_origin_secure(const char *origin);

/*
 * Ratios: running means of encoded size by size, with and without dictionaries, by key. A new key
 * replaces the one with the least weight in its place. No one waits: if two writers meet, one
 * measurement is lost.
 */

/* Places, a power of two, and keys in each: enough for the pages of the last minutes. */
#define EL_RATIO_PLACES 64
#define EL_RATIO_WAYS 4

/* Shorter bodies are ignored: their ratio depends on framing more than on content. */
#define EL_RATIO_LEAST 1024

/*
 * In shared memory; zeroed memory has no keys. Alone in its cache lines, because every response
 * whose client has a dictionary writes here.
 */
typedef struct el_ratios {
    _Alignas(64) _Atomic uint64_t word[EL_RATIO_PLACES][EL_RATIO_WAYS];
} el_ratios_t;

/* A hash of the origin, a kind of key, and a text; never 0. */
uint32_t el_ratio_key(const char *origin, unsigned kind, const char *text);

/*
 * Adds a whole body of `key` at `now` (seconds of any clock that all callers share). Ignores bodies
 * below EL_RATIO_LEAST, and key 0.
 */
void el_ratio_update(el_ratios_t *ratios, uint32_t key, uint64_t in, uint64_t out, uint32_t now);

/*
 * The mean of `key` at `now` in ten-thousandths; 0 if its weight is below `least`, which is 1 or
 * more. The weight is the number of bodies and halves in a quarter of an hour.
 */
uint32_t el_ratio_mean(const el_ratios_t *ratios, uint32_t key, uint32_t least, uint32_t now);

#endif
