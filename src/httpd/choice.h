/*
 * The choice of a setup: which coding of those that the client likes equally, and which level, at
 * the controller's position. The ladder of several codings is ordered by what their setups cost on
 * this site; a single coding, pinned levels and ElasticControl off need none. Where ElasticMaxTime
 * would be exceeded, a lower setup is taken than the position says; never of levels that do not
 * move.
 */
#ifndef ELASTIC_CHOICE_H
#define ELASTIC_CHOICE_H

#include "policy.h"

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
 * What the setups at positions 0 … top cost (CPU µs for each KB of a body) and leave of it (bytes
 * for each byte), for a body of `length` bytes and a client that takes every coding, by the
 * settings of the main server; both arrays have room for EL_COST_LEVELS. False where nothing is
 * encoded, or `top` is beyond that.
 */
bool el_choice_curve(const server_rec *main_server, uint64_t length, unsigned top, double *cost,
                     double *ratio);

/* Takes what a response has cost; `level` is the user's. */
void el_choice_learn(const el_plan_t *plan, int level, uint64_t in, uint64_t out,
                     uint64_t cpu_nsec);

#endif
