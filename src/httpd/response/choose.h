/*
 * The choice of a setup: which coding of those that the client likes equally, and which level, at
 * the controller's position or price. The ladder of several codings is ordered by what their setups
 * cost on this site; a single coding, pinned levels and ElasticControl off need none. Where
 * ElasticMaxTime would be exceeded, a lower setup is taken than the position says; never of pinned
 * levels.
 *
 * A dictionary-compressed body has the levels of its coding without a dictionary, and is chosen
 * where it is worth more than what else the client likes as well: its CPU time, and its bytes at
 * the price that the ladder pays for them, or by its bytes alone where all levels are pinned.
 */
#ifndef ELASTIC_RESPONSE_CHOOSE_H
#define ELASTIC_RESPONSE_CHOOSE_H

#include "httpd/response/response.h"

/* What a choice is made for. */
typedef struct {
    const el_policy_t *policy;
    const el_facts_t *facts;
    bool whole; /* the body goes through the engine in one call */
    el_effort_t effort;
} el_choose_for_t;

/*
 * How the body is to be encoded for which `coding` was decided: in it, or in another that the
 * client likes as well.
 */
el_choice_t el_choose(const el_choose_for_t *body, el_coding_t coding);

/*
 * Whether a dictionary-compressed body of the body, whose length is known, is worth more than the
 * `nbytes` of another encoding that is there already.
 */
bool el_choose_beats(const el_choose_for_t *body, uint64_t nbytes);

/*
 * Now and then puts the setup whose last measurement is oldest in place of a fresh body's choice, if
 * the client likes it as well and it costs little more as far as is known. So the costs of setups
 * that are not in use become known, too.
 */
void el_choose_trial(const el_choose_for_t *body, el_choice_t *choice);

#endif
