/* The size below which a body is not worth encoding, for one response on its connection. */
#ifndef ELASTIC_RESPONSE_SEGMENT_H
#define ELASTIC_RESPONSE_SEGMENT_H

#include "httpd/config/policy.h"

/*
 * Bytes below which the body stays as it is. By ElasticMinSize auto: what fits one TCP segment
 * together with the header; the socket is asked for its segment size only where `size`, the bytes
 * of the body that are known of, is not beyond every segment.
 */
uint64_t el_segment_min_size(request_rec *r, const el_policy_t *policy, uint64_t size);

#endif
