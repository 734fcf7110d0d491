/*
 * Sending an encoded body: as a stream, brigade by brigade, or whole, with its length. What is sent,
 * and in which coding, was decided before.
 */
#ifndef ELASTIC_FILTERS_SEND_H
#define ELASTIC_FILTERS_SEND_H

#include "httpd/body/encoder.h"
#include "httpd/config/stock.h"
#include "httpd/filters/stream.h"
#include "httpd/response/explore.h"
#include "httpd/response/kept.h"

#include "elastic/decide.h"

typedef struct {
    el_stream_t stream;
    el_encoder_t encoder;
    const el_stock_t *stock; /* of a drop-in filter: names the notes that it sets; or NULL */
    el_facts_t facts;        /* of the response; a failure becomes its outcome */
    el_exploration_t exploration; /* with a complete body */
    el_whole_t whole;        /* a complete body, once it was gathered */
    bool gathered;
    el_kept_t kept;          /* what the store knows of it */
    bool is_kept;            /* what goes out was found there */
} el_send_t;

/* Prepares `send`, zeroed memory of its owner, so that the response can be broken off. */
void el_send_init(el_send_t *send);

/* After el_encoder_plan(). */
void el_send_begin(el_send_t *send);

/*
 * Gathers a complete body, up to EOS, where that was not done; `bb` keeps it. An error where it cannot
 * be read; where memory is short, the facts' outcome says so.
 */
apr_status_t el_send_gather(el_send_t *send, apr_bucket_brigade *bb);

/* The body that was gathered is not needed any more, and nobody is to wait for its encoding. */
void el_send_release(el_send_t *send);

/* Takes what was found in the store in place of what el_send_encode_whole() would make. */
void el_send_take_kept(el_send_t *send, const request_rec *r);

/*
 * Encodes a complete body, up to EOS; `bb` keeps the identity until it is clear which one goes. The
 * facts' outcome is EL_OUTCOME_FAILED where the engine failed, and EL_OUTCOME_NOT_SMALLER where the
 * identity is as small and nothing says that it must be encoded. An error where the body cannot be
 * read.
 */
apr_status_t el_send_encode_whole(el_send_t *send, const el_policy_t *policy,
                                  apr_bucket_brigade *bb, bool must_encode);

/* Gives the answer to HEAD the length of what is there in place of the body, and drops that. */
void el_send_whole_head(ap_filter_t *f, el_send_t *send);

/* Sends that in place of `bb`, and removes the filter. */
apr_status_t el_send_whole(ap_filter_t *f, el_send_t *send, apr_bucket_brigade *bb);

#endif
