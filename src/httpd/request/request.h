/* The filters that decode bodies, both ways (inflate.c); and visitors (visitor.c). */
#ifndef ELASTIC_REQUEST_REQUEST_H
#define ELASTIC_REQUEST_REQUEST_H

#include "httpd/config/glue.h"

/*
 * Request bodies reach handlers decoded, by ElasticInflate On (this filter) or as mod_deflate does
 * it, by SetInputFilter DEFLATE (the next).
 */
void el_input_register(void);
void el_input_register_deflate(void);

/* Before all handlers: OK, or the status of a body that cannot be decoded. */
int el_input_prepare(request_rec *r);

/*
 * The output filter INFLATE, as mod_deflate has it: decodes the outermost coding of a response, so
 * that filters behind it see text.
 */
void el_inflate_output_register(void);

/*
 * Visitors: a program of the operator's reads the site's pages from this machine, as strangers see
 * them. It sends a token in `Elastic-Visitor`, whose SHA-256 it has written to the file
 * elastic.visitor in httpd's run directory:
 *
 *     elastic-visitor 1
 *     sha256 <64 hexadecimal digits>
 *
 * The file counts while its writer has a lock of fcntl() on it, and for 15 minutes. It belongs to
 * root, or to the user who started httpd, and nobody else may write to it. The connection is from
 * this machine, and no proxy has passed the request on. Then the connection's client gets an
 * address that no machine has (RFC 5737, 3849), for all of httpd and the servers behind it; and the
 * response has the SHA-256 of "taken " and the token in a field of the same name. Nobody behind
 * ever sees the token.
 */

/* In post_config. */
void el_visitor_configure(apr_pool_t *pconf);

/* In post_read_request, before modules ask for the client's address: takes the token. */
int el_visitor_look(request_rec *r);

/* The same, behind modules that set that address (mod_remoteip): the client stays a visitor. */
void el_visitor_keep(request_rec *r);

#endif
