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

#include "elastic/decide.h"

typedef struct {
    el_stream_t stream;
    el_encoder_t encoder;
    const el_stock_t *stock; /* of a drop-in filter: names the notes that it sets; or NULL */
    el_facts_t facts;        /* of the response; a failure becomes its outcome */
    el_exploration_t exploration; /* with a complete body */
} el_send_t;

/* Prepares `send`, zeroed memory of its owner, so that the response can be broken off. */
void el_send_init(el_send_t *send);

/* After el_encoder_plan(). */
void el_send_begin(el_send_t *send);

/*
 * Encodes a complete body, up to EOS; `bb` keeps the identity until it is clear which one goes. The
 * facts' outcome is EL_OUTCOME_FAILED where the engine failed, and EL_OUTCOME_NOT_SMALLER where the
 * identity is as small and nothing says that it must be encoded. An error where the body cannot be
 * read.
 */
apr_status_t el_send_encode_whole(el_send_t *send, apr_bucket_brigade *bb, bool must_encode);

/* Gives the answer to HEAD the length of what el_send_encode_whole() made, and drops that. */
void el_send_whole_head(ap_filter_t *f, el_send_t *send);

/* Sends what el_send_encode_whole() made, in place of `bb`, and removes the filter. */
apr_status_t el_send_whole(ap_filter_t *f, el_send_t *send, apr_bucket_brigade *bb);

#endif
