/* The facts that the decision is made from, read from httpd's tables. */
#ifndef ELASTIC_RESPONSE_FACTS_H
#define ELASTIC_RESPONSE_FACTS_H

#include "httpd/config/policy.h"

#include "elastic/decide.h"

/*
 * The facts that the header gives, of a response before a filter of policy->record; neither what is
 * known of the body nor `q_behind`.
 * `by_type` is true where AddOutputFilterByType has judged the type already. A void range (see
 * el_request_void_range()) is no range request.
 */
el_facts_t el_facts_of(request_rec *r, const el_policy_t *policy, bool by_type);

#endif
