/*
 * A kept context of zlib takes another level, under a zlib that behaves as 1.2.9 to 1.2.11 do:
 * deflateParams() calls deflate(), which writes to the buffer that the stream had last.
 */
#define _GNU_SOURCE
#include "engines/engines.h"
#include "engines/library.h"
#include "engines/pool.h"

#include "bodies.h"
#include "decode.h"
#include "suites.h"

#include <dlfcn.h>
#include <zlib.h>

#define NBYTES 3000
#define ROOM (2 * NBYTES)
#define LEVELS 9

static uint8_t body[NBYTES], back[NBYTES + 1];

/* In use by the tests of this file only. Every change of the level counts as one of function. */
static bool as_1_2_11;

int deflateParams(z_stream *z, int level, int strategy)
{
    static int (*library)(z_stream *, int, int);

    if (!library) {
        /* C has no conversion from an object's pointer to a function's, POSIX has this one. */
        *(void **)&library = dlsym(RTLD_NEXT, "deflateParams");
    }
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

/* Steps once into `out`, of which it leaves `*room`; the context is back in the pool then. */
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
    const char *name;
    el_op_t op;
    size_t room;
} ends[] = {
    {"finished", EL_FINISH, ROOM},
    {"left after a flush", EL_FLUSH, ROOM},
    {"left midway", EL_RUN, ROOM},
    {"left with its output full", EL_FINISH, 20},
};

CASE(level_change, .set_up = set_up, .tear_down = tear_down, .timeout = 120);

EACH(level_change, a_level_change_writes_to_no_buffer_of_the_last_body, ends)
{
    for (int i = 0; i < LEVELS * LEVELS; i++) {
        uint8_t first[ROOM], kept[ROOM], second[ROOM];
        size_t room = row->room, left = ROOM;
        int from = i / LEVELS + 1, to = i % LEVELS + 1;
        el_context_t *context = NULL;
        decoded_t decoded;

        memset(first, 0x5a, ROOM);
        context = step_once(from, row->op, first, &room);
        memcpy(kept, first, ROOM);
        ck_assert_ptr_eq(step_once(to, EL_FINISH, second, &left), context);
        ck_assert_msg(memcmp(first, kept, ROOM) == 0, "%s, level %d to %d: bytes were written",
                      row->name, from, to);
        decoded = decode(EL_GZIP, second, ROOM - left, back, sizeof(back));
        ck_assert_msg(decoded.ended && decoded.nbytes == NBYTES && !memcmp(back, body, NBYTES),
                      "%s, level %d to %d: %zu bytes came back", row->name, from, to,
                      decoded.nbytes);
    }
}
