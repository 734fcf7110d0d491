/*
 * Explorations, see elastic/ladder.h: of a response that the costs of setups decide, the complete
 * body is encoded by another setup as well, of the codings that the client likes equally and within
 * the bounds that hold for the response.
 */
#ifndef ELASTIC_RESPONSE_EXPLORE_H
#define ELASTIC_RESPONSE_EXPLORE_H

#include "httpd/response/choice.h"

typedef struct {
    el_coding_t coding; /* EL_IDENTITY: none is due */
    el_setup_t setup;
} el_exploration_t;

/* Whether one is due with a complete body of `nbytes` that is encoded as `choice` says. */
el_exploration_t el_exploration_plan(const el_policy_t *policy, const el_choice_t *choice,
                                     uint64_t nbytes);

/* Encodes the body, and learns what that costs. */
void el_exploration_run(const el_exploration_t *exploration, const char *data, size_t nbytes);

#endif
