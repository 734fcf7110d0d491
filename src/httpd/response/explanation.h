/*
 * ElasticExplain: what was decided about a response and why, as the value of its field
 * Elastic-Explain. What is known of the decision is recorded where it is made, and only where the
 * directive is On. A request belongs to one thread at a time.
 */
#ifndef ELASTIC_RESPONSE_EXPLANATION_H
#define ELASTIC_RESPONSE_EXPLANATION_H

#include "httpd/response/choice.h"

#include "elastic/decide.h"

/* The facts that the decision was made from; called again as more are known. */
void el_explanation_facts(const request_rec *r, const el_facts_t *facts);

/* The setup, with `engine`, in which the body is to be encoded; `whole` is whether in one call. */
void el_explanation_plan(const request_rec *r, const el_choice_t *choice, const char *engine,
                         bool whole);

/*
 * The value, from r->pool: a dictionary of one member (RFC 8941 §3.2), "reason", whose parameters say
 * more. Sizes are in bytes, times in µs of the time elapsed, the price in ns of CPU time for a saved
 * byte. What is not known when the header goes is left out.
 */
const char *el_explanation_text(request_rec *r);

#endif
