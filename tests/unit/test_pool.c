#define _GNU_SOURCE
#include "engines/engines.h"
#include "engines/library.h"
#include "engines/pool.h"

#include "bodies.h"
#include "decode.h"
#include "suites.h"

#include <pthread.h>

#define NBYTES 20000

static const el_plan_t zlib6 = {&el_engine_zlib, {.level = 6, .size_hint = NBYTES}};
static const el_plan_t zlib9 = {&el_engine_zlib, {.level = 9, .size_hint = NBYTES}};
static const el_plan_t zlib_small = {&el_engine_zlib, {.level = 6, .size_hint = 500}};
static const el_plan_t br5 = {&el_engine_brotli, {.level = 5, .size_hint = NBYTES}};

static uint8_t body[NBYTES];

static void set_up(void)
{
    el_pool_share(SIZE_MAX, true);
    el_pool_drain();
}

CASE(pool, .set_up = set_up, .tear_down = el_pool_drain, .timeout = 120);

TEST(pool, the_last_released_is_acquired_first)
{
    el_context_t *one = el_pool_acquire(&zlib6);
    el_context_t *two = el_pool_acquire(&zlib6);

    ck_assert_ptr_ne(one, two);
    el_pool_release(one);
    el_pool_release(two);
    ck_assert_ptr_eq(el_pool_acquire(&zlib6), two);
    ck_assert_ptr_eq(el_pool_acquire(&zlib6), one);
    el_pool_release(one);
    el_pool_release(two);
}

TEST(pool, a_context_knows_whether_it_is_new)
{
    el_context_t *context = el_pool_acquire(&zlib6);

    ck_assert(!context->kept);
    el_pool_release(context);
    context = el_pool_acquire(&zlib6);
    ck_assert(context->kept);
    el_pool_release(context);
    el_pool_drain();
    context = el_pool_acquire(&zlib6);
    ck_assert(!context->kept);
    el_pool_release(context);
}

TEST(pool, a_context_is_for_its_key_only)
{
    el_context_t *context = el_pool_acquire(&zlib6);
    el_context_t *other;

    el_pool_release(context);
    other = el_pool_acquire(&zlib_small);
    ck_assert_ptr_ne(other, context);
    el_pool_release(other);
    other = el_pool_acquire(&br5);
    ck_assert_ptr_ne(other, context);
    el_pool_release(other);
    /* zlib changes its level at no cost. */
    ck_assert_ptr_eq(el_pool_acquire(&zlib9), context);
    el_pool_release(context);
}

TEST(pool, releasing_null_does_nothing)
{
    el_pool_release(NULL);
    el_pool_buffer_release(NULL);
    ck_assert_uint_eq(el_pool_nbytes(), 0);
}

TEST(pool, the_limit_holds)
{
    el_context_t *context = el_pool_acquire(&zlib6);
    size_t nbytes = context->account.nbytes;

    el_pool_limit(nbytes);
    el_pool_release(context);
    ck_assert_uint_eq(el_pool_nbytes(), nbytes);
    /* No room beside the first, which was used just now. */
    el_pool_release(el_pool_acquire(&zlib_small));
    ck_assert_uint_eq(el_pool_nbytes(), nbytes);
    ck_assert_ptr_eq(el_pool_acquire(&zlib6), context);
    el_pool_limit(nbytes - 1);
    el_pool_release(context);
    ck_assert_uint_eq(el_pool_nbytes(), 0);
    el_pool_limit(0);
    el_pool_release(el_pool_acquire(&zlib_small));
    ck_assert_uint_eq(el_pool_nbytes(), 0);
}

TEST(pool, idle_contexts_make_room)
{
    el_context_t *context = el_pool_acquire(&zlib6);
    size_t nbytes = context->account.nbytes;
    size_t small;

    el_pool_limit(nbytes);
    el_pool_release(context);
    el_pool_age();
    el_pool_age();
    context = el_pool_acquire(&zlib_small);
    small = context->account.nbytes;
    el_pool_release(context);
    ck_assert_uint_eq(el_pool_nbytes(), small);
}

TEST(pool, a_single_thread_frees_what_is_above_the_limit)
{
    size_t held;
    void *buffer;

    el_pool_share(0, false);
    buffer = el_pool_buffer_acquire(100000, &held);
    el_pool_release(el_pool_acquire(&zlib6));
    el_pool_buffer_release(buffer);
    ck_assert_uint_gt(el_pool_nbytes(), 2 * 100000);
    /* Both fit, and this one too; */
    buffer = el_pool_buffer_acquire(30000, &held);
    ck_assert_uint_gt(el_pool_nbytes(), 2 * 100000);
    el_pool_buffer_release(buffer);
    /* with this one it is too much. */
    buffer = el_pool_buffer_acquire(600000, &held);
    ck_assert_uint_eq(el_pool_nbytes(), 0);
    el_pool_buffer_release(buffer);
    ck_assert_uint_eq(el_pool_nbytes(), 0);
}

TEST(pool, threads_free_nothing_that_is_kept)
{
    size_t held, before;

    el_pool_share(0, true);
    el_pool_release(el_pool_acquire(&zlib6));
    before = el_pool_nbytes();
    ck_assert_uint_gt(before, 0);
    el_pool_buffer_release(el_pool_buffer_acquire(10000000, &held));
    ck_assert_uint_eq(el_pool_nbytes(), before);
}

TEST(pool, a_share_sets_the_largest_whole_body)
{
    static const struct {
        size_t share, whole;
    } rows[] = {
        {0, 32 << 10},         {256 << 10, 32 << 10},  {576 << 10, 32 << 10},
        {1 << 20, 256 << 10},  {4 << 20, 1792 << 10},
    };

    for (unsigned i = 0; i < ROWS(rows); i++) {
        el_pool_share(rows[i].share, true);
        ck_assert_uint_eq(el_pool_whole(), rows[i].whole);
    }
}

/* Private memory of this process, in KB. */
static long private_kb(void)
{
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    char line[256];
    long kb = -1;

    while (file && fgets(line, sizeof(line), file) && kb < 0) {
        if (sscanf(line, "Private_Dirty: %ld", &kb) != 1) {
            kb = -1;
        }
    }
    if (file) {
        fclose(file);
    }
    return kb;
}

/* A sanitizer keeps freed memory for a while, to check it. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define GIVES_BACK 0
#else
#define GIVES_BACK 1
#endif

TEST(pool, idle_memory_returns_to_the_system)
{
    enum { COUNT = 20 };
    el_context_t *context[COUNT];
    long before, most;

    body_fill(BODY_TEXT, body, NBYTES);
    before = private_kb();
    if (before < 0 || !GIVES_BACK) {
        return; /* the kernel has no such file */
    }
    for (int i = 0; i < COUNT; i++) {
        uint8_t out[NBYTES];
        el_span_t span = {body, NBYTES, out, sizeof(out)};

        context[i] = el_pool_acquire(i % 2 ? &zlib6 : &br5);
        ck_assert_int_ne(context[i]->engine->step(context[i], EL_FLUSH, &span), EL_STEP_ERROR);
    }
    most = private_kb();
    for (int i = 0; i < COUNT; i++) {
        el_pool_release(context[i]);
    }
    for (int i = 0; i < EL_POOL_AGES; i++) {
        el_pool_age();
    }
    ck_assert_int_gt(most - before, 10000);
    ck_assert_int_lt(private_kb() - before, 1000);
}

TEST(pool, what_is_idle_for_all_ages_is_freed)
{
    size_t held;
    void *buffer = el_pool_buffer_acquire(100000, &held);

    el_pool_release(el_pool_acquire(&zlib6));
    el_pool_buffer_release(buffer);
    for (int i = 1; i < EL_POOL_AGES; i++) {
        el_pool_age();
        ck_assert_uint_gt(el_pool_nbytes(), held);
    }
    /* What is asked for is young again. */
    el_pool_buffer_release(el_pool_buffer_acquire(100000, &held));
    el_pool_age();
    ck_assert_uint_ge(el_pool_nbytes(), held);
    ck_assert_uint_lt(el_pool_nbytes(), 2 * held);
    for (int i = 0; i < EL_POOL_AGES; i++) {
        el_pool_age();
    }
    ck_assert_uint_eq(el_pool_nbytes(), 0);
}

TEST(pool, buffers_hold_what_was_asked_for)
{
    static const size_t sizes[] = {0, 1, 8000, 8192, 65536, 1048576, 1048577};

    for (unsigned i = 0; i < ROWS(sizes); i++) {
        size_t held, again;
        uint8_t *buffer = el_pool_buffer_acquire(sizes[i], &held);

        ck_assert_ptr_nonnull(buffer);
        ck_assert_uint_ge(held, sizes[i]);
        ck_assert_uint_eq((uintptr_t)buffer % _Alignof(max_align_t), 0);
        memset(buffer, 0xa5, held);
        el_pool_buffer_release(buffer);
        ck_assert_ptr_eq(el_pool_buffer_acquire(sizes[i], &again), buffer);
        ck_assert_uint_eq(held, again);
        el_pool_buffer_release(buffer);
    }
}

TEST(pool, a_buffer_beyond_all_memory_is_refused)
{
    size_t held;

    ck_assert_ptr_null(el_pool_buffer_acquire(SIZE_MAX, &held));
}

#define THREADS 64
#define ROUNDS 200

static void *work(void *seed)
{
    static const el_plan_t *const plans[] = {&zlib6, &zlib9, &zlib_small, &br5};
    uint8_t *back = malloc(NBYTES);

    for (size_t i = 0; i < ROUNDS; i++) {
        const el_plan_t *plan = plans[(i + (uintptr_t)seed) % ROWS(plans)];
        size_t nbytes = (size_t)plan->setup.size_hint, held;
        el_context_t *context = el_pool_acquire(plan);
        uint8_t *out = el_pool_buffer_acquire(el_engine_bound(nbytes), &held);
        el_span_t span = {body, nbytes, out, held};
        decoded_t decoded;

        ck_assert_int_eq(el_engine_encode(context, &span), EL_STEP_OK);
        decoded = decode(plan->engine->coding, out, held - span.out_nbytes_avail, back, NBYTES);
        ck_assert(decoded.ended && decoded.nbytes == nbytes && !memcmp(back, body, nbytes));
        el_pool_release(context);
        el_pool_buffer_release(out);
        if (i % 50 == 0) {
            el_pool_age();
        }
    }
    free(back);
    return NULL;
}

CASE(pool_threads, .set_up = set_up, .tear_down = el_pool_drain, .timeout = 120, .threads = true);

TEST(pool_threads, many_threads_share_the_pool)
{
    pthread_t thread[THREADS];

    body_fill(BODY_TEXT, body, NBYTES);
    el_pool_limit(2 << 20);
    for (uintptr_t i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_create(&thread[i], NULL, work, (void *)i), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
    }
    ck_assert_uint_le(el_pool_nbytes(), 2 << 20);
    el_pool_drain();
    ck_assert_uint_eq(el_pool_nbytes(), 0);
}

#define OWNERS 4
#define TURNS 2000000

/* Nothing but the pool: two threads that meet in it are frequent here, and rare beside an encoder. */
static void *own_buffers(void *owner)
{
    for (size_t i = 0; i < TURNS; i++) {
        size_t held;
        uintptr_t *buffer = el_pool_buffer_acquire(100, &held);

        *(volatile uintptr_t *)buffer = (uintptr_t)owner;
        /* An assertion of libcheck takes longer than the pool. */
        if (*(volatile uintptr_t *)buffer != (uintptr_t)owner) {
            abort();
        }
        el_pool_buffer_release(buffer);
    }
    return NULL;
}

TEST(pool_threads, a_buffer_has_one_owner)
{
    pthread_t thread[OWNERS];

    for (uintptr_t i = 0; i < OWNERS; i++) {
        ck_assert_int_eq(pthread_create(&thread[i], NULL, own_buffers, (void *)i), 0);
    }
    for (unsigned i = 0; i < OWNERS; i++) {
        pthread_join(thread[i], NULL);
    }
    el_pool_drain();
    ck_assert_uint_eq(el_pool_nbytes(), 0);
}
