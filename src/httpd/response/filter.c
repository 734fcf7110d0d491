/*
 * The way of a response through ELASTIC, DEFLATE or BROTLI_COMPRESS:
 *
 *     insert   puts ELASTIC into the chain, or finds that the response goes out as it is
 *     begin    reads the settings and the header's facts; most refusals end here
 *     hold     waits for the body's size, its end, a flush, or as much as may be held
 *     decide   picks a coding, or the reason for none
 *     choose   picks a dictionary, a cached or a fresh encoding, the engine and the level
 *     encode   encodes the whole body in one call, or a stream
 *     send     sets the header, sends the body, sets notes and counters
 *
 * It ends in filter_send_identity(), in filter_send_whole() or the end of a stream, or in
 * el_stream_break_off() if the response cannot be completed.
 */
#include "httpd/response/steps.h"

#include "httpd/config/glue.h"
#include "httpd/dictionary/dictionaries.h"
#include "httpd/response/choose.h"
#include "httpd/shared/costs.h"
#include "httpd/shared/tick.h"

#include "engines/engines.h"
#include "engines/memory.h"

#include "http_log.h"
#include "http_protocol.h"

EL_USE_LOG;

/* ---- insert ---------------------------------------------------------------------------------- */

static ap_filter_rec_t *skipped;

/*
 * Counts a response that is already known to go out as it is. It counts when the body comes,
 * because an internal redirect, an error page or a precompressed file may replace the response.
 */
static apr_status_t filter_count_skipped(ap_filter_t *f, apr_bucket_brigade *bb)
{
    const el_response_t *response = el_response_find(f->r);

    if (!f->ctx) {
        return el_body_leave(f, bb);
    }
    if (APR_BRIGADE_EMPTY(bb)) {
        return APR_SUCCESS;
    }
    if (!el_body_is_error(bb) && !(response && response->claimed)) {
        el_stats_skipped(f->r, (el_reason_t)(uintptr_t)f->ctx);
    }
    /* No further call follows a brigade that ends the body. */
    if (!APR_BUCKET_IS_EOS(APR_BRIGADE_LAST(bb))) {
        ap_remove_output_filter(f);
    }
    return ap_pass_brigade(f->next, bb);
}

/* Adds ELASTIC if enabled, and notes which filters may encode or decode. */
EL_RARE static void filter_install(request_rec *r, bool enabled, el_chain_t chain)
{
    const unsigned encoders = el_chain_ours() | EL_ROLE_BIT(EL_ROLE_HARNESS);
    unsigned installed;

    if (enabled) {
        el_chain_add_elastic(r);
        chain.roles |= EL_ROLE_BIT(EL_ROLE_ELASTIC);
        chain.place[EL_ROLE_ELASTIC] = 1;
    }
    /* After an internal redirect, an existing record is updated. */
    if (chain.roles & (encoders | EL_ROLE_BIT(EL_ROLE_INFLATE)) || el_response_find(r)) {
        el_response_t *response = el_response_of(r);

        installed = chain.roles & el_chain_ours();
        memcpy(response->installed, chain.place, sizeof(response->installed));
        response->inflates = chain.roles & EL_ROLE_BIT(EL_ROLE_INFLATE);
        response->harness = chain.roles & EL_ROLE_BIT(EL_ROLE_HARNESS);
        response->encodable = installed || response->harness;
        if (response->encodable) {
            /* mod_autoindex hides the field while it sends HeaderName's page; read it now. */
            el_response_read_accept(response);
        }
        response->harnessed = response->harness || (installed && chain.harnessed);
        if (response->harnessed) {
            el_not_modified_insert(r);
        }
    }
    if (!(chain.roles & encoders)) {
        ap_add_output_filter_handle(skipped, (void *)(uintptr_t)EL_REASON_OFF, r, r->connection);
    }
}

void el_filter_insert(request_rec *r)
{
    const unsigned changing = EL_ROLE_BIT(EL_ROLE_OTHER) | EL_ROLE_BIT(EL_ROLE_HARNESS)
                              | EL_ROLE_BIT(EL_ROLE_INFLATE);
    const el_dir_t *dir = el_dir_of(r);
    bool enabled = dir->values.value[EL_DIR_ENABLED];
    const char *type;
    el_chain_t chain;
    bool final;

    /* A subrequest's body becomes part of another one. */
    if (r->main) {
        return;
    }
    el_ranges_insert(r);
    chain = el_chain_look(r, enabled);
    if (dir->values.value[EL_DIR_PADDING] > 0) {
        ap_add_output_filter(EL_FILTER_PADDING, r, r, r->connection);
    }
    /* A dictionary is kept unencoded, so its filter runs before ELASTIC. */
    if (el_dir_dictionary(dir) || el_dir_dictionary_link(dir) || dir->dictionary_files) {
        el_dictionary_filter_insert(r);
    }
    if (dir->values.value[EL_DIR_EXPLAIN]) {
        el_explain_insert(r);
    }
    /*
     * Look up a file's type now if nothing can change it. A handler may change an application/…
     * type; its filters then see the new one.
     */
    type = r->content_type;
    final = enabled && !r->handler && r->finfo.filetype == APR_REG && type
            && !(chain.roles & changing) && !dir->values.value[EL_DIR_PRECOMPRESSED]
            && strncmp(type, "application/", strlen("application/")) != 0;
    if (final && !el_dir_type_listed(dir, type, false)) {
        ap_add_output_filter_handle(skipped, (void *)(uintptr_t)EL_REASON_TYPE, r, r->connection);
    } else {
        filter_install(r, enabled, chain);
        if (final) {
            el_response_of(r)->listed_type = type;
        }
    }
}

/* ---- send ------------------------------------------------------------------------------------ */

/* Sets Vary for a negotiated response, and drops a Range that cannot match it. */
static void filter_set_negotiated(el_response_t *response)
{
    el_available_add_vary(response);
    if (el_response_void_range(response->r)) {
        el_response_drop_range(response->r);
    }
}

/* Sets the header for a body in `coding`. */
static void filter_set_header(el_response_t *response, el_coding_t coding)
{
    filter_set_negotiated(response);
    el_fields_set_coding(response->r, coding, response->policy.etag);
}

typedef enum {
    LEFT_TO_OTHERS, /* a compressor after this filter may encode it */
    FINAL,          /* none may */
    FINAL_HERE,     /* nor that, though a stock module would have encoded it */
} identity_t;

/*
 * Of a body that is sent uncompressed. If it is too small for a drop-in filter, or the client does
 * not take that filter's coding, another one may encode it.
 */
static identity_t filter_identity(const el_policy_t *policy, el_reason_t reason)
{
    switch (reason) {
    case EL_REASON_SMALL:
    case EL_REASON_NOT_ACCEPTABLE:
        return policy->is_stock ? LEFT_TO_OTHERS : FINAL;
    case EL_REASON_RANGE:
    case EL_REASON_NO_TRANSFORM:
        return FINAL;
    case EL_REASON_BYPASS:
    case EL_REASON_NOT_SMALLER:
    case EL_REASON_MEMORY:
    case EL_REASON_ERROR:
        return FINAL_HERE;
    case EL_REASON_NONE:
    case EL_REASON_OFF:
    case EL_REASON_TYPE:
    case EL_REASON_ENCODED:
    case EL_REASON_ENV:
    case EL_REASON_STATUS:
    case EL_REASON_HEAD:
    case EL_REASON_TLS_COMPRESSION:
    case EL_REASON_COUNT:
        break; /* no default: the compiler then reports a new reason */
    }
    return LEFT_TO_OTHERS;
}

/* Sends the body `bb` uncompressed, for decision.reason, and removes the filter. */
static apr_status_t filter_send_identity(el_response_t *response, apr_bucket_brigade *bb,
                                         el_decision_t decision)
{
    ap_filter_t *f = response->filter;
    request_rec *r = response->r;
    el_reason_t reason = decision.reason;
    identity_t identity = filter_identity(&response->policy, reason);
    uint64_t announced;
    apr_off_t there;

    if (r->status == HTTP_NOT_MODIFIED) {
        el_facts_t facts = el_not_modified_facts(response, &response->policy, el_chain_by_type(f));

        facts.demand.q_behind = response->facts.demand.q_behind;
        el_not_modified_tag(response, &response->policy, &facts);
    }
    if (decision.vary) {
        filter_set_negotiated(response);
    }
    /*
     * A stock compressor would encode the body and remove Content-Length, so a wrong one did no
     * harm there (see hold_read_length()). Here the client would wait for missing bytes.
     */
    if (identity == FINAL_HERE && !r->proxyreq && !response->facts.demand.head
        && el_fields_length(&response->fields, &announced)
        && apr_brigade_length(bb, 0, &there) == APR_SUCCESS && (uint64_t)there != announced) {
        el_field_unset(r, "Content-Length");
    }
    if (identity != LEFT_TO_OTHERS) {
        response->claimed = true;
        if (response->behind & EL_ROLE_COMPRESSORS & ~el_chain_ours()) {
            apr_table_setn(r->subprocess_env, "no-gzip", "1");
            apr_table_setn(r->subprocess_env, "no-brotli", "1");
        }
    }
    if (response->claimed || !(response->behind & el_chain_ours())) {
        el_stats_skipped(r, reason);
    }
    response->filter = NULL;
    return el_body_leave(f, bb);
}

/* Sets the notes that the stock modules set, also for HEAD. */
static void filter_note_stock(const el_response_t *response)
{
    const el_encoder_t *encoder = &response->encoder;

    if (response->policy.is_stock) {
        el_stats_stock(response->r, response->policy.stock, encoder->plan.engine->coding,
                       &encoder->meter.used);
    }
}

/* Notes and counts the encoding that is sent. */
static void filter_count(const el_response_t *response)
{
    const el_encoder_t *encoder = &response->encoder;
    const el_entry_t *entry = &response->cached.found.entry;

    if (response->cached.used) {
        el_stats_cached(response->r, entry->coding, entry->engine, entry->level,
                        &encoder->meter.used);
    } else {
        el_stats_encoded(response->r, &encoder->plan, encoder->level, &encoder->meter.used);
    }
    filter_note_stock(response);
}

/* Releases the gathered body, and lets threads that wait for its encoding go on. */
static void filter_release(el_response_t *response)
{
    el_waiters_leave(&response->cached.waiters, false);
    if (response->gathered) {
        el_body_release(&response->body);
        response->gathered = false;
    }
}

/* Sends response->encoder's output, with its length, instead of the complete body `bb`. */
static apr_status_t filter_send_whole(el_response_t *response, apr_bucket_brigade *bb)
{
    ap_filter_t *f = response->filter;
    request_rec *r = response->r;
    el_encoder_t *encoder = &response->encoder;
    apr_bucket_brigade *out = response->stream.out;

    filter_set_header(response, encoder->plan.engine->coding);
    ap_set_content_length(r, (apr_off_t)encoder->meter.used.out);
    if (response->facts.demand.head) {
        filter_note_stock(response);
        el_encoder_close(encoder);
        apr_brigade_cleanup(out);
        el_stats_skipped(r, EL_REASON_HEAD);
        response->phase = EL_PHASE_DROP;
        return el_no_body(f, bb);
    }
    filter_count(response);
    el_encoder_close(encoder);
    APR_BRIGADE_INSERT_TAIL(out, apr_bucket_eos_create(bb->bucket_alloc));
    apr_brigade_cleanup(bb);
    ap_remove_output_filter(f);
    return el_stream_pass(f, &response->stream);
}

/* ---- encode ---------------------------------------------------------------------------------- */

static el_decision_t filter_refuse(el_reason_t reason)
{
    return (el_decision_t){.coding = EL_IDENTITY, .reason = reason, .vary = true};
}

static void filter_plan(el_response_t *response)
{
    const request_rec *r = response->r;
    const el_choice_t *choice = &response->choice;
    const el_usage_t *looked = &response->cached.meter.used;
    el_encoder_t *encoder = &response->encoder;

    el_tick_arrival();
    el_budget_take_refusal();
    *encoder = (el_encoder_t){
        .plan = el_engine_plan(choice->coding, &choice->setup, response->whole),
        .level = choice->setup.level,
        .pool = r->pool,
        .brigade = apr_brigade_create(r->pool, r->connection->bucket_alloc),
    };
    /* The time of a look-up that found nothing belongs to the encoding. */
    if (response->cached.looked) {
        encoder->meter = (el_meter_t){
            .used = {
                .sampled = looked->sampled,
                .elapsed_nsec = looked->elapsed_nsec,
                .looked_nsec = looked->cpu_nsec,
            },
        };
    } else {
        encoder->meter = el_meter_create();
    }
    encoder->meter.used.sampled = encoder->meter.used.sampled || choice->tried;
    response->stream.out = encoder->brigade;
    response->planned = true;
    if (response->policy.dir->values.value[EL_DIR_EXPLAIN]) {
        el_cost_t cost = el_costs_expect(choice->coding, &choice->setup, response->whole);

        /* cost.nsec is for 1,024 bytes. */
        response->expected_usec = cost.nsec / 1e3 * (double)choice->setup.size_hint / 1024;
    }
}

/* Sends the identity after an encoder was planned; nothing has been sent yet. */
static apr_status_t filter_fall_back(el_response_t *response, apr_bucket_brigade *bb,
                                     el_reason_t reason)
{
    el_encoder_t *encoder = &response->encoder;

    if (reason == EL_REASON_ERROR) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, response->r,
                      "elastic: the encoder %s failed or had no memory; the response to %s is sent "
                      "uncompressed",
                      encoder->plan.engine->name, response->r->uri);
    } else if (reason == EL_REASON_NOT_SMALLER) {
        el_shares_update(&encoder->plan, encoder->level, encoder->meter.used.in,
                         encoder->meter.used.out);
    }
    el_encoder_close(encoder);
    apr_brigade_cleanup(encoder->brigade);
    return filter_send_identity(response, bb, filter_refuse(reason));
}

/*
 * Encodes a complete body; `bb` keeps the identity. Sends the identity if the encoder fails, memory
 * is short, or nothing is saved and the client takes identity.
 */
static apr_status_t filter_encode_whole(el_response_t *response, apr_bucket_brigade *bb)
{
    el_encoder_t *encoder = &response->encoder;
    const el_usage_t *used = &encoder->meter.used;
    const el_demand_t *demand = &response->facts.demand;
    el_reason_t reason = EL_REASON_NONE;
    apr_status_t rv = APR_SUCCESS;

    filter_plan(response);
    if (!response->gathered) {
        rv = el_body_gather(bb, &response->measure, &response->body);
        response->gathered = rv == APR_SUCCESS;
    }
    if (rv == APR_SUCCESS
        && el_encoder_whole(encoder, response->body.data, response->body.nbytes)) {
        /* The stock modules send what they encoded even if it is larger. */
        if (used->out >= used->in && !response->policy.is_stock
            && el_accept_takes(&demand->accept, EL_IDENTITY)) {
            response->cached.waiters.vain = true;
            reason = EL_REASON_NOT_SMALLER;
        } else {
            el_cached_store(response);
        }
    } else if (rv == APR_SUCCESS || rv == APR_ENOMEM) {
        rv = APR_SUCCESS;
        reason = el_encoder_failure();
    }
    filter_release(response);
    if (rv != APR_SUCCESS) {
        return el_stream_break_off(response->filter, &response->stream, bb, rv,
                                   "the body cannot be read");
    }
    return reason == EL_REASON_NONE ? filter_send_whole(response, bb)
                                    : filter_fall_back(response, bb, reason);
}

static apr_status_t filter_put(el_response_t *response, el_op_t op, const char *data,
                               apr_size_t len)
{
    if (el_encoder_put(&response->encoder, op, data, len)) {
        return APR_SUCCESS;
    }
    response->stream.error = "the encoder failed";
    response->stream.unchanged = true;
    return APR_EGENERAL;
}

static apr_status_t filter_put_data(ap_filter_t *f, void *owner, const char *data, apr_size_t len)
{
    (void)f;
    return filter_put(owner, EL_RUN, data, len);
}

static apr_status_t filter_put_flush(ap_filter_t *f, void *owner)
{
    (void)f;
    return filter_put(owner, EL_FLUSH, "", 0);
}

static apr_status_t filter_put_end(ap_filter_t *f, void *owner)
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
        rv = filter_put(response, EL_FINISH, "", 0);
        if (rv != APR_SUCCESS) {
            return rv;
        }
        filter_count(response);
    }
    el_encoder_close(&response->encoder);
    return APR_SUCCESS;
}

static void filter_abandon(ap_filter_t *f, void *owner)
{
    el_response_t *response = owner;

    el_stats_skipped(f->r, EL_REASON_ERROR);
    if (response->held) {
        apr_brigade_cleanup(response->held);
    }
    el_encoder_close(&response->encoder);
}

static const el_stream_ops_t stream_ops = {filter_put_data, filter_put_flush, filter_put_end,
                                           filter_abandon};

/*
 * The stream's first bytes are about to be sent: from now on it gets all the memory it needs to
 * finish, even beyond ElasticMaxMemory.
 */
static void filter_begin_stream(ap_filter_t *f, void *owner)
{
    el_response_t *response = owner;
    el_encoder_t *encoder = &response->encoder;

    (void)f;
    if (encoder->context) {
        encoder->context->account.committed = true;
    }
    filter_set_header(response, encoder->plan.engine->coding);
}

static apr_status_t filter_stream_identity(ap_filter_t *f, void *owner, apr_bucket_brigade *bb)
{
    (void)f;
    return filter_fall_back(owner, bb, el_encoder_failure());
}

static apr_status_t filter_encode_stream(el_response_t *response, apr_bucket_brigade *bb)
{
    static const el_stream_fallback_t fallback = {filter_begin_stream, filter_stream_identity};

    filter_plan(response);
    if (!el_encoder_open(&response->encoder)) {
        return filter_fall_back(response, bb, el_encoder_failure());
    }
    response->stream.fallback = &fallback;
    response->phase = EL_PHASE_STREAM;
    return el_stream_run(response->filter, &response->stream, bb);
}

/* ---- choose ---------------------------------------------------------------------------------- */

/*
 * Chooses the setup for the coding of `decision`, and prepares its dictionary. If the dictionary is
 * gone, decides again without it. Returns false if that leads to no coding.
 */
static bool filter_choose_setup(el_response_t *response, el_decision_t *decision, bool *bypassed)
{
    el_facts_t *facts = &response->facts;
    el_setup_t *setup = &response->choice.setup;
    el_choose_for_t body = {&response->policy, facts, response->whole,
                            el_response_effort(response)};

    response->choice = el_choose(&body, decision->coding);
    if (el_coding_needs_dictionary(decision->coding)
        && !el_coding_needs_dictionary(response->choice.coding)) {
        el_available_note(response->r, EL_DICTIONARY_OUTDONE);
        facts->demand.available = EL_IDENTITY;
    }
    *bypassed = el_decide_is_bypassed(facts);
    if (!el_coding_needs_dictionary(response->choice.coding) || *bypassed) {
        return true;
    }
    setup->dictionary = el_available_prepare(response, setup->level);
    if (setup->dictionary) {
        setup->level = el_dictionary_level(setup->dictionary, setup->level);
        return true;
    }
    facts->demand.available = EL_IDENTITY;
    facts->moment.may_be_cached = false;
    *decision = el_decide(facts);
    if (decision->coding == EL_IDENTITY) {
        return false;
    }
    response->choice = el_choose(&body, decision->coding);
    return true;
}

/* A trial's most bytes: igzip 1 or br 0 take about 30 µs, and their tables have paid off. */
#define TRIAL_MOST (16 * 1024)

/* And at least: with fewer bytes, the coding's framing dominates the ratio. */
#define TRIAL_LEAST 1024

/*
 * The share that a trial must save. At about 200 ns for a byte, the starting price of the ladder, a
 * twentieth is worth 11 µs per KB: the time of gzip 6 with libdeflate for pages of 32 to 128 KB
 * (src/engines/costs.c).
 */
#define TRIAL_SAVED(nbytes) ((nbytes) / 20)

/*
 * Encodes the first piece at the coding's lowest level, so that a large archive is not encoded to
 * its end. Returns true if that hardly saves bytes; false if the encoder fails, which the body's
 * own encoding will report. Does not try bodies that are not longer than a trial, nor pinned
 * levels, nor codings that the client, a drop-in filter or ElasticLevel `stock` insists on.
 */
static bool filter_saves_nothing(const el_response_t *response)
{
    const el_policy_t *policy = &response->policy;
    const el_choice_t *choice = &response->choice;
    const el_moment_t *moment = &response->facts.moment;
    el_setup_t setup = choice->setup;
    el_measured_t measured = {.out = 0};
    el_whole_t piece;
    el_plan_t plan;

    if (response->whole || policy->is_stock || choice->bounded
        || el_coding_needs_dictionary(choice->coding)
        || !el_accept_takes(&response->facts.demand.accept, EL_IDENTITY)
        || !el_shared_is_adaptive(policy->range[choice->coding])
        || (moment->size_known && moment->size <= TRIAL_MOST)) {
        return false;
    }
    piece = el_body_peek(response->measure.first, TRIAL_MOST);
    setup.level = policy->range[choice->coding].min;
    setup.size_hint = piece.nbytes;
    if (piece.nbytes >= TRIAL_LEAST) {
        plan = el_engine_plan(choice->coding, &setup, true);
        measured = el_encoder_try(&plan, piece.data, piece.nbytes);
        el_shared_count(EL_COUNT_PROBES, 1);
    }
    el_body_release(&piece);
    return measured.out > 0 && measured.out >= measured.in - TRIAL_SAVED(measured.in);
}

/* Answers in the decided coding, with a dictionary, cached or fresh; or uncompressed. */
static apr_status_t filter_answer(el_response_t *response, apr_bucket_brigade *bb,
                                  el_decision_t decision)
{
    const el_policy_t *policy = &response->policy;
    const el_choice_t *choice = &response->choice;
    apr_status_t rv = APR_SUCCESS;
    bool bypassed, adaptive;

    if (!filter_choose_setup(response, &decision, &bypassed)) {
        return filter_send_identity(response, bb, decision);
    }
    /* Encodings with a dictionary are not cached. */
    if (!el_coding_needs_dictionary(choice->coding) && response->facts.moment.may_be_cached
        && el_cached_find(response, bb, bypassed, &rv)) {
        filter_release(response);
        el_encoder_found(&response->encoder, &response->cached.found, &response->cached.meter,
                         response->r);
        response->cached.used = true;
        response->stream.out = response->encoder.brigade;
        return filter_send_whole(response, bb);
    }
    if (rv != APR_SUCCESS) {
        return el_stream_break_off(response->filter, &response->stream, bb, rv,
                                   "the body cannot be read");
    }
    if (bypassed) {
        filter_release(response);
        return filter_send_identity(response, bb, filter_refuse(EL_REASON_BYPASS));
    }
    /*
     * HEAD is answered without encoding if a GET would be streamed, or if the level is adaptive: a
     * later GET may then have another length. The stock modules send the length of a whole body.
     */
    adaptive = el_shared_is_adaptive(policy->range[el_coding_info(choice->coding)->base]);
    if (response->facts.demand.head && (!response->whole || (!policy->is_stock && adaptive))) {
        filter_release(response);
        filter_plan(response);
        filter_set_header(response, choice->coding);
        el_stats_skipped(response->r, EL_REASON_HEAD);
        response->phase = EL_PHASE_DROP;
        return el_no_body(response->filter, bb);
    }
    if (filter_saves_nothing(response)) {
        filter_release(response);
        return filter_send_identity(response, bb, filter_refuse(EL_REASON_NOT_SMALLER));
    }
    /* Not if the encoding may be cached, because it is found by its setup; nor for HEAD. */
    if (!el_coding_needs_dictionary(choice->coding) && !response->facts.moment.may_be_cached
        && !response->facts.demand.head) {
        el_choose_for_t body = {policy, &response->facts, response->whole, response->effort};

        el_choose_trial(&body, &response->choice);
    }
    return response->whole ? filter_encode_whole(response, bb)
                           : filter_encode_stream(response, bb);
}

/* ---- begin, hold, decide --------------------------------------------------------------------- */

/*
 * Takes the response. Returns false if that ends this filter's work: another filter has taken it,
 * or no coding is possible whatever the body is. `*rv` is then the result for the brigade.
 */
static bool filter_begin(ap_filter_t *f, el_response_t *response, el_record_t record,
                         apr_bucket_brigade *bb, apr_status_t *rv)
{
    el_facts_t *facts = &response->facts;
    el_demand_t *demand = &facts->demand;
    el_coding_t order[EL_CODINGS];
    el_decision_t decision;
    unsigned behind;

    if (response->claimed || el_body_is_error(bb)) {
        ap_remove_output_filter(f);
        *rv = ap_pass_brigade(f->next, bb);
        return false;
    }
    el_response_read_accept(response);
    el_not_modified_now(response, NULL);
    response->filter = f;
    response->phase = EL_PHASE_HELD;
    /*
     * Another filter of ours may have held the body and left it to this one. Fields below these in
     * the record are set only when the response is claimed.
     */
    response->min_size_read = response->waits = false;
    response->held = NULL;
    response->policy = el_policy_of(f->r, record);
    response->behind = el_chain_roles(f->next);
    *facts = el_response_facts(response, &response->policy, el_chain_by_type(f));
    el_available_add(response, &response->policy, false, demand);
    /* The highest weight of a coding that our later filters can give. */
    behind = response->behind & el_chain_ours();
    for (int other = 0; behind && other < EL_RECORDS; other++) {
        size_t count = behind & EL_ROLE_BIT(other)
                           ? el_response_codings(response, (el_record_t)other, order) : 0;

        for (size_t i = 0; i < count; i++) {
            uint16_t q = demand->accept.q[order[i]];

            demand->q_behind = q > demand->q_behind ? q : demand->q_behind;
        }
    }
    facts->moment.may_be_cached =
        response->policy.dir->values.value[EL_DIR_CACHE] && el_store_is_open();
    decision = el_decide(facts);
    if (decision.coding == EL_IDENTITY) {
        *rv = filter_send_identity(response, bb, decision);
        return false;
    }
    response->stream = (el_stream_t){
        .ops = &stream_ops,
        .owner = response,
        .made = &response->encoder.meter.used.out,
        .error_status = HTTP_INTERNAL_SERVER_ERROR,
        .eager = true,
    };
    return true;
}

static apr_status_t filter_run(ap_filter_t *f, el_record_t record, apr_bucket_brigade *bb)
{
    el_response_t *response;
    el_decision_t decision;
    apr_bucket *first;
    const char *data;
    apr_size_t len;
    apr_status_t rv;

    if (APR_BRIGADE_EMPTY(bb)) {
        return APR_SUCCESS;
    }
    if (f->r->main) {
        /* A subrequest's body becomes part of another one. */
        return el_body_leave(f, bb);
    }
    response = el_response_of(f->r);
    if (response->filter != f && !filter_begin(f, response, record, bb, &rv)) {
        return rv;
    }
    if (f->r->connection->aborted || response->stream.broken) {
        if (response->held) {
            apr_brigade_cleanup(response->held);
        }
        apr_brigade_cleanup(bb);
        return response->stream.broken ? APR_EGENERAL : APR_ECONNABORTED;
    }
    if (response->phase == EL_PHASE_STREAM) {
        return el_stream_run(f, &response->stream, bb);
    }
    if (response->phase == EL_PHASE_DROP) {
        return el_no_body(f, bb);
    }
    if (!el_hold(response, bb, &rv)) {
        return rv;
    }
    /* The wait is over: `bb` holds the body from its beginning. */
    first = response->measure.first;
    if (!response->policy.is_stock && first && first->length != EL_BODY_UNKNOWN
        && !APR_BUCKET_IS_FILE(first)
        && apr_bucket_read(first, &data, &len, APR_NONBLOCK_READ) == APR_SUCCESS
        && el_encoding_is_magic(data, len)) {
        response->facts.resource.has_encoding = true;
    }
    decision = el_decide(&response->facts);
    if (decision.coding == EL_IDENTITY) {
        return filter_send_identity(response, bb, decision);
    }
    response->claimed = true;
    el_policy_read_encoding(&response->policy);
    return filter_answer(response, bb, decision);
}

static apr_status_t filter_elastic(ap_filter_t *f, apr_bucket_brigade *bb)
{
    return filter_run(f, EL_RECORD_ELASTIC, bb);
}

static apr_status_t filter_deflate(ap_filter_t *f, apr_bucket_brigade *bb)
{
    return filter_run(f, EL_RECORD_DEFLATE, bb);
}

static apr_status_t filter_brotli(ap_filter_t *f, apr_bucket_brigade *bb)
{
    return filter_run(f, EL_RECORD_BROTLI, bb);
}

void el_filter_register(void)
{
    /* Before mod_cache's filters, like ELASTIC: a hit was not skipped now. */
    skipped = ap_register_output_filter(EL_FILTER_SKIPPED, filter_count_skipped, NULL,
                                        AP_FTYPE_CONTENT_SET);
}

void el_filter_register_record(el_record_t record)
{
    /* One function for each record: under mod_filter, the filter's name says nothing. */
    static const ap_out_filter_func functions[EL_RECORDS] = {
        [EL_RECORD_ELASTIC] = filter_elastic,
        [EL_RECORD_DEFLATE] = filter_deflate,
        [EL_RECORD_BROTLI] = filter_brotli,
    };

    ap_register_output_filter(el_record_infos[record].filter, functions[record], NULL,
                              AP_FTYPE_CONTENT_SET);
}
