// Media types (RFC 9110 §8.3.1) and the patterns of ElasticTypes: text/html, text/*,
// application/*+json.
//
// Pure; any thread.
#ifndef ELASTIC_MEDIATYPE_H
#define ELASTIC_MEDIATYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* NULL-terminated: the patterns that are compressed where the configuration names none. */
extern const char *const el_mediatype_defaults[];

// Whether `pattern` is one: type "/" subtype, both tokens of RFC 9110 §5.6.2, where the subtype may
// be "*" or "*+suffix", and both may be "*".
bool el_mediatype_pattern_ok(const char *pattern);

/*
 * Whether `type`, a Content-Type's value with or without parameters, matches `pattern` (which
 * el_mediatype_pattern_ok() accepted). Letters match in any case. A NULL type matches nothing.
 */
bool el_mediatype_match(const char *pattern, const char *type);

/*
 * A number for the type of `type`, a Content-Type's value: the same for all spellings, whatever the
 * parameters. 0 where there is none, and never otherwise.
 */
uint32_t el_mediatype_hash(const char *type);

/*
 * What a set of patterns has in common, small enough to be asked for each response: a type that
 * does not pass matches none of them. Zeroed, it is the empty set's, which nothing passes.
 */
typedef struct {
    uint64_t names;    // a bit for a type and the first letter of its subtype: "text/html"
    uint32_t all;      // a bit for a type: "text/*"; all of them: "*/*"
    uint32_t suffixed; // a bit for a type: "application/*+json"
} el_mediatype_sieve_t;

/* Puts a pattern (which el_mediatype_pattern_ok() accepted) into the set. */
void el_mediatype_sieve_add(el_mediatype_sieve_t *sieve, const char *pattern);

/* The sieve of el_mediatype_defaults. */
el_mediatype_sieve_t el_mediatype_sieve_defaults(void);

/* The sieve of the patterns of both. */
static inline el_mediatype_sieve_t el_mediatype_sieve_join(el_mediatype_sieve_t a,
                                                           el_mediatype_sieve_t b)
{
    return (el_mediatype_sieve_t){
        .names = a.names | b.names,
        .all = a.all | b.all,
        .suffixed = a.suffixed | b.suffixed,
    };
}

/*
 * False where `type`, as el_mediatype_match() takes it, matches no pattern of the set; true tells
 * nothing.
 */
bool el_mediatype_sieve_passes(el_mediatype_sieve_t sieve, const char *type);

#endif
