#include "httpd/response/response.h"

#include "httpd/cache/cache.h"
#include "httpd/response/connection.h"
#include "httpd/response/fields.h"

#include "apr_strings.h"
#include "http_core.h"
#include "http_protocol.h"
#include "http_ssl.h"
#include "http_vhost.h"

el_response_t *el_response_make(request_rec *r)
{
    el_response_t *response = apr_pcalloc(r->pool, sizeof(*response));

    ap_set_module_config(r->request_config, el_record_of_requests(), response);
    return response;
}

const el_accept_t *el_response_accept(request_rec *r)
{
    el_response_t *response = el_response_of(r);

    if (!response->accept_known) {
        response->accept = *el_connection_accept(r);
        response->accept_known = true;
    }
    return &response->accept;
}

/* mod_autoindex, which gives the field back when the page of HeaderName is through. */
static bool is_listing(const request_rec *r)
{
    return r->handler && strcmp(r->handler, DIR_MAGIC_TYPE) == 0;
}

void el_response_read_accept(request_rec *r)
{
    el_response_t *response = el_response_of(r);
    const el_accept_t *accept = el_connection_accept(r);

    if (response->accept_known
        && (memcmp(&response->accept, accept, sizeof(*accept)) == 0
            || (is_listing(r) && !apr_table_get(r->headers_in, "Accept-Encoding")))) {
        return;
    }
    response->accept = *accept;
    response->accept_known = true;
    response->available.sought = false;
}

bool el_response_env_allows(request_rec *r, el_coding_t coding)
{
    const char *only_html;

    if (apr_table_get(r->subprocess_env, "no-elastic")) {
        return false;
    }
    switch (coding) {
    case EL_GZIP:
        if (apr_table_get(r->subprocess_env, "no-gzip")) {
            return false;
        }
        only_html = apr_table_get(r->subprocess_env, "gzip-only-text/html");
        return !only_html || strcmp(only_html, "1") != 0
               || (r->content_type && strncmp(r->content_type, "text/html", 9) == 0);
    case EL_BR:
        return !apr_table_get(r->subprocess_env, "no-brotli");
    default:
        return true;
    }
}

bool el_response_may_run(request_rec *r, el_record_t record)
{
    const el_response_t *response = el_response_of(r);

    return response->installed[record] || (response->harness && el_record_loaded(record));
}

size_t el_response_codings(request_rec *r, el_record_t record, el_coding_t *order)
{
    const el_coding_t *codings;
    size_t count = el_policy_codings(el_dir_of(r), record, &codings), left = 0;
    bool all = apr_is_empty_table(r->subprocess_env);

    for (size_t i = 0; i < count; i++) {
        if (all || el_response_env_allows(r, codings[i])) {
            order[left++] = codings[i];
        }
    }
    return left;
}

el_accept_t el_response_enabled(request_rec *r)
{
    const el_accept_t *accept = el_response_accept(r);
    el_accept_t enabled = {{0}};
    el_coding_t order[EL_CODINGS];

    enabled.q[EL_IDENTITY] = accept->q[EL_IDENTITY];
    for (int i = 0; i < EL_RECORDS; i++) {
        el_record_t record = (el_record_t)i;
        size_t count = el_response_may_run(r, record) ? el_response_codings(r, record, order) : 0;

        for (size_t k = 0; k < count; k++) {
            enabled.q[order[k]] = accept->q[order[k]];
        }
    }
    if (el_dictionaries_are_open() && el_response_may_run(r, EL_RECORD_ELASTIC)) {
        enabled.q[EL_DCB] = accept->q[EL_DCB];
        enabled.q[EL_DCZ] = accept->q[EL_DCZ];
    }
    return enabled;
}

bool el_response_has_range(const request_rec *r)
{
    const char *range = apr_table_get(r->headers_in, "Range");

    /* httpd knows no other unit, and ignores what it does not know (RFC 9110 §14.2). */
    range = range ? range : apr_table_get(r->headers_in, "Request-Range");
    return range && strncasecmp(range, "bytes=", strlen("bytes=")) == 0;
}

bool el_response_dated_range(const request_rec *r)
{
    const char *if_range = apr_table_get(r->headers_in, "If-Range");

    return if_range && *if_range != '"' && strncmp(if_range, "W/\"", 3) != 0;
}

bool el_response_void_range(const request_rec *r)
{
    const char *if_range = apr_table_get(r->headers_in, "If-Range");
    const char *tag;

    if (!if_range || !el_response_has_range(r)) {
        return false;
    }
    tag = el_field(r, "ETag");
    return *if_range != '"' || !tag || strcmp(if_range, tag) != 0;
}

void el_response_drop_range(request_rec *r)
{
    apr_table_unset(r->headers_in, "Range");
    apr_table_unset(r->headers_in, "Request-Range");
    apr_table_unset(r->headers_in, "If-Range");
}

el_control_state_t el_response_control(request_rec *r)
{
    el_response_t *response = el_response_of(r);

    if (!response->control_read) {
        response->control = el_state_control(&el_shared.block->state);
        response->control_read = true;
    }
    return response->control;
}

/*
 * The price is that of a client at the goal's rate: one that is twice as fast waits half as long.
 */
el_effort_t el_response_effort(request_rec *r)
{
    el_response_t *response = el_response_of(r);
    const el_goal_t *goal = &el_shared.config.control.goal;
    double rate;

    if (!response->effort_known) {
        response->effort = el_shared_effort(el_response_control(r));
        rate = response->effort.price >= 0 ? el_connection_rate(r, goal) : 0;
        if (rate > 0) {
            response->effort.price *= goal->rate / rate;
        }
        response->effort_known = true;
    }
    return response->effort;
}

void el_response_forget_control(request_rec *r)
{
    el_response_t *response = el_response_of(r);

    response->control_read = response->effort_known = false;
}

int el_response_note_credentials(request_rec *r)
{
    const char *cookie = apr_table_get(r->headers_in, "Cookie");
    const char *authorization = apr_table_get(r->headers_in, "Authorization");

    if (cookie || authorization) {
        el_response_t *response = el_response_of(r);

        response->cookie = cookie;
        response->authorization = authorization;
    }
    return DECLINED;
}

/* The request that the client has sent, of which httpd may have made another internally. */
static request_rec *sent(request_rec *r)
{
    while (r->prev) {
        r = r->prev;
    }
    return r;
}

/*
 * The record of the request as it came: post_read_request has not run for what it was redirected
 * to. NULL where there is none.
 */
static const el_response_t *record_as_sent(request_rec *r)
{
    return el_response_find(sent(r));
}

bool el_response_sent_authorization(request_rec *r)
{
    const el_response_t *response = record_as_sent(r);

    return apr_table_get(r->headers_in, "Authorization") || (response && response->authorization);
}

/* The client's certificate as PEM: its subject and serial number are anybody's to write. */
static const char *certificate_of(request_rec *r)
{
    return ap_ssl_conn_is_ssl(r->connection)
               ? ap_ssl_var_lookup(r->pool, r->server, r->connection, r, "SSL_CLIENT_CERT")
               : NULL;
}

el_visitor_t el_response_visitor(request_rec *r)
{
    el_visitor_t visitor = {{
        [EL_VISITOR_COOKIE] = apr_table_get(r->headers_in, "Cookie"),
        [EL_VISITOR_AUTHORIZATION] = apr_table_get(r->headers_in, "Authorization"),
        [EL_VISITOR_USER] = r->user,
        [EL_VISITOR_AUTH_TYPE] = r->ap_auth_type,
        [EL_VISITOR_CERTIFICATE] = certificate_of(r),
    }};
    const el_response_t *response = record_as_sent(r);

    if (response) {
        visitor.text[EL_VISITOR_SENT_COOKIE] = response->cookie;
        visitor.text[EL_VISITOR_SENT_AUTHORIZATION] = response->authorization;
    }
    return visitor;
}

/* Also where a proxy in front has told httpd so: SetEnvIf X-Forwarded-Proto https HTTPS=on. */
static bool is_https(request_rec *r)
{
    const char *told = apr_table_get(r->subprocess_env, "HTTPS");

    return strcmp(ap_http_scheme(r), "https") == 0 || (told && strcasecmp(told, "on") == 0);
}

/* An address of the virtual host, or a name: httpd compares ports with each of the two. */
static bool is_served(request_rec *r, const char *host)
{
    return ap_matches_request_vhost(r, host, r->connection->local_addr->port)
           || ap_matches_request_vhost(r, host, r->server->port);
}

static bool comes_from_here(const request_rec *r)
{
    const char *ip = r->connection->client_ip;

    return ip && (strncmp(ip, "127.", 4) == 0 || strcmp(ip, "::1") == 0
                  || strncmp(ip, "::ffff:127.", 11) == 0);
}

static const char *origin_of(request_rec *r)
{
    bool https = is_https(r);
    apr_port_t usual = https ? 443 : 80;
    apr_port_t port = r->parsed_uri.port_str ? r->parsed_uri.port : usual;
    const char *host = r->hostname, *origin;

    if (!host || !*host
        || (https ? !is_served(r, host) : !comes_from_here(r))) {
        return NULL;
    }
    if (strchr(host, ':') && *host != '[') {
        host = apr_pstrcat(r->pool, "[", host, "]", NULL);
    }
    origin = apr_pstrcat(r->pool, https ? "https://" : "http://", host, NULL);
    if (port != usual) {
        origin = apr_psprintf(r->pool, "%s:%u", origin, (unsigned)port);
    }
    return strlen(origin) < EL_ORIGIN_ROOM && el_dictionary_origin_secure(origin) ? origin : NULL;
}

const char *el_response_origin(request_rec *r)
{
    el_response_t *response = el_response_of(r);

    if (!response->origin_known) {
        response->origin = origin_of(sent(r));
        response->origin_known = true;
    }
    return response->origin;
}

const char *el_response_target(request_rec *r)
{
    const char *target = sent(r)->unparsed_uri;

    /* Of an absolute URL, as proxies get it. */
    if (target && *target != '/') {
        const char *host = strstr(target, "://");

        target = host ? strchr(host + 3, '/') : NULL;
    }
    return target ? target : "/";
}
