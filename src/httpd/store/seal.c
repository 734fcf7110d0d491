#include "httpd/store/seal.h"

#ifdef ELASTIC_WITH_CRYPTO

#include <limits.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <string.h>

#define KEY 32

static bool hmac(const void *key, size_t key_len, const void *data, size_t len,
                 unsigned char out[KEY])
{
    unsigned out_len = 0;

    return key_len <= INT_MAX
           && HMAC(EVP_sha256(), key, (int)key_len, data, len, out, &out_len) != NULL
           && out_len == KEY;
}

bool el_seal_keys(const void *secret, size_t len, el_seal_keys_t *keys)
{
    static const char names[] = "mod_elastic names";
    static const char values[] = "mod_elastic values";
    static const char fingerprints[] = "mod_elastic fingerprints";
    unsigned char key[KEY];

    if (!hmac(secret, len, names, strlen(names), keys->names)
        || !hmac(secret, len, values, strlen(values), keys->values)
        || !hmac(secret, len, fingerprints, strlen(fingerprints), key)) {
        return false;
    }
    memcpy(keys->fingerprints, key, sizeof(keys->fingerprints));
    OPENSSL_cleanse(key, sizeof(key));
    return true;
}

bool el_seal_name(const el_seal_keys_t *keys, const void *own, size_t len,
                  unsigned char name[EL_SEAL_NAME])
{
    return hmac(keys->names, sizeof(keys->names), own, len, name);
}

/* A context for values of `name`; NULL where libcrypto fails. */
static EVP_CIPHER_CTX *begin(const el_seal_keys_t *keys, const unsigned char *name,
                             const unsigned char *nonce, int sealing)
{
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    unsigned char key[KEY];
    bool begun = context && hmac(keys->values, sizeof(keys->values), name, EL_SEAL_NAME, key)
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
    context = begin(keys, name, sealed, 1);
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
    context = begin(keys, name, sealed, 0);
    opened = context && EVP_DecryptUpdate(context, plain, &done, text, (int)len) == 1
             && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_SET_TAG, EL_SEAL_TAG, tag) == 1
             && EVP_DecryptFinal_ex(context, plain + done, &rest) == 1;
    EVP_CIPHER_CTX_free(context);
    return opened;
}

#else

bool el_seal_keys(const void *secret, size_t len, el_seal_keys_t *keys)
{
    (void)secret;
    (void)len;
    (void)keys;
    return false;
}

bool el_seal_name(const el_seal_keys_t *keys, const void *own, size_t len,
                  unsigned char name[EL_SEAL_NAME])
{
    (void)keys;
    (void)own;
    (void)len;
    (void)name;
    return false;
}

bool el_seal_close(const el_seal_keys_t *keys, const unsigned char name[EL_SEAL_NAME],
                   const void *plain, size_t len, unsigned char *sealed)
{
    (void)keys;
    (void)name;
    (void)plain;
    (void)len;
    (void)sealed;
    return false;
}

bool el_seal_open(const el_seal_keys_t *keys, const unsigned char name[EL_SEAL_NAME],
                  const unsigned char *sealed, size_t len, unsigned char *plain)
{
    (void)keys;
    (void)name;
    (void)sealed;
    (void)len;
    (void)plain;
    return false;
}

#endif
