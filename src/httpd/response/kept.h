/*
 * Encodings that are used again: whether the store is asked about a complete body, whether what it
 * has is as good as what would be made now, and what is kept of what was made.
 *
 * What is found costs nothing, so it is taken whatever the load, the price or ElasticMaxTime allow,
 * where it is no larger than what they ask for. A level that does not move is used exactly.
 */
#ifndef ELASTIC_RESPONSE_KEPT_H
#define ELASTIC_RESPONSE_KEPT_H

#include "httpd/body/body.h"
#include "httpd/body/encoder.h"
#include "httpd/body/meter.h"
#include "httpd/response/choice.h"
#include "httpd/store/improver.h"
#include "httpd/store/stampede.h"
#include "httpd/store/store.h"

#include "elastic/entry.h"

/* What is known of one body; zeroed: nothing, and nothing is kept. */
typedef struct {
    bool bypassed;    /* the load forbids to encode it: whatever is found will do */
    bool again;       /* it had been seen of late, so what it is encoded to is kept */
    el_name_t name;   /* of the body */
    bool is_file;     /* it is the name of a file */
    int descriptor;   /* of that */
    el_file_id_t file; /* its numbers, before anybody read it */
    el_target_t target; /* what an encoding of it may become while CPU time is spare */
    el_found_t found; /* its entry stays readable, but for the data, when the buffer was given away */
    el_stampede_t stampede; /* others may wait for what is made of it */
    bool looked;      /* for an encoding */
    el_meter_t meter; /* the time of that */
} el_kept_t;

/* A complete body, up to EOS. */
typedef struct {
    const apr_bucket_brigade *bb; /* in memory, but for what `whole` has */
    const el_whole_t *whole;      /* the body in one piece; or NULL */
    size_t nbytes;
} el_kept_body_t;

/* Whether there is a store for the response. */
bool el_kept_possible(const el_policy_t *policy);

/* Whether its body is worth hashing; called once for a response. */
bool el_kept_asks(const request_rec *r);

/*
 * Looks for an encoding of `body`. True where one was found that will do: the caller owns kept->found
 * then. That is one as good as `choice`, or any while another thread makes a better one. Where another
 * thread makes the first one, waits for it, for as long as encoding it here might take.
 */
bool el_kept_find(el_kept_t *kept, request_rec *r, const el_policy_t *policy,
                  const el_choice_t *choice, const el_kept_body_t *body);

/*
 * The same, of the body that is all of `bb`, and without reading it: where that is a whole file whose
 * numbers stand for its content. Then kept->is_file, whatever was found. Who asks has no part in the
 * name: whoever may have the file may have its encoding.
 */
bool el_kept_find_file(el_kept_t *kept, const request_rec *r, const el_policy_t *policy,
                       const el_choice_t *choice, const apr_bucket_brigade *bb);

/*
 * Keeps what `encoder` has made of the body in one call, where the body comes again, or somebody
 * waits for it.
 */
void el_kept_store(el_kept_t *kept, const el_policy_t *policy, const el_encoder_t *encoder);

/* What was looked for and not found is encoded: the time of looking is its, too. */
void el_kept_charge(const el_kept_t *kept, el_meter_t *meter);

/* Nothing more will be made of the body: nobody is to wait for it. */
void el_kept_leave(el_kept_t *kept);

#endif
