/*
 * Content that compresses badly. Where bodies of a media type hardly became smaller of late, a
 * piece of the next one is encoded at the floor of its coding first, and the body only where that
 * saved something. A body that is no longer than such a piece is encoded at the floor itself.
 *
 * Never where the client, a drop-in filter or ElasticLevel's `stock` insists on a coding, and never
 * of levels that do not move: those are asked for as they are.
 */
#ifndef ELASTIC_RESPONSE_TRIAL_H
#define ELASTIC_RESPONSE_TRIAL_H

#include "httpd/response/choice.h"

#include "apr_buckets.h"

typedef enum {
    EL_TRIAL_GOOD,  /* the type is not known to compress badly, or the piece saved something */
    EL_TRIAL_FLOOR, /* a short body: to be encoded at the floor of its coding */
    EL_TRIAL_BAD    /* the piece saved nothing */
} el_trial_t;

/* Judges the body that `bb` begins with. Nothing is taken out of `bb`. */
el_trial_t el_trial_run(request_rec *r, const el_policy_t *policy, const el_facts_t *facts,
                        const el_choice_t *choice, apr_bucket_brigade *bb);

#endif
