/*
 * All that libcrypto does for the store: keyed hashes that name entries on this machine. Entries
 * that leave it have names that tell nothing of the body, and values that nobody without the key
 * reads or makes.
 *
 * Knows no server. Any thread. Functions return false if libcrypto fails, for instance for lack of
 * memory.
 */
#ifndef ELASTIC_CACHE_CRYPTO_H
#define ELASTIC_CACHE_CRYPTO_H

#include <stdbool.h>
#include <stddef.h>

/*
 * A keyed hash: AES-GMAC (NIST SP 800-38D), with one key and one nonce, as a universal hash: its
 * values are never shown. Bytes of the key and of a hash.
 */
#define EL_MAC_KEY 16
#define EL_MAC 16

/* Makes a context that hashes with `key`, for one thread at a time; NULL if it failed. */
void *el_mac_make(const unsigned char key[EL_MAC_KEY]);
void el_mac_free(void *mac);

/* Begins a hash; adds the next `nbytes` bytes, at `data`; ends it. */
bool el_mac_begin(void *mac);
bool el_mac_add(void *mac, const void *data, size_t nbytes);
bool el_mac_end(void *mac, unsigned char hash[EL_MAC]);

/*
 * Names are HMAC-SHA-256 (RFC 2104), and values are sealed by AES-256-GCM (NIST SP 800-38D). A
 * value has a key of its own, made of its name. So random nonces never get too many under one key,
 * and a value that is found under another name, or was put together of several, is none. Bytes of a
 * name.
 */
#define EL_SEAL_NAME 32

/* Bytes that a sealed value is longer than what it holds: a nonce before it, and a tag behind. */
#define EL_SEAL_NONCE 12
#define EL_SEAL_TAG 16
#define EL_SEAL_OVERHEAD (EL_SEAL_NONCE + EL_SEAL_TAG)

/* Bytes of a secret, at least. */
#define EL_SEAL_SECRET_LEAST 32

typedef struct {
    unsigned char names[32];
    unsigned char values[32];
    unsigned char fingerprints[EL_MAC_KEY]; /* of hashes, in place of a random one */
} el_seal_keys_t;

/* Derives the keys from `len` bytes of secret. */
bool el_seal_keys(const void *secret, size_t len, el_seal_keys_t *keys);

/* Makes the name outside of this machine; `own` is the one of `len` bytes in it. */
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

/*
 * Bytes of the file of ElasticCacheKey, at most: more than any key has, and less than a file that
 * was named by mistake.
 */
#define EL_KEY_FILE_MOST 4096

/*
 * Reads that file at `path`, a secret that only the servers of a fleet have, and makes the keys of
 * all its bytes. NULL, or its fault, in words that follow the path.
 */
const char *el_key_file_read(const char *path, el_seal_keys_t *keys);

#endif
