/*
 * What a decoded body may come to: Deflate's three directives, per directory, which hold for every
 * body that this module decodes.
 */
#ifndef ELASTIC_LIMITS_H
#define ELASTIC_LIMITS_H

#include "httpd/base/glue.h"

typedef struct {
    uint64_t size;  /* bytes of a decoded request body; 0: as LimitRequestBody has it */
    uint64_t ratio; /* decoded bytes for each encoded one */
    uint64_t burst; /* how many times in a row the ratio may be found above that */
    bool size_set, ratio_set, burst_set;
} el_limits_t;

/* The per-directory configuration of the record deflate_module. */
void *el_limits_create(apr_pool_t *pool, char *path);
void *el_limits_merge(apr_pool_t *pool, void *base, void *add);

/* DeflateInflateLimitRequestBody, DeflateInflateRatioLimit, DeflateInflateRatioBurst: RAW_ARGS. */
const char *el_limits_set_size(cmd_parms *cmd, void *config, const char *args);
const char *el_limits_set_ratio(cmd_parms *cmd, void *config, const char *args);
const char *el_limits_set_burst(cmd_parms *cmd, void *config, const char *args);

/*
 * The limits in force for a request, each with its default where it is not set, and `size` with
 * LimitRequestBody in place of 0; where that is 0 too, any size goes. The record may not be loaded.
 */
el_limits_t el_limits_of(const request_rec *r);

#endif
