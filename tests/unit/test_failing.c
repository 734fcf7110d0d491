/*
 * Memory that runs out, at each call of malloc() in turn: an engine says so, or its output is
 * right, and nothing is lost.
 */
#define _GNU_SOURCE
#include "engines/pool.h"

#include "bodies.h"
#include "decode.h"
#include "suites.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A sanitizer has its own malloc(), which cannot be replaced. */
#if defined(__SANITIZE_ADDRESS__)
#define REPLACES_MALLOC 0
#else
#define REPLACES_MALLOC 1
#endif

#if REPLACES_MALLOC
#define NBYTES 30000
#define ROOM (NBYTES * 2)

static uint8_t body[NBYTES], encoded[ROOM], encoded_again[ROOM], back[NBYTES];

static long fail_at; /* 0: never; counts down */
static long failures;
static long blocks;  /* in use */

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void __libc_free(void *block);

static bool fails(void)
{
    if (fail_at > 0 && --fail_at == 0) {
        failures++;
        errno = ENOMEM;
        return true;
    }
    return false;
}

void *malloc(size_t size)
{
    void *block = fails() ? NULL : __libc_malloc(size);

    blocks += block != NULL;
    return block;
}

void *calloc(size_t count, size_t size)
{
    void *block = fails() ? NULL : __libc_calloc(count, size);

    blocks += block != NULL;
    return block;
}

void *realloc(void *block, size_t size)
{
    blocks += block == NULL;
    return fails() ? NULL : __libc_realloc(block, size);
}

void free(void *block)
{
    blocks -= block != NULL;
    __libc_free(block);
}

/* Encodes the body, whole or in pieces with a flush; the bytes it made, or 0 where it failed. */
static size_t encode(const el_plan_t *plan, bool whole, uint8_t *out)
{
    el_context_t *context = el_pool_take(plan);
    el_span_t span = {body, NBYTES, out, ROOM};
    el_step_t step = EL_STEP_ERROR;

    if (context && whole) {
        step = el_engine_encode(context, &span);
    } else if (context) {
        span.in_nbytes = NBYTES / 2;
        step = context->engine->step(context, EL_FLUSH, &span);
        span.in_nbytes = NBYTES - NBYTES / 2;
        if (step == EL_STEP_OK) {
            step = context->engine->step(context, EL_FINISH, &span);
        }
    }
    el_pool_give(context);
    return step == EL_STEP_OK ? ROOM - span.out_nbytes_avail : 0;
}

static void fail_at_each(const el_plan_t *plan, bool whole)
{
    for (long at = 1;; at++) {
        long before, after;
        size_t nbytes, again;
        decoded_t decoded;

        el_pool_drain();
        before = blocks;
        failures = 0;
        fail_at = at;
        nbytes = encode(plan, whole, encoded);
        fail_at = 0;
        /* What failed once works again, with the context that it left. */
        again = encode(plan, whole, encoded_again);
        el_pool_drain();
        after = blocks;
        ck_assert_msg(after == before, "%s %d, call %ld: %ld blocks lost", plan->engine->name,
                      plan->setup.level, at, after - before);
        ck_assert_msg(again > 0 && (nbytes > 0 || failures > 0), "%s %d, call %ld: %zu, %zu bytes",
                      plan->engine->name, plan->setup.level, at, nbytes, again);
        if (nbytes > 0) {
            decoded = decode(plan->engine->coding, encoded, nbytes, back, NBYTES);
            ck_assert_msg(decoded.ended && decoded.nbytes == NBYTES
                              && memcmp(back, body, NBYTES) == 0,
                          "%s %d, call %ld", plan->engine->name, plan->setup.level, at);
        }
        if (failures == 0) {
            ck_assert_int_gt(at, 1);
            return;
        }
        ck_assert_int_lt(at, 1000);
    }
}
#endif

START_TEST(an_engine_without_memory_says_so)
{
#if REPLACES_MALLOC
    const el_engine_t *engine = el_engine_at((size_t)_i);

    if (!engine) {
        return;
    }
    body_fill(BODY_TEXT, body, NBYTES);
    for (int level = engine->level_min; level <= engine->level_max; level++) {
        el_plan_t plan = {engine, {.level = level, .size_hint = NBYTES}};

        fail_at_each(&plan, true);
        if (engine->step) {
            fail_at_each(&plan, false);
        }
    }
#else
    (void)_i;
#endif
}
END_TEST

Suite *failing_suite(void)
{
    Suite *suite = suite_create("failing");
    TCase *tc = tcase_create("failing");

    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, an_engine_without_memory_says_so, 0, 5);
    suite_add_tcase(suite, tc);
    return suite;
}
