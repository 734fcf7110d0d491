/*
 * The tables of engines and of decoders, the choice of the engine for a level, and prepared
 * dictionaries. A new engine needs its file, a line in library.h and a row here, and in
 * engines_plan_gzip() its levels if it shares the coding with another engine.
 */
#define _POSIX_C_SOURCE 200809L
#include "engines/engines.h"

#include "engines/library.h"
#include "engines/memory.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* The first engine of a coding must be able to stream every level. */
static const el_engine_t *const engines[] = {
    &el_engine_zlib,
#ifdef ELASTIC_WITH_ISAL
    &el_engine_isal,
#endif
#ifdef ELASTIC_WITH_LIBDEFLATE
    &el_engine_libdeflate,
#endif
    &el_engine_brotli,
#ifdef ELASTIC_WITH_ZSTD
    &el_engine_zstd,
#endif
};

#define ENGINES (sizeof(engines) / sizeof(engines[0]))

/* Engines of the codings that need a dictionary. */
static const el_engine_t *const with_dictionary[EL_ALL_CODINGS] = {
#ifdef ELASTIC_WITH_DCB
    [EL_DCB] = &el_engine_dcb,
#endif
#ifdef ELASTIC_WITH_ZSTD
    [EL_DCZ] = &el_engine_dcz,
#endif
};

const el_engine_t *el_engine_for(el_coding_t coding)
{
    for (size_t i = 0; i < ENGINES; i++) {
        if (engines[i]->coding == coding) {
            return engines[i];
        }
    }
    return el_coding_needs_dictionary(coding) ? with_dictionary[coding] : NULL;
}

const el_engine_t *el_engine_at(size_t number)
{
    return number < ENGINES ? engines[number] : NULL;
}

int el_engine_top(el_coding_t coding)
{
    int top = EL_ENGINE_NONE;

    for (size_t i = 0; i < ENGINES; i++) {
        if (engines[i]->coding == coding && engines[i]->level_max > top) {
            top = engines[i]->level_max;
        }
    }
    return top;
}

el_cost_t el_engine_cost(const el_plan_t *plan)
{
    const el_engine_t *engine = plan->engine;

    return engine->costs[plan->setup.level - engine->level_min]
                        [el_cost_class(plan->setup.size_hint)];
}

size_t el_engine_bound(size_t nbytes)
{
    /*
     * Incompressible data is stored: 5 bytes for each block of deflate, of at least 4 KB (zlib with
     * the least memory); brotli and zstd need less. The rest is for headers, trailers, and an empty
     * block at the end.
     */
    return nbytes + nbytes / 512 + 128;
}

el_step_t el_engine_encode(el_context_t *context, el_span_t *span)
{
    const el_engine_t *engine = context->engine;

    return engine->encode ? engine->encode(context, span) : engine->step(context, EL_FINISH, span);
}

const char *el_engine_list(char *text, size_t size)
{
    size_t used = 0;

    if (size > 0) {
        *text = '\0';
    }
    for (size_t i = 0; i < ENGINES && used < size; i++) {
        int wrote = snprintf(text + used, size - used, "%s%s %s", i ? ", " : "", engines[i]->name,
                             engines[i]->version());

        used += wrote > 0 ? (size_t)wrote : size;
    }
    return text;
}

static const el_decoder_t *const decoders[] = {
    &el_decoder_zlib,
    &el_decoder_brotli,
#ifdef ELASTIC_WITH_ZSTD
    &el_decoder_zstd,
#endif
};

const el_decoder_t *el_decoder_for(el_coding_t coding)
{
    for (size_t i = 0; i < sizeof(decoders) / sizeof(decoders[0]); i++) {
        if (decoders[i]->coding == coding) {
            return decoders[i];
        }
    }
    return NULL;
}

/*
 * Users' levels are those of zlib, brotli and zstd. If several libraries encode a coding, the plan
 * takes the one with the least CPU time that makes no more bytes than the library that the level is
 * named after.
 */

/* The format's largest window (RFC 1951 §2), and zlib's default memory level. */
#define WINDOW_BITS_FULL 15
#define MEM_LEVEL_DEFAULT 8

#ifdef ELASTIC_WITH_LIBDEFLATE
#define LIBDEFLATE_LEVELS 12

/*
 * libdeflate's level for a level of gzip (row, from 1) and a whole body of a size class (column;
 * see cost.h); −1: use zlib. It is the cheapest one with at most 1 % more bytes than zlib at that
 * level. scripts/measure-setups measures it; docs/internals/engines.md has the last figures. For
 * the smallest bodies zlib's small contexts beat tables of 200 KB and more.
 */
static const int8_t libdeflate_levels[LIBDEFLATE_LEVELS][EL_SIZE_CLASSES] = {
    {-1, 1, 1, 1, 1}, {-1, 1, 1, 1, 1},     {-1, 1, 1, 1, 1},     {-1, 3, 4, 3, 3},
    {-1, 5, 5, 5, 5}, {-1, 5, 5, 6, 6},     {-1, 6, 6, 7, 7},     {-1, 7, 7, 7, 7},
    {-1, 8, 8, 8, 8}, {10, 10, 10, 10, 10}, {11, 11, 11, 11, 11}, {12, 12, 12, 12, 12},
};
#endif

static el_plan_t engines_plan_with(const el_engine_t *engine, const el_setup_t *wanted, int level)
{
    el_plan_t plan = {.engine = engine, .setup = *wanted};

    plan.setup.level = level;
    return plan;
}

static el_plan_t engines_plan_gzip(const el_setup_t *wanted, bool whole)
{
    int top = el_engine_zlib.level_max;
    /* Only zlib supports a smaller window or less memory. */
    bool zlib = (wanted->window_bits && wanted->window_bits < WINDOW_BITS_FULL)
                || (wanted->mem_level && wanted->mem_level < MEM_LEVEL_DEFAULT);

#ifdef ELASTIC_WITH_ISAL
    /* From level 1 on it saves as much as zlib at the same level, whole or streamed. */
    if (!zlib && wanted->level <= el_engine_isal.level_max) {
        return engines_plan_with(&el_engine_isal, wanted, wanted->level);
    }
#endif
#ifdef ELASTIC_WITH_LIBDEFLATE
    if (!zlib && whole && wanted->level <= LIBDEFLATE_LEVELS) {
        int level = libdeflate_levels[wanted->level - 1][el_cost_class(wanted->size_hint)];

        if (level >= 0) {
            return engines_plan_with(&el_engine_libdeflate, wanted, level);
        }
    }
#endif
    (void)zlib;
    (void)whole;
    return engines_plan_with(&el_engine_zlib, wanted, wanted->level < top ? wanted->level : top);
}

el_plan_t el_engine_plan(el_coding_t coding, const el_setup_t *wanted, bool whole)
{
    return coding == EL_GZIP ? engines_plan_gzip(wanted, whole)
                             : engines_plan_with(el_engine_for(coding), wanted, wanted->level);
}

/* Decodes into body->length + 1 bytes. False unless exactly body->length come out. */
static bool engines_decode(const el_encoded_t *body, uint8_t *decoded)
{
    const el_decoder_t *decoder = el_decoder_for(body->coding);
    el_account_t account = {0};
    el_decoding_t *decoding = decoder ? decoder->open(&account) : NULL;
    el_span_t span = {body->data, body->nbytes, decoded, body->length + 1};
    el_decode_t result = decoding ? decoder->step(decoding, &span) : EL_DECODE_NO_MEMORY;

    if (decoding) {
        decoder->close(decoding);
    }
    return result == EL_DECODE_ENDED && span.in_nbytes == 0 && span.out_nbytes_avail == 1;
}

uint8_t *el_recode(const el_encoded_t *body, const el_plan_t *plan, size_t *nbytes)
{
    size_t room;
    uint8_t *decoded = el_pool_buffer_acquire(body->length + 1, &room);
    bool good = decoded && engines_decode(body, decoded);
    uint8_t *out = good ? el_pool_buffer_acquire(el_engine_bound(body->length), &room) : NULL;
    el_context_t *context = out ? el_pool_acquire(plan) : NULL;
    el_span_t span = {decoded, body->length, out, room};

    if (!context || el_engine_encode(context, &span) != EL_STEP_OK) {
        el_pool_buffer_release(out);
        out = NULL;
    } else {
        *nbytes = room - span.out_nbytes_avail;
    }
    el_pool_release(context);
    el_pool_buffer_release(decoded);
    return out;
}

/* Held only for comparisons, never while a dictionary is prepared or freed. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Guarded by the lock. */
static el_dictionary_t *table; /* last used first */
static size_t kept;            /* bytes, with those reserved for dictionaries being prepared */
static size_t limit = SIZE_MAX;

static void engines_discard(el_dictionary_t *dictionary)
{
    el_account_t account;

    if (dictionary->prepared) {
        dictionary->engine->discard(dictionary);
    }
    account = dictionary->account;
    el_memory_release(&account, dictionary);
}

/* Matches any level; the last used dictionary wins. */
#define ANY_LEVEL (-1)

/*
 * Finds a dictionary, moves it to the front of the table, and counts a user. NULL if there is none.
 * Needs the lock.
 */
static el_dictionary_t *engines_take(const el_engine_t *engine, int level, const uint8_t *hash)
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

/* Moves the last dictionary that no body uses to `gone`. False if there is none. Needs the lock. */
static bool engines_drop_last(el_dictionary_t **gone)
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

static void engines_discard_chain(el_dictionary_t *chain)
{
    while (chain) {
        el_dictionary_t *next = chain->next;

        engines_discard(chain);
        chain = next;
    }
}

/* Reserves `nbytes` in `kept`, and makes room. False, and no change, if it cannot. */
static bool engines_reserve(size_t nbytes)
{
    el_dictionary_t *gone = NULL;
    size_t idle = 0;
    bool room;

    pthread_mutex_lock(&lock);
    for (const el_dictionary_t *one = table; one; one = one->next) {
        idle += atomic_load(&one->users) == 0 ? one->account.nbytes : 0;
    }
    room = nbytes <= limit && kept - idle <= limit - nbytes;
    while (room && kept > limit - nbytes && engines_drop_last(&gone)) {
    }
    kept += room ? nbytes : 0;
    pthread_mutex_unlock(&lock);
    engines_discard_chain(gone);
    return room;
}

/* NULL if memory is short. */
static el_dictionary_t *engines_make(const el_engine_t *engine, int level,
                                        const el_dictionary_bytes_t *bytes)
{
    /* Dictionaries have their own limit: idle memory does not count as in flight. */
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
        engines_discard(dictionary);
        return NULL;
    }
    return dictionary;
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
    found = engines_take(engine, engine->by_level ? level : 0, hash);
    if (!found) {
        found = engines_take(engine, ANY_LEVEL, hash);
        if (found && atomic_fetch_add(&found->stands, 1) >= EL_DICTIONARY_STANDS) {
            atomic_store(&found->stands, 0);
            atomic_fetch_sub(&found->users, 1);
            found = NULL;
        }
    }
    pthread_mutex_unlock(&lock);
    return found;
}

/* NULL if memory is short, or the limit is reached. */
static el_dictionary_t *engines_prepare(const el_engine_t *engine, int level,
                                        const el_dictionary_bytes_t *bytes)
{
    size_t most = sizeof(el_dictionary_t) + engine->prepared_nbytes(bytes->nbytes, level);
    el_dictionary_t *made, *same;

    if (!engines_reserve(most)) {
        return NULL;
    }
    made = engines_make(engine, level, bytes);
    pthread_mutex_lock(&lock);
    kept -= most;
    /* Another thread may have prepared the same one meanwhile. */
    same = made ? engines_take(engine, level, bytes->hash) : NULL;
    if (made && !same) {
        atomic_store(&made->users, 1);
        made->next = table;
        table = made;
        kept += made->account.nbytes;
    }
    pthread_mutex_unlock(&lock);
    if (same) {
        engines_discard(made);
    }
    return same ? same : made;
}

el_dictionary_t *el_dictionary_prepare(el_coding_t coding, int level,
                                       const el_dictionary_bytes_t *bytes)
{
    const el_engine_t *engine = el_engine_for(coding);
    el_dictionary_t *made;

    if (!engine || !engine->prepare) {
        return NULL;
    }
    made = engines_prepare(engine, engine->by_level ? level : 0, bytes);
    if (!made) {
        pthread_mutex_lock(&lock);
        made = engines_take(engine, ANY_LEVEL, bytes->hash);
        pthread_mutex_unlock(&lock);
        made = made || !engine->by_level || level == engine->level_min
                   ? made : engines_prepare(engine, engine->level_min, bytes);
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
    while (engines_drop_last(&gone)) {
    }
    pthread_mutex_unlock(&lock);
    engines_discard_chain(gone);
}
