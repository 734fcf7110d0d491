/*
 * The response's header and its chain of output filters: reads what other modules put there, and
 * writes the fields of an encoded or negotiated response. Functions on fields mean both of httpd's
 * tables, headers_out and err_headers_out.
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

/* Takes a field out of both tables. */
void el_field_unset(request_rec *r, const char *name);

/* The Content-Encoding that the response will have, with all codings in one list; or NULL. */
const char *el_fields_encoding(request_rec *r);

/*
 * Takes the fields out of a table, of a request or a response, that are true only of the body's
 * bytes as they were: its length, its digests, Accept-Ranges.
 */
void el_fields_unset_lengths(apr_table_t *fields);

/* The fields that the decision needs, read at once: most responses have none of them. */
typedef struct {
    bool encoded;       /* the body is; identity, 7bit, 8bit and binary are no codings of a body */
    bool has_range;     /* there is a Content-Range */
    bool no_transform;  /* Cache-Control has it (RFC 9111 §5.2.2.6) */
    const char *length; /* Content-Length, or NULL */
} el_fields_t;

el_fields_t el_fields_read(request_rec *r);

/* Cache-Control, parsed. */
el_cache_control_t el_fields_cache_control(request_rec *r);

/*
 * Bytes of the header as HTTP/1.1 writes it, without what every response has
 * (EL_PACKET_CORE_HEADER): the status's text, the tables' fields, Content-Type, Server, and
 * Keep-Alive if the client asked for it.
 */
size_t el_fields_size(request_rec *r);

/* The body's length by Content-Length; false if there is none, or none that is a number. */
bool el_fields_length(const el_fields_t *fields, uint64_t *length);

/* Bytes of all fields of a table as HTTP/1.1 writes them. */
size_t el_fields_table_size(const apr_table_t *table);

/* Vary has the request's field `name`; `*` is no name. */
bool el_fields_varies(request_rec *r, const char *name);

/* Adds the field `name` to Vary, if it is not in it already. */
void el_fields_add_vary(request_rec *r, const char *name);

/* Sets the ETag, wherever it stands; NULL removes it. */
void el_fields_set_etag(request_rec *r, const char *tag);

/* Makes the identity's tag that of its body in `coding`, by `mode`. */
void el_fields_encode_etag(request_rec *r, el_coding_t coding, el_etag_mode_t mode);

/* Makes these all of Content-Encoding, wherever httpd keeps it; NULL: takes it out. */
void el_fields_set_encoding(request_rec *r, const char *codings);

/*
 * Makes the header that of a body in `coding`: Content-Encoding, the tag by `mode`; without the
 * length, the digests and the Accept-Ranges of the identity.
 */
void el_fields_set_coding(request_rec *r, el_coding_t coding, el_etag_mode_t mode);

/*
 * The role of a filter in the chain; the compressors are numbered as their records. Names of
 * filters are compared without regard to case, as httpd does.
 */
typedef enum {
    EL_ROLE_ELASTIC = EL_RECORD_ELASTIC, /* a compressor of this name, ours or a stock one */
    EL_ROLE_DEFLATE = EL_RECORD_DEFLATE,
    EL_ROLE_BROTLI = EL_RECORD_BROTLI,
    EL_ROLE_INFLATE,
    EL_ROLES_NAMED, /* one past those that are registered under a name */
    EL_ROLE_HARNESS = EL_ROLES_NAMED, /* made by FilterDeclare: it may run one of ours, or any */
    EL_ROLE_OTHER
} el_role_t;

/* A set of roles has a bit for each. */
#define EL_ROLE_BIT(role) (1u << (unsigned)(role))

/* The compressors, ours and stock ones: a set. */
#define EL_ROLE_COMPRESSORS (EL_ROLE_BIT(EL_RECORDS) - 1)

/* In post_config: finds httpd's records of the filters by their names. */
void el_chain_configure(void);

/*
 * In check_config: warns about those of `directive`, its siblings and their children (not of
 * .htaccess) that name a filter of this module which is not loaded, or give compressed bytes to
 * another one. `pool` is for the call.
 */
void el_chain_check(const server_rec *server, const ap_directive_t *directive, apr_pool_t *pool);

/* The compressors that are this module's: a set. */
unsigned el_chain_ours(void);

/* The roles of the content filters from `f` on, which may be NULL: a set. */
unsigned el_chain_roles(ap_filter_t *f);

/* AddOutputFilterByType put `f` there: the operator has named the type with it. */
bool el_chain_by_type(const ap_filter_t *f);

/* A request's content filters. */
typedef struct {
    unsigned roles; /* a set */
    unsigned char place[EL_RECORDS]; /* of each compressor of ours, from 1; 0: not there */
    bool harnessed; /* a filter is run by a harness of mod_filter, AddOutputFilterByType's too */
} el_chain_t;

/* With `clear`, compressors are removed from the chain, and not found. */
el_chain_t el_chain_look(request_rec *r, bool clear);

/*
 * Every harness of mod_filter among the request's content filters is one that AddOutputFilterByType
 * made for a compressor.
 */
bool el_chain_harnesses_compress(const request_rec *r);

/* Adds the filter ELASTIC at the end of the content filters. */
void el_chain_add_elastic(request_rec *r);

/*
 * The names, from `pool`, of the filters from `f` on that may change the body: all content filters
 * but the compressors and those that are known to touch the header only or to copy. NULL if there
 * is none.
 */
const char *el_chain_foreign(apr_pool_t *pool, ap_filter_t *f);

#endif
