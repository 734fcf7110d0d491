#include "elastic/decide.h"

const el_reason_info_t el_reasons[EL_REASON_COUNT] = {
#define X(id, note, text) [EL_REASON_##id] = {note, text},
    EL_REASONS(X)
#undef X
};

static bool decide_must_encode(const el_demand_t *demand)
{
    return !el_accept_takes(&demand->accept, EL_IDENTITY);
}

/* An empty body stays as it is even if the client refuses identity: a coding gains nothing. */
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
 * The coding by Accept-Encoding and force-gzip. The dictionary-compressed coding saves most and
 * comes before codings of equal weight.
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

bool el_decide_is_bypassed(const el_facts_t *facts)
{
    return facts->moment.bypass && !decide_must_encode(&facts->demand);
}

/* The resource permits a coding; the request or the moment may still refuse it. */
static el_decision_t decide_negotiate(const el_facts_t *facts)
{
    const el_demand_t *demand = &facts->demand;
    bool vary = demand->order_count + demand->env_removed > 0;
    el_coding_t coding = decide_choose(demand);

    if (demand->range_requested) {
        return decide_refuse(EL_REASON_RANGE, vary);
    }
    if (coding == EL_IDENTITY) {
        static const el_coding_t all[] = {EL_GZIP, EL_BR, EL_ZSTD};
        bool asks = el_accept_choose(&demand->accept, all, EL_CODINGS - 1) != EL_IDENTITY;

        _Static_assert(sizeof(all) / sizeof(all[0]) == EL_CODINGS - 1, "all but identity");
        /* Environment variables removed every coding, or every one that this client accepts. */
        return decide_refuse(demand->env_removed > 0 && (asks || demand->order_count == 0)
                                 ? EL_REASON_ENV : EL_REASON_NOT_ACCEPTABLE, vary);
    }
    if (decide_is_small(facts)) {
        return decide_refuse(EL_REASON_SMALL, vary);
    }
    if (!facts->moment.may_be_cached && el_decide_is_bypassed(facts)) {
        return decide_refuse(EL_REASON_BYPASS, vary);
    }
    /* A later filter has a coding of higher weight. At equal weight the first in the chain wins. */
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
    const el_demand_t *demand = &facts->demand;
    int status = facts->resource.status;
    el_reason_t ruled_out = EL_REASON_NONE;
    bool negotiable;

    if (!facts->resource.enabled) {
        return decide_refuse(EL_REASON_OFF, false);
    }
    /* Reasons of the resource or the server, independent of Accept-Encoding. */
    if (facts->resource.has_encoding) {
        ruled_out = EL_REASON_ENCODED;
    } else if (!facts->resource.type_listed) {
        ruled_out = EL_REASON_TYPE;
    } else if (demand->env_refused) {
        ruled_out = EL_REASON_ENV;
    } else if (demand->tls_compressed) {
        ruled_out = EL_REASON_TLS_COMPRESSION;
    } else if (facts->resource.no_transform) {
        ruled_out = EL_REASON_NO_TRANSFORM;
    }
    /* The stock modules refuse here, before they set Vary. */
    if (ruled_out == EL_REASON_NONE && facts->resource.stock_order) {
        bool env = demand->order_count == 0 && demand->env_removed > 0;

        ruled_out = decide_is_small(facts) ? EL_REASON_SMALL : env ? EL_REASON_ENV : EL_REASON_NONE;
    }
    negotiable = ruled_out == EL_REASON_NONE && demand->order_count + demand->env_removed > 0;

    /* These have no body. A 304 has the Vary of its 200. */
    if (status < 200 || status == 204 || status == 205 || status == 304) {
        return decide_refuse(EL_REASON_STATUS, status == 304 && negotiable);
    }
    /* The whole body might be encoded for another client, so the part needs Vary, too. */
    if (facts->resource.has_content_range) {
        return decide_refuse(EL_REASON_RANGE, negotiable && !facts->resource.stock_order);
    }
    if (ruled_out != EL_REASON_NONE) {
        return decide_refuse(ruled_out, false);
    }
    return decide_negotiate(facts);
}

size_t el_packet_min_size(const el_packet_t *packet)
{
    size_t overhead = packet->ipv6 ? EL_PACKET_OVERHEAD_IPV6 : EL_PACKET_OVERHEAD_IPV4;
    bool known = packet->mss > 0 && packet->mss <= EL_PACKET_MSS_MAX;
    size_t payload = packet->mtu > overhead ? packet->mtu - overhead : 0;
    size_t used = packet->header + EL_PACKET_CORE_HEADER;

    payload = known ? (size_t)packet->mss : payload;
    used += packet->tls ? EL_PACKET_TLS_RECORD : 0;
    used += packet->http2 ? EL_PACKET_H2_FRAMES : 0;
    return payload > used ? payload - used + 1 : 1;
}

/* Random bytes of each draw. */
#define DRAW 4

/* 0 … `most`, nearly uniform: with 32 bits no value is more than a millionth likelier. */
static size_t decide_draw(const uint8_t *random, size_t most)
{
    uint64_t bits = 0;

    for (int i = 0; i < DRAW; i++) {
        bits = bits << 8 | random[i];
    }
    return (size_t)(bits * (most + 1) >> 32);
}

size_t el_padding_make(const uint8_t *random, size_t most, char *text)
{
    static const char characters[] = {'X', 'Z', '&', '*'};
    size_t len = decide_draw(random, most / 2) + decide_draw(random + DRAW, most - most / 2);

    random += 2 * DRAW;
    for (size_t i = 0; i < len; i++) {
        text[i] = characters[random[i / 4] >> i % 4 * 2 & 3];
    }
    text[len] = '\0';
    return len;
}
