/*
 * The steps of a response (output.c): hold.c, encode.c and send.c, each by the record of the
 * response. What is chosen between is in choose.h.
 */
#ifndef ELASTIC_RESPONSE_STEPS_H
#define ELASTIC_RESPONSE_STEPS_H

#include "httpd/base/records.h"
#include "httpd/response/response.h"

/*
 * Registers the output filter of a record: ELASTIC, DEFLATE or BROTLI_COMPRESS. One road for all of
 * them, from the first brigade of a response to its end.
 */
void el_output_register(el_record_t record);

/*
 * Hold: a body's beginning, until the decision can be made: its size, its end, a flush, or as much
 * of it as may be waited for.
 */

/*
 * Whether the decision can be made with `bb`, which then holds the body from its beginning. Where
 * not, its buckets are kept for the next call, or the response was broken off; `*rv` is the
 * filter's.
 */
bool el_hold(ap_filter_t *f, el_response_t *response, apr_bucket_brigade *bb, apr_status_t *rv);

/*
 * What is known of the body's length, and whether all of the body is there, to be encoded in one
 * call. A HEAD that came without GET's body, or with a part of it, says nothing about its size.
 * False where a body that was waited for has ended before the length that was announced.
 */
bool el_hold_read_length(request_rec *r, el_response_t *response, const apr_bucket_brigade *bb);

/* Computes the minimum size, once. */
void el_hold_read_min_size(request_rec *r, el_response_t *response);

/* Drops what is held. */
void el_hold_drop(el_response_t *response);

/* Encode: as a stream, brigade by brigade, or whole; its notes and counters. */

/* Prepares response->stream, so that the response can be broken off from now on. */
void el_encode_prepare(el_response_t *response);

/* Plans response->encoder for response->choice. */
void el_encode_plan(request_rec *r, el_response_t *response);

/*
 * Gathers a complete body, up to EOS, where that was not done; `bb` keeps it. APR_ENOMEM where
 * memory is short, otherwise an error where it cannot be read.
 */
apr_status_t el_encode_gather(el_response_t *response, apr_bucket_brigade *bb);

/*
 * The body that was gathered is not needed any more, and nobody is to wait for its encoding.
 */
void el_encode_release(el_response_t *response);

/* Takes what was found in the store in place of what el_encode_whole() would make. */
void el_encode_take_cached(request_rec *r, el_response_t *response);

/*
 * Encodes a complete body, up to EOS; `bb` keeps the identity until it is clear which one goes. The
 * reason is EL_REASON_NONE, or why the identity goes: the encoder failed, memory is short, or
 * nothing was saved and the identity may go. `*rv` is an error where the body cannot be read.
 */
el_reason_t el_encode_whole(el_response_t *response, apr_bucket_brigade *bb, apr_status_t *rv);

/*
 * Whether the piece that the body begins with hardly becomes smaller at the coding's minimum level:
 * the trial, so that a large archive is not encoded to its end. Nothing is taken out of `bb`. False
 * where the encoder fails: the body's own shall say so.
 */
bool el_encode_saves_nothing(const el_response_t *response, apr_bucket_brigade *bb);

/* Notes and counts what goes out. */
void el_encode_count(request_rec *r, const el_response_t *response);

/* Sets the notes that the stock modules set, for HEAD too. */
void el_encode_note_stock(request_rec *r, const el_response_t *response);

/*
 * Send: the ends of a response, its header, its body, notes and counters. One that is streamed ends
 * with its stream (body/stream.h). Each returns the status of what was passed on.
 */

/* Makes the header that of the body in `coding`. */
void el_send_header(request_rec *r, const el_response_t *response, el_coding_t coding);

/* The body `bb` goes on as it is, as `decision` says, and the filter is gone. */
apr_status_t el_send_identity(ap_filter_t *f, el_response_t *response, apr_bucket_brigade *bb,
                              el_decision_t decision);

/* What response->encoder holds goes out in place of the complete body `bb`, with its length. */
apr_status_t el_send_whole(ap_filter_t *f, el_response_t *response, apr_bucket_brigade *bb);

/* The answer to HEAD, whose header is set: what comes of the body is dropped from now on. */
apr_status_t el_send_head(ap_filter_t *f, el_response_t *response, apr_bucket_brigade *bb);

#endif
