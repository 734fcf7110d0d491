#include "elastic/decoder.h"
#include "engines/engines.h"
#include "engines/pool.h"

#include "suites.h"

#include <stdlib.h>
#include <string.h>

static const el_coding_t codings[] = {EL_GZIP, EL_BR};

#define BODY_SIZE 100000

/* Text with repetitions, and enough that is new to fill more than one block. */
static uint8_t *make_body(size_t size)
{
    uint8_t *body = malloc(size + 1);
    uint32_t seed = 7;

    ck_assert(body != NULL);
    for (size_t i = 0; i < size; i++) {
        seed = seed * 1664525 + 1013904223;
        body[i] = i % 64 < 40 ? (uint8_t)("the quick brown fox jumps over the lazy d"[i % 64])
                              : (uint8_t)(seed >> 24);
    }
    return body;
}

/* `body`, encoded whole; the caller frees it. */
static uint8_t *encode(el_coding_t coding, const uint8_t *body, size_t size, size_t *encoded_size)
{
    el_plan_t plan = {el_engine_for(coding), {.level = 5}};
    el_context_t *context = el_pool_acquire(&plan);
    size_t room = size + size / 2 + 1000;
    uint8_t *encoded = malloc(room);
    el_span_t span = {.in = body, .in_nbytes = size, .out = encoded, .out_nbytes_avail = room};

    ck_assert(context != NULL && encoded != NULL);
    ck_assert_int_eq(el_engine_encode(context, &span), EL_STEP_OK);
    el_pool_release(context);
    *encoded_size = room - span.out_nbytes_avail;
    return encoded;
}

/*
 * Decodes with at most `in_step` and `out_step` bytes at a time into `out` of `room` bytes; what
 * the last step said, and in `*got` and `*left` the bytes decoded and not taken.
 */
static el_decode_t decode(el_coding_t coding, const uint8_t *in, size_t in_size, size_t in_step,
                          uint8_t *out, size_t room, size_t out_step, size_t *got, size_t *left)
{
    const el_decoder_t *decoder = el_decoder_for(coding);
    el_decoding_t *decoding = decoder->open();
    size_t taken = 0;
    el_decode_t result = EL_DECODE_NEED_INPUT;

    ck_assert(decoding != NULL);
    *got = 0;
    while (result == EL_DECODE_FULL || (result == EL_DECODE_NEED_INPUT && taken < in_size)) {
        size_t in_most = in_size - taken < in_step ? in_size - taken : in_step;
        size_t out_most = room - *got < out_step ? room - *got : out_step;
        el_span_t span = {in + taken, in_most, out + *got, out_most};

        if (out_most == 0) {
            break;
        }
        result = decoder->step(decoding, &span);
        ck_assert(span.in_nbytes <= in_most && span.out_nbytes_avail <= out_most);
        ck_assert(result != EL_DECODE_NEED_INPUT || span.in_nbytes == 0);
        ck_assert(result != EL_DECODE_FULL || span.out_nbytes_avail == 0);
        taken += in_most - span.in_nbytes;
        *got += out_most - span.out_nbytes_avail;
    }
    *left = in_size - taken;
    decoder->close(decoding);
    return result;
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

START_TEST(a_body_comes_back)
{
    for (size_t c = 0; c < sizeof(codings) / sizeof(codings[0]); c++) {
        size_t encoded_size, got, left;
        uint8_t *body = make_body(trips[_i].size);
        uint8_t *encoded = encode(codings[c], body, trips[_i].size, &encoded_size);
        uint8_t *out = malloc(BODY_SIZE + 1);
        el_decode_t result = decode(codings[c], encoded, encoded_size, trips[_i].in_step, out,
                                    BODY_SIZE + 1, trips[_i].out_step, &got, &left);

        ck_assert_msg(result == EL_DECODE_ENDED, "%s: %d", trips[_i].guards, (int)result);
        ck_assert_msg(got == trips[_i].size && left == 0, "%s: %zu bytes, %zu left",
                      trips[_i].guards, got, left);
        ck_assert_msg(memcmp(out, body, got) == 0, "%s", trips[_i].guards);
        free(body);
        free(encoded);
        free(out);
    }
}
END_TEST

START_TEST(bytes_behind_the_end_are_not_taken)
{
    for (size_t c = 0; c < sizeof(codings) / sizeof(codings[0]); c++) {
        size_t encoded_size, got, left;
        uint8_t *body = make_body(1000), *out = malloc(BODY_SIZE);
        uint8_t *encoded = encode(codings[c], body, 1000, &encoded_size);
        uint8_t *longer = malloc(encoded_size + 5);

        memcpy(longer, encoded, encoded_size);
        memcpy(longer + encoded_size, "trail", 5);
        ck_assert_int_eq(decode(codings[c], longer, encoded_size + 5, SIZE_MAX, out, BODY_SIZE,
                                SIZE_MAX, &got, &left),
                         EL_DECODE_ENDED);
        ck_assert(got == 1000 && left == 5);
        free(body);
        free(out);
        free(encoded);
        free(longer);
    }
}
END_TEST

START_TEST(what_was_flushed_comes_out_before_the_rest)
{
    for (size_t c = 0; c < sizeof(codings) / sizeof(codings[0]); c++) {
        el_plan_t plan = {el_engine_for(codings[c]), {.level = 5}};
        const el_decoder_t *decoder = el_decoder_for(codings[c]);
        el_context_t *context = el_pool_acquire(&plan);
        el_decoding_t *decoding = decoder->open();
        uint8_t *body = make_body(1000), encoded[3000], out[1000];
        el_span_t span = {body, 1000, encoded, sizeof(encoded)};
        size_t got = 0;

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
        free(body);
    }
}
END_TEST

START_TEST(no_prefix_is_a_whole_body)
{
    for (size_t c = 0; c < sizeof(codings) / sizeof(codings[0]); c++) {
        size_t encoded_size, got, left;
        uint8_t *body = make_body(500), *out = malloc(BODY_SIZE);
        uint8_t *encoded = encode(codings[c], body, 500, &encoded_size);

        for (size_t cut = 0; cut < encoded_size; cut++) {
            ck_assert_int_eq(decode(codings[c], encoded, cut, SIZE_MAX, out, BODY_SIZE, SIZE_MAX,
                                    &got, &left),
                             EL_DECODE_NEED_INPUT);
        }
        free(body);
        free(out);
        free(encoded);
    }
}
END_TEST

START_TEST(a_changed_byte_of_gzip_is_noticed)
{
    size_t encoded_size, got, left;
    uint8_t *body = make_body(500), *out = malloc(BODY_SIZE);
    uint8_t *encoded = encode(EL_GZIP, body, 500, &encoded_size);

    /* Bytes 4 to 9 of the header are a time, hints and a system: nothing that could be wrong. */
    for (size_t at = 10; at < encoded_size; at++) {
        encoded[at] ^= 0x55;
        ck_assert_int_ne(decode(EL_GZIP, encoded, encoded_size, SIZE_MAX, out, BODY_SIZE, SIZE_MAX,
                                &got, &left),
                         EL_DECODE_ENDED);
        encoded[at] ^= 0x55;
    }
    free(body);
    free(out);
    free(encoded);
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
    uint8_t member[sizeof(fields)], out[8];
    uint32_t header_crc = crc32_of(fields, 25), crc = crc32_of((const uint8_t *)"hi", 2);
    size_t got, left;

    memcpy(member, fields, sizeof(fields));
    member[25] = (uint8_t)header_crc;
    member[26] = (uint8_t)(header_crc >> 8);
    for (int i = 0; i < 4; i++) {
        member[sizeof(member) - 8 + (size_t)i] = (uint8_t)(crc >> 8 * i);
    }
    ck_assert_int_eq(
        decode(EL_GZIP, member, sizeof(member), 1, out, sizeof(out), SIZE_MAX, &got, &left),
        EL_DECODE_ENDED);
    ck_assert(got == 2 && memcmp(out, "hi", 2) == 0);
    member[25] ^= 1;
    ck_assert_int_eq(
        decode(EL_GZIP, member, sizeof(member), 1, out, sizeof(out), SIZE_MAX, &got, &left),
        EL_DECODE_DAMAGED);
}
END_TEST

START_TEST(other_formats_are_damaged)
{
    static const uint8_t zlib_format[] = {0x78, 0x9c, 3, 0, 0, 0, 0, 1};
    static const uint8_t large_window[] = {0x11, 0x1e, 0, 0, 0, 0, 0, 0};
    uint8_t out[8];
    size_t got, left;

    ck_assert_int_eq(decode(EL_GZIP, zlib_format, sizeof(zlib_format), SIZE_MAX, out, sizeof(out),
                            SIZE_MAX, &got, &left),
                     EL_DECODE_DAMAGED);
    ck_assert_int_eq(decode(EL_BR, large_window, sizeof(large_window), SIZE_MAX, out, sizeof(out),
                            SIZE_MAX, &got, &left),
                     EL_DECODE_DAMAGED);
}
END_TEST

START_TEST(each_decoder_has_its_coding)
{
    ck_assert(el_decoder_for(EL_IDENTITY) == NULL && el_decoder_for(EL_CODINGS) == NULL);
    for (size_t c = 0; c < sizeof(codings) / sizeof(codings[0]); c++) {
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
    tcase_add_loop_test(tc, a_body_comes_back, 0, ROWS(trips));
    tcase_add_test(tc, bytes_behind_the_end_are_not_taken);
    tcase_add_test(tc, what_was_flushed_comes_out_before_the_rest);
    tcase_add_test(tc, no_prefix_is_a_whole_body);
    tcase_add_test(tc, a_changed_byte_of_gzip_is_noticed);
    tcase_add_test(tc, every_field_of_a_gzip_header_is_read);
    tcase_add_test(tc, other_formats_are_damaged);
    tcase_add_test(tc, each_decoder_has_its_coding);
    suite_add_tcase(suite, tc);
    return suite;
}
