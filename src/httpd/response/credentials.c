#include "httpd/response/credentials.h"

#include "httpd/cache/store.h"
#include "httpd/dictionary/dictionaries.h"
#include "httpd/response/request.h"

#include "http_ssl.h"

int el_credentials_note(request_rec *r)
{
    const char *cookie, *authorization;
    el_request_t *request;

    if (!el_store_is_open() && !el_dictionaries_are_open()) {
        return DECLINED;
    }
    cookie = apr_table_get(r->headers_in, "Cookie");
    authorization = apr_table_get(r->headers_in, "Authorization");
    if (cookie || authorization) {
        request = el_request_of(r);
        request->cookie = cookie;
        request->authorization = authorization;
    }
    return DECLINED;
}

/*
 * The record of the request as it came: post_read_request has not run for what it was redirected to.
 * NULL where there is none.
 */
static const el_request_t *sent_request(const request_rec *r)
{
    while (r->prev) {
        r = r->prev;
    }
    return el_request_find(r);
}

bool el_credentials_sent(const request_rec *r)
{
    const el_request_t *request = sent_request(r);

    return apr_table_get(r->headers_in, "Authorization") || (request && request->authorization);
}

/* The client's certificate as PEM: its subject and serial number are anybody's to write. */
static const char *certificate_of(request_rec *r)
{
    return ap_ssl_conn_is_ssl(r->connection)
               ? ap_ssl_var_lookup(r->pool, r->server, r->connection, r, "SSL_CLIENT_CERT")
               : NULL;
}

el_visitor_t el_credentials_of(request_rec *r)
{
    el_visitor_t visitor = {{
        [EL_VISITOR_COOKIE] = apr_table_get(r->headers_in, "Cookie"),
        [EL_VISITOR_AUTHORIZATION] = apr_table_get(r->headers_in, "Authorization"),
        [EL_VISITOR_USER] = r->user,
        [EL_VISITOR_AUTH_TYPE] = r->ap_auth_type,
        [EL_VISITOR_CERTIFICATE] = certificate_of(r),
    }};
    const el_request_t *request = sent_request(r);

    if (request) {
        visitor.text[EL_VISITOR_SENT_COOKIE] = request->cookie;
        visitor.text[EL_VISITOR_SENT_AUTHORIZATION] = request->authorization;
    }
    return visitor;
}
