/*
 * The response's header and chain of output filters: reads what other modules put there, and writes
 * the fields of an encoded or negotiated response. Functions on fields use both of httpd's tables,
 * headers_out and err_headers_out.
 */
#ifndef ELASTIC_RESPONSE_HEADER_H
#define ELASTIC_RESPONSE_HEADER_H

#include "httpd/config/dropin.h"
#include "httpd/config/glue.h"

#include "elastic/etag.h"
#include "elastic/http.h"

#include "util_filter.h"

/* A field's value, or NULL. */
const char *el_field(const request_rec *r, const char *name);

/* Removes a field from both tables. */
void el_field_unset(request_rec *r, const char *name);

/* The response's complete Content-Encoding in one list, or NULL. */
const char *el_fields_encoding(request_rec *r);

/*
 * Removes the fields that describe the body's bytes from a table of a request or response: the
 * length, digests, Accept-Ranges.
 */
void el_fields_unset_lengths(apr_table_t *fields);

/* The fields that the decision needs, read in one pass because most responses have none. */
typedef struct {
    bool encoded;       /* by a coding; identity, 7bit, 8bit and binary are none */
    bool has_range;     /* Content-Range is there */
    bool no_transform;  /* in Cache-Control (RFC 9111 §5.2.2.6) */
    const char *length; /* Content-Length, or NULL */
} el_fields_t;

el_fields_t el_fields_read(request_rec *r);

/* Cache-Control, parsed. */
el_cache_control_t el_fields_cache_control(request_rec *r);

/*
 * Bytes of the header in HTTP/1.1, without what every response has (EL_PACKET_CORE_HEADER): the
 * status text, the tables' fields, Content-Type, Server, and Keep-Alive if the client asked for it.
 */
size_t el_fields_size(request_rec *r);

/* The body's length from Content-Length; false if that is missing or not a number. */
bool el_fields_length(const el_fields_t *fields, uint64_t *length);

/* Bytes of all fields of a table as HTTP/1.1 writes them. */
size_t el_fields_table_size(const apr_table_t *table);

/* True if Vary lists `name`. `*` does not count. */
bool el_fields_varies(request_rec *r, const char *name);

/* Adds `name` to Vary, unless Vary has it already. */
void el_fields_add_vary(request_rec *r, const char *name);

/* Sets the ETag in the table that has it; NULL removes it. */
void el_fields_set_etag(request_rec *r, const char *tag);

/* Turns the identity's tag into that of the body in `coding`, by `mode`. */
void el_fields_encode_etag(request_rec *r, el_coding_t coding, el_etag_mode_t mode);

/* Replaces the whole Content-Encoding in all places where httpd keeps it; NULL removes it. */
void el_fields_set_encoding(request_rec *r, const char *codings);

/*
 * Sets the header of a body in `coding`: Content-Encoding, and the tag by `mode`. Removes the
 * identity's length, digests and Accept-Ranges.
 */
void el_fields_set_coding(request_rec *r, el_coding_t coding, el_etag_mode_t mode);

/*
 * The role of a filter in the chain. Compressors are numbered like their records. Names of filters
 * are compared without case, as in httpd.
 */
typedef enum {
    EL_ROLE_ELASTIC = EL_RECORD_ELASTIC, /* a compressor of this name, ours or the stock one */
    EL_ROLE_DEFLATE = EL_RECORD_DEFLATE,
    EL_ROLE_BROTLI = EL_RECORD_BROTLI,
    EL_ROLE_INFLATE,
    EL_ROLES_NAMED, /* the number of roles that have a filter name */
    EL_ROLE_HARNESS = EL_ROLES_NAMED, /* made by FilterDeclare; may run any filter */
    EL_ROLE_OTHER
} el_role_t;

#define EL_ROLE_BIT(role) (1u << (unsigned)(role))

/* The set of compressors, ours and stock ones. */
#define EL_ROLE_COMPRESSORS (EL_ROLE_BIT(EL_RECORDS) - 1)

/* In post_config: looks up httpd's records of these filters. */
void el_chain_configure(void);

/*
 * In check_config: warns about directives in this list and their children (not in .htaccess) that
 * name a filter of this module which is not loaded, or that pass compressed bytes to another
 * filter. `pool` is for this call.
 */
void el_chain_check(const server_rec *server, const ap_directive_t *directive, apr_pool_t *pool);

/* The set of compressors that belong to this module. */
unsigned el_chain_ours(void);

/* The set of roles of the content filters from `f` on; `f` may be NULL. */
unsigned el_chain_roles(ap_filter_t *f);

/* True if AddOutputFilterByType added `f`: the operator has then named the type. */
bool el_chain_by_type(const ap_filter_t *f);

/* A request's content filters. */
typedef struct {
    unsigned roles; /* a set */
    unsigned char place[EL_RECORDS]; /* the order of our compressors, from 1; 0: absent */
    bool harnessed; /* mod_filter runs one of them, perhaps by AddOutputFilterByType */
} el_chain_t;

/* Examines the chain; with `clear`, removes all compressors first. */
el_chain_t el_chain_look(request_rec *r, bool clear);

/* True if AddOutputFilterByType made all harnesses of mod_filter, each for a compressor. */
bool el_chain_harnesses_compress(const request_rec *r);

/* Adds ELASTIC as the last content filter. */
void el_chain_add_elastic(request_rec *r);

/*
 * The names, from `pool`, of the filters from `f` on that may change the body: all content filters
 * except compressors and those that only copy it or touch the header. NULL if there are none.
 */
const char *el_chain_foreign(apr_pool_t *pool, ap_filter_t *f);

#endif
