/*
 * Sending an encoded body: as a stream, brigade by brigade, or whole, with its length; and ending a
 * response that cannot be ended well. What is sent, and in which coding, was decided before.
 */
#ifndef ELASTIC_SEND_H
#define ELASTIC_SEND_H

#include "httpd/body/encoder.h"
#include "httpd/config/stock.h"

#include "util_filter.h"

typedef struct {
    el_encoder_t encoder;
    const el_stock_t *stock; /* of a drop-in filter: names the notes that it sets; or NULL */
    bool passed; /* something went down the chain: the header is out, or soon will be */
    bool failed; /* an ERROR bucket came by: the body must not look whole */
    bool broken; /* the response ended in error; whatever still comes is dropped */
    bool length_known;
    uint64_t length; /* bytes of the identity body */
} el_send_t;

/* Encodes a brigade and passes it on; with EOS the body is ended and the filter removed. */
apr_status_t el_send_stream(ap_filter_t *f, el_send_t *send, apr_bucket_brigade *bb);

/*
 * Opens the stream and encodes the first of its data while the header can still say identity: an
 * encoder makes its large tables now. False where it fails; `bb` is whole then.
 */
bool el_send_first(el_send_t *send, apr_bucket_brigade *bb);

/*
 * Encodes a complete body, up to EOS; `bb` keeps the identity until it is clear which one goes.
 * `reason` is EL_REASON_ERROR where the engine failed, and EL_REASON_NOT_SMALLER where the identity
 * is as small and nothing says that it must be encoded. An error where the body cannot be read.
 */
apr_status_t el_send_encode_whole(el_send_t *send, apr_bucket_brigade *bb, bool must_encode,
                                  el_reason_t *reason);

/* Sends what el_send_encode_whole() made, in place of `bb`, and removes the filter. */
apr_status_t el_send_whole(ap_filter_t *f, el_send_t *send, apr_bucket_brigade *bb);

/*
 * Ends the response so that the client sees it is broken: before the header with a 500, after it
 * with the error that makes httpd leave out the last chunk and close. `what` is for the log.
 * Returns `rv`, or an error where that is none.
 */
apr_status_t el_send_break_off(ap_filter_t *f, el_send_t *send, apr_bucket_brigade *bb,
                               apr_status_t rv, const char *what);

#endif
