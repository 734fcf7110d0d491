/*
 * What leaves the machine: names that tell nothing of what they stand for, and values that nobody
 * without the key reads or makes. HMAC-SHA-256 (RFC 2104) and AES-256-GCM (NIST SP 800-38D), both
 * of libcrypto.
 *
 * A value has a key of its own, made of its name. So random nonces never get too many under one
 * key, and a value that is found under another name, or was put together of several, is none.
 *
 * Knows no server. Any thread. Functions return false where libcrypto fails, for want of memory, or
 * is not built in.
 */
#ifndef ELASTIC_STORE_SEAL_H
#define ELASTIC_STORE_SEAL_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of a name. */
#define EL_SEAL_NAME 32

/* Bytes that a sealed value is longer than what it holds: a nonce before it, and a tag behind. */
#define EL_SEAL_NONCE 12
#define EL_SEAL_TAG 16
#define EL_SEAL_OVERHEAD (EL_SEAL_NONCE + EL_SEAL_TAG)

/* Bytes of the key that comes from the same secret for fingerprints (fingerprint.h). */
#define EL_SEAL_FINGERPRINT 16

/* Bytes of a secret, at least. */
#define EL_SEAL_SECRET_LEAST 32

typedef struct {
    unsigned char names[32];
    unsigned char values[32];
    unsigned char fingerprints[EL_SEAL_FINGERPRINT];
} el_seal_keys_t;

/* The keys that `len` bytes of secret stand for. */
bool el_seal_keys(const void *secret, size_t len, el_seal_keys_t *keys);

/* The name, outside of this machine, of what is called by the `len` bytes at `own` in it. */
bool el_seal_name(const el_seal_keys_t *keys, const void *own, size_t len,
                  unsigned char name[EL_SEAL_NAME]);

/*
 * Seals `len` bytes for `name`, with a fresh nonce; `sealed` has room for EL_SEAL_OVERHEAD more.
 * They may be there already: plain == sealed + EL_SEAL_NONCE. The same holds for opening.
 */
bool el_seal_close(const el_seal_keys_t *keys, const unsigned char name[EL_SEAL_NAME],
                   const void *plain, size_t len, unsigned char *sealed);

/*
 * Opens `len` bytes that el_seal_close() made for `name`; `plain` has room for EL_SEAL_OVERHEAD
 * fewer. False too for anything else, and then nothing at `plain` may be used.
 */
bool el_seal_open(const el_seal_keys_t *keys, const unsigned char name[EL_SEAL_NAME],
                  const unsigned char *sealed, size_t len, unsigned char *plain);

#endif
