#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* for MAP_ANONYMOUS */
#endif

#include "engines/memory.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

static el_in_flight_t *held; /* NULL: memory is not counted */
static el_holder_t *holder;
static uint64_t held_most;
static bool only_requests;

static _Thread_local bool refused;

/* In a forked child, which counts nothing. */
static void memory_close(void)
{
    held = NULL;
}

void el_budget_open(el_in_flight_t *of, uint64_t bytes, bool requests)
{
    static bool is_watched;

    held = of;
    held_most = bytes;
    only_requests = requests;
    if (held) {
        holder = el_in_flight_enter(held, (uint32_t)getpid());
        is_watched = is_watched || pthread_atfork(NULL, NULL, memory_close) == 0;
    }
}

static bool memory_is_counted(const el_account_t *account)
{
    return held && !account->idle && (account->of_request || !only_requests);
}

/* False if the budget refuses it. */
static bool memory_count(const el_account_t *account, size_t nbytes)
{
    if (!memory_is_counted(account)) {
        return true;
    }
    if (account->committed) {
        el_in_flight_add(held, holder, (int64_t)nbytes);
        return true;
    }
    if (!el_in_flight_take(held, holder, nbytes, held_most)) {
        refused = true;
        return false;
    }
    return true;
}

bool el_budget_take(el_account_t *account, size_t nbytes)
{
    bool taken = memory_count(account, nbytes);

    account->nbytes += taken ? nbytes : 0;
    return taken;
}

void el_budget_give(el_account_t *account, size_t nbytes)
{
    if (memory_is_counted(account)) {
        el_in_flight_add(held, holder, -(int64_t)nbytes);
    }
    account->nbytes -= nbytes;
}

bool el_budget_wake(el_account_t *account)
{
    account->idle = false;
    account->idle = !memory_count(account, account->nbytes);
    return !account->idle;
}

void el_budget_rest(el_account_t *account)
{
    if (memory_is_counted(account)) {
        el_in_flight_add(held, holder, -(int64_t)account->nbytes);
    }
    account->idle = true;
    account->committed = false;
}

bool el_budget_take_refusal(void)
{
    bool was = refused;

    refused = false;
    return was;
}

/*
 * Blocks of this size and more are mapped, which takes a system call; each of zlib's tables is as
 * large. Sanitizers only check the blocks of malloc().
 */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MAPPED_MIN ((size_t)-1)
#else
#define MAPPED_MIN ((size_t)64 * 1024)
#endif

/* Precedes each block. */
typedef union {
    size_t nbytes; /* with this head */
    max_align_t align;
} head_t;

void *el_memory_acquire(void *account, size_t nbytes)
{
    size_t size = nbytes + sizeof(head_t);
    head_t *head;

    if (size < nbytes || !el_budget_take(account, size)) {
        return NULL;
    }
    head = size < MAPPED_MIN ? malloc(size)
                             : mmap(NULL, size, PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!head || head == MAP_FAILED) {
        el_budget_give(account, size);
        return NULL;
    }
    head->nbytes = size;
    return head + 1;
}

void el_memory_release(void *account, void *memory)
{
    head_t *head = memory;

    if (!memory) {
        return;
    }
    head--;
    el_budget_give(account, head->nbytes);
    if (head->nbytes < MAPPED_MIN) {
        free(head);
    } else {
        munmap(head, head->nbytes);
    }
}

void *el_context_allocate(size_t nbytes)
{
    el_account_t account = {0};
    el_context_t *context;

    if (!el_budget_take(&account, nbytes)) {
        return NULL;
    }
    context = calloc(1, nbytes);
    if (!context) {
        el_budget_give(&account, nbytes);
        return NULL;
    }
    context->account = account;
    return context;
}

void el_context_deallocate(el_context_t *context)
{
    el_budget_give(&context->account, context->account.nbytes);
    free(context);
}

void el_memory_trim(void)
{
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

/* Lists of kept contexts, by a hash of engine and key; a power of two. */
#define LISTS 32

/*
 * Part of a share for contexts: one of libdeflate and some small ones. The rest is for the two
 * buffers of a whole body.
 */
#define CONTEXTS ((size_t)512 * 1024)

/*
 * The smallest limit, and the largest whole body then: a context with its buffers takes no more
 * memory than the zlib context that mod_deflate makes for each body.
 */
#define LIMIT_MIN ((size_t)640 * 1024)
#define WHOLE_MIN ((size_t)32 * 1024)

/*
 * One lock for everything. It is tried a few times, yielding the CPU in between, and never waited
 * for: prefork ends a child from a signal handler whose cleanups release contexts, and which may
 * have interrupted the thread that holds the lock. Without the lock, contexts are created anew or
 * freed.
 *
 * With 16 tries a body of 1 KB at level 1, the cheapest there is, took 8.4 to 9.3 µs of CPU with 1,
 * 2, 4, 8 and 64 threads, and at most 11 of 100,000 bodies created a context because the lock was
 * busy; with one try 47 to 216 did. Eight locks with lists of their own took 8.8 to 9.4 µs and
 * created at most 6 contexts, but kept twice as much memory (scripts/measure-setups threads, on two
 * CPUs with other work). More than two CPUs were not measured. The lock is held for about 30 ns,
 * four times for a response, which takes a server 50 µs and more: 64 CPUs that serve from one
 * process hold it for less than a sixth of the time.
 */
#define TRIES 16

static atomic_flag locked = ATOMIC_FLAG_INIT;

/* Changed only under the lock. The youngest context of a list comes first. */
static el_context_t *lists[LISTS];
static _Atomic size_t kept; /* bytes of all lists */
static unsigned full_age = UINT_MAX; /* the last age in which the limit was reached */

static _Atomic size_t limit = SIZE_MAX;
static _Atomic size_t whole = SIZE_MAX;
static _Atomic bool one_thread; /* only one thread of this process encodes */
static _Atomic unsigned age;

/* False if others held the lock at every try. */
static bool memory_lock(void)
{
    for (int i = 0; i < TRIES; i++) {
        if (!atomic_flag_test_and_set_explicit(&locked, memory_order_acquire)) {
            return true;
        }
        sched_yield();
    }
    return false;
}

static el_context_t **memory_list_of(const el_engine_t *engine, uint32_t key)
{
    uint32_t hash = (key ^ (uint32_t)((uintptr_t)engine >> 4)) * UINT32_C(2654435761);

    return &lists[hash >> 27 & (LISTS - 1)];
}

/*
 * Takes the youngest context of that engine and key off its list. NULL if there is none, or the
 * budget or a busy lock does not allow it.
 */
static el_context_t *memory_acquire_kept(const el_engine_t *engine, uint32_t key)
{
    el_context_t *context, **link = memory_list_of(engine, key);

    if (!memory_lock()) {
        return NULL;
    }
    while (*link && ((*link)->engine != engine || (*link)->key != key)) {
        link = &(*link)->next;
    }
    context = *link;
    if (context && el_budget_wake(&context->account)) {
        *link = context->next;
        kept -= context->account.nbytes;
    } else {
        context = NULL;
    }
    atomic_flag_clear_explicit(&locked, memory_order_release);
    return context;
}

/* Contexts, and buffers, which have no engine. */
static void memory_free_chain(el_context_t *chain)
{
    while (chain) {
        el_context_t *next = chain->next;

        if (chain->engine) {
            chain->engine->free(chain);
        } else {
            el_context_deallocate(chain);
        }
        chain = next;
    }
}

/*
 * Moves everything that was not used for `ages` to `chain`, to be freed after the lock is released.
 * Those are at the ends of the lists. Needs the lock.
 */
static void memory_cut(unsigned ages, el_context_t **chain)
{
    for (unsigned i = 0; i < LISTS; i++) {
        el_context_t **link = &lists[i];

        while (*link && age - (*link)->age < ages) {
            link = &(*link)->next;
        }
        while (*link) {
            el_context_t *context = *link;

            *link = context->next;
            kept -= context->account.nbytes;
            context->next = *chain;
            *chain = context;
        }
    }
}

/* Frees everything that was not used for `ages`. */
static void memory_trim(unsigned ages)
{
    el_context_t *chain = NULL;

    if (memory_lock()) {
        memory_cut(ages, &chain);
        atomic_flag_clear_explicit(&locked, memory_order_release);
        memory_free_chain(chain);
    }
}

static bool memory_fits(size_t nbytes)
{
    size_t most = limit;

    return nbytes <= most && kept <= most - nbytes;
}

/*
 * Frees everything that a process with one encoding thread keeps, if a new piece would exceed the
 * limit: the kept memory is idle while the thread uses the new one, and hundreds of such processes
 * would waste gigabytes. With several threads, others are about to use it.
 */
static void memory_evict_idle(size_t nbytes)
{
    if (one_thread && !memory_fits(nbytes)) {
        memory_trim(0);
        el_memory_trim();
    }
}

/*
 * Keeps a context if the limit allows it. Otherwise tries once in an age to free everything that
 * was not used in this age or the last.
 */
static void memory_keep(el_context_t *context)
{
    el_context_t **list = memory_list_of(context->engine, context->key);
    el_context_t *chain = NULL;
    size_t nbytes = context->account.nbytes;

    if (!memory_lock()) {
        context->next = NULL;
        memory_free_chain(context);
        return;
    }
    if (!memory_fits(nbytes) && nbytes <= limit && full_age != age) {
        full_age = age;
        memory_cut(2, &chain);
    }
    if (memory_fits(nbytes)) {
        context->kept = true;
        el_budget_rest(&context->account);
        context->age = age;
        context->next = *list;
        *list = context;
        kept += nbytes;
    } else {
        context->next = chain;
        chain = context;
    }
    atomic_flag_clear_explicit(&locked, memory_order_release);
    memory_free_chain(chain);
}

el_context_t *el_pool_acquire(const el_plan_t *plan)
{
    const el_engine_t *engine = plan->engine;
    uint32_t key = engine->key(&plan->setup);
    el_context_t *context = memory_acquire_kept(engine, key);

    if (!context) {
        context = engine->create(&plan->setup);
        if (!context) {
            return NULL;
        }
        context->engine = engine;
        context->key = key;
        context->kept = false;
        memory_evict_idle(context->account.nbytes);
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
        memory_keep(context);
    }
}

/* Precedes the data of a buffer, which is aligned like malloc()'s. */
typedef union {
    el_context_t base; /* without an engine; the key is log2 of the buffer's size */
    max_align_t align;
} buffer_t;

/* Smaller buffers share this size. */
#define BUFFER_BITS_MIN 13

void *el_pool_buffer_acquire(size_t nbytes, size_t *room)
{
    el_account_t account = {0};
    uint32_t bits = BUFFER_BITS_MIN;
    buffer_t *buffer;
    size_t size;

    if (nbytes > SIZE_MAX / 4) {
        return NULL;
    }
    while (((size_t)1 << bits) - sizeof(*buffer) < nbytes) {
        bits++;
    }
    size = (size_t)1 << bits;
    buffer = (buffer_t *)memory_acquire_kept(NULL, bits);
    if (!buffer) {
        memory_evict_idle(size);
        if (!el_budget_take(&account, size)) {
            return NULL;
        }
        buffer = malloc(size);
        if (!buffer) {
            el_budget_give(&account, size);
            return NULL;
        }
        buffer->base = (el_context_t){.key = bits, .account = account};
    }
    *room = size - sizeof(*buffer);
    return buffer + 1;
}

void el_pool_buffer_release(void *data)
{
    if (data) {
        memory_keep(&((buffer_t *)data - 1)->base);
    }
}

void el_pool_limit(size_t nbytes)
{
    limit = nbytes;
}

void el_pool_share(size_t nbytes, bool threads)
{
    size_t buffer = nbytes > CONTEXTS ? (nbytes - CONTEXTS) / 2 : 0;

    one_thread = !threads;
    whole = buffer > WHOLE_MIN ? buffer : WHOLE_MIN;
    limit = nbytes > LIMIT_MIN ? nbytes : LIMIT_MIN;
}

size_t el_pool_whole(void)
{
    return whole;
}

void el_pool_age(void)
{
    size_t before = kept;

    age++;
    memory_trim(EL_POOL_AGES);
    if (kept < before) {
        el_memory_trim();
    }
}

size_t el_pool_nbytes(void)
{
    return kept;
}

void el_pool_drain(void)
{
    memory_trim(0);
}
