#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#endif

#include "httpd/dictionary/private.h"

#include "httpd/base/warnings.h"

#include "elastic/ring.h"
#include "host/lock.h"

#include "apr_general.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#ifdef ELASTIC_WITH_CRYPTO
#include <openssl/evp.h>
#include <openssl/hmac.h>
#endif

#define KEY 32

/* µs for which the lock is waited for, a hundred times as long as a page is copied. */
#define PATIENCE 5000

/* Where the ring begins: behind the lock, in a line of its own. */
#define RING_AT 64
_Static_assert(sizeof(el_lock_t) <= RING_AT, "the lock has room before the ring");

/* In memory of the parent process. */
typedef struct {
    void *memory; /* shared with the children; NULL: none */
    size_t nbytes;
    bool keyed;
    unsigned char key[KEY];
} kept_t;

/* Of this process; written in post_config, read-only afterwards. */
static struct {
    el_lock_t *lock; /* NULL: private pages are not kept */
    el_ring_t *ring;
    const unsigned char *key;
} pages;

static kept_t *kept_by_parent(void)
{
    static const char retained[] = "mod_elastic:private:1";
    kept_t *kept = ap_retained_data_get(retained);

    return kept ? kept : ap_retained_data_create(retained, sizeof(*kept));
}

/* Children of before keep their mappings until they end. */
static void give_back(kept_t *kept)
{
    if (kept->memory) {
        munmap(kept->memory, kept->nbytes);
    }
    kept->memory = NULL;
}

static bool take_memory(kept_t *kept, size_t nbytes)
{
    void *memory = mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED) {
        return false;
    }
    if (!el_lock_init(memory)) {
        munmap(memory, nbytes);
        return false;
    }
    el_ring_init((char *)memory + RING_AT, nbytes - RING_AT);
    kept->memory = memory;
    kept->nbytes = nbytes;
    return true;
}

static bool make_key(kept_t *kept)
{
    kept->keyed = kept->keyed || apr_generate_random_bytes(kept->key, KEY) == APR_SUCCESS;
    return kept->keyed;
}

void el_private_open(size_t nbytes, server_rec *main_server)
{
    kept_t *kept = kept_by_parent();

    pages.lock = NULL;
    if (kept->memory && kept->nbytes != nbytes) {
        give_back(kept);
    }
    if (nbytes == 0) {
        return;
    }
    if (!make_key(kept) || (!kept->memory && !take_memory(kept, nbytes))) {
        el_warn(main_server, errno,
                "ElasticDictionaryMemory: no private pages are used as dictionaries: "
                "there is no memory for them");
        return;
    }
    pages.lock = kept->memory;
    pages.ring = (el_ring_t *)((char *)kept->memory + RING_AT);
    pages.key = kept->key;
}

#ifdef ELASTIC_WITH_CRYPTO

/* The texts end in NULs, so that no two pages have the same data hashed. */
static bool name_page(const el_private_name_t *name, uint8_t ring_name[EL_RING_NAME])
{
    size_t origin = strlen(name->origin) + 1, session = strlen(name->session) + 1;
    size_t nbytes = EL_DICTIONARY_HASH + origin + session;
    unsigned char *data = malloc(nbytes);
    unsigned written = 0;
    bool named;

    if (!data) {
        return false;
    }
    memcpy(data, name->hash, EL_DICTIONARY_HASH);
    memcpy(data + EL_DICTIONARY_HASH, name->origin, origin);
    memcpy(data + EL_DICTIONARY_HASH + origin, name->session, session);
    named = HMAC(EVP_sha256(), pages.key, KEY, data, nbytes, ring_name, &written) != NULL
            && written == EL_RING_NAME;
    free(data);
    return named;
}

#else

static bool name_page(const el_private_name_t *name, uint8_t ring_name[EL_RING_NAME])
{
    (void)name;
    (void)ring_name;
    return false;
}

#endif

/* Whoever died while holding the lock may have left half of an entry. */
static bool take_lock(void)
{
    bool died;

    if (!el_lock_take(pages.lock, PATIENCE, &died)) {
        return false;
    }
    if (died) {
        el_ring_clear(pages.ring);
    }
    return true;
}

static void give_lock(void)
{
    el_lock_give(pages.lock);
}

/* An entry of the ring: the length of the text of el_dictionary_entry_write(), the text, the page. */
typedef struct {
    el_ring_found_t found;
    const char *text;
    size_t text_len;
} page_t;

/* Under the lock. */
static bool find(const uint8_t *ring_name, page_t *page)
{
    uint32_t text_len;

    if (!el_ring_find(pages.ring, ring_name, &page->found)
        || page->found.nbytes < sizeof(text_len)) {
        return false;
    }
    memcpy(&text_len, page->found.bytes, sizeof(text_len));
    page->text = (const char *)page->found.bytes + sizeof(text_len);
    page->text_len = text_len;
    return text_len <= page->found.nbytes - sizeof(text_len);
}

/*
 * Under the lock: whether the page is there, for half of the time that it would have now, and will be
 * for some time. It has the same bytes, by its name, and goes by the same rule, or one of before.
 */
static bool is_there(const uint8_t *ring_name, const el_dictionary_entry_t *entry)
{
    uint64_t now = (uint64_t)time(NULL);
    el_dictionary_entry_t there;
    page_t page;

    return find(ring_name, &page) && !page.found.old
           && el_dictionary_entry_parse(page.text, page.text_len, &there)
           && el_dictionary_entry_same(&there, entry) && there.expires > now
           && there.expires - now >= (entry->expires - now) / 2;
}

bool el_private_put(const el_private_name_t *name, const el_dictionary_entry_t *entry,
                    const void *bytes, size_t nbytes)
{
    uint8_t ring_name[EL_RING_NAME], *at;
    char text[EL_DICTIONARY_TEXT_MOST];
    uint32_t text_len;
    bool there;

    if (!pages.lock || !name_page(name, ring_name) || nbytes > el_ring_most(pages.ring)) {
        return false;
    }
    text_len = (uint32_t)el_dictionary_entry_write(entry, text);
    if (!take_lock()) {
        return false;
    }
    there = is_there(ring_name, entry);
    at = there ? NULL : el_ring_add(pages.ring, ring_name, sizeof(text_len) + text_len + nbytes);
    if (at) {
        memcpy(at, &text_len, sizeof(text_len));
        memcpy(at + sizeof(text_len), text, text_len);
        memcpy(at + sizeof(text_len) + text_len, bytes, nbytes);
    }
    give_lock();
    return there || at;
}

bool el_private_find(const el_private_name_t *name, el_dictionary_entry_t *entry)
{
    uint8_t ring_name[EL_RING_NAME];
    bool is_found;
    page_t page;

    if (!pages.lock || !name_page(name, ring_name) || !take_lock()) {
        return false;
    }
    is_found = find(ring_name, &page)
               && el_dictionary_entry_parse(page.text, page.text_len, entry);
    give_lock();
    return is_found;
}

uint8_t *el_private_read(const el_private_name_t *name, size_t *nbytes)
{
    uint8_t ring_name[EL_RING_NAME], *bytes = NULL;
    page_t page;

    if (!pages.lock || !name_page(name, ring_name) || !take_lock()) {
        return NULL;
    }
    if (find(ring_name, &page)) {
        const uint8_t *body = (const uint8_t *)page.text + page.text_len;

        *nbytes = page.found.nbytes - (size_t)(body - page.found.bytes);
        bytes = *nbytes > 0 ? malloc(*nbytes) : NULL;
        if (bytes) {
            memcpy(bytes, body, *nbytes);
        }
    }
    give_lock();
    return bytes;
}
