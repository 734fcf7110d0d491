/*
 * A private copy of a body, made as the body passes a filter. The body is neither changed nor held
 * up: files are read beside their buckets, and a bucket of unknown length, such as a script's pipe,
 * is copied when a filter behind reads it. So the filter gives each brigade to el_copy_take(),
 * passes it on, and then asks what became of the copy.
 *
 * What a copy holds counts in ElasticMaxMemory (engines/budget.h).
 */
#ifndef ELASTIC_BODY_COPY_H
#define ELASTIC_BODY_COPY_H

#include "httpd/config/glue.h"

#include "apr_buckets.h"

typedef struct el_copy el_copy_t;

typedef enum {
    EL_COPY_BEGUN, /* there is more to come */
    EL_COPY_WHOLE, /* all of the body is there, up to its EOS */
    EL_COPY_FAILED /* it never will be: the body is too large or broken off, or memory is short */
} el_copy_state_t;

/* A copy of a body of at most `most` bytes, which ends with the pool at the latest. */
el_copy_t *el_copy_begin(apr_pool_t *pool, size_t most);

/* Copies what is at hand of a brigade that is about to be passed on. */
void el_copy_take(el_copy_t *copy, apr_bucket_brigade *bb);

/* What the copy is now. EL_COPY_BEGUN after a brigade with EOS was passed on: nobody read it. */
el_copy_state_t el_copy_state(const el_copy_t *copy);

/* The bytes so far, and how many; they stay until the copy ends. */
const char *el_copy_bytes(const el_copy_t *copy, size_t *nbytes);

/* Frees the bytes. What is still to pass is not copied. */
void el_copy_end(el_copy_t *copy);

#endif
