#define _POSIX_C_SOURCE 200809L
#include "engines/dictionary.h"

#include "engines/memory.h"
#include "engines/engines.h"

#include <pthread.h>
#include <string.h>

/* Held for the time of some comparisons: what takes long is done without it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Under the lock. */
static el_dictionary_t *table; /* what was asked for last comes first */
static size_t kept;            /* bytes, with what is about to be prepared */
static size_t limit = SIZE_MAX;

static void dictionary_discard(el_dictionary_t *dictionary)
{
    el_account_t account;

    if (dictionary->prepared) {
        dictionary->engine->discard(dictionary);
    }
    account = dictionary->account;
    el_memory_release(&account, dictionary);
}

static int dictionary_level_for(const el_engine_t *engine, int level)
{
    return engine->by_level ? level : 0;
}

/* Of several that are prepared for other levels, the one that was used last. */
#define ANY_LEVEL (-1)

/*
 * Under the lock: the dictionary, now in use, at the head of the table; NULL if there is none.
 */
static el_dictionary_t *dictionary_take(const el_engine_t *engine, int level, const uint8_t *hash)
{
    el_dictionary_t **link = &table, *found;

    while (*link && ((*link)->engine != engine || (level != ANY_LEVEL && (*link)->level != level)
                     || memcmp((*link)->hash, hash, EL_DICTIONARY_HASH) != 0)) {
        link = &(*link)->next;
    }
    found = *link;
    if (found) {
        *link = found->next;
        found->next = table;
        table = found;
        atomic_fetch_add(&found->users, 1);
    }
    return found;
}

/* Under the lock: moves the last one of the table that no body uses to `gone`; false: none. */
static bool dictionary_drop_last(el_dictionary_t **gone)
{
    el_dictionary_t **last = NULL, *dropped;

    for (el_dictionary_t **link = &table; *link; link = &(*link)->next) {
        last = atomic_load(&(*link)->users) == 0 ? link : last;
    }
    if (!last) {
        return false;
    }
    dropped = *last;
    *last = dropped->next;
    kept -= dropped->account.nbytes;
    dropped->next = *gone;
    *gone = dropped;
    return true;
}

static void dictionary_discard_chain(el_dictionary_t *chain)
{
    while (chain) {
        el_dictionary_t *next = chain->next;

        dictionary_discard(chain);
        chain = next;
    }
}

/* Makes room for `nbytes`, and counts them as kept. False, and all is as it was: it cannot. */
static bool dictionary_reserve(size_t nbytes)
{
    el_dictionary_t *gone = NULL;
    size_t idle = 0;
    bool room;

    pthread_mutex_lock(&lock);
    for (const el_dictionary_t *one = table; one; one = one->next) {
        idle += atomic_load(&one->users) == 0 ? one->account.nbytes : 0;
    }
    room = nbytes <= limit && kept - idle <= limit - nbytes;
    while (room && kept > limit - nbytes && dictionary_drop_last(&gone)) {
    }
    kept += room ? nbytes : 0;
    pthread_mutex_unlock(&lock);
    dictionary_discard_chain(gone);
    return room;
}

/* NULL if memory is short. */
static el_dictionary_t *dictionary_make(const el_engine_t *engine, int level,
                                        const el_dictionary_bytes_t *bytes)
{
    /* Dictionaries have a limit of their own: they are not charged to the bodies in flight. */
    el_account_t account = {.idle = true};
    el_dictionary_t *dictionary = el_memory_acquire(&account, sizeof(*dictionary));

    if (!dictionary) {
        return NULL;
    }
    *dictionary = (el_dictionary_t){
        .engine = engine, .nbytes = bytes->nbytes, .level = level, .account = account,
    };
    memcpy(dictionary->hash, bytes->hash, EL_DICTIONARY_HASH);
    if (!engine->prepare(dictionary, bytes->bytes)) {
        dictionary_discard(dictionary);
        return NULL;
    }
    return dictionary;
}

/* Puts what was made in place of what was reserved; another thread may have made the same. */
static el_dictionary_t *dictionary_keep(el_dictionary_t *made, size_t reserved)
{
    el_dictionary_t *same;

    pthread_mutex_lock(&lock);
    kept -= reserved;
    same = made ? dictionary_take(made->engine, made->level, made->hash) : NULL;
    if (made && !same) {
        atomic_store(&made->users, 1);
        made->next = table;
        table = made;
        kept += made->account.nbytes;
    }
    pthread_mutex_unlock(&lock);
    if (same) {
        dictionary_discard(made);
    }
    return same ? same : made;
}

el_dictionary_t *el_dictionary_find(el_coding_t coding, int level,
                                    const uint8_t hash[EL_DICTIONARY_HASH])
{
    const el_engine_t *engine = el_engine_for(coding);
    el_dictionary_t *found;

    if (!engine || !engine->prepare) {
        return NULL;
    }
    pthread_mutex_lock(&lock);
    found = dictionary_take(engine, dictionary_level_for(engine, level), hash);
    if (!found) {
        found = dictionary_take(engine, ANY_LEVEL, hash);
        if (found && atomic_fetch_add(&found->stands, 1) >= EL_DICTIONARY_STANDS) {
            atomic_store(&found->stands, 0);
            atomic_fetch_sub(&found->users, 1);
            found = NULL;
        }
    }
    pthread_mutex_unlock(&lock);
    return found;
}

/* NULL if memory is short, or the limit. */
static el_dictionary_t *dictionary_prepare(const el_engine_t *engine, int level,
                                           const el_dictionary_bytes_t *bytes)
{
    size_t most = sizeof(el_dictionary_t) + engine->prepared_nbytes(bytes->nbytes, level);

    return dictionary_reserve(most) ? dictionary_keep(dictionary_make(engine, level, bytes),
                                                      most) : NULL;
}

el_dictionary_t *el_dictionary_prepare(el_coding_t coding, int level,
                                       const el_dictionary_bytes_t *bytes)
{
    const el_engine_t *engine = el_engine_for(coding);
    el_dictionary_t *made;

    if (!engine || !engine->prepare) {
        return NULL;
    }
    made = dictionary_prepare(engine, dictionary_level_for(engine, level), bytes);
    if (!made) {
        pthread_mutex_lock(&lock);
        made = dictionary_take(engine, ANY_LEVEL, bytes->hash);
        pthread_mutex_unlock(&lock);
        made = made || !engine->by_level || level == engine->level_min
                   ? made : dictionary_prepare(engine, engine->level_min, bytes);
    }
    return made;
}

int el_dictionary_level(const el_dictionary_t *dictionary, int level)
{
    return dictionary->engine->by_level ? dictionary->level : level;
}

void el_dictionary_release(el_dictionary_t *dictionary)
{
    if (dictionary) {
        atomic_fetch_sub(&dictionary->users, 1);
    }
}

void el_dictionary_limit(size_t nbytes)
{
    pthread_mutex_lock(&lock);
    limit = nbytes;
    pthread_mutex_unlock(&lock);
}

size_t el_dictionary_kept(void)
{
    size_t nbytes;

    pthread_mutex_lock(&lock);
    nbytes = kept;
    pthread_mutex_unlock(&lock);
    return nbytes;
}

void el_dictionary_drain(void)
{
    el_dictionary_t *gone = NULL;

    pthread_mutex_lock(&lock);
    while (dictionary_drop_last(&gone)) {
    }
    pthread_mutex_unlock(&lock);
    dictionary_discard_chain(gone);
}
