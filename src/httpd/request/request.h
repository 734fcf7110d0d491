/* The filters that decode bodies, of which decode.h is what they share; and who asks. */
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
 * Visitors: a program of the operator's that reads the site's pages from this machine, and is to
 * see what strangers see. It sends a token in `Elastic-Visitor`, whose SHA-256 it has written to
 * the file elastic.visitor in httpd's run directory:
 *
 *     elastic-visitor 1
 *     sha256 <64 hexadecimal digits>
 *
 * The file counts while its writer has a lock of fcntl() on it, and for 15 minutes. It is of root,
 * or of who started httpd, and nobody else may write to it. The connection is from this machine,
 * and no proxy has passed the request on. Then the connection's client is one of an address that no
 * machine has (RFC 5737, 3849), for all of httpd and what is behind it; and the response has the
 * SHA-256 of "taken " and the token in a field of the same name. Whatever became of it, nobody
 * behind sees the token.
 */

/* In post_config. */
void el_visitor_configure(apr_pool_t *pconf);

/* In post_read_request, before whoever asks for the client's address: takes the token. */
int el_visitor_look(request_rec *r);

/* The same, behind whoever sets that address (mod_remoteip): the client stays a visitor. */
void el_visitor_keep(request_rec *r);

#endif
