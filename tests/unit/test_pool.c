#include "encodings.h"

#include "engines/memory.h"

#include <time.h>

#define NBYTES 20000

static const el_plan_t zlib6 = {&el_engine_zlib, {.level = 6, .size_hint = NBYTES}};
static const el_plan_t zlib9 = {&el_engine_zlib, {.level = 9, .size_hint = NBYTES}};
static const el_plan_t zlib_small = {&el_engine_zlib, {.level = 6, .size_hint = 500}};
static const el_plan_t br5 = {&el_engine_brotli, {.level = 5, .size_hint = NBYTES}};

CASE(pool, .set_up = encodings_set_up, .tear_down = encodings_tear_down, .timeout = 120);

TEST(pool, the_last_released_is_acquired_first)
{
    el_context_t *one = el_pool_acquire(&zlib6), *two = el_pool_acquire(&zlib6);

    ck_assert(one != two && !one->kept && !two->kept);
    el_pool_release(one);
    el_pool_release(two);
    ck_assert_ptr_eq(el_pool_acquire(&zlib6), two);
    ck_assert_ptr_eq(el_pool_acquire(&zlib6), one);
    ck_assert(one->kept && two->kept);
    el_pool_release(one);
    el_pool_release(two);
}

/* The level is not part of zlib's key. */
TEST(pool, a_context_is_for_its_key_only)
{
    el_context_t *context = el_pool_acquire(&zlib6), *other;

    el_pool_release(context);
    other = el_pool_acquire(&zlib_small);
    ck_assert_ptr_ne(other, context);
    el_pool_release(other);
    other = el_pool_acquire(&br5);
    ck_assert_ptr_ne(other, context);
    el_pool_release(other);
    ck_assert_ptr_eq(el_pool_acquire(&zlib9), context);
    el_pool_release(context);
}

TEST(pool, the_limit_holds)
{
    el_context_t *context = el_pool_acquire(&zlib6);
    size_t nbytes = context->account.nbytes;

    el_pool_limit(nbytes);
    el_pool_release(context);
    ck_assert_uint_eq(el_pool_nbytes(), nbytes);
    /* No room: the first was used just now. */
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
    el_context_t *context = el_pool_acquire(&zlib6), *small = el_pool_acquire(&zlib_small);

    el_pool_limit(context->account.nbytes);
    el_pool_release(context);
    el_pool_age();
    el_pool_age();
    el_pool_release(small);
    ck_assert_uint_eq(el_pool_nbytes(), small->account.nbytes);
}

TEST(pool, a_single_thread_frees_what_is_above_the_limit)
{
    size_t room, kept;
    void *buffer;

    el_pool_share(0, false);
    buffer = el_pool_buffer_acquire(100000, &room);
    el_pool_release(el_pool_acquire(&zlib6));
    el_pool_buffer_release(buffer);
    ck_assert_uint_gt(el_pool_nbytes(), 2 * 100000);
    /* Everything fits … */
    buffer = el_pool_buffer_acquire(30000, &room);
    ck_assert_uint_gt(el_pool_nbytes(), 2 * 100000);
    el_pool_buffer_release(buffer);
    /* … until this one. */
    buffer = el_pool_buffer_acquire(600000, &room);
    ck_assert_uint_eq(el_pool_nbytes(), 0);
    el_pool_buffer_release(buffer);
    ck_assert_uint_eq(el_pool_nbytes(), 0);

    /* With several threads nothing is freed. */
    el_pool_share(0, true);
    el_pool_release(el_pool_acquire(&zlib6));
    kept = el_pool_nbytes();
    ck_assert_uint_gt(kept, 0);
    el_pool_buffer_release(el_pool_buffer_acquire(10000000, &room));
    ck_assert_uint_eq(el_pool_nbytes(), kept);
}

static const struct {
    size_t share, whole; /* KB */
} shares[] = {{0, 32}, {256, 32}, {576, 32}, {1024, 256}, {4096, 1792}};
EACH(pool, a_share_sets_the_largest_whole_body, shares)
{
    el_pool_share(row->share << 10, true);
    ck_assert_uint_eq(el_pool_whole(), row->whole << 10);
}

/* Sanitizers keep freed memory for a while. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

/* Private memory of this process, in KB; -1: unknown. */
static long private_kb(void)
{
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    char line[256];
    long kb = -1;

    while (kb < 0 && file && fgets(line, sizeof(line), file)) {
        sscanf(line, "Private_Dirty: %ld", &kb);
    }
    if (file) {
        fclose(file);
    }
    return kb;
}

CASE(pool_native, .set_up = encodings_set_up, .tear_down = encodings_tear_down, .tags = "native");

TEST(pool_native, idle_memory_returns_to_the_system)
{
    el_context_t *context[20];
    long before, most;

    body_fill(BODY_TEXT, body, NBYTES);
    body_fill(BODY_NOISE, encoded, NBYTES);
    before = private_kb();
    for (int i = 0; i < ROWS(context); i++) {
        el_span_t span = {body, NBYTES, encoded, NBYTES};

        context[i] = el_pool_acquire(i % 2 ? &zlib6 : &br5);
        ck_assert_int_ne(context[i]->engine->step(context[i], EL_FLUSH, &span), EL_STEP_ERROR);
    }
    most = private_kb();
    for (int i = 0; i < ROWS(context); i++) {
        el_pool_release(context[i]);
    }
    for (int i = 0; i < EL_POOL_AGES; i++) {
        el_pool_age();
    }
    ck_assert(before < 0 || (most - before > 10000 && private_kb() - before < 1000));
}
#endif

TEST(pool, what_is_idle_for_all_ages_is_freed)
{
    size_t room;
    void *buffer = el_pool_buffer_acquire(100000, &room);

    el_pool_release(el_pool_acquire(&zlib6));
    el_pool_buffer_release(buffer);
    for (int i = 1; i < EL_POOL_AGES; i++) {
        el_pool_age();
        ck_assert_uint_gt(el_pool_nbytes(), room);
    }
    /* Use makes it young again. */
    el_pool_buffer_release(el_pool_buffer_acquire(100000, &room));
    el_pool_age();
    ck_assert(el_pool_nbytes() >= room && el_pool_nbytes() < 2 * room);
    for (int i = 0; i < EL_POOL_AGES; i++) {
        el_pool_age();
    }
    ck_assert_uint_eq(el_pool_nbytes(), 0);
}

static const size_t buffers[] = {0, 1, 8000, 8192, 65536, 1048576, 1048577};
EACH(pool, buffers_hold_what_was_asked_for, buffers)
{
    size_t room, again;
    uint8_t *buffer = el_pool_buffer_acquire(*row, &room);

    ck_assert(buffer && room >= *row && (uintptr_t)buffer % _Alignof(max_align_t) == 0);
    memset(buffer, 0xa5, room);
    el_pool_buffer_release(buffer);
    ck_assert_ptr_eq(el_pool_buffer_acquire(*row, &again), buffer);
    ck_assert_uint_eq(room, again);
    el_pool_buffer_release(buffer);
    ck_assert_ptr_null(el_pool_buffer_acquire(SIZE_MAX, &room));
    el_pool_buffer_release(NULL);
    el_pool_release(NULL);
}

CASE(pool_threads, .set_up = encodings_set_up, .tear_down = encodings_tear_down, .timeout = 120,
     .tags = "threads");

#define THREADS 64

static _Atomic unsigned started; /* started threads */

static void *work(void *unused)
{
    static const el_plan_t *const plans[] = {&zlib6, &zlib9, &zlib_small, &br5};
    uint8_t *decoded_to = malloc(NBYTES);
    unsigned first = started++;

    for (unsigned i = 0; i < 200; i++) {
        const el_plan_t *plan = plans[(first + i) % ROWS(plans)];
        size_t nbytes = (size_t)plan->setup.size_hint, room;
        el_context_t *context = el_pool_acquire(plan);
        uint8_t *out = el_pool_buffer_acquire(el_engine_bound(nbytes), &room);
        el_span_t span = {body, nbytes, out, room};
        decoded_t decoded;

        ck_assert_int_eq(el_engine_encode(context, &span), EL_STEP_OK);
        decoded = decode(plan, (el_span_t){out, room - span.out_nbytes_avail, decoded_to, NBYTES});
        ck_assert(decoded.ended && decoded.nbytes == nbytes && !memcmp(decoded_to, body, nbytes));
        el_pool_release(context);
        el_pool_buffer_release(out);
        if (i % 50 == 0) {
            el_pool_age();
        }
    }
    free(decoded_to);
    return unused;
}

TEST(pool_threads, many_threads_share_the_pool)
{
    body_fill(BODY_TEXT, body, NBYTES);
    el_pool_limit(2 << 20);
    /* Initializes glibc's malloc, which is not locked, if a sanitizer has its own. */
    el_memory_trim();
    threads_run(THREADS, work, NULL);
    ck_assert_uint_le(el_pool_nbytes(), 2 << 20);
    el_pool_drain();
    ck_assert_uint_eq(el_pool_nbytes(), 0);
}

/* Only the pool: threads collide often here, and rarely beside an encoder. */
static void *own_buffers(void *unused)
{
    unsigned owner = started++;
    time_t end = time(NULL) + 30; /* before the test's timeout on a busy machine */

    for (size_t i = 0; i < 2000000 && (i % 1000 || time(NULL) < end); i++) {
        size_t room;
        volatile unsigned *buffer = el_pool_buffer_acquire(100, &room);

        *buffer = owner;
        /* ck_assert() takes longer than the pool. */
        if (*buffer != owner) {
            abort();
        }
        el_pool_buffer_release((void *)(uintptr_t)buffer);
    }
    return unused;
}

TEST(pool_threads, a_buffer_has_one_owner)
{
    threads_run(4, own_buffers, NULL);
    el_pool_drain();
    ck_assert_uint_eq(el_pool_nbytes(), 0);
}
