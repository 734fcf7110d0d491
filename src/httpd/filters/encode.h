/*
 * Encoding a response that the decision has a coding for: with the setup of the moment, by what the
 * store has of it, whole or as a stream; and the way back to the identity where that fails.
 */
#ifndef ELASTIC_FILTERS_ENCODE_H
#define ELASTIC_FILTERS_ENCODE_H

#include "httpd/filters/outgoing.h"

/*
 * `bb` holds the body from its beginning, and all of it where `whole`. Sets what is known by then:
 * phase, header, notes and counters. The status of what was passed on.
 */
apr_status_t el_encode(ap_filter_t *f, el_outgoing_t *out, apr_bucket_brigade *bb,
                       el_coding_t coding, bool whole);

#endif
