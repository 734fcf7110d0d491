#include "httpd/response/trial.h"

#include "httpd/body/body.h"
#include "httpd/body/encoder.h"
#include "httpd/state/costs.h"
#include "httpd/state/shared.h"

#include "elastic/ratio.h"
#include "engines/plan.h"

/*
 * What a trial encodes at most: 16 KB take igzip 1 or br 0 some 30 µs, and are enough for a
 * coding's tables to have paid.
 */
#define PIECE (16 * 1024)

/* Whether the body may go out as it is, and bodies of its type mostly should. */
static bool is_doubtful(const request_rec *r, const el_policy_t *policy, const el_facts_t *facts,
                        const el_choice_t *choice)
{
    return !policy->is_stock && !choice->bounded && !el_coding_is_difference(choice->coding)
           && el_accept_takes(&facts->demand.accept, EL_IDENTITY)
           && el_shared_moves(policy->range[choice->coding]) && el_ratios_poor(r->content_type);
}

/* Whether encoding `piece` saves something. Where it fails, the body's own encoder shall say so. */
static bool pays(const el_choice_t *floor, const el_whole_t *piece)
{
    el_plan_t plan = el_engine_plan(floor->coding, &floor->setup, true);
    el_measured_t measured = el_encoder_try(&plan, piece->data, piece->nbytes);

    el_shared_count(EL_COUNT_PROBES, 1);
    return measured.out == 0 || el_ratio_pays(measured.in, measured.out);
}

el_trial_t el_trial_run(request_rec *r, const el_policy_t *policy, const el_facts_t *facts,
                        const el_choice_t *choice, apr_bucket_brigade *bb)
{
    el_choice_t floor = *choice;
    el_trial_t trial = EL_TRIAL_GOOD;
    el_whole_t piece;

    if (!is_doubtful(r, policy, facts, choice)) {
        return EL_TRIAL_GOOD;
    }
    if (facts->moment.size_known && facts->moment.size <= PIECE) {
        return EL_TRIAL_FLOOR;
    }
    piece = el_body_peek(bb, PIECE);
    floor.setup.level = policy->range[choice->coding].min;
    floor.setup.size_hint = piece.nbytes;
    if (piece.nbytes >= EL_RATIO_LEAST && !pays(&floor, &piece)) {
        trial = EL_TRIAL_BAD;
    }
    el_body_release(&piece);
    return trial;
}
