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

/* Responses with these have no body; a 304 has the header of the 200 that it stands for. */
static bool status_has_no_body(int status)
{
    return status < 200 || status == 204 || status == 205 || status == 304;
}

static bool has_codings(const el_facts_t *facts)
{
    return facts->order_count + facts->env_removed > 0;
}

/* What the resource and the server rule out, whatever the client accepts. NONE: nothing. */
static el_reason_t rule_out_resource(const el_facts_t *facts)
{
    if (facts->has_encoding) {
        return EL_REASON_ENCODED;
    }
    if (!facts->type_listed) {
        return EL_REASON_TYPE;
    }
    if (facts->env_refused) {
        return EL_REASON_ENV;
    }
    if (facts->tls_compressed) {
        return EL_REASON_TLS_COMPRESSION;
    }
    if (facts->no_transform) {
        return EL_REASON_NO_TRANSFORM;
    }
    return EL_REASON_NONE;
}

static bool must_encode(const el_facts_t *facts)
{
    return !el_accept_takes(&facts->accept, EL_IDENTITY);
}

/* An empty body gains nothing from a coding, whatever the client thinks of identity. */
static bool is_small(const el_facts_t *facts)
{
    return facts->size_known && facts->size < facts->min_size
           && (!must_encode(facts) || facts->size == 0);
}

static el_decision_t refuse(el_reason_t reason, bool vary)
{
    return (el_decision_t){.coding = EL_IDENTITY, .reason = reason, .vary = vary};
}

/* The coding that the client and force-gzip ask for together. */
static el_coding_t choose(const el_facts_t *facts)
{
    el_coding_t coding = el_accept_choose(&facts->accept, facts->order, facts->order_count);

    if (coding != EL_IDENTITY || !facts->force) {
        return coding;
    }
    for (size_t i = 0; i < facts->order_count; i++) {
        if (facts->order[i] == EL_GZIP) {
            return EL_GZIP;
        }
    }
    return EL_IDENTITY;
}

/*
 * Why the order has no coding for the client: the environment took all of it, or all that this
 * client asks for; otherwise it asks for nothing that is enabled.
 */
static el_reason_t why_no_coding(const el_facts_t *facts)
{
    static const el_coding_t all[] = {EL_GZIP, EL_BR, EL_ZSTD};
    bool asks = el_accept_choose(&facts->accept, all, EL_CODINGS - 1) != EL_IDENTITY;

    _Static_assert(sizeof(all) / sizeof(all[0]) == EL_CODINGS - 1, "every coding but identity");
    return facts->env_removed > 0 && (asks || facts->order_count == 0) ? EL_REASON_ENV
                                                                       : EL_REASON_NOT_ACCEPTABLE;
}

/* Negotiates, where nothing but the request and the moment can speak against a coding. */
static el_decision_t negotiate(const el_facts_t *facts)
{
    bool vary = has_codings(facts);
    el_coding_t coding = choose(facts);

    if (facts->range_requested) {
        return refuse(EL_REASON_RANGE, vary);
    }
    if (coding == EL_IDENTITY) {
        return refuse(why_no_coding(facts), vary);
    }
    if (is_small(facts)) {
        return refuse(EL_REASON_SMALL, vary);
    }
    if (facts->bypass && !must_encode(facts)) {
        return refuse(EL_REASON_BYPASS, vary);
    }
    return (el_decision_t){
        .coding = coding,
        .reason = facts->head ? EL_REASON_HEAD : EL_REASON_NONE,
        .vary = vary,
    };
}

/* What makes the stock modules step aside before they touch Vary. NONE: nothing. */
static el_reason_t rule_out_as_stock(const el_facts_t *facts)
{
    if (is_small(facts)) {
        return EL_REASON_SMALL;
    }
    return facts->order_count == 0 && facts->env_removed > 0 ? EL_REASON_ENV : EL_REASON_NONE;
}

el_decision_t el_decide(const el_facts_t *facts)
{
    el_reason_t ruled_out = rule_out_resource(facts);
    bool negotiable;

    if (ruled_out == EL_REASON_NONE && facts->stock_order) {
        ruled_out = rule_out_as_stock(facts);
    }
    negotiable = ruled_out == EL_REASON_NONE && has_codings(facts);

    if (!facts->enabled) {
        return refuse(EL_REASON_OFF, false);
    }
    if (status_has_no_body(facts->status)) {
        return refuse(EL_REASON_STATUS, facts->status == 304 && negotiable);
    }
    /* A part of a negotiable body: the whole of it could have been encoded for another client. */
    if (facts->has_content_range) {
        return refuse(EL_REASON_RANGE, negotiable && !facts->stock_order);
    }
    if (ruled_out != EL_REASON_NONE) {
        return refuse(ruled_out, false);
    }
    return negotiate(facts);
}

bool el_decide_wants_more(const el_facts_t *facts)
{
    el_facts_t ended = *facts;

    ended.size_known = true;
    return !facts->size_known && el_decide(facts).reason == EL_REASON_NONE
        && el_decide(&ended).reason == EL_REASON_SMALL;
}
