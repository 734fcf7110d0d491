/*
 * Names of entries: keyed hashes of what was encoded (AES-GMAC, NIST SP 800-38D, with one key and one
 * nonce, as a universal hash: its values are never shown). The key is made when httpd starts, or
 * comes from ElasticCacheKey, and lives as long as httpd does.
 *
 * A name stands for the virtual host as well, unless ElasticCacheScope is `all`. Any thread.
 */
#ifndef ELASTIC_STORE_FINGERPRINT_H
#define ELASTIC_STORE_FINGERPRINT_H

#include "httpd/base/glue.h"

#include "elastic/engine.h"
#include "elastic/entry.h"

/* Bytes of the key. */
#define EL_FINGERPRINT_KEY 16

/* Whether this build can make names at all: with libcrypto. */
bool el_fingerprint_built_in(void);

/*
 * In post_config: `key` of EL_FINGERPRINT_KEY bytes, or NULL for the random one, which is made at
 * the first call and kept over graceful restarts. False where libcrypto fails.
 */
bool el_fingerprint_open(const uint8_t *key);

/* The texts that tell one visitor from another; NULL for those that there are not. */
typedef enum {
    EL_VISITOR_SENT_COOKIE,        /* as the client sent it */
    EL_VISITOR_SENT_AUTHORIZATION,
    EL_VISITOR_COOKIE,             /* as other modules left it */
    EL_VISITOR_AUTHORIZATION,
    EL_VISITOR_USER,
    EL_VISITOR_AUTH_TYPE,
    EL_VISITOR_CERTIFICATE,
    EL_VISITOR_TEXTS
} el_visitor_text_t;

typedef struct {
    const char *text[EL_VISITOR_TEXTS];
} el_visitor_t;

/* A name in the making; the caller's memory. */
typedef struct {
    void *context; /* of libcrypto */
    bool good;     /* nothing has failed */
    el_name_kind_t kind;
} el_fingerprint_t;

/*
 * Begins the name of `nbytes` bytes, of `kind`, for the virtual host of `r`, and for `visitor` alone;
 * NULL: whoever it is.
 */
void el_fingerprint_begin(el_fingerprint_t *fingerprint, const request_rec *r,
                          const el_visitor_t *visitor, el_name_kind_t kind, size_t nbytes);

/* The next `nbytes` of them, at `data`. */
void el_fingerprint_add(el_fingerprint_t *fingerprint, const void *data, size_t nbytes);

/* Ends it: the name, in no coding yet. False where libcrypto failed. */
bool el_fingerprint_end(el_fingerprint_t *fingerprint, el_name_t *name);

/*
 * Makes it the name of the encoding in `coding` by `setup`, but for its level: that is `pinned`, or
 * EL_NAME_MOVES.
 */
void el_name_encoding(el_name_t *name, el_coding_t coding, const el_setup_t *setup, int pinned);

#endif
