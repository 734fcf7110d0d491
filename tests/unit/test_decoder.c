#include "elastic/decoder.h"
#include "engines/engines.h"
#include "engines/pool.h"

#include "suites.h"

#include <string.h>

static const el_coding_t codings[] = {EL_GZIP, EL_BR};

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

    ck_assert_ptr_nonnull(decoding);
    while (d.result == EL_DECODE_FULL || (d.result == EL_DECODE_NEED_INPUT && d.left > 0)) {
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
    const char *guards;
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

START_TEST(a_body_decodes_in_any_pieces)
{
    for (int c = 0; c < ROWS(codings); c++) {
        size_t size = encode(codings[c], trips[_i].size);
        decoded_t d = decode_in_steps(codings[c], encoded, size, trips[_i].in_step,
                                      trips[_i].out_step);

        ck_assert_msg(d.result == EL_DECODE_ENDED, "%s: %d", trips[_i].guards, (int)d.result);
        ck_assert_msg(d.nbytes == trips[_i].size && d.left == 0, "%s: %zu bytes, %zu left",
                      trips[_i].guards, d.nbytes, d.left);
        ck_assert_msg(memcmp(out, body, d.nbytes) == 0, "%s", trips[_i].guards);
    }
}
END_TEST

START_TEST(bytes_behind_the_end_are_not_taken)
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
END_TEST

START_TEST(flushed_bytes_decode_before_the_rest)
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
END_TEST

START_TEST(no_prefix_is_a_whole_body)
{
    for (int c = 0; c < ROWS(codings); c++) {
        size_t size = encode(codings[c], 500);

        for (size_t cut = 0; cut < size; cut++) {
            ck_assert_int_eq(decode(codings[c], encoded, cut).result, EL_DECODE_NEED_INPUT);
        }
    }
}
END_TEST

START_TEST(a_changed_byte_of_gzip_is_noticed)
{
    size_t size = encode(EL_GZIP, 500);

    /* Bytes 4 to 9 of the header are a time, hints and a system: nothing that could be wrong. */
    for (size_t at = 10; at < size; at++) {
        encoded[at] ^= 0x55;
        ck_assert_int_ne(decode(EL_GZIP, encoded, size).result, EL_DECODE_ENDED);
        encoded[at] ^= 0x55;
    }
}
END_TEST

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

START_TEST(every_field_of_a_gzip_header_is_read)
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
END_TEST

START_TEST(other_formats_are_damaged)
{
    static const uint8_t zlib_format[] = {0x78, 0x9c, 3, 0, 0, 0, 0, 1};
    static const uint8_t large_window[] = {0x11, 0x1e, 0, 0, 0, 0, 0, 0};

    ck_assert_int_eq(decode(EL_GZIP, zlib_format, sizeof(zlib_format)).result, EL_DECODE_DAMAGED);
    ck_assert_int_eq(decode(EL_BR, large_window, sizeof(large_window)).result, EL_DECODE_DAMAGED);
}
END_TEST

START_TEST(each_decoder_has_its_coding)
{
    ck_assert(el_decoder_for(EL_IDENTITY) == NULL && el_decoder_for(EL_CODINGS) == NULL);
    for (int c = 0; c < ROWS(codings); c++) {
        ck_assert_int_eq(el_decoder_for(codings[c])->coding, codings[c]);
        el_decoder_for(codings[c])->close(NULL);
    }
}
END_TEST

Suite *decoder_suite(void)
{
    Suite *suite = suite_create("decoder");
    TCase *tc = tcase_create("decoder");

    /* Byte by byte it takes a second, and more on a busy machine; libcheck's own limit is 4 s. */
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, a_body_decodes_in_any_pieces, 0, ROWS(trips));
    tcase_add_test(tc, bytes_behind_the_end_are_not_taken);
    tcase_add_test(tc, flushed_bytes_decode_before_the_rest);
    tcase_add_test(tc, no_prefix_is_a_whole_body);
    tcase_add_test(tc, a_changed_byte_of_gzip_is_noticed);
    tcase_add_test(tc, every_field_of_a_gzip_header_is_read);
    tcase_add_test(tc, other_formats_are_damaged);
    tcase_add_test(tc, each_decoder_has_its_coding);
    suite_add_tcase(suite, tc);
    return suite;
}
