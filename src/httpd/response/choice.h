/*
 * The choice of a setup: which coding of those that the client likes equally, and which level, at
 * the controller's position. The ladder of several codings is ordered by what their setups cost on
 * this site; a single coding, pinned levels and ElasticControl off need none. Where ElasticMaxTime
 * would be exceeded, a lower setup is taken than the position says; never of levels that do not
 * move.
 *
 * A difference has the levels of its coding without a dictionary, and is chosen where it is worth more
 * than what else the client likes as well: its CPU time, and its bytes at the price that the ladder
 * pays for them, or by its bytes alone where no level moves.
 */
#ifndef ELASTIC_RESPONSE_CHOICE_H
#define ELASTIC_RESPONSE_CHOICE_H

#include "httpd/config/policy.h"

#include "elastic/decide.h"
#include "elastic/engine.h"

typedef struct {
    el_coding_t coding;
    el_setup_t setup;
    unsigned set;  /* of EL_CODING_BIT()s: the codings that were equally good */
    bool by_costs; /* what setups cost has a part in it */
    bool bounded;  /* it may have no more bytes than an httpd without this module would make */
} el_choice_t;

/*
 * How the body is to be encoded for which `coding` was decided: in it, or in another that the
 * client likes as well. `whole` is whether the body goes through the engine in one call.
 */
el_choice_t el_choice_make(const el_policy_t *policy, const el_facts_t *facts, el_coding_t coding,
                           bool whole);

/*
 * Whether a difference of the body, whose length is known, is worth more than the `nbytes` of another
 * encoding that is there already.
 */
bool el_choice_beats(const el_policy_t *policy, const el_facts_t *facts, uint64_t nbytes);

/* Whether a difference takes no more CPU time than to send what it saves. */
bool el_choice_is_light(const el_policy_t *policy, const el_facts_t *facts);

#endif
