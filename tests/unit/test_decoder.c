#include "elastic/engine.h"
#include "engines/engines.h"
#include "engines/pool.h"

#include "suites.h"

#ifdef ELASTIC_WITH_ZSTD
#include <zstd.h>
#endif

static const el_coding_t codings[] = {
    EL_GZIP,
    EL_BR,
#ifdef ELASTIC_WITH_ZSTD
    EL_ZSTD,
#endif
};

#define BODY_SIZE 100000

static uint8_t body[BODY_SIZE], encoded[BODY_SIZE * 2], out[BODY_SIZE + 1];

/* Text with repetitions, and enough that is new to fill more than one block. */
static void fill_body(size_t size)
{
    uint32_t seed = 7;

    for (size_t i = 0; i < size; i++) {
        seed = seed * 1664525 + 1013904223;
        body[i] = i % 64 < 40 ? (uint8_t)("the quick brown fox jumps over the lazy d"[i % 64])
                              : (uint8_t)(seed >> 24);
    }
}

/* Encodes a body of `size` bytes with one call; returns the bytes of `encoded`. */
static size_t encode(el_coding_t coding, size_t size)
{
    el_plan_t plan = {el_engine_for(coding), {.level = 5}};
    el_context_t *context = el_pool_acquire(&plan);
    el_span_t span = {body, size, encoded, sizeof(encoded)};

    ck_assert_ptr_nonnull(context);
    fill_body(size);
    ck_assert_int_eq(el_engine_encode(context, &span), EL_STEP_OK);
    el_pool_release(context);
    return sizeof(encoded) - span.out_nbytes_avail;
}

typedef struct {
    el_decode_t result; /* of the last step */
    size_t nbytes;      /* of `out` */
    size_t left;        /* bytes of the input that were not taken */
} decoded_t;

/* Decodes into `out`, with at most `in_step` and `out_step` bytes at a time. */
static decoded_t decode_in_steps(el_coding_t coding, const uint8_t *in, size_t in_size,
                                 size_t in_step, size_t out_step)
{
    const el_decoder_t *decoder = el_decoder_for(coding);
    el_account_t account = {0};
    el_decoding_t *decoding = decoder->open(&account);
    decoded_t d = {EL_DECODE_NEED_INPUT, 0, in_size};
    bool goes_on = true;

    ck_assert_ptr_nonnull(decoding);
    while (d.result == EL_DECODE_FULL || (goes_on && d.left > 0)) {
        size_t in_most = d.left < in_step ? d.left : in_step;
        size_t out_most = sizeof(out) - d.nbytes < out_step ? sizeof(out) - d.nbytes : out_step;
        el_span_t span = {in + in_size - d.left, in_most, out + d.nbytes, out_most};

        if (out_most == 0) {
            break;
        }
        d.result = decoder->step(decoding, &span);
        /* Not by ck_assert(): libcheck takes note of each, and these are millions. */
        if (span.in_nbytes > in_most || span.out_nbytes_avail > out_most) {
            ck_abort_msg("more was taken or written than there was room for");
        }
        if ((d.result == EL_DECODE_NEED_INPUT && span.in_nbytes > 0)
            || (d.result == EL_DECODE_FULL && span.out_nbytes_avail > 0)) {
            ck_abort_msg("input or room is left that was asked for");
        }
        /* After an end there may be another member or frame; what is not taken is none. */
        goes_on = d.result == EL_DECODE_NEED_INPUT
                  || (d.result == EL_DECODE_ENDED && span.in_nbytes == 0);
        d.left -= in_most - span.in_nbytes;
        d.nbytes += out_most - span.out_nbytes_avail;
    }
    decoder->close(decoding);
    return d;
}

static decoded_t decode(el_coding_t coding, const uint8_t *in, size_t in_size)
{
    return decode_in_steps(coding, in, in_size, SIZE_MAX, SIZE_MAX);
}

static const struct {
    const char *label;
    size_t size, in_step, out_step;
} trips[] = {
    {"whole", BODY_SIZE, SIZE_MAX, SIZE_MAX},
    {"input byte by byte", BODY_SIZE, 1, SIZE_MAX},
    {"output byte by byte", BODY_SIZE, SIZE_MAX, 1},
    {"both", BODY_SIZE, 1, 1},
    {"odd pieces", BODY_SIZE, 7, 8191},
    {"an empty body", 0, SIZE_MAX, SIZE_MAX},
    {"one byte", 1, SIZE_MAX, 1},
};

CASE(decoder, .timeout = 120);

EACH(decoder, a_body_decodes_in_any_pieces, trips)
{
    for (int c = 0; c < ROWS(codings); c++) {
        size_t size = encode(codings[c], row->size);
        decoded_t d = decode_in_steps(codings[c], encoded, size, row->in_step,
                                      row->out_step);

        row_eq(d.result, EL_DECODE_ENDED);
        ck_assert_msg(d.nbytes == row->size && d.left == 0, "%s: %zu bytes, %zu left",
                      row->label, d.nbytes, d.left);
        row_eq(memcmp(out, body, d.nbytes), 0);
    }
}

TEST(decoder, bytes_behind_the_end_are_not_taken)
{
    for (int c = 0; c < ROWS(codings); c++) {
        size_t size = encode(codings[c], 1000);
        decoded_t d;

        memcpy(encoded + size, "trail", 5);
        d = decode(codings[c], encoded, size + 5);
        ck_assert_int_eq(d.result, EL_DECODE_ENDED);
        ck_assert(d.nbytes == 1000 && d.left == 5);
    }
}

/* What a body may be made of; each decodes to `nbytes` bytes of `body` from its beginning. */
typedef struct {
    const uint8_t *data;
    size_t size, nbytes;
} part_t;

/*
 * Decodes `parts` one behind the other, in pieces; and up to any byte, which is a whole body exactly
 * where a part ends.
 */
static void check_parts(el_coding_t coding, const part_t *parts, size_t count)
{
    static uint8_t all[8192];
    size_t size = 0, nbytes = 0, next = 0, ends = 0;
    decoded_t d;

    for (size_t i = 0; i < count; i++) {
        memcpy(all + size, parts[i].data, parts[i].size);
        size += parts[i].size;
        nbytes += parts[i].nbytes;
    }
    for (size_t step = 1; step <= size; step += step < 30 ? 1 : size) {
        d = decode_in_steps(coding, all, size, step, 1 + step % 3);
        ck_assert_msg(d.result == EL_DECODE_ENDED && d.nbytes == nbytes && d.left == 0,
                      "in steps of %zu: %d, %zu bytes, %zu left", step, (int)d.result, d.nbytes,
                      d.left);
    }
    for (size_t i = 0, at = 0; i < count; at += parts[i].nbytes, i++) {
        ck_assert(memcmp(out + at, body, parts[i].nbytes) == 0);
    }
    for (size_t cut = 1; cut <= size; cut++) {
        bool end = next < count && cut == ends + parts[next].size;

        if (end) {
            ends += parts[next++].size;
        }
        ck_assert_msg(decode(coding, all, cut).result
                          == (end ? EL_DECODE_ENDED : EL_DECODE_NEED_INPUT), "cut at %zu", cut);
    }
}

TEST(decoder, members_and_frames_follow_each_other)
{
    static uint8_t large[2048], empty[64];

    for (int c = 0; c < ROWS(codings); c++) {
        part_t parts[] = {{large, 0, 700}, {empty, 0, 0}, {empty, 0, 0}, {large, 0, 700}};

        parts[0].size = parts[3].size = encode(codings[c], 700);
        memcpy(large, encoded, parts[0].size);
        parts[1].size = parts[2].size = encode(codings[c], 0);
        memcpy(empty, encoded, parts[1].size);
        fill_body(700);
        check_parts(codings[c], parts, codings[c] == EL_BR ? 1 : ROWS(parts));
    }
}

static const size_t pieces[] = {SIZE_MAX, 1};

EACH(decoder, the_beginning_of_what_is_no_member_is_behind_the_end, pieces)
{
    static const struct {
        el_coding_t coding;
        size_t size;
        uint8_t begins[4];
    } rows[] = {
        {EL_GZIP, 1, {0x1f}},
#ifdef ELASTIC_WITH_ZSTD
        {EL_ZSTD, 3, {0x28, 0xb5, 0x2f}},
        {EL_ZSTD, 3, {0x5f, 0x2a, 0x4d}},
#endif
    };

    for (int i = 0; i < ROWS(rows); i++) {
        size_t size = encode(rows[i].coding, 1000);
        decoded_t d;

        memcpy(encoded + size, rows[i].begins, rows[i].size);
        ck_assert_int_eq(decode(rows[i].coding, encoded, size + rows[i].size).result,
                         EL_DECODE_NEED_INPUT);
        encoded[size + rows[i].size] = 'x';
        d = decode_in_steps(rows[i].coding, encoded, size + rows[i].size + 1, *row,
                            SIZE_MAX);
        ck_assert_msg(d.result == EL_DECODE_ENDED && d.nbytes == 1000 && d.left == 1,
                      "row %d: %d, %zu left", i, (int)d.result, d.left);
    }
}

TEST(decoder, flushed_bytes_decode_before_the_rest)
{
    for (int c = 0; c < ROWS(codings); c++) {
        el_plan_t plan = {el_engine_for(codings[c]), {.level = 5}};
        const el_decoder_t *decoder = el_decoder_for(codings[c]);
        el_context_t *context = el_pool_acquire(&plan);
        el_account_t account = {0};
        el_decoding_t *decoding = decoder->open(&account);
        el_span_t span = {body, 1000, encoded, sizeof(encoded)};
        size_t got = 0;

        fill_body(1000);
        ck_assert_int_eq(plan.engine->step(context, EL_FLUSH, &span), EL_STEP_OK);
        span.in = encoded;
        span.in_nbytes = sizeof(encoded) - span.out_nbytes_avail;
        do {
            span.out = out + got;
            span.out_nbytes_avail = 1;
            ck_assert_uint_lt(got, 1000);
            got++;
        } while (decoder->step(decoding, &span) == EL_DECODE_FULL && got < 1000);
        ck_assert_uint_eq(got, 1000);
        ck_assert(memcmp(out, body, 1000) == 0);
        el_pool_release(context);
        decoder->close(decoding);
    }
}

TEST(decoder, no_prefix_is_a_whole_body)
{
    for (int c = 0; c < ROWS(codings); c++) {
        size_t size = encode(codings[c], 500);

        for (size_t cut = 0; cut < size; cut++) {
            ck_assert_int_eq(decode(codings[c], encoded, cut).result, EL_DECODE_NEED_INPUT);
        }
    }
}

TEST(decoder, a_changed_byte_of_gzip_is_noticed)
{
    size_t size = encode(EL_GZIP, 500);

    /* Bytes 4 to 9 of the header are a time, hints and a system: nothing that could be wrong. */
    for (size_t at = 10; at < size; at++) {
        encoded[at] ^= 0x55;
        ck_assert_int_ne(decode(EL_GZIP, encoded, size).result, EL_DECODE_ENDED);
        encoded[at] ^= 0x55;
    }
}

/* "hi" stored in a gzip member whose header has every optional field. */
static const uint8_t fields[] = {
    0x1f, 0x8b, 8, 0x1f, 0, 0, 0, 0, 0, 3, 4, 0, 'e', 'x', 't', 'r', 'n', 'a', 'm', 'e', 0,
    'c', 'o', 'm', 0, 0, 0, /* two bytes of header CRC, set below */
    1, 2, 0, 0xfd, 0xff, 'h', 'i', 0xac, 0x2a, 0x93, 0xd8, 2, 0, 0, 0,
};

static uint32_t crc32_of(const uint8_t *data, size_t len)
{
    uint32_t crc = 0xffffffff;

    for (size_t i = 0; i < len; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = crc & 1 ? crc >> 1 ^ 0xedb88320 : crc >> 1;
        }
    }
    return ~crc;
}

TEST(decoder, every_field_of_a_gzip_header_is_read)
{
    uint8_t member[sizeof(fields)];
    uint32_t header_crc = crc32_of(fields, 25), crc = crc32_of((const uint8_t *)"hi", 2);
    decoded_t d;

    memcpy(member, fields, sizeof(fields));
    member[25] = (uint8_t)header_crc;
    member[26] = (uint8_t)(header_crc >> 8);
    for (int i = 0; i < 4; i++) {
        member[sizeof(member) - 8 + (size_t)i] = (uint8_t)(crc >> 8 * i);
    }
    d = decode_in_steps(EL_GZIP, member, sizeof(member), 1, SIZE_MAX);
    ck_assert_int_eq(d.result, EL_DECODE_ENDED);
    ck_assert(d.nbytes == 2 && memcmp(out, "hi", 2) == 0);
    member[25] ^= 1;
    d = decode_in_steps(EL_GZIP, member, sizeof(member), 1, SIZE_MAX);
    ck_assert_int_eq(d.result, EL_DECODE_DAMAGED);
}

#ifdef ELASTIC_WITH_ZSTD
/* Raw frames of zstd (RFC 8878 §3.1.1): the body "hi" in its last block. */
#define ZSTD_HI 0x11, 0, 0, 'h', 'i'

static const struct {
    const char *label;
    size_t size;
    uint8_t frame[24];
    el_decode_t result;
} frames[] = {
    {"a window of 8 MB", 11, {0x28, 0xb5, 0x2f, 0xfd, 0, 0x68, ZSTD_HI}, EL_DECODE_ENDED},
    {"an eighth more", 11, {0x28, 0xb5, 0x2f, 0xfd, 0, 0x69, ZSTD_HI}, EL_DECODE_UNSUPPORTED},
    {"of 128 MB", 11, {0x28, 0xb5, 0x2f, 0xfd, 0, 0x88, ZSTD_HI}, EL_DECODE_UNSUPPORTED},
    {"large, with a length that is small", 12, {0x28, 0xb5, 0x2f, 0xfd, 0x40, 0x88, 2, 0, 0}, EL_DECODE_UNSUPPORTED},
    {"one segment", 11, {0x28, 0xb5, 0x2f, 0xfd, 0x20, 2, ZSTD_HI}, EL_DECODE_ENDED},
    {"one segment of more than 8 MB", 14, {0x28, 0xb5, 0x2f, 0xfd, 0xa0, 1, 0, 0x80, 0, ZSTD_HI},
     EL_DECODE_UNSUPPORTED},
    {"a wrong length", 11, {0x28, 0xb5, 0x2f, 0xfd, 0x20, 3, ZSTD_HI}, EL_DECODE_DAMAGED},
    {"a dictionary", 12, {0x28, 0xb5, 0x2f, 0xfd, 0x21, 7, 2, ZSTD_HI}, EL_DECODE_DAMAGED},
    {"no dictionary, at length", 12, {0x28, 0xb5, 0x2f, 0xfd, 0x21, 0, 2, ZSTD_HI}, EL_DECODE_ENDED},
    {"a block of no kind", 9, {0x28, 0xb5, 0x2f, 0xfd, 0x20, 2, 0x17, 0, 0}, EL_DECODE_DAMAGED},
    {"a format of before", 11, {0x27, 0xb5, 0x2f, 0xfd, 0x20, 2, ZSTD_HI}, EL_DECODE_DAMAGED},
};

EACH(decoder, windows_and_frames_of_zstd, frames)
{
    static const size_t steps[] = {SIZE_MAX, 1};

    for (int i = 0; i < ROWS(steps); i++) {
        decoded_t d = decode_in_steps(EL_ZSTD, row->frame, row->size, steps[i], SIZE_MAX);

        row_eq(d.result, row->result);
        ck_assert(d.result != EL_DECODE_ENDED || (d.nbytes == 2 && memcmp(out, "hi", 2) == 0));
    }
}

TEST(decoder, frames_to_skip_are_no_part_of_the_body)
{
    static const uint8_t skipped[] = {0x5a, 0x2a, 0x4d, 0x18, 20, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8,
                                      9, 10, 0x28, 0xb5, 0x2f, 0xfd, 0x20, 2, 0x11, 0, 0, 'x'};
    static const uint8_t nothing[] = {0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0};
    static uint8_t frame[2048];
    part_t parts[] = {{skipped, sizeof(skipped), 0}, {frame, 0, 700}, {nothing, sizeof(nothing), 0},
                      {skipped, sizeof(skipped), 0}, {frame, 0, 700}, {nothing, sizeof(nothing), 0}};

    parts[1].size = parts[4].size = encode(EL_ZSTD, 700);
    memcpy(frame, encoded, parts[1].size);
    check_parts(EL_ZSTD, parts, ROWS(parts));
}

TEST(decoder, a_checksum_of_zstd_is_verified)
{
    ZSTD_CCtx *encoder = ZSTD_createCCtx();
    size_t size;

    fill_body(500);
    ZSTD_CCtx_setParameter(encoder, ZSTD_c_checksumFlag, 1);
    size = ZSTD_compress2(encoder, encoded, sizeof(encoded), body, 500);
    ZSTD_freeCCtx(encoder);
    ck_assert_int_eq(decode(EL_ZSTD, encoded, size).result, EL_DECODE_ENDED);
    for (size_t at = size - 4; at < size; at++) {
        encoded[at] ^= 0x55;
        ck_assert_int_eq(decode(EL_ZSTD, encoded, size).result, EL_DECODE_DAMAGED);
        encoded[at] ^= 0x55;
    }
}
#endif

TEST(decoder, other_formats_are_damaged)
{
    static const uint8_t zlib_format[] = {0x78, 0x9c, 3, 0, 0, 0, 0, 1};
    static const uint8_t large_window[] = {0x11, 0x1e, 0, 0, 0, 0, 0, 0};

    ck_assert_int_eq(decode(EL_GZIP, zlib_format, sizeof(zlib_format)).result, EL_DECODE_DAMAGED);
    ck_assert_int_eq(decode(EL_BR, large_window, sizeof(large_window)).result, EL_DECODE_DAMAGED);
}

TEST(decoder, each_decoder_has_its_coding)
{
    ck_assert(el_decoder_for(EL_IDENTITY) == NULL && el_decoder_for(EL_CODINGS) == NULL);
    for (int c = 0; c < ROWS(codings); c++) {
        ck_assert_int_eq(el_decoder_for(codings[c])->coding, codings[c]);
        el_decoder_for(codings[c])->close(NULL);
    }
}
