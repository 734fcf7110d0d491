#include "elastic/engine.h"
#include "engines/engines.h"

#include "fuzz.h"

#include <stdbool.h>

/* More than any step may ask for at once, so that a body of a few bytes cannot run for long. */
#define OUT_MOST (1 << 20)

/*
 * Decodes with steps of at most `in_step` and `out_step` bytes. Each step keeps to its room, and
 * says what it has to say of it. Returns what the last one said, and in `sum` a hash of the body.
 */
static el_decode_t decode(const el_decoder_t *decoder, const uint8_t *data, size_t size,
                          size_t in_step, size_t out_step, uint32_t *sum, size_t *total)
{
    el_account_t account = {0};
    el_decoding_t *decoding = decoder->open(&account);
    el_decode_t result = EL_DECODE_NEED_INPUT;
    uint8_t *out = malloc(out_step);
    size_t taken = 0;
    bool goes_on = true; /* after an end, too: another member or frame may follow */

    MUST(decoding != NULL && out != NULL);
    *sum = 2166136261u;
    *total = 0;
    while (*total < OUT_MOST && (result == EL_DECODE_FULL || (goes_on && taken < size))) {
        size_t most = size - taken < in_step ? size - taken : in_step, got;
        el_span_t span = {data + taken, most, out, out_step};

        result = decoder->step(decoding, &span);
        MUST(span.in_nbytes <= most && span.in == data + taken + most - span.in_nbytes);
        MUST(span.out_nbytes_avail <= out_step
             && span.out == out + out_step - span.out_nbytes_avail);
        MUST(result != EL_DECODE_NEED_INPUT || span.in_nbytes == 0);
        MUST(result != EL_DECODE_FULL || span.out_nbytes_avail == 0);
        goes_on = result == EL_DECODE_NEED_INPUT
                  || (result == EL_DECODE_ENDED && span.in_nbytes == 0);
        got = out_step - span.out_nbytes_avail;
        for (size_t i = 0; i < got; i++) {
            *sum = (*sum ^ out[i]) * 16777619u;
        }
        taken += most - span.in_nbytes;
        *total += got;
    }
    decoder->close(decoding);
    MUST(account.nbytes == 0);
    free(out);
    return result;
}

/* How the input is cut, and the output is, makes no difference. */
static void compare(const el_decoder_t *decoder, const uint8_t *data, size_t size)
{
    uint32_t whole_sum, pieces_sum;
    size_t whole_total, pieces_total;
    el_decode_t whole = decode(decoder, data, size, SIZE_MAX, 4096, &whole_sum, &whole_total);
    el_decode_t pieces = decode(decoder, data, size, 3, 64, &pieces_sum, &pieces_total);

    if (whole == EL_DECODE_ENDED || pieces == EL_DECODE_ENDED) {
        MUST(whole == pieces && whole_sum == pieces_sum && whole_total == pieces_total);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t nothing;

    /* libFuzzer's empty input has no address, and a span's end would be one of none. */
    data = size > 0 ? data : &nothing;
    for (int coding = EL_IDENTITY + 1; coding < EL_CODINGS; coding++) {
        const el_decoder_t *decoder = el_decoder_for((el_coding_t)coding);

        if (decoder != NULL) {
            compare(decoder, data, size);
        }
    }
    return 0;
}
