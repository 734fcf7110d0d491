/*
 * The response's header: reading what other modules put there, and writing what an encoded or
 * negotiated response carries. Both tables of httpd are meant throughout: headers_out and
 * err_headers_out.
 */
#ifndef ELASTIC_RESPONSE_FIELDS_H
#define ELASTIC_RESPONSE_FIELDS_H

#include "httpd/config/glue.h"

#include "elastic/http.h"
#include "elastic/etag.h"

/* A field's value, or NULL. */
const char *el_field(const request_rec *r, const char *name);

/* Takes a field out of both tables. */
void el_field_unset(request_rec *r, const char *name);

/* The Content-Encoding that the response will have, with all codings in one list; or NULL. */
const char *el_fields_encoding(request_rec *r);

/*
 * Takes out of a table, of a request or a response, what is true only of the body's bytes as they
 * were: its length, its digests, that it can be had in ranges.
 */
void el_fields_unset_lengths(apr_table_t *fields);

/* What the decision needs of the header, read at once: most responses have none of the fields. */
typedef struct {
    bool encoded;       /* the body is; identity, 7bit, 8bit and binary are no codings of a body */
    bool has_range;     /* there is a Content-Range */
    bool no_transform;  /* Cache-Control has it (RFC 9111 §5.2.2.6) */
    const char *length; /* Content-Length, or NULL */
} el_fields_t;

el_fields_t el_fields_read(request_rec *r);

/* What Cache-Control says. */
el_cache_control_t el_fields_cache_control(request_rec *r);

/*
 * Bytes of the header as HTTP/1.1 writes it, without what every response has
 * (EL_PACKET_CORE_HEADER): the status's text, the tables' fields, Content-Type, Server, and
 * Keep-Alive where the client asked for it.
 */
size_t el_fields_size(request_rec *r);

/* The body's length by Content-Length; false where there is none, or none that is a number. */
bool el_fields_length(const el_fields_t *fields, uint64_t *length);

/* Bytes of all fields of a table as HTTP/1.1 writes them. */
size_t el_fields_table_size(const apr_table_t *table);

/* Whether the response varies by the request's field `name`, as its Vary says; `*` is no name. */
bool el_fields_varies(request_rec *r, const char *name);

/* Adds the field `name` to Vary, where it is not in it already. */
void el_fields_add_vary(request_rec *r, const char *name);

/* Sets the ETag, wherever it stands; NULL removes it. */
void el_fields_set_etag(request_rec *r, const char *tag);

/* Makes the identity's tag that of its body in `coding`, by `mode`. */
void el_fields_encode_etag(request_rec *r, el_coding_t coding, el_etag_mode_t mode);

/* Takes out Content-Encoding, wherever httpd keeps it. */
void el_fields_unset_coding(request_rec *r);

/*
 * Makes the header that of a body in `coding`: Content-Encoding, the tag by `mode`; without the
 * length, the digests and the Accept-Ranges of the identity.
 */
void el_fields_set_coding(request_rec *r, el_coding_t coding, el_etag_mode_t mode);

/* Tells the stock compressors, which may come later in the chain, to leave the body alone. */
void el_fields_keep_identity(request_rec *r);

#endif
