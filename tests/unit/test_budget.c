#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE /* for syscall() */
#endif

/* The budget of encoders, decoders and buffers in use. */
#include "encodings.h"
#include "engines/memory.h"

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define NBYTES 100000
#define PLENTY (UINT64_C(1) << 40)

static el_in_flight_t held;

static void set_up(void)
{
    encodings_set_up();
    memset(&held, 0, sizeof(held));
    body_fill(BODY_TEXT, body, NBYTES);
}

static void tear_down(void)
{
    encodings_tear_down();
    el_budget_open(NULL, 0, false);
}

CASE(budget, .set_up = set_up, .tear_down = tear_down, .timeout = 240);

/* Encodes the body. Returns its size; 0: failed. Asserts that at most `most` is held. */
static size_t encode(const el_plan_t *plan, bool whole, uint64_t most)
{
    el_context_t *context = el_pool_acquire(plan);
    el_span_t span = {body, NBYTES, encoded, ROOM};
    el_step_t step = EL_STEP_ERROR;

    if (context) {
        step = whole ? el_engine_encode(context, &span)
                     : context->engine->step(context, EL_FINISH, &span);
        ck_assert_uint_eq(el_in_flight_nbytes(&held), context->account.nbytes);
    }
    ck_assert_uint_le(el_in_flight_nbytes(&held), most);
    el_pool_release(context);
    return step == EL_STEP_OK ? ROOM - span.out_nbytes_avail : 0;
}

/* Tries limits up to a sufficient one, with small steps in the last quarter. */
static void try_limits(const el_plan_t *plan, bool whole)
{
    size_t needed, made;

    el_budget_open(&held, PLENTY, false);
    ck_assert_uint_gt(encode(plan, whole, PLENTY), 0);
    needed = el_pool_nbytes();
    ck_assert_uint_eq(el_in_flight_nbytes(&held), 0);
    for (size_t limit = 0; limit < 2 * needed; limit += needed / 16 + 1) {
        el_pool_drain();
        el_budget_open(&held, limit, false);
        made = encode(plan, whole, limit);
        ck_assert_uint_eq(el_in_flight_nbytes(&held), 0);
        ck_assert_msg(el_budget_take_refusal() == (made == 0), "%s %d: %zu of %zu bytes",
                      plan->engine->name, plan->setup.level, limit, needed);
        if (made > 0) {
            assert_back(plan, NBYTES, made, "within its limit");
        }
    }
    ck_assert_uint_gt(made, 0);
}

EACH_ENGINE(budget, an_engine_holds_no_more_than_it_may)
{
    for (int level = engine->level_min; level <= engine->level_max; level += 3) {
        el_plan_t known = {engine, {.level = level, .size_hint = NBYTES}};
        el_plan_t unknown = {engine, {.level = level}};

        try_limits(&known, true);
        if (engine->step) {
            try_limits(&unknown, false);
        }
    }
}

EACH_ENGINE(budget, a_body_that_has_begun_is_not_refused)
{
    el_plan_t plan = {engine, {.level = engine->level_min + 1}};
    el_span_t span = {body, NBYTES, encoded, ROOM};
    el_context_t *context;

    if (!engine->step) {
        return;
    }
    el_budget_open(&held, PLENTY, false);
    context = el_pool_acquire(&plan);
    el_budget_open(&held, 0, false);
    context->account.committed = true;
    ck_assert_int_eq(engine->step(context, EL_FINISH, &span), EL_STEP_OK);
    assert_back(&plan, NBYTES, ROOM - span.out_nbytes_avail, "once begun");
    el_pool_release(context);
    /* The next body may be refused again. */
    ck_assert_ptr_null(el_pool_acquire(&plan));
    ck_assert(el_budget_take_refusal() && !el_budget_take_refusal());
}

static const el_plan_t zlib6 = {&el_engine_zlib, {.level = 6}};

TEST(budget, what_is_idle_takes_nothing)
{
    el_account_t idle = {.idle = true};

    el_budget_open(&held, 10, false);
    ck_assert(el_budget_take(&idle, 1000));
    ck_assert_uint_eq(el_in_flight_nbytes(&held), 0);
    el_budget_give(&idle, 400);
    ck_assert(!el_budget_wake(&idle));
    ck_assert_uint_eq(idle.nbytes, 600);
    ck_assert(el_budget_take_refusal());
}

TEST(budget, what_is_kept_is_not_in_flight)
{
    el_context_t *context;
    size_t nbytes, room;
    void *buffer;

    el_budget_open(&held, PLENTY, false);
    context = el_pool_acquire(&zlib6);
    nbytes = context->account.nbytes;
    buffer = el_pool_buffer_acquire(10000, &room);
    ck_assert_uint_eq(el_in_flight_nbytes(&held), nbytes + 16384);
    el_pool_buffer_release(buffer);
    el_pool_release(context);
    ck_assert_uint_eq(el_in_flight_nbytes(&held), 0);
    ck_assert_uint_eq(el_pool_nbytes(), nbytes + 16384);
    /* Kept memory is charged again on reuse, and stays in the pool if that is refused. */
    el_budget_open(&held, nbytes - 1, false);
    ck_assert_ptr_null(el_pool_acquire(&zlib6));
    ck_assert_uint_eq(el_pool_nbytes(), nbytes + 16384);
    buffer = el_pool_buffer_acquire(10000, &room);
    ck_assert_ptr_nonnull(buffer);
    el_pool_buffer_release(buffer);
    el_budget_open(&held, nbytes, false);
    ck_assert_ptr_eq(el_pool_acquire(&zlib6), context);
    ck_assert_uint_eq(el_in_flight_nbytes(&held), nbytes);
    ck_assert_ptr_null(el_pool_buffer_acquire(10000, &room));
    el_pool_release(context);
}

static unsigned asked;

/* Replaces the C library's, and makes a system call each time. */
pid_t getpid(void)
{
    asked++;
    return (pid_t)syscall(SYS_getpid);
}

TEST(budget, a_charge_asks_the_kernel_nothing)
{
    el_account_t account = {0};

    el_budget_open(&held, PLENTY, false);
    asked = 0;
    ck_assert(el_budget_take(&account, 1000));
    el_budget_give(&account, 400);
    el_budget_rest(&account);
    ck_assert(el_budget_wake(&account));
    ck_assert_uint_eq(el_in_flight_nbytes(&held), 600);
    ck_assert_uint_eq(asked, 0);
    el_budget_give(&account, 600);
}

TEST(budget, a_copy_of_the_process_counts_nothing)
{
    el_context_t *context;
    int status, ends[2];
    uint64_t after = 0;

    ck_assert_int_eq(pipe(ends), 0);
    el_budget_open(&held, PLENTY, false);
    context = el_pool_acquire(&zlib6);
    if (fork() == 0) {
        el_pool_release(context);
        el_pool_drain();
        after = el_in_flight_nbytes(&held);
        _exit(write(ends[1], &after, sizeof(after)) == sizeof(after) ? 0 : 1);
    }
    wait(&status);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(read(ends[0], &after, sizeof(after)), sizeof(after));
    ck_assert_uint_eq(after, el_in_flight_nbytes(&held));
    ck_assert_uint_gt(after, 0);
    el_pool_release(context);
}

static const el_plan_t decoded[] = {
    {&el_engine_zlib, {.level = 5}}, {&el_engine_brotli, {.level = 5}},
};
EACH(budget, a_decoder_holds_no_more_than_it_may, decoded)
{
    const el_decoder_t *decoder = el_decoder_for(row->engine->coding);
    size_t nbytes, refused = 0;

    el_budget_open(&held, PLENTY, false);
    nbytes = encode(row, false, PLENTY);
    el_pool_drain();
    for (size_t limit = 0; limit < 1000000; limit += 3001) {
        el_account_t account = {0};
        el_span_t span = {encoded, nbytes, back, NBYTES};
        el_decoding_t *decoding;
        el_decode_t result;

        el_budget_open(&held, limit, false);
        decoding = decoder->open(&account);
        result = decoding ? decoder->step(decoding, &span) : EL_DECODE_NO_MEMORY;
        ck_assert_uint_le(el_in_flight_nbytes(&held), limit);
        ck_assert_uint_eq(el_in_flight_nbytes(&held), account.nbytes);
        decoder->close(decoding);
        ck_assert(result == EL_DECODE_ENDED || result == EL_DECODE_NO_MEMORY);
        ck_assert(el_budget_take_refusal() == (result == EL_DECODE_NO_MEMORY));
        refused += result == EL_DECODE_NO_MEMORY;
        ck_assert(account.nbytes == 0 && el_in_flight_nbytes(&held) == 0);
    }
    ck_assert(refused > 1 && refused < 300);
}

TEST(budget, request_bodies_may_be_all_that_is_counted)
{
    el_account_t request = {.of_request = true}, response = {0};
    el_context_t *context;

    el_budget_open(&held, 100, true);
    context = el_pool_acquire(&zlib6);
    ck_assert(context && el_budget_take(&response, 1000));
    ck_assert_uint_eq(el_in_flight_nbytes(&held), 0);
    ck_assert(el_budget_take(&request, 100) && !el_budget_take(&request, 1));
    ck_assert_uint_eq(el_in_flight_nbytes(&held), 100);
    el_pool_release(context);
    el_budget_give(&response, 1000);
    ck_assert_uint_eq(el_in_flight_nbytes(&held), 100);
    el_budget_give(&request, 100);
    ck_assert_uint_eq(el_in_flight_nbytes(&held), 0);
    ck_assert(el_budget_take_refusal());
}
