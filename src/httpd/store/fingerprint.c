#include "httpd/store/fingerprint.h"

#include "httpd/config/settings.h"

#include <limits.h>
#include <string.h>

void el_name_encoding(el_name_t *name, el_coding_t coding, const el_setup_t *setup, int pinned)
{
    name->coding = (uint8_t)coding;
    name->pinned = (uint8_t)pinned;
    name->window_bits = (uint8_t)setup->window_bits;
    name->mem_level = (uint8_t)setup->mem_level;
    name->block_bits = (uint8_t)setup->block_bits;
}

#ifdef ELASTIC_WITH_CRYPTO

#include "httpd/store/spares.h"

#include "apr_general.h"

#include <openssl/evp.h>

/* GCM's usual length of a nonce, the only one that needs no computation of its own. */
#define NONCE_NBYTES 12

/* Texts that a name is hashed from, before the data. */
enum { HOST, ADDRESS, VISITOR, TEXTS = VISITOR + EL_VISITOR_TEXTS };

/* What is hashed first: numbers that no two different sets of texts and data share. */
typedef struct {
    uint64_t kind;
    uint64_t port;
    uint64_t length[TEXTS]; /* with the NUL; 0: there is none */
    uint64_t nbytes;        /* of the data */
} head_t;
_Static_assert(sizeof(head_t) % 16 == 0, "whole blocks");

/* In memory of the process, so that the key outlives a reload. */
typedef struct {
    bool made;
    uint8_t key[EL_FINGERPRINT_KEY];
} random_key_t;

/* The key in force; written in post_config, read-only afterwards. */
static uint8_t key[EL_FINGERPRINT_KEY];

/* Whether a host's addresses count: not where several machines have the same names. */
static bool by_address;

/* Contexts that have the key. */
static el_spares_t contexts;

bool el_fingerprint_built_in(void)
{
    return true;
}

static const uint8_t *random_key(void)
{
    static const char retained[] = "mod_elastic:fingerprint:1";
    random_key_t *kept = ap_retained_data_get(retained);

    if (!kept) {
        kept = ap_retained_data_create(retained, sizeof(*kept));
    }
    if (!kept->made) {
        kept->made = apr_generate_random_bytes(kept->key, sizeof(kept->key)) == APR_SUCCESS;
    }
    return kept->made ? kept->key : NULL;
}

static EVP_CIPHER_CTX *make_context(void)
{
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();

    if (context
        && EVP_EncryptInit_ex(context, EVP_aes_128_gcm(), NULL, key, NULL) != 1) {
        EVP_CIPHER_CTX_free(context);
        return NULL;
    }
    return context;
}

static void release(EVP_CIPHER_CTX *context)
{
    if (context && !el_spares_keep(&contexts, context)) {
        EVP_CIPHER_CTX_free(context);
    }
}

bool el_fingerprint_open(const uint8_t *given)
{
    const uint8_t *wanted = given ? given : random_key();
    EVP_CIPHER_CTX *context;

    if (!wanted) {
        return false;
    }
    memcpy(key, wanted, sizeof(key));
    by_address = !given;
    /* Only to see whether it can be made: each child makes its own. */
    context = make_context();
    EVP_CIPHER_CTX_free(context);
    return context != NULL;
}

/* One nonce for all: what is hidden with it is the value, which nobody is shown. */
static bool begin(EVP_CIPHER_CTX *context)
{
    static const uint8_t nonce[NONCE_NBYTES];

    return EVP_EncryptInit_ex(context, NULL, NULL, NULL, nonce) == 1;
}

static bool finish(EVP_CIPHER_CTX *context, uint8_t *hash)
{
    uint8_t none[16];
    int nbytes;

    return EVP_EncryptFinal_ex(context, none, &nbytes) == 1
           && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_GET_TAG, EL_NAME_HASH, hash) == 1;
}

static const char *address_of(const server_rec *server)
{
    return server->is_virtual && server->addrs ? server->addrs->virthost : NULL;
}

static void read_texts(const request_rec *r, const el_visitor_t *visitor, const char **text,
                       head_t *head)
{
    memset(text, 0, TEXTS * sizeof(*text));
    if (!el_server_cache_shared(el_server_of(r->server))) {
        head->port = r->server->port;
        text[HOST] = r->server->server_hostname;
        text[ADDRESS] = by_address ? address_of(r->server) : NULL;
    }
    if (visitor) {
        memcpy(text + VISITOR, visitor->text, sizeof(visitor->text));
    }
    for (int i = 0; i < TEXTS; i++) {
        head->length[i] = text[i] ? strlen(text[i]) + 1 : 0;
    }
}

void el_fingerprint_begin(el_fingerprint_t *fingerprint, const request_rec *r,
                          const el_visitor_t *visitor, el_name_kind_t kind, size_t nbytes)
{
    EVP_CIPHER_CTX *context = el_spares_take(&contexts);
    const char *text[TEXTS];
    head_t head = {.kind = kind, .nbytes = nbytes};

    context = context ? context : make_context();
    *fingerprint = (el_fingerprint_t){
        .context = context, .good = context && begin(context), .kind = kind,
    };
    read_texts(r, visitor, text, &head);
    el_fingerprint_add(fingerprint, &head, sizeof(head));
    for (int i = 0; i < TEXTS; i++) {
        el_fingerprint_add(fingerprint, text[i], head.length[i]);
    }
}

void el_fingerprint_add(el_fingerprint_t *fingerprint, const void *data, size_t nbytes)
{
    int taken;

    fingerprint->good =
        fingerprint->good
        && (nbytes == 0
            || (nbytes <= INT_MAX
                && EVP_EncryptUpdate(fingerprint->context, NULL, &taken, data, (int)nbytes) == 1));
}

bool el_fingerprint_end(el_fingerprint_t *fingerprint, el_name_t *name)
{
    memset(name, 0, sizeof(*name));
    name->kind = (uint8_t)fingerprint->kind;
    fingerprint->good = fingerprint->good && finish(fingerprint->context, name->hash);
    release(fingerprint->context);
    return fingerprint->good;
}

#else

bool el_fingerprint_built_in(void)
{
    return false;
}

bool el_fingerprint_open(const uint8_t *given)
{
    (void)given;
    return false;
}

void el_fingerprint_begin(el_fingerprint_t *fingerprint, const request_rec *r,
                          const el_visitor_t *visitor, el_name_kind_t kind, size_t nbytes)
{
    (void)r;
    (void)visitor;
    (void)kind;
    (void)nbytes;
    *fingerprint = (el_fingerprint_t){.good = false};
}

void el_fingerprint_add(el_fingerprint_t *fingerprint, const void *data, size_t nbytes)
{
    (void)fingerprint;
    (void)data;
    (void)nbytes;
}

bool el_fingerprint_end(el_fingerprint_t *fingerprint, el_name_t *name)
{
    (void)fingerprint;
    (void)name;
    return false;
}

#endif
