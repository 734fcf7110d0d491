/*
 * The choice of a setup: which coding of those that the client likes equally, and which level, at
 * the controller's position. The ladder of several codings is ordered by what their setups cost on
 * this site; a single coding, pinned levels and ElasticControl off need none. Where ElasticMaxTime
 * would be exceeded, a lower setup is taken than the position says; never of levels that do not
 * move.
 */
#ifndef ELASTIC_CHOICE_H
#define ELASTIC_CHOICE_H

#include "httpd/config/policy.h"

#include "elastic/decide.h"

/*
 * How the body is to be encoded that `decision` found worth it, in the coding that comes first in
 * the server's order; or in another that the client likes as well, and then `decision` has that.
 * `whole` is whether the body goes through the engine in one call, and `length` its length in
 * bytes, or 0 where it is unknown.
 */
el_setup_t el_choice_make(const request_rec *r, el_record_t record, const el_facts_t *facts,
                          bool whole, uint64_t length, el_decision_t *decision);

/* Whether the level of `coding` moves here; where not, it is used exactly as it is. */
bool el_choice_moves(const request_rec *r, el_record_t record, el_coding_t coding);

/*
 * Adds the setups of a coding, one for each level of `range` in its order and all but the level as
 * `setup`, to `rungs`, which has `count` and room for them; their number then.
 */
size_t el_choice_levels(el_rung_t *rungs, size_t count, el_coding_t coding, el_range_t range,
                        bool whole, el_setup_t setup);

/* How many times as long this machine takes as the built-in costs say. */
double el_choice_slowness(void);

/* Takes what a response has cost; `level` is the user's. */
void el_choice_learn(const el_plan_t *plan, int level, uint64_t in, uint64_t out,
                     uint64_t cpu_nsec);

#endif
