/* Dictionary-compressed bodies. test_prepared.c tests which dictionaries are kept. */
#include "encodings.h"

#ifdef ELASTIC_WITH_ZSTD
#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>
#endif

CASE(difference, .set_up = encodings_set_up, .tear_down = encodings_tear_down, .timeout = 240);

#define PAGE 60000

static el_plan_t plan_for(const el_dictionary_t *dictionary, uint64_t size_hint)
{
    return (el_plan_t){dictionary->engine, {.level = dictionary->engine->level_min,
                                            .size_hint = size_hint, .dictionary = dictionary}};
}

/* Encodes and decodes `nbytes` of the body. Returns the encoded size. */
static size_t differ(const el_dictionary_t *dictionary, int level, size_t nbytes)
{
    el_plan_t plan = plan_for(dictionary, nbytes);
    size_t made;

    plan.setup.level = level;
    made = encode_whole(&plan, nbytes, el_engine_bound(nbytes));
    assert_back(&plan, nbytes, made, "whole");
    return made;
}

/* Each kind of body, against a dictionary of similar text. */
EACH_DIFFERENCE(difference, whole_bodies_decode)
{
    static const size_t sizes[] = {0, 1, 7, 100, 1000, 16384, 65537, 300000, MOST};
    static const size_t dictionaries[] = {1, 7, 8, 100, 65536, 300001};

    for (unsigned d = 0; d < ROWS(dictionaries); d++) {
        el_dictionary_t *dictionary = prepare(engine, dictionaries[d], d);

        for (int i = 0; i < ROWS(sizes) * BODY_KINDS; i++) {
            body_fill((body_kind_t)(i % BODY_KINDS), body, sizes[i / BODY_KINDS]);
            differ(dictionary, engine->level_min, sizes[i / BODY_KINDS]);
        }
        el_dictionary_release(dictionary);
    }
}

/* Also checks that the prepared tables are within the bound. */
EACH_DIFFERENCE(difference, every_level_decodes)
{
    static const size_t dictionaries[] = {1, 100, 65536, 300001};

    body_fill(BODY_TEXT, body, 200000);
    for (unsigned d = 0; d < ROWS(dictionaries); d++) {
        body_fill(BODY_TEXT, raw, dictionaries[d]);
        for (int level = engine->level_min; level <= engine->level_max; level++) {
            el_dictionary_t *dictionary = try_prepare(engine, level, dictionaries[d], d);

            ck_assert_ptr_nonnull(dictionary);
            ck_assert_int_eq(dictionary->level, engine->by_level ? level : 0);
            /* Two blocks, each with some bytes of overhead. */
            ck_assert_uint_le(dictionary->account.nbytes,
                              sizeof(*dictionary)
                                  + engine->prepared_nbytes(dictionaries[d], level) + 256);
            differ(dictionary, level, 200000);
            el_dictionary_release(dictionary);
            el_dictionary_drain();
        }
    }
}

/* A page that begins like zstd's own format of dictionaries, with invalid tables. */
static void fill_page(uint8_t *bytes)
{
    body_fill(BODY_TEXT, bytes, PAGE);
    memcpy(bytes, "\x37\xa4\x30\xec", 4);
}

/* The body is the dictionary's raw content with a few changes. */
EACH_DIFFERENCE(difference, a_page_that_changed_a_little_is_a_few_bytes)
{
    el_dictionary_t *dictionary;
    el_plan_t plan;
    size_t made;

    fill_page(raw);
    dictionary = try_prepare(engine, engine->level_min, PAGE, 1);
    plan = plan_for(dictionary, PAGE);
    fill_page(body);
    memcpy(body + PAGE / 2, "what is new", 11);
    memset(raw, 'x', PAGE);
    made = encode_whole(&plan, PAGE, el_engine_bound(PAGE));
    ck_assert_uint_lt(made, 200);
    fill_page(raw);
    assert_back(&plan, PAGE, made, "after its bytes were written over");
    /* br has no checksum; only the head's hash protects it. */
    raw[PAGE / 2 - 1] ^= 1;
    ck_assert(engine->coding == EL_DCB
              || decode(&plan, (el_span_t){encoded, made, back, sizeof(back)}).failed);
    el_dictionary_release(dictionary);
}

/* A body is left midway, and its context encodes the next one with another dictionary. */
static void leave_and_follow(const el_engine_t *engine, el_op_t op, size_t room)
{
    el_dictionary_t *former, *next;
    el_span_t span = {body, PAGE, encoded, room};
    el_context_t *context;
    el_plan_t plan;
    size_t made;

    body_fill(BODY_NOISE, raw, PAGE);
    former = try_prepare(engine, engine->level_min, PAGE, 1);
    plan = plan_for(former, PAGE);
    body_fill(BODY_NOISE, body, PAGE);
    context = el_pool_acquire(&plan);
    ck_assert_int_ne(engine->step(context, op, &span), EL_STEP_ERROR);
    el_pool_release(context);

    next = prepare(engine, PAGE, 2);
    plan = plan_for(next, PAGE);
    for (int turn = 0; turn < 2; turn++) {
        body_fill(BODY_TEXT, body, PAGE);
        made = turn ? encode_whole(&plan, PAGE, ROOM) : encode_stream(&plan, PAGE);
        ck_assert_uint_lt(made, 200);
        ck_assert_mem_eq(encoded + (engine->coding == EL_DCB ? 4 : 8), hash_of(2),
                         EL_DICTIONARY_HASH);
        assert_back(&plan, PAGE, made, "with the next dictionary");
    }
    ck_assert_ptr_eq(el_pool_acquire(&plan), context);
    el_pool_release(context);
    el_dictionary_release(former);
    el_dictionary_release(next);
}

EACH_DIFFERENCE(difference, a_context_forgets_the_dictionary_before)
{
    static const size_t rooms[] = {10, 2000, ROOM};

    for (int i = 0; i < 3 * ROWS(rooms); i++) {
        leave_and_follow(engine, (el_op_t)(i % 3), rooms[i / 3]);
        el_dictionary_drain();
    }
}

/* Pages with `known` of each 3,000 bytes in their dictionary. */
EACH_DIFFERENCE(difference, a_decoder_has_the_first_text_after_two_segments)
{
    static const size_t pages[] = {30000, 49153, 60000, 100000, 200000, 300000};

    for (int i = 0; i < 2 * ROWS(pages); i++) {
        size_t nbytes = pages[i / 2], known = i % 2 ? 2000 : 500;
        el_dictionary_t *dictionary = prepare(engine, 400000, (unsigned)i);
        el_plan_t plan = plan_for(dictionary, nbytes);

        body_fill(BODY_TEXT, body, MOST);
        memmove(body, body + 400000, nbytes);
        for (size_t at = 0; at + known < nbytes; at += 3000) {
            memcpy(body + at, raw + at, known);
        }
        assert_usable(&plan, nbytes, encode_whole(&plan, nbytes, ROOM));
        assert_usable(&plan, nbytes, encode_stream(&plan, nbytes));
        el_dictionary_release(dictionary);
    }
}

static const struct {
    el_coding_t coding;
    size_t len;
    const char *magic;
} heads[] = {{EL_DCB, 4, "\xff\x44\x43\x42"}, {EL_DCZ, 8, "\x5e\x2a\x4d\x18\x20\0\0\0"}};
EACH(difference, the_head_names_the_dictionary, heads)
{
    uint8_t head[EL_DICTIONARY_HEAD];

    ck_assert_uint_eq(el_dictionary_head(row->coding, hash_of(5), head),
                      row->len + EL_DICTIONARY_HASH);
    ck_assert_mem_eq(head, row->magic, row->len);
    ck_assert_mem_eq(head + row->len, hash_of(5), EL_DICTIONARY_HASH);
    if (el_engine_for(row->coding)) {
        el_dictionary_t *dictionary = prepare(el_engine_for(row->coding), 100, 5);

        differ(dictionary, dictionary->engine->level_min, 1000);
        ck_assert_mem_eq(encoded, head, row->len + EL_DICTIONARY_HASH);
        el_dictionary_release(dictionary);
    }
}

EACH_DIFFERENCE(difference, a_whole_body_without_room_writes_nothing_beyond_it)
{
    static const size_t rooms[] = {0, 1, 35, 36, 40, 41, 500};
    el_dictionary_t *dictionary = prepare(engine, 100, 1);
    el_plan_t plan = plan_for(dictionary, 20000);

    assert_rooms_kept(&plan, rooms, ROWS(rooms));
    el_dictionary_release(dictionary);
}

EACH_DIFFERENCE(difference, streams_decode)
{
    static const size_t dictionaries[] = {8, 100000, 300000};

    for (unsigned d = 0; d < ROWS(dictionaries); d++) {
        el_dictionary_t *dictionary = prepare(engine, dictionaries[d], d);
        el_plan_t plan = plan_for(dictionary, 0);

        assert_streams(&plan, MOST);
        el_dictionary_release(dictionary);
    }
}

#ifdef ELASTIC_WITH_ZSTD
TEST(difference, tables_are_no_larger_than_their_dictionary)
{
    for (size_t nbytes = 16 * 1024; nbytes <= 1024 * 1024; nbytes *= 4) {
        ck_assert_uint_le(el_engine_dcz.prepared_nbytes(nbytes, 9), 6 * nbytes + 32 * 1024);
    }
}

/* A page that is expected to fit two segments gets one more block. */
TEST(difference, a_page_like_its_dictionary_is_two_blocks)
{
    el_dictionary_t *dictionary;
    el_plan_t plan;
    size_t nbytes;

    body_fill(BODY_TEXT, raw, 400000);
    memcpy(body, raw, 100000);
    /* At level 1 libzstd 1.5.7 misses a quarter of such a page. */
    dictionary = try_prepare(&el_engine_dcz, 3, 400000, 1);
    plan = plan_for(dictionary, 100000);
    plan.setup.level = 3;
    nbytes = encode_whole(&plan, 100000, ROOM);
    ck_assert_uint_le(nbytes, 200);
    /* Without the block's last byte and the checksum. */
    ck_assert_uint_eq(decode(&plan, (el_span_t){encoded, nbytes - 5, back, ROOM}).nbytes, 8192);
    ck_assert_uint_eq(encode_stream(&plan, 100000), nbytes);
    el_dictionary_release(dictionary);
}

#define MB (1024 * 1024)

static const struct {
    uint64_t hint;
    size_t dictionary;
    uint64_t window;
} windows[] = {
    {0, 1000, 256 * 1024},   {0, 300000, 512 * 1024}, {1000, 300000, 1000},
    {40 * MB, 1000, 8 * MB}, {0, 12 * MB, 8 * MB},    {40 * MB, 14 * MB, 16 * MB},
};
EACH(difference, a_window_is_within_what_decoders_of_dcz_have, windows)
{
    uint8_t *large = calloc(1, row->dictionary);
    el_dictionary_bytes_t bytes = {large, row->dictionary, hash_of(1)};
    el_dictionary_t *dictionary = el_dictionary_prepare(EL_DCZ, el_engine_dcz.level_min, &bytes);
    el_plan_t plan = plan_for(dictionary, row->hint);
    el_context_t *context = el_pool_acquire(&plan);
    el_span_t span = {body, 500, encoded, 8192};
    ZSTD_frameHeader header;

    ck_assert_ptr_nonnull(context);
    body_fill(BODY_TEXT, body, 500);
    ck_assert_int_eq(context->engine->step(context, EL_FLUSH, &span), EL_STEP_OK);
    ck_assert_uint_eq(ZSTD_getFrameHeader(&header, encoded + 40, 18), 0);
    ck_assert_uint_eq(header.windowSize, row->window);
    ck_assert(header.checksumFlag && header.dictID == 0);
    el_pool_release(context);
    el_dictionary_release(dictionary);
    free(large);
}
#endif
