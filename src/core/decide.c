#include "elastic/decide.h"

static const struct {
    const char *note;
    const char *text;
} reasons[EL_REASON_COUNT] = {
#define X(id, note, text) [EL_REASON_##id] = {note, text},
    EL_REASONS(X)
#undef X
};

const char *el_reason_note(el_reason_t reason)
{
    return reasons[reason].note;
}

const char *el_reason_text(el_reason_t reason)
{
    return reasons[reason].text;
}

static bool decide_has_codings(const el_demand_t *demand)
{
    return demand->order_count + demand->env_removed > 0;
}

/* The reason of the resource or the server against any coding, whatever the client accepts. */
static el_reason_t decide_rule_out_resource(const el_facts_t *facts)
{
    if (facts->resource.has_encoding) {
        return EL_REASON_ENCODED;
    }
    if (!facts->resource.type_listed) {
        return EL_REASON_TYPE;
    }
    if (facts->demand.env_refused) {
        return EL_REASON_ENV;
    }
    if (facts->demand.tls_compressed) {
        return EL_REASON_TLS_COMPRESSION;
    }
    if (facts->resource.no_transform) {
        return EL_REASON_NO_TRANSFORM;
    }
    return EL_REASON_NONE;
}

static bool decide_must_encode(const el_demand_t *demand)
{
    return !el_accept_takes(&demand->accept, EL_IDENTITY);
}

/* An empty body gains nothing from a coding, whatever the client thinks of identity. */
static bool decide_is_small(const el_facts_t *facts)
{
    const el_moment_t *moment = &facts->moment;

    return moment->size_known && moment->size < moment->min_size
           && (!decide_must_encode(&facts->demand) || moment->size == 0);
}

static el_decision_t decide_refuse(el_reason_t reason, bool vary)
{
    return (el_decision_t){.coding = EL_IDENTITY, .reason = reason, .vary = vary};
}

/*
 * The coding that the client and force-gzip ask for together. The dictionary-compressed body, which
 * saves most, comes before those that the client likes equally.
 */
static el_coding_t decide_choose(const el_demand_t *demand)
{
    el_coding_t coding = el_accept_choose(&demand->accept, demand->order, demand->order_count);
    el_coding_t order[] = {demand->available, coding};

    if (demand->available != EL_IDENTITY) {
        coding = el_accept_choose(&demand->accept, order, coding != EL_IDENTITY ? 2 : 1);
    }
    for (size_t i = 0; coding == EL_IDENTITY && demand->force && i < demand->order_count; i++) {
        coding = demand->order[i] == EL_GZIP ? EL_GZIP : coding;
    }
    return coding;
}

/*
 * Why the order has no coding for the client: the environment took all of it, or all that this
 * client asks for; otherwise it asks for nothing that is enabled.
 */
static el_reason_t decide_why_no_coding(const el_demand_t *demand)
{
    static const el_coding_t all[] = {EL_GZIP, EL_BR, EL_ZSTD};
    bool asks = el_accept_choose(&demand->accept, all, EL_CODINGS - 1) != EL_IDENTITY;

    _Static_assert(sizeof(all) / sizeof(all[0]) == EL_CODINGS - 1, "every coding but identity");
    return demand->env_removed > 0 && (asks || demand->order_count == 0)
               ? EL_REASON_ENV
               : EL_REASON_NOT_ACCEPTABLE;
}

bool el_decide_is_bypassed(const el_facts_t *facts)
{
    return facts->moment.bypass && !decide_must_encode(&facts->demand);
}

/* Only the request and the moment can still speak against a coding. */
static el_decision_t decide_negotiate(const el_facts_t *facts)
{
    const el_demand_t *demand = &facts->demand;
    bool vary = decide_has_codings(demand);
    el_coding_t coding = decide_choose(demand);

    if (demand->range_requested) {
        return decide_refuse(EL_REASON_RANGE, vary);
    }
    if (coding == EL_IDENTITY) {
        return decide_refuse(decide_why_no_coding(demand), vary);
    }
    if (decide_is_small(facts)) {
        return decide_refuse(EL_REASON_SMALL, vary);
    }
    if (!facts->moment.may_be_cached && el_decide_is_bypassed(facts)) {
        return decide_refuse(EL_REASON_BYPASS, vary);
    }
    /* The filter behind has a better coding. Between equals the first in the chain wins. */
    if (demand->q_behind > demand->accept.q[coding]) {
        return decide_refuse(EL_REASON_NOT_ACCEPTABLE, vary);
    }
    return (el_decision_t){
        .coding = coding,
        .reason = demand->head ? EL_REASON_HEAD : EL_REASON_NONE,
        .vary = vary,
    };
}

el_decision_t el_decide(const el_facts_t *facts)
{
    int status = facts->resource.status;
    el_reason_t ruled_out;
    bool negotiable;

    if (!facts->resource.enabled) {
        return decide_refuse(EL_REASON_OFF, false);
    }
    ruled_out = decide_rule_out_resource(facts);
    /* The stock modules step aside here before they touch Vary. */
    if (ruled_out == EL_REASON_NONE && facts->resource.stock_order) {
        bool env = facts->demand.order_count == 0 && facts->demand.env_removed > 0;

        ruled_out = decide_is_small(facts) ? EL_REASON_SMALL : env ? EL_REASON_ENV : EL_REASON_NONE;
    }
    negotiable = ruled_out == EL_REASON_NONE && decide_has_codings(&facts->demand);

    /* These have no body; a 304 has the header of the 200 that it stands for. */
    if (status < 200 || status == 204 || status == 205 || status == 304) {
        return decide_refuse(EL_REASON_STATUS, status == 304 && negotiable);
    }
    /* A part of a negotiable body: the whole of it could have been encoded for another client. */
    if (facts->resource.has_content_range) {
        return decide_refuse(EL_REASON_RANGE, negotiable && !facts->resource.stock_order);
    }
    if (ruled_out != EL_REASON_NONE) {
        return decide_refuse(ruled_out, false);
    }
    return decide_negotiate(facts);
}
