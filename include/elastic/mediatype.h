// Media types (RFC 9110 §8.3.1) and the patterns of ElasticTypes: text/html, text/*,
// application/*+json.
//
// Pure; any thread.
#ifndef ELASTIC_MEDIATYPE_H
#define ELASTIC_MEDIATYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The two names of a type or of a pattern: views into the text that they were read from. */
typedef struct {
    const char *type;
    const char *subtype;
    size_t type_len;
    size_t subtype_len;
} el_mediatype_t;

/*
 * Reads a Content-Type's value, with or without parameters, which are not looked at. False where it
 * is NULL or does not begin with a type.
 */
bool el_mediatype_read(const char *value, el_mediatype_t *type);

/*
 * Reads a pattern: type "/" subtype, both tokens of RFC 9110 §5.6.2, where the subtype may be "*"
 * or "*+suffix", and both may be "*". False where the text is none.
 */
bool el_mediatype_pattern(const char *value, el_mediatype_t *pattern);

/* Whether `type` matches `pattern`. Letters match in any case. */
bool el_mediatype_match(const el_mediatype_t *pattern, const el_mediatype_t *type);

/* The patterns that are compressed where the configuration names none, and their number. */
extern const el_mediatype_t el_mediatype_defaults[];
extern const size_t el_mediatype_defaults_count;

/* Whether one of them matches the type that a Content-Type's value, or NULL, begins with. */
bool el_mediatype_is_default(const char *value);

#endif
