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

#endif
