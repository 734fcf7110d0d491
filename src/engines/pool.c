#include "engines/pool.h"

#include "engines/memory.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>

/*
 * The pool is a few shelves, each with a lock that nobody waits for. Everybody tries the first one
 * first, so that all threads share the contexts that are warm; the others are for the moments when
 * two come at once. A shelf is busy for some 30 ns, a body takes the encoder 10 µs and more.
 */
#define SHELVES 8

/* Lists of a shelf. Keys that fall into one list are told apart on the way; a power of two. */
#define LISTS 32

/*
 * A context of libdeflate and some small ones. What a share leaves beside them is for the two
 * buffers of a whole body.
 */
#define CONTEXTS ((size_t)512 * 1024)

/*
 * The least that a process may keep, and the largest whole body then: with its buffers a context
 * takes no more than that of zlib which mod_deflate makes for each body.
 */
#define LIMIT_MIN ((size_t)640 * 1024)
#define WHOLE_MIN ((size_t)32 * 1024)

typedef struct {
    _Alignas(64) atomic_flag busy;
    el_context_t *_Atomic list[LISTS]; /* the youngest first; changed only while busy */
} shelf_t;

static shelf_t shelves[SHELVES];
static _Atomic size_t kept;
static _Atomic size_t limit = SIZE_MAX;
static _Atomic size_t whole = SIZE_MAX;
static _Atomic bool alone; /* the process has one thread that takes */
static _Atomic unsigned age;
static _Atomic unsigned full_age = UINT_MAX; /* the last age in which the limit was met */

static unsigned list_of(const el_engine_t *engine, uint32_t key)
{
    uint32_t hash = (key ^ (uint32_t)((uintptr_t)engine >> 4)) * UINT32_C(2654435761);

    return hash >> 27 & (LISTS - 1);
}

static bool lock(shelf_t *shelf)
{
    return !atomic_flag_test_and_set_explicit(&shelf->busy, memory_order_acquire);
}

static void unlock(shelf_t *shelf)
{
    atomic_flag_clear_explicit(&shelf->busy, memory_order_release);
}

/* Takes the first of that key out of a list of a shelf that is locked. */
static el_context_t *unlink_key(el_context_t *_Atomic *list, const el_engine_t *engine,
                                  uint32_t key)
{
    el_context_t *before = NULL;
    el_context_t *context = atomic_load_explicit(list, memory_order_relaxed);

    while (context && (context->engine != engine || context->key != key)) {
        before = context;
        context = context->next;
    }
    if (context && before) {
        before->next = context->next;
    } else if (context) {
        atomic_store_explicit(list, context->next, memory_order_relaxed);
    }
    return context;
}

static el_context_t *acquire_kept(const el_engine_t *engine, uint32_t key)
{
    unsigned number = list_of(engine, key);

    for (shelf_t *shelf = shelves; shelf < shelves + SHELVES; shelf++) {
        el_context_t *context;

        /* Seen without the lock: an empty list costs no more than this. */
        if (!atomic_load_explicit(&shelf->list[number], memory_order_relaxed) || !lock(shelf)) {
            continue;
        }
        context = unlink_key(&shelf->list[number], engine, key);
        unlock(shelf);
        if (context) {
            atomic_fetch_sub_explicit(&kept, context->nbytes, memory_order_relaxed);
            return context;
        }
    }
    return NULL;
}

static void free_context(el_context_t *context)
{
    if (context->engine) {
        context->engine->free(context);
    } else {
        free(context);
    }
}

static void free_chain(el_context_t *chain)
{
    while (chain) {
        el_context_t *next = chain->next;

        free_context(chain);
        chain = next;
    }
}

/*
 * Takes from a list all that is older than `ages`, and pushes it onto `chain`. As a list's youngest
 * come first, these are its end.
 */
static void cut_list(el_context_t *_Atomic *list, unsigned ages, el_context_t **chain)
{
    unsigned now = atomic_load_explicit(&age, memory_order_relaxed);
    el_context_t *last = NULL;
    el_context_t *context = atomic_load_explicit(list, memory_order_relaxed);

    while (context && now - context->age < ages) {
        last = context;
        context = context->next;
    }
    if (last) {
        last->next = NULL;
    } else {
        atomic_store_explicit(list, NULL, memory_order_relaxed);
    }
    while (context) {
        el_context_t *next = context->next;

        atomic_fetch_sub_explicit(&kept, context->nbytes, memory_order_relaxed);
        context->next = *chain;
        *chain = context;
        context = next;
    }
}

/* Frees what has not been asked for in `ages`; a shelf that is busy is left for the next time. */
static void trim(unsigned ages)
{
    for (shelf_t *shelf = shelves; shelf < shelves + SHELVES; shelf++) {
        el_context_t *chain = NULL;

        if (lock(shelf)) {
            for (unsigned i = 0; i < LISTS; i++) {
                cut_list(&shelf->list[i], ages, &chain);
            }
            unlock(shelf);
            free_chain(chain);
        }
    }
}

/*
 * Whether `nbytes` more may be kept. Where not at once, then after all has gone that nobody asked
 * for in this age or the last; that is looked for once in an age.
 */
static bool make_room(size_t nbytes)
{
    size_t most = atomic_load_explicit(&limit, memory_order_relaxed);
    unsigned now = atomic_load_explicit(&age, memory_order_relaxed);

    if (nbytes > most) {
        return false;
    }
    if (atomic_load_explicit(&kept, memory_order_relaxed) > most - nbytes
        && atomic_exchange_explicit(&full_age, now, memory_order_relaxed) != now) {
        trim(2);
    }
    return atomic_load_explicit(&kept, memory_order_relaxed) <= most - nbytes;
}

/*
 * What a single thread keeps is idle while it works with something else. Where that is new and both
 * are too much, what is kept goes: a few hundred such processes are a matter of gigabytes. Threads
 * would only take from each other what the next is about to ask for.
 */
static void evict_idle(size_t nbytes)
{
    size_t most = atomic_load_explicit(&limit, memory_order_relaxed);

    if (atomic_load_explicit(&alone, memory_order_relaxed)
        && (nbytes > most || atomic_load_explicit(&kept, memory_order_relaxed) > most - nbytes)) {
        trim(0);
        el_memory_trim();
    }
}

static void keep(el_context_t *context)
{
    unsigned number = list_of(context->engine, context->key);

    context->age = atomic_load_explicit(&age, memory_order_relaxed);
    if (make_room(context->nbytes)) {
        for (shelf_t *shelf = shelves; shelf < shelves + SHELVES; shelf++) {
            if (lock(shelf)) {
                context->next = atomic_load_explicit(&shelf->list[number], memory_order_relaxed);
                atomic_fetch_add_explicit(&kept, context->nbytes, memory_order_relaxed);
                atomic_store_explicit(&shelf->list[number], context, memory_order_relaxed);
                unlock(shelf);
                return;
            }
        }
    }
    free_context(context);
}

el_context_t *el_pool_acquire(const el_plan_t *plan)
{
    const el_engine_t *engine = plan->engine;
    uint32_t key = engine->key(&plan->setup);
    el_context_t *context = acquire_kept(engine, key);

    if (!context) {
        context = engine->create(&plan->setup);
        if (!context) {
            return NULL;
        }
        context->engine = engine;
        context->key = key;
        evict_idle(engine->memory(context));
    }
    if (!engine->reset(context, &plan->setup)) {
        engine->free(context);
        return NULL;
    }
    return context;
}

void el_pool_release(el_context_t *context)
{
    if (context) {
        context->nbytes = context->engine->memory(context);
        keep(context);
    }
}

/* What a buffer begins with; its data follows at the same alignment that malloc() gives. */
typedef union {
    el_context_t base; /* without an engine; its key is log2 of the whole buffer's bytes */
    max_align_t align;
} buffer_t;

/* Smaller ones are not worth a key of their own. */
#define BUFFER_BITS_MIN 13

void *el_pool_buffer_acquire(size_t nbytes, size_t *held)
{
    uint32_t bits = BUFFER_BITS_MIN;
    buffer_t *buffer;

    if (nbytes > SIZE_MAX / 4) {
        return NULL;
    }
    while (((size_t)1 << bits) - sizeof(buffer_t) < nbytes) {
        bits++;
    }
    buffer = (buffer_t *)acquire_kept(NULL, bits);
    if (!buffer) {
        evict_idle((size_t)1 << bits);
        buffer = malloc((size_t)1 << bits);
        if (!buffer) {
            return NULL;
        }
        buffer->base.engine = NULL;
        buffer->base.key = bits;
        buffer->base.nbytes = (size_t)1 << bits;
    }
    *held = ((size_t)1 << bits) - sizeof(buffer_t);
    return buffer + 1;
}

void el_pool_buffer_release(void *data)
{
    if (data) {
        keep(&((buffer_t *)data - 1)->base);
    }
}

void el_pool_limit(size_t nbytes)
{
    atomic_store(&limit, nbytes);
}

void el_pool_share(size_t nbytes, bool threads)
{
    size_t buffer = nbytes > CONTEXTS ? (nbytes - CONTEXTS) / 2 : 0;

    atomic_store(&alone, !threads);
    atomic_store(&whole, buffer > WHOLE_MIN ? buffer : WHOLE_MIN);
    el_pool_limit(nbytes > LIMIT_MIN ? nbytes : LIMIT_MIN);
}

size_t el_pool_whole(void)
{
    return atomic_load_explicit(&whole, memory_order_relaxed);
}

void el_pool_age(void)
{
    size_t before = atomic_load(&kept);

    atomic_fetch_add(&age, 1);
    trim(EL_POOL_AGES);
    if (atomic_load(&kept) < before) {
        el_memory_trim();
    }
}

size_t el_pool_kept(void)
{
    return atomic_load(&kept);
}

void el_pool_drain(void)
{
    trim(0);
}
