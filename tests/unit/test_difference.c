/* Bodies as what differs from a dictionary. test_prepared.c has which dictionaries are kept. */
#include "bodies.h"
#include "decode.h"
#include "prepare.h"
#include "suites.h"

#include "engines/engines.h"
#include "engines/library.h"
#include "engines/pool.h"

#ifdef ELASTIC_WITH_ZSTD
#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>
#endif

#define MOST PREPARE_MOST
#define PAGE 60000

static uint8_t *body, *encoded, *back;

static void set_up(void)
{
    prepare_set_up();
    body = malloc(MOST);
    encoded = malloc(el_engine_bound(MOST));
    back = malloc(MOST + 1);
}

static void tear_down(void)
{
    free(body);
    free(encoded);
    free(back);
    prepare_tear_down();
}

static el_plan_t plan_for(const el_dictionary_t *dictionary, uint64_t size_hint)
{
    const el_engine_t *engine = dictionary->engine;

    return (el_plan_t){engine, {.level = engine->level_min, .size_hint = size_hint,
                                .dictionary = dictionary}};
}

static size_t encode_at(const el_dictionary_t *dictionary, int level, size_t nbytes, size_t room)
{
    el_plan_t plan = plan_for(dictionary, nbytes);
    el_span_t span = {body, nbytes, encoded, room};
    el_context_t *context;
    el_step_t step;

    plan.setup.level = level;
    context = el_pool_acquire(&plan);
    ck_assert_ptr_nonnull(context);
    step = el_engine_encode(context, &span);
    el_pool_release(context);
    ck_assert(step == EL_STEP_OK || (step == EL_STEP_MORE && room < el_engine_bound(nbytes)));
    return step == EL_STEP_OK ? room - span.out_nbytes_avail : 0;
}

static size_t encode_whole(const el_dictionary_t *dictionary, size_t nbytes, size_t room)
{
    return encode_at(dictionary, dictionary->engine->level_min, nbytes, room);
}

static decoded_t decode_with(const el_dictionary_t *dictionary, size_t encoded_nbytes)
{
    against_t difference = {dictionary->engine->coding, raw, dictionary->nbytes};

    return decode_difference(&difference, encoded, encoded_nbytes, back, MOST + 1);
}

static void assert_back(const el_dictionary_t *dictionary, size_t nbytes, size_t encoded_nbytes,
                        const char *how)
{
    decoded_t decoded = decode_with(dictionary, encoded_nbytes);

    ck_assert_msg(decoded.ended && !decoded.failed && decoded.nbytes == nbytes
                      && memcmp(back, body, nbytes) == 0,
                  "%s, %s, %zu bytes from %zu: %zu came back%s",
                  el_coding_info(dictionary->engine->coding)->token, how, nbytes,
                  dictionary->nbytes, decoded.nbytes, decoded.ended ? "" : ", unended");
}

static const size_t sizes[] = {0, 1, 7, 100, 1000, 16384, 65537, 300000, MOST};

CASE(difference, .set_up = set_up, .tear_down = tear_down, .timeout = 240);

/* Each kind of body against text of another length, which has its words. */
EACH(difference, whole_bodies_decode, prepare_codings)
{
    static const size_t dictionaries[] = {1, 7, 8, 100, 65536, 300001};

    for (unsigned d = 0; d < ROWS(dictionaries) && el_engine_for(*row); d++) {
        el_dictionary_t *dictionary;

        body_fill(BODY_TEXT, raw, dictionaries[d]);
        dictionary = prepare(*row, dictionaries[d], d);
        for (unsigned s = 0; s < ROWS(sizes); s++) {
            for (int kind = 0; kind < BODY_KINDS; kind++) {
                body_fill((body_kind_t)kind, body, sizes[s]);
                assert_back(dictionary, sizes[s],
                            encode_whole(dictionary, sizes[s], el_engine_bound(sizes[s])), "whole");
            }
        }
        el_dictionary_release(dictionary);
    }
}

/* With a dictionary for each, and tables that are within the bound. */
EACH(difference, every_level_decodes, prepare_codings)
{
    static const size_t dictionaries[] = {1, 100, 65536, 300001};
    const el_engine_t *engine = el_engine_for(*row);

    for (unsigned d = 0; d < ROWS(dictionaries) && engine; d++) {
        body_fill(BODY_TEXT, raw, dictionaries[d]);
        body_fill(BODY_TEXT, body, 200000);
        for (int level = engine->level_min; level <= engine->level_max; level++) {
            el_dictionary_t *dictionary = try_level(*row, level, dictionaries[d], d);
            size_t nbytes;

            ck_assert_ptr_nonnull(dictionary);
            ck_assert_int_eq(dictionary->level, engine->by_level ? level : 0);
            /* Two blocks, which may be some bytes longer. */
            ck_assert_uint_le(dictionary->account.nbytes,
                              sizeof(*dictionary)
                                  + engine->prepared_nbytes(dictionaries[d], level) + 256);
            nbytes = encode_at(dictionary, level, 200000, el_engine_bound(200000));
            assert_back(dictionary, 200000, nbytes, "at its level");
            el_dictionary_release(dictionary);
            el_dictionary_drain();
        }
    }
}

#ifdef ELASTIC_WITH_ZSTD
TEST(difference, tables_are_no_larger_than_their_dictionary)
{
    for (size_t nbytes = 16 * 1024; nbytes <= 1024 * 1024; nbytes *= 4) {
        ck_assert_uint_le(el_engine_dcz.prepared_nbytes(nbytes, 9), 6 * nbytes + 32 * 1024);
    }
}
#endif

/* A page as the dictionary of its own text, in `body` and `raw`; NULL without an engine. */
static el_dictionary_t *prepare_page(el_coding_t coding)
{
    if (!el_engine_for(coding)) {
        return NULL;
    }
    body_fill(BODY_TEXT, raw, PAGE);
    memcpy(body, raw, PAGE);
    return prepare(coding, PAGE, 1);
}

EACH(difference, a_page_that_changed_a_little_is_a_few_bytes, prepare_codings)
{
    el_dictionary_t *dictionary = prepare_page(*row);
    size_t nbytes;

    if (!dictionary) {
        return;
    }
    memcpy(body + PAGE / 2, "what is new", 11);
    nbytes = encode_whole(dictionary, PAGE, el_engine_bound(PAGE));
    assert_back(dictionary, PAGE, nbytes, "edited");
    ck_assert_uint_lt(nbytes, 200);
    el_dictionary_release(dictionary);
}

/* What the library would take for a dictionary of its own format, with tables that are none. */
EACH(difference, a_dictionary_is_taken_as_raw_content, prepare_codings)
{
    static const uint8_t magic[] = {0x37, 0xa4, 0x30, 0xec};
    el_dictionary_t *dictionary;

    if (!el_engine_for(*row)) {
        return;
    }
    body_fill(BODY_TEXT, raw, PAGE);
    memcpy(raw, magic, sizeof(magic));
    memcpy(body, raw, PAGE);
    dictionary = prepare(*row, PAGE, 1);
    assert_back(dictionary, PAGE, encode_whole(dictionary, PAGE, el_engine_bound(PAGE)), "raw");
    el_dictionary_release(dictionary);
}

EACH(difference, a_dictionary_has_bytes_of_its_own, prepare_codings)
{
    el_dictionary_t *dictionary = prepare_page(*row);
    size_t nbytes;

    if (!dictionary) {
        return;
    }
    memset(raw, 'x', PAGE);
    nbytes = encode_whole(dictionary, PAGE, el_engine_bound(PAGE));
    ck_assert_uint_lt(nbytes, 200);
    memcpy(raw, body, PAGE);
    assert_back(dictionary, PAGE, nbytes, "after its bytes were written over");
    el_dictionary_release(dictionary);
}

EACH(difference, another_dictionary_does_not_decode, prepare_codings)
{
    /* br has no checksum: the hash of the head has to do. */
    el_dictionary_t *dictionary = *row == EL_DCZ ? prepare_page(EL_DCZ) : NULL;
    size_t nbytes;

    if (!dictionary) {
        return;
    }
    nbytes = encode_whole(dictionary, PAGE, el_engine_bound(PAGE));
    raw[PAGE / 2] ^= 1;
    ck_assert(decode_with(dictionary, nbytes).failed);
    el_dictionary_release(dictionary);
}

EACH(difference, the_head_names_the_dictionary, prepare_codings)
{
    static const uint8_t dcz[] = {0x5e, 0x2a, 0x4d, 0x18, 0x20, 0, 0, 0};
    static const uint8_t dcb[] = {0xff, 0x44, 0x43, 0x42};
    bool is_dcb = *row == EL_DCB;
    size_t len = is_dcb ? sizeof(dcb) : sizeof(dcz);
    uint8_t head[EL_DICTIONARY_HEAD];
    el_dictionary_t *dictionary;

    ck_assert_uint_eq(el_dictionary_head(*row, hash_of(5), head),
                      len + EL_DICTIONARY_HASH);
    ck_assert_mem_eq(head, is_dcb ? dcb : dcz, len);
    ck_assert_mem_eq(head + len, hash_of(5), EL_DICTIONARY_HASH);
    if (el_engine_for(*row)) {
        body_fill(BODY_TEXT, raw, 100);
        body_fill(BODY_TEXT, body, 1000);
        dictionary = prepare(*row, 100, 5);
        ck_assert_uint_gt(encode_whole(dictionary, 1000, el_engine_bound(1000)), 0);
        ck_assert_mem_eq(encoded, head, len + EL_DICTIONARY_HASH);
        el_dictionary_release(dictionary);
    }
}

EACH(difference, a_whole_body_without_room_writes_nothing_beyond_it, prepare_codings)
{
    static const size_t rooms[] = {0, 1, 35, 36, 40, 41, 500};
    el_dictionary_t *dictionary;

    if (!el_engine_for(*row)) {
        return;
    }
    body_fill(BODY_TEXT, raw, 100);
    body_fill(BODY_NOISE, body, 20000);
    dictionary = prepare(*row, 100, 1);
    for (unsigned r = 0; r < ROWS(rooms); r++) {
        memset(encoded + rooms[r], 0x5a, 100);
        ck_assert_uint_eq(encode_whole(dictionary, 20000, rooms[r]), 0);
        for (size_t i = 0; i < 100; i++) {
            ck_assert_uint_eq(encoded[rooms[r] + i], 0x5a);
        }
    }
    el_dictionary_release(dictionary);
}

/* A way to feed a stream. */
static const struct {
    const char *name;
    size_t nbytes;        /* of the body */
    size_t in;            /* bytes of a piece */
    size_t out;           /* bytes of output room at a time */
    unsigned flush_every; /* pieces; 0: never */
    bool hint;
} feeds[] = {
    {"empty", 0, 1, 8192, 0, false},
    {"one byte", 1, 1, 8192, 0, true},
    {"pieces of 8 KB", 200000, 8192, 8192, 0, false},
    {"length known", 200000, 8192, 8192, 0, true},
    {"single bytes out", 5000, 1000, 1, 0, false},
    {"single bytes in", 5000, 1, 8192, 0, false},
    {"a flush after each piece", 60000, 1000, 8192, 1, false},
    {"a flush after each byte", 300, 1, 8192, 1, false},
    {"flushes, few bytes out", 3000, 500, 16, 2, true},
    {"longer than the window", MOST, 65536, 8192, 7, false},
};

/* Steps with `op` until all is taken, `piece` bytes of output at a time. */
static void step_all(el_context_t *context, el_op_t op, el_span_t *span, size_t piece)
{
    uint8_t *end = encoded + el_engine_bound(MOST);
    el_step_t step;

    do {
        span->out_nbytes_avail = piece < (size_t)(end - span->out) ? piece
                                                                   : (size_t)(end - span->out);
        step = context->engine->step(context, op, span);
        ck_assert(step != EL_STEP_MORE || span->out_nbytes_avail == 0);
    } while (step == EL_STEP_MORE && span->out < end);
    ck_assert_int_eq(step, EL_STEP_OK);
    ck_assert_uint_eq(span->in_nbytes, 0);
}

static void stream_one(const el_dictionary_t *dictionary, unsigned f)
{
    el_plan_t plan = plan_for(dictionary, feeds[f].hint ? feeds[f].nbytes : 0);
    el_context_t *context = el_pool_acquire(&plan);
    el_span_t span = {body, 0, encoded, 0};
    size_t fed = 0;

    ck_assert_ptr_nonnull(context);
    for (unsigned piece = 1; fed < feeds[f].nbytes; piece++) {
        size_t left = feeds[f].nbytes - fed;
        bool flush = feeds[f].flush_every && piece % feeds[f].flush_every == 0;

        span.in_nbytes = feeds[f].in < left ? feeds[f].in : left;
        fed += span.in_nbytes;
        step_all(context, flush ? EL_FLUSH : EL_RUN, &span, feeds[f].out);
        if (flush) {
            decoded_t decoded = decode_with(dictionary, (size_t)(span.out - encoded));

            ck_assert_msg(!decoded.failed && decoded.nbytes == fed && memcmp(back, body, fed) == 0,
                          "%s: after a flush %zu of %zu decode", feeds[f].name, decoded.nbytes, fed);
        }
    }
    step_all(context, EL_FINISH, &span, feeds[f].out);
    el_pool_release(context);
    assert_back(dictionary, feeds[f].nbytes, (size_t)(span.out - encoded), feeds[f].name);
}

EACH(difference, streams_decode, prepare_codings)
{
    static const size_t dictionaries[] = {8, 100000, 300000};

    for (unsigned d = 0; d < ROWS(dictionaries) && el_engine_for(*row); d++) {
        el_dictionary_t *dictionary;

        body_fill(BODY_TEXT, raw, dictionaries[d]);
        dictionary = prepare(*row, dictionaries[d], d);
        for (unsigned f = 0; f < ROWS(feeds); f++) {
            body_fill(BODY_TEXT, body, feeds[f].nbytes);
            stream_one(dictionary, f);
        }
        el_dictionary_release(dictionary);
    }
}

/* A context serves one dictionary after the other, of which the last is gone. */
EACH(difference, a_context_has_the_dictionary_of_its_body, prepare_codings)
{
    if (!el_engine_for(*row)) {
        return;
    }
    for (unsigned number = 0; number < 8; number++) {
        size_t nbytes = (size_t)1000 << number;
        el_dictionary_t *dictionary;

        body_fill(BODY_TEXT, raw, nbytes);
        memcpy(body, raw, 1000);
        dictionary = prepare(*row, nbytes, number);
        assert_back(dictionary, 1000, encode_whole(dictionary, 1000, el_engine_bound(1000)),
                    "one after the other");
        el_dictionary_release(dictionary);
        el_dictionary_drain();
    }
}

#ifdef ELASTIC_WITH_ZSTD
static const struct {
    uint64_t hint;
    size_t dictionary;
    uint64_t window; /* 0: that of the body's length */
} windows[] = {
    {0, 1000, 256 * 1024},
    {0, 300000, 512 * 1024},
    {1000, 300000, 0},
    {40 * 1024 * 1024, 1000, 8 * 1024 * 1024},
    {0, 12 * 1024 * 1024, 8 * 1024 * 1024},
    {40 * 1024 * 1024, 14 * 1024 * 1024, 16 * 1024 * 1024},
};

EACH(difference, a_window_is_within_what_decoders_of_dcz_have, windows)
{
    uint8_t *large = calloc(1, row->dictionary);
    el_dictionary_bytes_t bytes = {large, row->dictionary, hash_of(1)};
    el_dictionary_t *dictionary = el_dictionary_prepare(EL_DCZ, level_of(EL_DCZ), &bytes);
    el_plan_t plan = plan_for(dictionary, row->hint);
    el_context_t *context = el_pool_acquire(&plan);
    el_span_t span = {body, 500, encoded, 8192};
    ZSTD_frameHeader header;

    ck_assert_ptr_nonnull(context);
    body_fill(BODY_TEXT, body, 500);
    ck_assert_int_eq(context->engine->step(context, EL_FLUSH, &span), EL_STEP_OK);
    ck_assert_uint_eq(ZSTD_getFrameHeader(&header, encoded + 40, 18), 0);
    ck_assert_uint_eq(header.windowSize,
                      row->window ? row->window : row->hint);
    ck_assert(header.checksumFlag && header.dictID == 0);
    el_pool_release(context);
    el_dictionary_release(dictionary);
    free(large);
}
#endif
