#include "httpd/response/steps.h"

#include "httpd/response/cached.h"
#include "httpd/response/choose.h"
#include "httpd/shared/costs.h"
#include "httpd/shared/stats.h"
#include "httpd/shared/tick.h"

#include "engines/engines.h"

#include "http_protocol.h"

/*
 * What a trial encodes at most: 16 KB take igzip 1 or br 0 some 30 µs, and are enough for a
 * coding's tables to have paid.
 */
#define PIECE (16 * 1024)

/* And at least: the ratio of less depends on the coding's framing more than on the content. */
#define PIECE_LEAST 1024

/*
 * The part of a piece that must be saved. At the price that the ladder pays for a byte where a
 * server starts, some 200 ns (src/core/ladder.c), a twentieth is worth 11 µs for each KB: what gzip
 * takes at level 6, with libdeflate, for pages of 32 to 128 KB (src/engines/costs.c).
 */
#define SAVED(nbytes) ((nbytes) / 20)

void el_encode_note_stock(request_rec *r, const el_response_t *response)
{
    const el_encoder_t *encoder = &response->encoder;

    if (response->policy.is_stock) {
        el_stats_stock(r, response->policy.stock, encoder->plan.engine->coding,
                       &encoder->meter.used);
    }
}

void el_encode_count(request_rec *r, const el_response_t *response)
{
    const el_encoder_t *encoder = &response->encoder;
    const el_entry_t *entry = &response->cached.found.entry;

    if (response->cached.used) {
        el_stats_cached(r, entry->coding, entry->engine, entry->level, &encoder->meter.used);
    } else {
        el_stats_encoded(r, &encoder->plan, encoder->level, &encoder->meter.used);
    }
    el_encode_note_stock(r, response);
}

static apr_status_t put(el_response_t *response, el_op_t op, const char *data, apr_size_t len)
{
    if (el_encoder_put(&response->encoder, op, data, len)) {
        return APR_SUCCESS;
    }
    response->stream.error = "the encoder failed";
    response->stream.unchanged = true;
    return APR_EGENERAL;
}

static apr_status_t put_data(ap_filter_t *f, void *owner, const char *data, apr_size_t len)
{
    (void)f;
    return put(owner, EL_RUN, data, len);
}

static apr_status_t put_flush(ap_filter_t *f, void *owner)
{
    (void)f;
    return put(owner, EL_FLUSH, "", 0);
}

static apr_status_t put_end(ap_filter_t *f, void *owner)
{
    el_response_t *response = owner;
    const el_moment_t *moment = &response->facts.moment;
    apr_status_t rv;

    if (response->stream.failed) {
        el_stats_skipped(f->r, EL_REASON_ERROR);
    } else if (moment->size_known && response->encoder.meter.used.in < moment->size) {
        response->stream.error = "the body is shorter than was announced";
        return APR_EOF;
    } else {
        rv = put(response, EL_FINISH, "", 0);
        if (rv != APR_SUCCESS) {
            return rv;
        }
        el_encode_count(f->r, response);
    }
    el_encoder_close(&response->encoder);
    return APR_SUCCESS;
}

static void abandon(ap_filter_t *f, void *owner)
{
    el_response_t *response = owner;

    el_stats_skipped(f->r, EL_REASON_ERROR);
    el_hold_drop(response);
    el_encoder_close(&response->encoder);
}

void el_encode_prepare(el_response_t *response)
{
    static const el_stream_ops_t ops = {put_data, put_flush, put_end, abandon};

    response->stream = (el_stream_t){
        .ops = &ops,
        .owner = response,
        .made = &response->encoder.meter.used.out,
        .error_status = HTTP_INTERNAL_SERVER_ERROR,
        .eager = true,
    };
}

void el_encode_plan(request_rec *r, el_response_t *response)
{
    const el_choice_t *choice = &response->choice;
    el_encoder_t *encoder = &response->encoder;

    el_tick_arrival();
    el_encoder_plan(encoder, choice->coding, &choice->setup, response->whole, r);
    encoder->meter.used.sampled = encoder->meter.used.sampled || choice->tried;
    if (response->cached.looked) {
        /* What was looked for and not found is encoded: the time of looking is its, too. */
        el_meter_go_on(&encoder->meter, &response->cached.meter);
    }
    response->stream.out = encoder->brigade;
    response->planned = true;
    if (el_dir_explains(response->policy.dir)) {
        el_cost_t cost = el_costs_expect(choice->coding, &choice->setup, response->whole);

        /* nsec is for 1,024 bytes. */
        response->expected_usec = cost.nsec / 1e3 * (double)choice->setup.size_hint / 1024;
    }
}

apr_status_t el_encode_gather(el_response_t *response, apr_bucket_brigade *bb)
{
    apr_status_t rv = APR_SUCCESS;

    if (!response->gathered) {
        rv = el_body_gather(bb, (size_t)response->facts.moment.size, &response->body);
        response->gathered = rv == APR_SUCCESS;
    }
    return rv;
}

void el_encode_release(el_response_t *response)
{
    el_cached_leave(response);
    if (response->gathered) {
        el_body_release(&response->body);
        response->gathered = false;
    }
}

void el_encode_take_cached(request_rec *r, el_response_t *response)
{
    el_cached_t *cached = &response->cached;

    el_encode_release(response);
    el_encoder_found(&response->encoder, &cached->found, &cached->meter, r);
    cached->used = true;
    response->stream.out = response->encoder.brigade;
}

/* The stock modules send what they encoded, whatever its size. */
static bool may_be_larger(const el_response_t *response)
{
    return response->policy.is_stock
           || !el_accept_takes(&response->facts.demand.accept, EL_IDENTITY);
}

static el_reason_t encode_gathered(el_response_t *response)
{
    const el_whole_t *body = &response->body;
    const el_usage_t *used = &response->encoder.meter.used;

    if (!el_encoder_whole(&response->encoder, body->data, body->nbytes)) {
        return el_encoder_failure();
    }
    if (used->out >= used->in && !may_be_larger(response)) {
        response->cached.waiters.vain = true;
        return EL_REASON_NOT_SMALLER;
    }
    el_cached_store(response);
    return EL_REASON_NONE;
}

el_reason_t el_encode_whole(el_response_t *response, apr_bucket_brigade *bb, apr_status_t *rv)
{
    el_reason_t reason = EL_REASON_ERROR;

    *rv = el_encode_gather(response, bb);
    if (*rv == APR_SUCCESS) {
        reason = encode_gathered(response);
    } else if (*rv == APR_ENOMEM) {
        reason = el_encoder_failure();
        *rv = APR_SUCCESS;
    }
    el_encode_release(response);
    return reason;
}

bool el_encode_saves_nothing(const el_response_t *response, apr_bucket_brigade *bb)
{
    const el_choice_t *choice = &response->choice;
    const el_moment_t *moment = &response->facts.moment;
    el_setup_t setup = choice->setup;
    el_measured_t measured = {.out = 0};
    el_whole_t piece;
    el_plan_t plan;

    /* What is no longer than a trial would be encoded twice. */
    if (moment->size_known && moment->size <= PIECE) {
        return false;
    }
    piece = el_body_peek(bb, PIECE);
    setup.level = response->policy.range[choice->coding].min;
    setup.size_hint = piece.nbytes;
    if (piece.nbytes >= PIECE_LEAST) {
        plan = el_engine_plan(choice->coding, &setup, true);
        measured = el_encoder_try(&plan, piece.data, piece.nbytes);
        el_shared_count(EL_COUNT_PROBES, 1);
    }
    el_body_release(&piece);
    return measured.out > 0 && measured.out >= measured.in - SAVED(measured.in);
}
