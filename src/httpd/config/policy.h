/*
 * What one of our compressing filters does with a response, by the record that it belongs to.
 * ELASTIC follows the Elastic directives and their defaults. DEFLATE and BROTLI_COMPRESS have one
 * coding each, and wherever no Elastic directive says otherwise the values of the module that they
 * replace.
 *
 * Read-only once the configuration was read; any thread.
 */
#ifndef ELASTIC_POLICY_H
#define ELASTIC_POLICY_H

#include "httpd/base/records.h"
#include "httpd/config/settings.h"
#include "httpd/config/stock.h"

/* Whether the filter stands in a stock module's place: it decides and keeps bodies as that does. */
bool el_policy_is_stock(el_record_t record);

/* Whether a response of this type is to be compressed; NULL: it has none. */
bool el_policy_type_listed(const el_dir_t *dir, el_record_t record, const char *content_type);

/* The codings enabled, best first, that have an engine; returns how many. */
size_t el_policy_codings(const el_dir_t *dir, el_record_t record, el_coding_t *order);

/* Bytes below which a body stays as it is, or EL_MIN_SIZE_AUTO. */
uint64_t el_policy_min_size(const el_dir_t *dir, el_record_t record);

/* What becomes of the entity tag. */
el_etag_mode_t el_policy_etag(const request_rec *r, el_record_t record);

/* The bounds of `coding`'s level. */
el_range_t el_policy_range(const request_rec *r, el_record_t record, el_coding_t coding);

/* How `coding` is encoded now, at the controller's position; without the body's length. */
el_setup_t el_policy_setup(const request_rec *r, el_record_t record, el_coding_t coding);

/*
 * The bounds of the codings that the controller moves between, in the main server outside of any
 * section; `ranges` has EL_CODINGS entries. Where only the drop-in records are loaded, theirs.
 */
void el_policy_ranges(const server_rec *main_server, el_range_t *ranges);

#endif
