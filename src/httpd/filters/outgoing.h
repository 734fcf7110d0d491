/*
 * A response in the hands of an output filter that compresses, from the filter's first call to the
 * response's end; and how it goes out as it is.
 */
#ifndef ELASTIC_FILTERS_OUTGOING_H
#define ELASTIC_FILTERS_OUTGOING_H

#include "httpd/body/body.h"
#include "httpd/config/policy.h"
#include "httpd/filters/send.h"

typedef enum {
    EL_OUTGOING_HELD,     /* the decision waits for more of the body */
    EL_OUTGOING_ENCODED,  /* each brigade is encoded as it comes */
    EL_OUTGOING_DISCARDED /* HEAD: what is left of the body is dropped */
} el_outgoing_phase_t;

typedef struct {
    el_send_t send; /* first: a function that gets its stream has all of it */
    el_policy_t policy;
    el_outgoing_phase_t phase;
    unsigned behind;    /* the roles of the filters behind */
    bool at_once;       /* the first brigade had the body's end */
    bool min_size_read; /* facts.moment.min_size is computed: once, when it is needed */
    bool waits;         /* the body's end is waited for, as `wait` says */
    el_wait_t wait;
    apr_bucket_brigade *held;
} el_outgoing_t;

/* Notes that the response depended, or could have depended, on what the request accepts. */
void el_outgoing_set_negotiated(request_rec *r);

/* The body goes on as it is, for that reason, and the filter is gone. The status of passing it on. */
apr_status_t el_outgoing_step_aside(ap_filter_t *f, el_outgoing_t *out, apr_bucket_brigade *bb,
                                    el_decision_t decision);

/* The body of a HEAD response is dropped: its length would become the header's. */
apr_status_t el_outgoing_discard(ap_filter_t *f, apr_bucket_brigade *bb);

#endif
