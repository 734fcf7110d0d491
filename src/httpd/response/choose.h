/*
 * Chooses a setup: one of the codings that the client likes equally, and its level, by the
 * controller's position or price. Between several codings, a ladder of their setups decides,
 * ordered by their costs on this site. Single codings without a price, pinned levels and
 * ElasticControl off need no ladder. ElasticMaxTime lowers adaptive levels, never pinned ones.
 *
 * A dictionary-compressed body has the levels of its base coding. It is chosen if its CPU time,
 * plus its bytes at the ladder's price, is less than the best alternative's. With pinned levels
 * only the bytes count.
 */
#ifndef ELASTIC_RESPONSE_CHOOSE_H
#define ELASTIC_RESPONSE_CHOOSE_H

#include "httpd/response/response.h"

/* The input of a choice. */
typedef struct {
    const el_policy_t *policy;
    const el_facts_t *facts;
    bool whole; /* encode the body in one call */
    el_effort_t effort;
} el_choose_for_t;

/*
 * Chooses how to encode a body for which `coding` was decided: in it, or in another coding that the
 * client likes equally.
 */
el_choice_t el_choose(const el_choose_for_t *body, el_coding_t coding);

/*
 * True if compressing the body with the dictionary is worth more than another encoding of `nbytes`
 * that exists already. The body's length must be known.
 */
bool el_choose_beats(const el_choose_for_t *body, uint64_t nbytes);

/*
 * Now and then replaces a fresh body's choice by the setup whose measurement is oldest, if the
 * client likes its coding equally and it probably costs little more. So the costs of unused setups
 * become known, too.
 */
void el_choose_trial(const el_choose_for_t *body, el_choice_t *choice);

#endif
