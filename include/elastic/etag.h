/*
 * Entity tags (RFC 9110 §8.8.3) of encoded representations, and the lists of If-None-Match and of
 * WebDAV's If.
 *
 * A dynamic coding's tag is the identity's with a suffix before the closing quote: "x" -> "x-gzip".
 * If the identity's tag is known, a tag with a suffix names an encoding if the rest is that tag.
 * If it is not known, a suffix is taken off only from tags as httpd makes them: a script may
 * have a page with the tag "home-br" of its own.
 *
 * Pure; any thread; the caller owns every buffer.
 */
#ifndef ELASTIC_ETAG_H
#define ELASTIC_ETAG_H

#include "elastic/http.h"

/* ElasticETag: the tag of an encoded body. */
typedef enum {
    EL_ETAG_WEAK,   /* W/"x-gzip": levels vary, so two such bodies may differ in their bytes */
    EL_ETAG_SUFFIX, /* "x-gzip"; a weak tag stays weak */
    EL_ETAG_KEEP,   /* unchanged */
    EL_ETAG_REMOVE  /* none */
} el_etag_mode_t;

/* Bytes that el_etag_encode() can add to a tag, its terminating zero included. */
#define EL_ETAG_GROWTH 16

/*
 * Writes the tag of `coding` made from the identity's `tag` into `out`, which has `size` bytes.
 * False, and an empty string, if the mode removes it. A tag that is not quoted is no tag: it is
 * copied unchanged. `size` must be at least strlen(tag) + EL_ETAG_GROWTH.
 */
bool el_etag_encode(const char *tag, el_etag_mode_t mode, el_coding_t coding, char *out,
                    size_t size);

/*
 * Writes the tag of a body that INFLATE decoded, "x" -> "x-gunzip", by the rules above. A weak tag
 * stays weak, and a strong one strong, but with EL_ETAG_WEAK.
 */
bool el_etag_decode(const char *tag, el_etag_mode_t mode, char *out, size_t size);

/* One member of a list: a view into the list's text. */
typedef struct {
    const char *text; /* from W/ or the opening quote */
    size_t len;       /* to the closing quote */
    bool weak;
} el_etag_t;

/*
 * The next tag of the list at `*cursor` (If-None-Match's value), which moves behind it. False at
 * the end. Whatever is not a tag is skipped; `*` is no tag.
 */
bool el_etag_next(const char **cursor, el_etag_t *tag);

/*
 * True if `tag` and the zero-terminated `other` are the same by weak comparison (RFC 9110
 * §8.8.3.2).
 */
bool el_etag_same(const el_etag_t *tag, const char *other);

/*
 * The coding whose suffix `tag` has, and in `base` the quoted part's length without suffix and
 * closing quote, counted from the opening quote. EL_IDENTITY if it has none.
 */
el_coding_t el_etag_coding(const el_etag_t *tag, size_t *base);

/*
 * True if the `len` bytes of `text`, a tag's without quotes, look as those that httpd makes for
 * files (FileETag): numbers in hexadecimal digits with dashes between them, one of which is as
 * long as a time or a hash; or a digest. Nobody writes such a tag by hand.
 */
bool el_etag_is_made(const char *text, size_t len);

/* Which tags are taken to be made from an identity's. */
typedef struct {
    const el_accept_t *accept; /* those with the suffix of a coding that it takes */
    bool decoded; /* those of what INFLATE decoded, "x-gunzip", which such a suffix may follow */
    bool strong;  /* el_etag_bases(): strong ones alone, for If-Match, whose comparison is strong */
} el_etag_rule_t;

/* True if `tag` is made from `current` by the rule, by weak comparison. */
bool el_etag_made_from(const el_etag_t *tag, const char *current, const el_etag_rule_t *rule);

/*
 * Appends to `out` (`size` bytes) the identity's tag of each member of `list` that the rule takes,
 * where el_etag_is_made(), as `, W/"x"`: weak, because only If-None-Match's weak comparison may see
 * it; or as `, "x"` by a strong rule. Returns the bytes written (0: nothing to add), without the
 * terminating zero; what does not fit is left out whole. strlen(list) × 2 + 1 bytes always suffice.
 */
size_t el_etag_bases(const char *list, const el_etag_rule_t *rule, char *out, size_t size);

/*
 * The member of `list` that names the representation whose identity has the tag `current`:
 * `current` itself, which is preferred, or one that is made from it. False if there is none.
 */
bool el_etag_named(const char *list, const char *current, const el_etag_rule_t *rule,
                   el_etag_t *named);

/* A place in WebDAV's If (RFC 4918 §10.4), and what stands there; zero it but for `at`. */
typedef struct {
    const char *at;  /* the field's value, then behind what was found */
    const char *uri; /* of the resource that is spoken about; NULL: it is the request's own */
    size_t uri_len;
    bool within;  /* a list */
    bool negated; /* by Not */
    el_etag_t tag;
} el_etag_state_t;

/* The next tag in it; false at the end, and if the rest is no such field. */
bool el_etag_next_state(el_etag_state_t *state);

#endif
