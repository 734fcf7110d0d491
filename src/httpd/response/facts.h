/* The facts that the decision is made from, read from httpd's tables. */
#ifndef ELASTIC_RESPONSE_FACTS_H
#define ELASTIC_RESPONSE_FACTS_H

#include "httpd/config/config.h"

#include "elastic/decide.h"

/*
 * The facts that the header gives, of a response before a filter of policy->record; neither what is
 * known of the body nor `q_behind`. The record of the response gets the fields that they are of.
 * `by_type` is true where AddOutputFilterByType has judged the type already; `ahead` in a handler,
 * while the header may still change. A void range (see el_response_void_range()) is no range
 * request.
 */
el_facts_t el_facts_of(request_rec *r, const el_policy_t *policy, bool by_type, bool ahead);

/*
 * The same of the 200 that the same request would have in place of a 304, and what the header tells
 * of its body. A 304 of a script or an origin seldom says a type or a length: then the type counts
 * as listed, and the body as no small one.
 */
el_facts_t el_facts_of_200(request_rec *r, const el_policy_t *policy, bool by_type);

#endif
