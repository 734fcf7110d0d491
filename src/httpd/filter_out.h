/*
 * The output filter ELASTIC: holds a body back until its size can be judged, asks for the decision,
 * and then encodes it or steps aside.
 */
#ifndef ELASTIC_FILTER_OUT_H
#define ELASTIC_FILTER_OUT_H

#include "mod_elastic.h"

#include "util_filter.h"

/* Of type AP_FTYPE_CONTENT_SET. */
apr_status_t el_filter_out(ap_filter_t *f, apr_bucket_brigade *bb);

#endif
