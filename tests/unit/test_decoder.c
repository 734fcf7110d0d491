/* Bodies as clients and backends send them: whole, in pieces, damaged, and in other formats. */
#include "encodings.h"

/* Byte by byte takes a second, and more on a busy machine. */
CASE(decoder, .set_up = encodings_set_up, .tear_down = encodings_tear_down, .timeout = 120);

#define BODY_SIZE 100000

static const el_coding_t codings[] = {
    EL_GZIP,
    EL_BR,
#ifdef ELASTIC_WITH_ZSTD
    EL_ZSTD,
#endif
};

/* Encodes text in one call. Returns the bytes of `encoded`. */
static size_t encode(el_coding_t coding, size_t size)
{
    el_plan_t plan = {el_engine_for(coding), {.level = 5}};

    body_fill(BODY_TEXT, body, size);
    return encode_whole(&plan, size, el_engine_bound(size));
}

typedef struct {
    el_decode_t result; /* of the last step */
    size_t nbytes;      /* in `back` */
    size_t left;        /* input bytes not taken */
} steps_t;

/* Decodes with at most `in_step` bytes of input and `out_step` of output at a time. */
static steps_t decode_in_steps(el_coding_t coding, const uint8_t *in, size_t in_size,
                               size_t in_step, size_t out_step)
{
    const el_decoder_t *decoder = el_decoder_for(coding);
    el_account_t account = {0};
    el_decoding_t *decoding = decoder->open(&account);
    steps_t d = {EL_DECODE_NEED_INPUT, 0, in_size};
    bool goes_on = true;

    ck_assert_ptr_nonnull(decoding);
    while ((d.result == EL_DECODE_FULL || (goes_on && d.left > 0)) && d.nbytes < sizeof(back)) {
        size_t in_most = d.left < in_step ? d.left : in_step, room = sizeof(back) - d.nbytes;
        size_t out_most = room < out_step ? room : out_step;
        el_span_t span = {in + in_size - d.left, in_most, back + d.nbytes, out_most};

        d.result = decoder->step(decoding, &span);
        /* Not ck_assert(): libcheck records each of these millions of calls. */
        if (span.in_nbytes > in_most || span.out_nbytes_avail > out_most) {
            ck_abort_msg("more was taken or written than there was room for");
        }
        if ((d.result == EL_DECODE_NEED_INPUT && span.in_nbytes > 0)
            || (d.result == EL_DECODE_FULL && span.out_nbytes_avail > 0)) {
            ck_abort_msg("input or room is left that was asked for");
        }
        /* After an end, another member or frame may follow; other bytes are not taken. */
        goes_on = d.result == EL_DECODE_NEED_INPUT
                  || (d.result == EL_DECODE_ENDED && span.in_nbytes == 0);
        d.left -= in_most - span.in_nbytes;
        d.nbytes += out_most - span.out_nbytes_avail;
    }
    decoder->close(decoding);
    return d;
}

static el_decode_t result_of(el_coding_t coding, const uint8_t *in, size_t in_size)
{
    return decode_in_steps(coding, in, in_size, SIZE_MAX, SIZE_MAX).result;
}

static void assert_decoded(const char *label, steps_t d, const void *wanted, size_t nbytes,
                           size_t left)
{
    ck_assert_msg(d.result == EL_DECODE_ENDED && d.nbytes == nbytes && d.left == left
                      && memcmp(back, wanted, nbytes) == 0,
                  "%s: %d, %zu bytes, %zu left", label, (int)d.result, d.nbytes, d.left);
}

static const struct {
    const char *label;
    size_t size, in_step, out_step;
} trips[] = {
    {"whole", BODY_SIZE, SIZE_MAX, SIZE_MAX}, {"input byte by byte", BODY_SIZE, 1, SIZE_MAX},
    {"output byte by byte", BODY_SIZE, SIZE_MAX, 1}, {"both", BODY_SIZE, 1, 1},
    {"odd pieces", BODY_SIZE, 7, 8191}, {"an empty body", 0, SIZE_MAX, SIZE_MAX},
    {"one byte", 1, SIZE_MAX, 1},
};

/* No byte after the body is taken. */
EACH(decoder, a_body_decodes_in_any_pieces, trips)
{
    for (int c = 0; c < ROWS(codings); c++) {
        size_t size = encode(codings[c], row->size);

        memcpy(encoded + size, "trail", 5);
        assert_decoded(row->label, decode_in_steps(codings[c], encoded, size, row->in_step,
                                                   row->out_step), body, row->size, 0);
        assert_decoded(row->label, decode_in_steps(codings[c], encoded, size + 5, SIZE_MAX,
                                                   row->out_step), body, row->size, 5);
    }
}

/* Part of a body: decodes to the first `nbytes` bytes of `body`. */
typedef struct {
    const uint8_t *data;
    size_t size, nbytes;
} part_t;

/* Decodes consecutive parts, in pieces, and cut at every byte: valid only between parts. */
static void check_parts(el_coding_t coding, const part_t *parts, size_t count)
{
    static uint8_t all[8192], wanted[4096];
    size_t size = 0, nbytes = 0, next = 0, ends = 0;

    for (size_t i = 0; i < count; i++) {
        memcpy(all + size, parts[i].data, parts[i].size);
        memcpy(wanted + nbytes, body, parts[i].nbytes);
        size += parts[i].size;
        nbytes += parts[i].nbytes;
    }
    for (size_t step = 1; step <= size; step += step < 30 ? 1 : size) {
        assert_decoded("parts", decode_in_steps(coding, all, size, step, 1 + step % 3), wanted,
                       nbytes, 0);
    }
    for (size_t cut = 0; cut <= size; cut++) {
        bool end = next < count && cut == ends + parts[next].size;

        if (end) {
            ends += parts[next++].size;
        }
        ck_assert_msg(result_of(coding, all, cut)
                          == (end ? EL_DECODE_ENDED : EL_DECODE_NEED_INPUT), "cut at %zu", cut);
    }
}

TEST(decoder, members_and_frames_follow_each_other)
{
    static uint8_t large[2048], empty[64];

    for (int c = 0; c < ROWS(codings); c++) {
        part_t parts[] = {{large, 0, 700}, {empty, 0, 0}, {empty, 0, 0}, {large, 0, 700}};

        parts[1].size = parts[2].size = encode(codings[c], 0);
        memcpy(empty, encoded, parts[1].size);
        parts[0].size = parts[3].size = encode(codings[c], 700);
        memcpy(large, encoded, parts[0].size);
        check_parts(codings[c], parts, codings[c] == EL_BR ? 1 : ROWS(parts));
    }
}

static const struct {
    el_coding_t coding;
    size_t size, piece;
    const char *begins;
} beginnings[] = {
    {EL_GZIP, 1, 1, "\x1f"}, {EL_GZIP, 1, SIZE_MAX, "\x1f"},
#ifdef ELASTIC_WITH_ZSTD
    {EL_ZSTD, 3, 1, "\x28\xb5\x2f"}, {EL_ZSTD, 3, SIZE_MAX, "\x28\xb5\x2f"},
    {EL_ZSTD, 3, 1, "\x5f\x2a\x4d"}, {EL_ZSTD, 3, SIZE_MAX, "\x5f\x2a\x4d"},
#endif
};
EACH(decoder, the_beginning_of_what_is_no_member_is_behind_the_end, beginnings)
{
    size_t size = encode(row->coding, 1000);

    memcpy(encoded + size, row->begins, row->size);
    ck_assert_int_eq(result_of(row->coding, encoded, size + row->size), EL_DECODE_NEED_INPUT);
    encoded[size + row->size] = 'x';
    assert_decoded("no member", decode_in_steps(row->coding, encoded, size + row->size + 1,
                                                row->piece, SIZE_MAX), body, 1000, 1);
}

TEST(decoder, flushed_bytes_decode_before_the_rest)
{
    for (int c = 0; c < ROWS(codings); c++) {
        el_plan_t plan = {el_engine_for(codings[c]), {.level = 5}};
        el_context_t *context = el_pool_acquire(&plan);
        el_span_t span = {body, 1000, encoded, ROOM};
        steps_t d;

        body_fill(BODY_TEXT, body, 1000);
        ck_assert_int_eq(plan.engine->step(context, EL_FLUSH, &span), EL_STEP_OK);
        el_pool_release(context);
        d = decode_in_steps(codings[c], encoded, ROOM - span.out_nbytes_avail, SIZE_MAX, 1);
        ck_assert(d.result == EL_DECODE_NEED_INPUT && d.nbytes == 1000 && d.left == 0);
        ck_assert_mem_eq(back, body, 1000);
    }
}

/* "hi" stored, after a header with extra field, name, comment and CRC. */
TEST(decoder, every_field_of_a_gzip_header_is_read)
{
    uint8_t member[] = {
        0x1f, 0x8b, 8, 0x1f, 0, 0, 0, 0, 0, 3, 4, 0, 'e', 'x', 't', 'r', 'n', 'a', 'm', 'e', 0,
        'c', 'o', 'm', 0, 0xe2, 0x84, 1, 2, 0, 0xfd, 0xff, 'h', 'i', 0xac, 0x2a, 0x93, 0xd8, 2, 0,
        0, 0,
    };

    assert_decoded("every field", decode_in_steps(EL_GZIP, member, sizeof(member), 1, SIZE_MAX),
                   "hi", 2, 0);
    member[25] ^= 1;
    ck_assert_int_eq(decode_in_steps(EL_GZIP, member, sizeof(member), 1, SIZE_MAX).result,
                     EL_DECODE_DAMAGED);
}

#ifdef ELASTIC_WITH_ZSTD
/* Raw zstd frames (RFC 8878 §3.1.1): the last block is "hi". */
#define ZSTD_HI 0x11, 0, 0, 'h', 'i'

#define MAGIC 0x28, 0xb5, 0x2f, 0xfd

static const struct {
    const char *label;
    size_t size;
    uint8_t frame[24];
    el_decode_t result;
} frames[] = {
    {"a window of 8 MB", 11, {MAGIC, 0, 0x68, ZSTD_HI}, EL_DECODE_ENDED},
    {"an eighth more", 11, {MAGIC, 0, 0x69, ZSTD_HI}, EL_DECODE_UNSUPPORTED},
    {"of 128 MB", 11, {MAGIC, 0, 0x88, ZSTD_HI}, EL_DECODE_UNSUPPORTED},
    {"large, with a length that is small", 12, {MAGIC, 0x40, 0x88, 2, 0, 0}, EL_DECODE_UNSUPPORTED},
    {"one segment", 11, {MAGIC, 0x20, 2, ZSTD_HI}, EL_DECODE_ENDED},
    {"one segment of more than 8 MB", 14, {MAGIC, 0xa0, 1, 0, 0x80, 0, ZSTD_HI},
     EL_DECODE_UNSUPPORTED},
    {"a wrong length", 11, {MAGIC, 0x20, 3, ZSTD_HI}, EL_DECODE_DAMAGED},
    {"a dictionary", 12, {MAGIC, 0x21, 7, 2, ZSTD_HI}, EL_DECODE_DAMAGED},
    {"no dictionary, at length", 12, {MAGIC, 0x21, 0, 2, ZSTD_HI}, EL_DECODE_ENDED},
    {"a block of no kind", 9, {MAGIC, 0x20, 2, 0x17, 0, 0}, EL_DECODE_DAMAGED},
    {"a format of before", 11, {0x27, 0xb5, 0x2f, 0xfd, 0x20, 2, ZSTD_HI}, EL_DECODE_DAMAGED},
};
EACH(decoder, windows_and_frames_of_zstd, frames)
{
    for (size_t step = 1; step > 0; step = step == 1 ? SIZE_MAX : 0) {
        steps_t d = decode_in_steps(EL_ZSTD, row->frame, row->size, step, SIZE_MAX);

        row_eq(d.result, row->result);
        row_assert(d.result != EL_DECODE_ENDED || (d.nbytes == 2 && memcmp(back, "hi", 2) == 0));
    }
}

TEST(decoder, frames_to_skip_are_no_part_of_the_body)
{
    static const uint8_t skipped[] = {0x5a, 0x2a, 0x4d, 0x18, 20, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8,
                                      9, 10, 0x28, 0xb5, 0x2f, 0xfd, 0x20, 2, 0x11, 0, 0, 'x'};
    static const uint8_t nothing[] = {0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0};
    static uint8_t frame[2048];
    part_t parts[] = {{skipped, sizeof(skipped), 0}, {frame, 0, 700}, {nothing, sizeof(nothing), 0},
                      {skipped, sizeof(skipped), 0}, {frame, 0, 700},
                      {nothing, sizeof(nothing), 0}};

    parts[1].size = parts[4].size = encode(EL_ZSTD, 700);
    memcpy(frame, encoded, parts[1].size);
    check_parts(EL_ZSTD, parts, ROWS(parts));
}

#endif

TEST(decoder, other_formats_are_damaged)
{
    static const uint8_t zlib_format[] = {0x78, 0x9c, 3, 0, 0, 0, 0, 1};
    static const uint8_t large_window[] = {0x11, 0x1e, 0, 0, 0, 0, 0, 0};

    ck_assert_int_eq(result_of(EL_GZIP, zlib_format, sizeof(zlib_format)), EL_DECODE_DAMAGED);
    ck_assert_int_eq(result_of(EL_BR, large_window, sizeof(large_window)), EL_DECODE_DAMAGED);
    ck_assert(!el_decoder_for(EL_IDENTITY) && !el_decoder_for(EL_CODINGS));
    for (int c = 0; c < ROWS(codings); c++) {
        el_decoder_for(codings[c])->close(NULL);
    }
}
