/*
 * A kept zlib context changes its level, with a zlib that behaves like 1.2.9 to 1.2.11:
 * deflateParams() calls deflate(), which writes to the last output buffer.
 */
#define _GNU_SOURCE
#include "encodings.h"

#include <dlfcn.h>
#include <zlib.h>

#define NBYTES 3000
#define OUT (2 * NBYTES)
#define LEVELS 9

/* Set only by the tests of this file. Every change of level then changes the function. */
static bool as_1_2_11;

static int (*library)(z_stream *, int, int);

/* Runs before any thread of another test. */
__attribute__((constructor)) static void find_library(void)
{
    /* POSIX allows this conversion of an object pointer to a function pointer; C does not. */
    *(void **)&library = dlsym(RTLD_NEXT, "deflateParams");
}

int deflateParams(z_stream *z, int level, int strategy)
{
    if (as_1_2_11) {
        if (deflate(z, Z_BLOCK) == Z_STREAM_ERROR) {
            return Z_STREAM_ERROR;
        }
        if (z->avail_out == 0) {
            return Z_BUF_ERROR;
        }
    }
    return library(z, level, strategy);
}

static void set_up(void)
{
    as_1_2_11 = true;
    body_fill(BODY_TEXT, body, NBYTES);
}

static void tear_down(void)
{
    as_1_2_11 = false;
    el_pool_drain();
}

CASE(level_change, .set_up = set_up, .tear_down = tear_down, .timeout = 120);

/* Steps once into `out`; sets `*room` to the bytes left. The context returns to the pool. */
static el_context_t *step_once(int level, el_op_t op, uint8_t *out, size_t *room)
{
    el_plan_t plan = {&el_engine_zlib, {.level = level, .size_hint = NBYTES}};
    el_context_t *context = el_pool_acquire(&plan);
    el_span_t span = {body, NBYTES, out, *room};

    ck_assert_ptr_nonnull(context);
    ck_assert_int_ne(el_engine_zlib.step(context, op, &span), EL_STEP_ERROR);
    *room = span.out_nbytes_avail;
    el_pool_release(context);
    return context;
}

static const struct {
    const char *label;
    el_op_t op;
    size_t room;
} ends[] = {
    {"finished", EL_FINISH, OUT},
    {"left after a flush", EL_FLUSH, OUT},
    {"left midway", EL_RUN, OUT},
    {"left with its output full", EL_FINISH, 20},
};
EACH(level_change, a_level_change_writes_to_no_buffer_of_the_last_body, ends)
{
    for (int i = 0; i < LEVELS * LEVELS; i++) {
        uint8_t first[OUT], kept[OUT];
        size_t room = row->room, left = OUT;
        el_plan_t plan = {&el_engine_zlib, {.level = i % LEVELS + 1}};
        el_context_t *context;

        memset(first, 0x5a, OUT);
        context = step_once(i / LEVELS + 1, row->op, first, &room);
        memcpy(kept, first, OUT);
        ck_assert_ptr_eq(step_once(plan.setup.level, EL_FINISH, encoded, &left), context);
        ck_assert_msg(memcmp(first, kept, OUT) == 0, "%s, to level %d: bytes were written",
                      row->label, plan.setup.level);
        assert_back(&plan, NBYTES, OUT - left, row->label);
    }
}
