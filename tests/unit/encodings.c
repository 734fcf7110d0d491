#include "encodings.h"

#include "engines/memory.h"

#include <brotli/decode.h>
#include <zlib.h>
#ifdef ELASTIC_WITH_ZSTD
#include <zstd.h>
#endif

uint8_t body[MOST], encoded[ROOM], back[MOST + 1], raw[MOST];

const size_t plain[5] = {0, 1, 2, 3, 4};
const el_coding_t differences[2] = {EL_DCB, EL_DCZ};

void encodings_set_up(void)
{
    el_pool_share(SIZE_MAX, true);
    el_pool_drain();
    el_dictionary_limit(SIZE_MAX);
    el_budget_open(NULL, 0, false);
    el_budget_take_refusal();
}

void encodings_tear_down(void)
{
    el_pool_drain();
    el_dictionary_drain();
    ck_assert_uint_eq(el_dictionary_kept(), 0);
}

/* A linear congruential generator (Knuth's MMIX). The upper bits suffice here. */
static uint32_t next(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*state >> 33);
}

static void fill_text(uint8_t *bytes, size_t nbytes)
{
    static const char *const words[] = {
        "<p class=\"a\">", "</p>\n", "the ", "server ", "of ", "directive ", "<a href=\"", "\">",
        "</a>", "compression ", "to ", "module ", "a ", "response ", "is ", "and ", "header ",
        "level ", "42", "<li>", "</li>\n", "for ", "request ", "in ", "configured ", "by ",
        "Apache ",
    };
    uint64_t state = nbytes;
    size_t used = 0;

    while (used < nbytes) {
        const char *word = words[next(&state) % ROWS(words)];
        size_t len = strlen(word);

        if (next(&state) % 8 == 0) {
            bytes[used++] = (uint8_t)('a' + next(&state) % 26);
            continue;
        }
        len = len < nbytes - used ? len : nbytes - used;
        memcpy(bytes + used, word, len);
        used += len;
    }
}

void body_fill(body_kind_t kind, uint8_t *bytes, size_t nbytes)
{
    uint64_t state = 1;

    memset(bytes, 0, nbytes);
    if (kind == BODY_TEXT) {
        fill_text(bytes, nbytes);
    }
    for (size_t i = 0; kind == BODY_NOISE && i < nbytes; i++) {
        bytes[i] = (uint8_t)next(&state);
    }
}

size_t encode_whole(const el_plan_t *plan, size_t nbytes, size_t room)
{
    el_span_t span = {body, nbytes, encoded, room};
    el_context_t *context = el_pool_acquire(plan);
    el_step_t step;

    ck_assert_ptr_nonnull(context);
    step = el_engine_encode(context, &span);
    el_pool_release(context);
    ck_assert_msg((step == EL_STEP_OK && span.in_nbytes == 0)
                      || (step == EL_STEP_MORE && room < el_engine_bound(nbytes)),
                  "%s %d, %zu bytes into %zu: %d", plan->engine->name, plan->setup.level, nbytes,
                  room, step);
    return step == EL_STEP_OK ? room - span.out_nbytes_avail : 0;
}

static decoded_t decode_gzip(el_span_t span)
{
    z_stream z = {.next_in = (Bytef *)(uintptr_t)span.in, .avail_in = (uInt)span.in_nbytes,
                  .next_out = span.out, .avail_out = (uInt)span.out_nbytes_avail};
    decoded_t decoded = {.failed = true};
    int rc;

    if (inflateInit2(&z, MAX_WBITS + 16) == Z_OK) {
        rc = inflate(&z, Z_SYNC_FLUSH);
        decoded.nbytes = span.out_nbytes_avail - z.avail_out;
        decoded.ended = rc == Z_STREAM_END && z.avail_in == 0;
        decoded.failed = rc != Z_STREAM_END && rc != Z_OK && rc != Z_BUF_ERROR;
        inflateEnd(&z);
    }
    return decoded;
}

static decoded_t decode_brotli(size_t dictionary_nbytes, el_span_t span)
{
    BrotliDecoderState *decoder = BrotliDecoderCreateInstance(NULL, NULL, NULL);
    size_t room = span.out_nbytes_avail;
    BrotliDecoderResult result;
    decoded_t decoded = {0};

#ifdef ELASTIC_WITH_DCB
    if (dictionary_nbytes > 0) {
        BrotliDecoderAttachDictionary(decoder, BROTLI_SHARED_DICTIONARY_RAW, dictionary_nbytes,
                                      raw);
    }
#else
    (void)dictionary_nbytes;
#endif
    result = BrotliDecoderDecompressStream(decoder, &span.in_nbytes, &span.in,
                                           &span.out_nbytes_avail, &span.out, NULL);
    decoded.nbytes = room - span.out_nbytes_avail;
    decoded.ended = result == BROTLI_DECODER_RESULT_SUCCESS && span.in_nbytes == 0;
    decoded.failed = result == BROTLI_DECODER_RESULT_ERROR;
    BrotliDecoderDestroyInstance(decoder);
    return decoded;
}

#ifdef ELASTIC_WITH_ZSTD
static decoded_t decode_zstd(size_t dictionary_nbytes, el_span_t span)
{
    ZSTD_DCtx *decoder = ZSTD_createDCtx();
    ZSTD_inBuffer input = {span.in, span.in_nbytes, 0};
    ZSTD_outBuffer output = {span.out, span.out_nbytes_avail, 0};
    int window_bits = 23;
    size_t left, before;

    /* The largest power of two among the windows that the dictionary allows. */
    while (window_bits < 27 && (size_t)2 << window_bits <= dictionary_nbytes / 4 * 5) {
        window_bits++;
    }
    ZSTD_DCtx_setParameter(decoder, ZSTD_d_windowLogMax, window_bits);
    if (dictionary_nbytes > 0) {
        ZSTD_DCtx_refPrefix(decoder, raw, dictionary_nbytes);
    }
    do {
        before = output.pos + input.pos;
        left = ZSTD_decompressStream(decoder, &output, &input);
    } while (!ZSTD_isError(left) && left > 0 && output.pos + input.pos > before);
    ZSTD_freeDCtx(decoder);
    return (decoded_t){output.pos, left == 0 && input.pos == input.size, ZSTD_isError(left)};
}
#endif

decoded_t decode(const el_plan_t *plan, el_span_t span)
{
    const el_dictionary_t *dictionary = plan->setup.dictionary;
    size_t head = !dictionary ? 0 : plan->engine->coding == EL_DCB ? 36 : 40;

    if (span.in_nbytes < head) {
        return (decoded_t){.nbytes = 0};
    }
    span.in += head;
    span.in_nbytes -= head;
    switch (plan->engine->coding) {
    case EL_GZIP:
        return decode_gzip(span);
    case EL_BR:
    case EL_DCB:
        return decode_brotli(dictionary ? dictionary->nbytes : 0, span);
#ifdef ELASTIC_WITH_ZSTD
    case EL_ZSTD:
    case EL_DCZ:
        return decode_zstd(dictionary ? dictionary->nbytes : 0, span);
#endif
    default:
        return (decoded_t){.failed = true};
    }
}

void assert_back(const el_plan_t *plan, size_t nbytes, size_t encoded_nbytes, const char *how)
{
    decoded_t decoded = decode(plan, (el_span_t){encoded, encoded_nbytes, back, sizeof(back)});

    ck_assert_msg(decoded.ended && !decoded.failed && decoded.nbytes == nbytes
                      && memcmp(back, body, nbytes) == 0,
                  "%s %d, %s, %zu bytes: %zu came back%s", plan->engine->name, plan->setup.level,
                  how, nbytes, decoded.nbytes, decoded.ended ? "" : ", unended");
}

/* Payload of a TCP segment on a link of 1,500 bytes. */
#define SEGMENT 1448

size_t encode_stream(const el_plan_t *plan, size_t nbytes)
{
    el_context_t *context = el_pool_acquire(plan);
    el_span_t span = {body, 0, encoded, ROOM};

    ck_assert_ptr_nonnull(context);
    for (size_t at = 0; at < nbytes; at += 8000) {
        span.in_nbytes = nbytes - at < 8000 ? nbytes - at : 8000;
        ck_assert_int_eq(plan->engine->step(context, EL_RUN, &span), EL_STEP_OK);
    }
    ck_assert_int_eq(plan->engine->step(context, EL_FINISH, &span), EL_STEP_OK);
    el_pool_release(context);
    return ROOM - span.out_nbytes_avail;
}

static size_t decoded_of(const el_plan_t *plan, size_t segments)
{
    return decode(plan, (el_span_t){encoded, segments * SEGMENT, back, sizeof(back)}).nbytes;
}

void assert_usable(const el_plan_t *plan, size_t nbytes, size_t encoded_nbytes)
{
    size_t segments = (encoded_nbytes + SEGMENT - 1) / SEGMENT;

    assert_back(plan, nbytes, encoded_nbytes, "usable");
    if (segments > 4) {
        ck_assert_msg(decoded_of(plan, 2) > 0, "%s %d, %zu bytes: none after 2 of %zu",
                      plan->engine->name, plan->setup.level, nbytes, segments);
        ck_assert_msg(decoded_of(plan, (segments * 3 + 3) / 4) >= nbytes / 2,
                      "%s %d, %zu bytes: %zu after 3/4 of %zu", plan->engine->name,
                      plan->setup.level, nbytes, decoded_of(plan, (segments * 3 + 3) / 4),
                      segments);
    }
}

void assert_rooms_kept(const el_plan_t *plan, const size_t *rooms, size_t count)
{
    body_fill(BODY_NOISE, body, 20000);
    for (size_t r = 0; r < count; r++) {
        memset(encoded + rooms[r], 0x5a, 100);
        ck_assert_uint_eq(encode_whole(plan, 20000, rooms[r]), 0);
        for (size_t i = 0; i < 100; i++) {
            ck_assert_uint_eq(encoded[rooms[r] + i], 0x5a);
        }
    }
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
    {"pieces of 8 KB, length known", 200000, 8192, 8192, 0, true},
    {"one piece", 200000, 200000, 8192, 0, true},
    {"single bytes out", 5000, 1000, 1, 0, false},
    {"single bytes in", 5000, 1, 8192, 0, false},
    {"a flush after each piece", 60000, 1000, 8192, 1, false},
    {"a flush after each byte", 300, 1, 8192, 1, false},
    {"flushes, few bytes out", 3000, 500, 16, 2, true},
    {"longer than a window", MOST, 65536, 8192, 7, false},
};

/* Steps with `op` until all input is taken, with at most `piece` bytes of output at a time. */
static void step_all(el_context_t *context, el_op_t op, el_span_t *span, size_t piece)
{
    el_step_t step;

    do {
        size_t room = (size_t)(encoded + ROOM - span->out);

        span->out_nbytes_avail = piece < room ? piece : room;
        step = context->engine->step(context, op, span);
        ck_assert(step != EL_STEP_MORE || span->out_nbytes_avail == 0);
    } while (step == EL_STEP_MORE && span->out < encoded + ROOM);
    ck_assert_int_eq(step, EL_STEP_OK);
    ck_assert_uint_eq(span->in_nbytes, 0);
}

static void stream_one(el_plan_t plan, int f)
{
    el_span_t span = {body, 0, encoded, 0};
    el_context_t *context;
    size_t fed = 0;

    plan.setup.size_hint = feeds[f].hint ? feeds[f].nbytes : 0;
    context = el_pool_acquire(&plan);
    ck_assert_ptr_nonnull(context);
    for (unsigned piece = 1; fed < feeds[f].nbytes; piece++) {
        size_t left = feeds[f].nbytes - fed;
        bool flush = feeds[f].flush_every && piece % feeds[f].flush_every == 0;

        span.in_nbytes = feeds[f].in < left ? feeds[f].in : left;
        fed += span.in_nbytes;
        step_all(context, flush ? EL_FLUSH : EL_RUN, &span, feeds[f].out);
        if (flush) {
            size_t made = (size_t)(span.out - encoded);
            decoded_t decoded = decode(&plan, (el_span_t){encoded, made, back, sizeof(back)});

            ck_assert_msg(!decoded.failed && decoded.nbytes == fed && memcmp(back, body, fed) == 0,
                          "%s %d, %s: after a flush %zu of %zu decode", plan.engine->name,
                          plan.setup.level, feeds[f].name, decoded.nbytes, fed);
        }
    }
    step_all(context, EL_FINISH, &span, feeds[f].out);
    el_pool_release(context);
    assert_back(&plan, feeds[f].nbytes, (size_t)(span.out - encoded), feeds[f].name);
}

void assert_streams(const el_plan_t *plan, size_t most)
{
    for (int f = 0; f < ROWS(feeds); f++) {
        if (feeds[f].nbytes <= most) {
            body_fill(BODY_TEXT, body, feeds[f].nbytes);
            stream_one(*plan, f);
        }
    }
}

const uint8_t *hash_of(unsigned number)
{
    static uint8_t hash[EL_DICTIONARY_HASH];

    memset(hash, (int)number, sizeof(hash));
    hash[0] = (uint8_t)~number;
    return hash;
}

el_dictionary_t *try_prepare(const el_engine_t *engine, int level, size_t nbytes, unsigned number)
{
    return el_dictionary_prepare(engine->coding, level,
                                 &(el_dictionary_bytes_t){raw, nbytes, hash_of(number)});
}

el_dictionary_t *prepare(const el_engine_t *engine, size_t nbytes, unsigned number)
{
    el_dictionary_t *dictionary;

    body_fill(BODY_TEXT, raw, nbytes);
    dictionary = try_prepare(engine, engine->level_min, nbytes, number);
    ck_assert_ptr_nonnull(dictionary);
    return dictionary;
}
