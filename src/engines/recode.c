#include "engines/recode.h"

#include "engines/engines.h"
#include "engines/pool.h"

/* Decodes into `plain`, of body->length and one more; false where that is not all that there is. */
static bool decode(const el_encoded_t *body, uint8_t *plain)
{
    const el_decoder_t *decoder = el_decoder_for(body->coding);
    el_account_t account = {0};
    el_decoding_t *decoding = decoder ? decoder->open(&account) : NULL;
    el_span_t span = {body->data, body->nbytes, plain, body->length + 1};
    el_decode_t result = decoding ? decoder->step(decoding, &span) : EL_DECODE_NO_MEMORY;

    if (decoding) {
        decoder->close(decoding);
    }
    return result == EL_DECODE_ENDED && span.in_nbytes == 0 && span.out_nbytes_avail == 1;
}

static uint8_t *encode(const el_plan_t *plan, const uint8_t *plain, size_t length, size_t *nbytes)
{
    size_t room;
    uint8_t *out = el_pool_buffer_acquire(el_engine_bound(length), &room);
    el_context_t *context = out ? el_pool_acquire(plan) : NULL;
    el_span_t span = {plain, length, out, room};

    if (!context || el_engine_encode(context, &span) != EL_STEP_OK) {
        el_pool_buffer_release(out);
        out = NULL;
    } else {
        *nbytes = room - span.out_nbytes_avail;
    }
    el_pool_release(context);
    return out;
}

uint8_t *el_recode(const el_encoded_t *body, const el_plan_t *plan, size_t *nbytes)
{
    size_t room;
    uint8_t *plain = el_pool_buffer_acquire(body->length + 1, &room);
    uint8_t *out = plain && decode(body, plain) ? encode(plan, plain, body->length, nbytes) : NULL;

    el_pool_buffer_release(plain);
    return out;
}
