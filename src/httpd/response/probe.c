#include "httpd/response/probe.h"

#include "httpd/body/body.h"
#include "httpd/response/choice.h"
#include "httpd/body/encoder.h"
#include "httpd/state/shared.h"

#include "elastic/mediatype.h"

/*
 * What a probe encodes at most: 16 KB take igzip 1 or br 0 some 30 µs, and are enough for a
 * coding's tables to have paid.
 */
#define PIECE (16 * 1024)

/* Whether the body may go out as it is, and bodies of its type mostly should. */
static bool is_doubtful(const request_rec *r, el_record_t record, const el_facts_t *facts,
                        el_coding_t coding)
{
    return !el_policy_is_stock(record) && el_accept_takes(&facts->accept, EL_IDENTITY)
           && el_choice_moves(r, record, coding)
           && el_ratio_poor(el_shared.ratios, el_mediatype_hash(r->content_type), el_shared_sec());
}

/* Whether encoding `piece` saves something. Where it fails, the body's own encoder shall say so. */
static bool pays(el_coding_t coding, const el_setup_t *floor, const el_whole_t *piece)
{
    size_t nbytes = el_encoder_try(coding, floor, piece->data, piece->nbytes);

    el_shared_count(EL_COUNT_PROBES, 1);
    return nbytes == 0 || el_ratio_pays(piece->nbytes, nbytes);
}

bool el_probe_refuses(request_rec *r, el_record_t record, const el_facts_t *facts,
                      el_coding_t coding, apr_bucket_brigade *bb, el_setup_t *setup)
{
    el_setup_t floor = *setup;
    el_whole_t piece;
    bool refused;

    if (!is_doubtful(r, record, facts, coding)) {
        return false;
    }
    floor.level = el_policy_range(r, record, coding).min;
    if (facts->size_known && facts->size <= PIECE) {
        *setup = floor;
        return false;
    }
    piece = el_body_peek(bb, PIECE);
    floor.size_hint = piece.nbytes;
    refused = piece.nbytes >= EL_RATIO_LEAST && !pays(coding, &floor, &piece);
    el_body_release(&piece);
    return refused;
}

void el_probe_learn(const request_rec *r, uint64_t in, uint64_t out)
{
    el_ratio_update(el_shared.ratios, el_mediatype_hash(r->content_type), in, out,
                    el_shared_sec());
}
