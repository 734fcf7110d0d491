/*
 * Encoding the body of a response by its record: as a stream, brigade by brigade, or whole; and the
 * notes and counters of what was made. What is encoded, and in which coding, was decided before.
 */
#ifndef ELASTIC_RESPONSE_ENCODE_H
#define ELASTIC_RESPONSE_ENCODE_H

#include "httpd/response/response.h"

/*
 * Prepares response->stream, so that the response can be broken off from now on. `fallback` is what
 * becomes of a stream that fails before any of it was passed on.
 */
void el_encode_prepare(el_response_t *response);

/* Plans response->encoder for response->choice. */
void el_encode_plan(request_rec *r, el_response_t *response);

/*
 * Gathers a complete body, up to EOS, where that was not done; `bb` keeps it. APR_ENOMEM where
 * memory is short, otherwise an error where it cannot be read.
 */
apr_status_t el_encode_gather(el_response_t *response, apr_bucket_brigade *bb);

/* The body that was gathered is not needed any more, and nobody is to wait for its encoding. */
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

#endif
