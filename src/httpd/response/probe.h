/*
 * Content that compresses badly. Where bodies of a media type hardly became smaller of late, a
 * piece of the next one is encoded at the floor of its coding first, and the body only where that
 * saved something. A body that is no longer than such a piece is encoded at the floor itself.
 *
 * Never where the client or a drop-in filter insists on a coding, and never of levels that do not
 * move: those are asked for as they are.
 */
#ifndef ELASTIC_PROBE_H
#define ELASTIC_PROBE_H

#include "httpd/config/policy.h"

#include "elastic/decide.h"

#include "apr_buckets.h"

/*
 * Whether the body that `bb` begins with is not worth encoding in `coding`. Nothing is taken out of
 * `bb`. Where the body is short and of a doubtful type, `setup`, by which it is to be encoded, gets
 * the floor's level.
 */
bool el_probe_refuses(request_rec *r, el_record_t record, const el_facts_t *facts,
                      el_coding_t coding, apr_bucket_brigade *bb, el_setup_t *setup);

/* Takes what became of a body of `in` bytes that was encoded to its end. */
void el_probe_learn(const request_rec *r, uint64_t in, uint64_t out);

#endif
