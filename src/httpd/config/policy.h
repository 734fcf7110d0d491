/*
 * What one of our compressing filters does with a response, by the record that it belongs to.
 * ELASTIC follows the Elastic directives and their defaults. DEFLATE and BROTLI_COMPRESS have one
 * coding each, and wherever no Elastic directive says otherwise the values of the module that they
 * replace.
 *
 * Any thread.
 */
#ifndef ELASTIC_CONFIG_POLICY_H
#define ELASTIC_CONFIG_POLICY_H

#include "httpd/base/records.h"
#include "httpd/config/settings.h"
#include "httpd/config/stock.h"

#include "elastic/etag.h"
#include "elastic/ladder.h"

/* What is in force for one response: computed once, by the filter that judges it. */
typedef struct {
    el_record_t record;
    const el_dir_t *dir;
    const el_stock_t *stock;       /* of the record */
    bool is_stock;                 /* the filter decides as the stock module that it replaces */
    size_t order_count;
    const el_coding_t *order;      /* the codings enabled, best first, that have an engine */
    int64_t min_size;              /* bytes below which no body is encoded, or EL_MIN_SIZE_AUTO */
    bool min_of_one_brigade;       /* only a body that comes whole, in one brigade, is too small */
    uint64_t whole_most;           /* bytes up to which a complete body is encoded in one call */

    /* By el_policy_read_encoding(). */
    el_range_t range[EL_CODINGS];  /* the bounds of the codings' levels */
    int64_t max_time;              /* µs, or EL_NO_MAX_TIME */
    el_etag_mode_t etag;
} el_policy_t;

/* What the decision needs. */
el_policy_t el_policy_of(const request_rec *r, el_record_t record);

/* Adds the rest, for a response that may be encoded. */
void el_policy_read_encoding(el_policy_t *policy);

/* The codings of a record that are enabled, best first; returns how many. */
size_t el_policy_codings(const el_dir_t *dir, el_record_t record, const el_coding_t **order);

/* In post_config; computed once for each configuration. */
void el_policy_configure(const server_rec *main_server);

/*
 * What the controller moves: the bounds of the main server, outside of any section, of each coding;
 * where only the drop-in records are loaded, theirs. Not enabled: no loaded record encodes it.
 */
const el_range_t *el_policy_ranges(void);

#endif
