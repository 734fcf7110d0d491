#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE /* explicit_bzero() */
#endif

#include "httpd/cache/tools.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bytes of the keys for names and values. */
#define KEY 32

/* GCM's standard nonce length; other lengths need an extra computation. */
#define NONCE 12

void *el_mac_make(const unsigned char key[EL_MAC_KEY])
{
    EVP_CIPHER_CTX *mac = EVP_CIPHER_CTX_new();

    if (mac && EVP_EncryptInit_ex(mac, EVP_aes_128_gcm(), NULL, key, NULL) != 1) {
        EVP_CIPHER_CTX_free(mac);
        return NULL;
    }
    return mac;
}

void el_mac_free(void *mac)
{
    EVP_CIPHER_CTX_free(mac);
}

/* All hashes use one nonce: it would only hide the hash, which nobody sees. */
bool el_mac_begin(void *mac)
{
    static const unsigned char nonce[NONCE];

    return EVP_EncryptInit_ex(mac, NULL, NULL, NULL, nonce) == 1;
}

bool el_mac_add(void *mac, const void *data, size_t nbytes)
{
    int taken;

    return nbytes == 0
           || (nbytes <= INT_MAX && EVP_EncryptUpdate(mac, NULL, &taken, data, (int)nbytes) == 1);
}

bool el_mac_end(void *mac, unsigned char hash[EL_MAC])
{
    unsigned char none[EL_MAC];
    int nbytes;

    return EVP_EncryptFinal_ex(mac, none, &nbytes) == 1
           && EVP_CIPHER_CTX_ctrl(mac, EVP_CTRL_GCM_GET_TAG, EL_MAC, hash) == 1;
}

static bool crypto_hmac(const void *key, size_t key_len, const void *data, size_t len,
                        unsigned char out[KEY])
{
    return key_len <= INT_MAX && HMAC(EVP_sha256(), key, (int)key_len, data, len, out, NULL) != NULL;
}

bool el_seal_keys(const void *secret, size_t len, el_seal_keys_t *keys)
{
    static const char names[] = "mod_elastic names";
    static const char values[] = "mod_elastic values";
    static const char fingerprints[] = "mod_elastic fingerprints";
    unsigned char key[KEY];

    if (!crypto_hmac(secret, len, names, strlen(names), keys->names)
        || !crypto_hmac(secret, len, values, strlen(values), keys->values)
        || !crypto_hmac(secret, len, fingerprints, strlen(fingerprints), key)) {
        return false;
    }
    memcpy(keys->fingerprints, key, sizeof(keys->fingerprints));
    OPENSSL_cleanse(key, sizeof(key));
    return true;
}

bool el_seal_name(const el_seal_keys_t *keys, const void *own, size_t len,
                  unsigned char name[EL_SEAL_NAME])
{
    return crypto_hmac(keys->names, sizeof(keys->names), own, len, name);
}

/* A context for the values of `name`; NULL if libcrypto fails. */
static EVP_CIPHER_CTX *crypto_seal_begin(const el_seal_keys_t *keys, const unsigned char *name,
                                         const unsigned char *nonce, int sealing)
{
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    unsigned char key[KEY];
    bool begun = context && crypto_hmac(keys->values, sizeof(keys->values), name, EL_SEAL_NAME, key)
                 && EVP_CipherInit_ex(context, EVP_aes_256_gcm(), NULL, key, nonce, sealing) == 1;

    OPENSSL_cleanse(key, sizeof(key));
    if (!begun) {
        EVP_CIPHER_CTX_free(context);
        return NULL;
    }
    return context;
}

bool el_seal_close(const el_seal_keys_t *keys, const unsigned char name[EL_SEAL_NAME],
                   const void *plain, size_t len, unsigned char *sealed)
{
    unsigned char *text = sealed + EL_SEAL_NONCE;
    EVP_CIPHER_CTX *context;
    int done = 0, rest = 0;
    bool closed;

    if (len > INT_MAX || RAND_bytes(sealed, EL_SEAL_NONCE) != 1) {
        return false;
    }
    context = crypto_seal_begin(keys, name, sealed, 1);
    closed = context && EVP_EncryptUpdate(context, text, &done, plain, (int)len) == 1
             && EVP_EncryptFinal_ex(context, text + done, &rest) == 1
             && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_GET_TAG, EL_SEAL_TAG, text + len) == 1;
    EVP_CIPHER_CTX_free(context);
    return closed;
}

bool el_seal_open(const el_seal_keys_t *keys, const unsigned char name[EL_SEAL_NAME],
                  const unsigned char *sealed, size_t len, unsigned char *plain)
{
    const unsigned char *text = sealed + EL_SEAL_NONCE;
    unsigned char tag[EL_SEAL_TAG];
    EVP_CIPHER_CTX *context;
    int done = 0, rest = 0;
    bool opened;

    if (len < EL_SEAL_OVERHEAD || len > INT_MAX) {
        return false;
    }
    len -= EL_SEAL_OVERHEAD;
    memcpy(tag, text + len, EL_SEAL_TAG);
    context = crypto_seal_begin(keys, name, sealed, 0);
    opened = context && EVP_DecryptUpdate(context, plain, &done, text, (int)len) == 1
             && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_SET_TAG, EL_SEAL_TAG, tag) == 1
             && EVP_DecryptFinal_ex(context, plain + done, &rest) == 1;
    EVP_CIPHER_CTX_free(context);
    return opened;
}

/* --- the key file */

const char *el_key_file_read(const char *path, el_seal_keys_t *keys)
{
    unsigned char secret[EL_KEY_FILE_MOST];
    /* O_NONBLOCK: a FIFO of that name must not block. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const char *fault = NULL;
    struct stat file;
    ssize_t nbytes = -1;

    if (fd == -1) {
        return strerror(errno);
    }
    if (fstat(fd, &file) != 0) {
        fault = strerror(errno);
    } else if (!S_ISREG(file.st_mode)) {
        fault = "it is not a regular file";
    } else if (file.st_mode & (S_IRWXG | S_IRWXO)) {
        fault = "others than its owner may use it; chmod 600";
    } else if (file.st_size > EL_KEY_FILE_MOST) {
        fault = "it has more than 4096 bytes";
    } else if ((nbytes = read(fd, secret, sizeof(secret))) == -1) {
        fault = strerror(errno);
    } else if (nbytes < EL_SEAL_SECRET_LEAST) {
        fault = "it has fewer than 32 bytes";
    } else if (!el_seal_keys(secret, (size_t)nbytes, keys)) {
        fault = "libcrypto cannot use it";
    }
    explicit_bzero(secret, sizeof(secret));
    close(fd);
    return fault;
}
