/*
 * Each call of malloc(), mmap() or of a library fails in turn: the engine fails, or its output
 * decodes; no memory is lost. A sanitizer's malloc() cannot be replaced.
 */
#define _GNU_SOURCE
#include "encodings.h"

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#include <brotli/decode.h>
#include <brotli/encode.h>
#include <dlfcn.h>
#include <errno.h>
#ifdef ELASTIC_WITH_ISAL
#include <isa-l/igzip_lib.h>
#endif
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <zlib.h>
#ifdef ELASTIC_WITH_ZSTD
#include <zstd.h>
#endif

CASE(failing, .set_up = encodings_set_up, .tear_down = encodings_tear_down, .timeout = 240);

#define NBYTES 150000
#define RAW 70000 /* length of a dictionary */

/* Higher levels get a small body, because about twenty calls must fail. */
#define SLOW_LEVEL 9
#define SLOW_MOST 8000

static long fail_at; /* calls until one fails; 0: none */
static long failures;
static long blocks;  /* allocated now */

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

void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    long block;

    if (fails()) {
        return MAP_FAILED;
    }
    block = syscall(SYS_mmap, at, size, protection, flags, fd, offset);
    blocks += block != -1;
    return (void *)block;
}

int munmap(void *at, size_t size)
{
    blocks--;
    return (int)syscall(SYS_munmap, at, size);
}

/* A library's function, which takes `args`; it says `value` if it fails. */
#define FAILING(type, name, parameters, args, value)                                               \
    type name parameters                                                                           \
    {                                                                                              \
        static type(*own) parameters;                                                              \
                                                                                                   \
        if (!own) {                                                                                \
            *(void **)&own = dlsym(RTLD_NEXT, #name);                                              \
        }                                                                                          \
        return fails() ? (value) : own args;                                                       \
    }

FAILING(int, deflate, (z_stream *z, int flush), (z, flush), Z_STREAM_ERROR)
FAILING(int, deflateReset, (z_stream *z), (z), Z_STREAM_ERROR)
FAILING(int, inflate, (z_stream *z, int flush), (z, flush), Z_MEM_ERROR)
FAILING(BROTLI_BOOL, BrotliEncoderSetParameter,
        (BrotliEncoderState *state, BrotliEncoderParameter parameter, uint32_t value),
        (state, parameter, value), BROTLI_FALSE)
FAILING(BROTLI_BOOL, BrotliEncoderCompressStream,
        (BrotliEncoderState *state, BrotliEncoderOperation operation, size_t *in_nbytes,
         const uint8_t **in, size_t *out_nbytes, uint8_t **out, size_t *total),
        (state, operation, in_nbytes, in, out_nbytes, out, total), BROTLI_FALSE)
#ifdef ELASTIC_WITH_ISAL
FAILING(int, isal_deflate, (struct isal_zstream *z), (z), INVALID_FLUSH)
FAILING(int, isal_deflate_stateless, (struct isal_zstream *z), (z), INVALID_FLUSH)
#endif
#ifdef ELASTIC_WITH_ZSTD
#define ZSTD_FAULT ((size_t)-1)
FAILING(size_t, ZSTD_CCtx_setParameter, (ZSTD_CCtx *encoder, ZSTD_cParameter which, int value),
        (encoder, which, value), ZSTD_FAULT)
FAILING(size_t, ZSTD_CCtx_setPledgedSrcSize, (ZSTD_CCtx *encoder, unsigned long long nbytes),
        (encoder, nbytes), ZSTD_FAULT)
FAILING(size_t, ZSTD_CCtx_refCDict, (ZSTD_CCtx *encoder, const ZSTD_CDict *dictionary),
        (encoder, dictionary), ZSTD_FAULT)
FAILING(size_t, ZSTD_DCtx_setParameter, (ZSTD_DCtx *decoder, ZSTD_dParameter which, int value),
        (decoder, which, value), ZSTD_FAULT)
#endif

/* Encodes the body, whole or in pieces with a flush. Returns its size; 0: failed. */
static size_t encode(const el_plan_t *plan, size_t nbytes, bool whole, uint8_t *out)
{
    el_context_t *context = el_pool_acquire(plan);
    el_span_t span = {body, nbytes, out, 2 * NBYTES};
    el_step_t step = EL_STEP_ERROR;

    if (context && whole) {
        step = el_engine_encode(context, &span);
    } else if (context) {
        span.in_nbytes = nbytes / 2;
        step = context->engine->step(context, EL_FLUSH, &span);
        span.in_nbytes = nbytes - nbytes / 2;
        if (step == EL_STEP_OK) {
            step = context->engine->step(context, EL_FINISH, &span);
        }
    }
    el_pool_release(context);
    return step == EL_STEP_OK ? 2 * NBYTES - span.out_nbytes_avail : 0;
}

/*
 * Fails each call in turn, until a body needs no more calls. Another body follows each time, in one
 * call and as a stream, with the context that was left: noise is not in text, so that a single byte
 * of the body before shows. Asserting allocates, so blocks are counted before.
 */
static void fail_at_each(const el_plan_t *plan, size_t nbytes, bool whole)
{
    uint8_t *next = encoded + 2 * NBYTES, *last = encoded + 4 * NBYTES;

    failures = 1;
    for (long at = 1; failures > 0; at++) {
        size_t made, in_one, streamed = 0;
        long lost;

        body_fill(BODY_TEXT, body, nbytes);
        el_pool_drain();
        lost = -blocks;
        failures = 0;
        fail_at = at;
        made = encode(plan, nbytes, whole, encoded);
        fail_at = 0;
        body_fill(BODY_NOISE, body, nbytes);
        if (plan->engine->step) {
            streamed = encode(plan, nbytes, false, last);
        }
        in_one = encode(plan, nbytes, true, next);
        el_pool_drain();
        lost += blocks;
        ck_assert_msg(lost == 0 && in_one > 0 && (made > 0 || failures > 0)
                          && (streamed > 0 || !plan->engine->step),
                      "%s %d, call %ld: %ld blocks lost; %zu, %zu, %zu bytes", plan->engine->name,
                      plan->setup.level, at, lost, made, in_one, streamed);
        if (made > 0) {
            body_fill(BODY_TEXT, body, nbytes);
            assert_back(plan, nbytes, made, "though a call failed");
            body_fill(BODY_NOISE, body, nbytes);
        }
        memmove(encoded, next, in_one);
        assert_back(plan, nbytes, in_one, "whole, after a call that failed");
        if (streamed > 0) {
            memmove(encoded, last, streamed);
            assert_back(plan, nbytes, streamed, "streamed, after a call that failed");
        }
        ck_assert(failures > 0 || at > 1);
        ck_assert_int_lt(at, 1000);
    }
}

/* Whole, and streamed with the length known and unknown. */
static void fail_every_way(const el_engine_t *engine, int level, size_t nbytes,
                           const el_dictionary_t *dictionary)
{
    el_plan_t plan = {engine, {.level = level, .size_hint = nbytes, .dictionary = dictionary}};

    fail_at_each(&plan, nbytes, true);
    if (engine->step) {
        fail_at_each(&plan, nbytes, false);
        plan.setup.size_hint = 0;
        fail_at_each(&plan, nbytes, false);
    }
}

EACH_ENGINE(failing, an_engine_without_memory_fails_and_loses_nothing)
{
    for (int level = engine->level_min; level <= engine->level_max; level++) {
        fail_every_way(engine, level, level > SLOW_LEVEL ? SLOW_MOST : NBYTES, NULL);
    }
}

/* Decodes `nbytes` of `encoded`, and says whether it came to the end. */
static bool decodes(el_coding_t coding, size_t nbytes)
{
    const el_decoder_t *decoder = el_decoder_for(coding);
    el_account_t account = {0};
    el_decoding_t *decoding = decoder->open(&account);
    el_span_t span = {encoded, nbytes, back, NBYTES};
    bool ended = decoding && decoder->step(decoding, &span) == EL_DECODE_ENDED;

    decoder->close(decoding);
    return ended && span.out_nbytes_avail == 0;
}

/* Likewise encodes it again, and in another coding. */
static bool recodes(el_coding_t coding, size_t nbytes)
{
    el_encoded_t some = {coding, encoded, nbytes, NBYTES};
    el_plan_t plan = {el_engine_for(EL_GZIP), {.level = 9, .size_hint = NBYTES}};
    uint8_t *made = el_recode(&some, &plan, &nbytes);

    el_pool_buffer_release(made);
    return made != NULL;
}

EACH_ENGINE(failing, a_decoder_without_memory_fails_and_loses_nothing)
{
    bool (*const uses[])(el_coding_t, size_t) = {decodes, recodes};
    el_plan_t plan = {engine, {.level = engine->level_min, .size_hint = NBYTES}};
    size_t nbytes;

    body_fill(BODY_TEXT, body, NBYTES);
    nbytes = encode_whole(&plan, NBYTES, ROOM);
    for (int use = 0; use < ROWS(uses); use++) {
        failures = 1;
        for (long at = 1; failures > 0; at++) {
            bool good;
            long lost;

            el_pool_drain();
            lost = -blocks;
            failures = 0;
            fail_at = at;
            good = uses[use](engine->coding, nbytes);
            fail_at = 0;
            el_pool_drain();
            lost += blocks;
            ck_assert_msg(good == (failures == 0) && lost == 0,
                          "%s, use %d, call %ld: %d, %ld blocks lost", engine->name, use, at, good,
                          lost);
        }
    }
}

EACH_DIFFERENCE(failing, a_dictionary_without_memory_is_none)
{
    el_dictionary_t *dictionary = NULL;

    body_fill(BODY_TEXT, raw, RAW);
    failures = 1;
    for (long at = 1; failures > 0; at++) {
        long before = blocks, lost;

        failures = 0;
        fail_at = at;
        dictionary = try_prepare(engine, engine->level_min, RAW, 1);
        fail_at = 0;
        lost = blocks - before;
        ck_assert_msg((dictionary == NULL) == (failures > 0), "call %ld", at);
        ck_assert_msg(dictionary || (lost == 0 && el_dictionary_kept() == 0),
                      "call %ld: %ld blocks lost, %zu bytes kept", at, lost, el_dictionary_kept());
        ck_assert(failures > 0 || at > 1);
    }
    fail_every_way(engine, engine->level_min, NBYTES, dictionary);
    el_dictionary_release(dictionary);
}
#endif
