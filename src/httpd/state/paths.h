/*
 * Which paths weigh most: those that are asked for most, those with the most bytes that went out
 * uncompressed, and those whose encoding takes the most CPU time. Estimates, of samples. Any thread.
 */
#ifndef ELASTIC_STATE_PATHS_H
#define ELASTIC_STATE_PATHS_H

#include "httpd/base/glue.h"

#include "elastic/top.h"

/* The hook log_transaction: notes one response in so many. */
int el_paths_log(request_rec *r);

/* Encoding responses like this one took `nsec` of CPU time. */
void el_paths_worked(const request_rec *r, uint64_t nsec);

#endif
