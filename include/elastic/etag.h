/*
 * Entity tags (RFC 9110 §8.8.3) of encoded representations, and the lists of If-None-Match and of
 * WebDAV's If.
 *
 * The tag of a dynamic coding is the identity's with a suffix before the closing quote: "x" ->
 * "x-gzip". If the identity's tag is known, a tag with a suffix is ours if the rest equals it. If
 * it is unknown, a suffix is only taken off tags of the form that httpd makes: a script may have a
 * page with a tag "home-br" of its own.
 *
 * Pure; any thread; the caller owns every buffer.
 */
#ifndef ELASTIC_ETAG_H
#define ELASTIC_ETAG_H

#include "elastic/http.h"

/* ElasticETag. */
typedef enum {
    EL_ETAG_WEAK,   /* W/"x-gzip": levels vary, so bodies with this tag may differ */
    EL_ETAG_SUFFIX, /* "x-gzip"; a weak tag stays weak */
    EL_ETAG_KEEP,   /* unchanged */
    EL_ETAG_REMOVE  /* no ETag */
} el_etag_mode_t;

/* Bytes that el_etag_encode() adds to a tag at most, with the NUL. */
#define EL_ETAG_GROWTH 16

/*
 * Writes the tag of `coding`, made from the identity's `tag`, to `out`, which has `size` bytes: at
 * least strlen(tag) + EL_ETAG_GROWTH. False, and an empty string, if the mode removes the tag. Text
 * that is not a quoted tag is copied unchanged.
 */
bool el_etag_encode(const char *tag, el_etag_mode_t mode, el_coding_t coding, char *out,
                    size_t size);

/*
 * Writes the tag of a body that INFLATE decoded, "x" -> "x-gunzip"; otherwise like
 * el_etag_encode(). EL_ETAG_WEAK makes it weak; otherwise it stays weak or strong.
 */
bool el_etag_decode(const char *tag, el_etag_mode_t mode, char *out, size_t size);

/* One member of a list; points into the list's text. */
typedef struct {
    const char *text; /* at W/ or the opening quote */
    size_t len;       /* up to and with the closing quote */
    bool weak;
} el_etag_t;

/*
 * Takes the next tag from the list at `*cursor` (the value of If-None-Match) and advances the
 * cursor. False at the end. Skips text that is not a tag, also `*`.
 */
bool el_etag_next(const char **cursor, el_etag_t *tag);

/* True if `tag` equals `other`, a string, by weak comparison (RFC 9110 §8.8.3.2). */
bool el_etag_same(const el_etag_t *tag, const char *other);

/*
 * The coding whose suffix `tag` has; `*base` is then the length from the opening quote to the
 * suffix. EL_IDENTITY if it has no such suffix.
 */
el_coding_t el_etag_coding(const el_etag_t *tag, size_t *base);

/*
 * True if the `len` bytes of `text`, a tag without its quotes, look like httpd's tags of files
 * (FileETag): hexadecimal numbers joined by dashes, one as long as a time or a hash; or a digest.
 * People do not write such tags.
 */
bool el_etag_is_made(const char *text, size_t len);

/* Selects the tags that count as made from an identity's tag. */
typedef struct {
    const el_accept_t *accept; /* suffixes of the codings that it accepts */
    bool decoded; /* of bodies that INFLATE decoded, "x-gunzip", with or without such a suffix */
    bool strong;  /* el_etag_bases(): only strong tags, for If-Match's strong comparison */
} el_etag_rule_t;

/* True if `tag` is made from `current` by the rule; ignores weakness. */
bool el_etag_made_from(const el_etag_t *tag, const char *current, const el_etag_rule_t *rule);

/*
 * Appends to `out` (`size` bytes) the identity's tag of each member of `list` that the rule takes
 * and el_etag_is_made() accepts: as `, W/"x"`, because If-None-Match compares weakly, or as `, "x"`
 * by a strong rule. Returns the bytes written without the NUL; 0: nothing. A tag that does not fit
 * is left out. strlen(list) × 2 + 1 bytes always suffice.
 */
size_t el_etag_bases(const char *list, const el_etag_rule_t *rule, char *out, size_t size);

/*
 * Finds the member of `list` that names the representation whose identity has the tag `current`:
 * `current` itself if present, otherwise a tag made from it. False if there is none.
 */
bool el_etag_named(const char *list, const char *current, const el_etag_rule_t *rule,
                   el_etag_t *named);

/* A position in WebDAV's If (RFC 4918 §10.4) and the tag found there. Zero it and set `at`. */
typedef struct {
    const char *at;  /* the field's value; later, the text after the tag found */
    const char *uri; /* resource of the current list; NULL: the request's own */
    size_t uri_len;
    bool within;  /* inside of a list */
    bool negated; /* by Not */
    el_etag_t tag;
} el_etag_state_t;

/* Finds the next tag. False at the end, or if the rest is malformed. */
bool el_etag_next_state(el_etag_state_t *state);

#endif
