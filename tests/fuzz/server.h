/*
 * As much of httpd as the filters of the module need, for targets that run them without a server: a
 * request with its tables and pools, chains of filters, and the module's own registration. What no
 * filter calls is not there, and a call of it ends the target.
 */
#ifndef ELASTIC_TESTS_FUZZ_SERVER_H
#define ELASTIC_TESTS_FUZZ_SERVER_H

#include "httpd/config/config.h"
#include "httpd/config/dropin.h"

#include "httpd.h"
#include "apr_buckets.h"
#include "util_filter.h"

/* Once: registers the module's three records, and makes what its processes share. */
void server_start(void);

typedef struct {
    request_rec *r;
    el_dir_t *dir;       /* in force for it; all unset */
    el_values_t *limits; /* of decoding */
    apr_bucket_alloc_t *alloc;
} server_request_t;

/* A request for text/plain whose response has the status 200. server_end() frees all of it. */
server_request_t server_begin(void);
void server_end(server_request_t *request);

/* Puts the registered filter `name` before the output filters that are there; before `sink`. */
void server_add_output(request_rec *r, const char *name);

/* The last of the output filters, whose function is `sink`. */
void server_set_sink(request_rec *r, ap_out_filter_func sink, void *context);

/* What input filters read from. */
void server_set_source(request_rec *r, ap_in_filter_func source, void *context);

/* Runs what the module does before a handler; OK, or the status that answers the request. */
void server_begin_input(request_rec *r);
int server_prepare_input(request_rec *r);

#endif
