#include "httpd/response/response.h"

#include "elastic/decide.h"
#include "host/machine.h"

#include "apr_portable.h"
#include "apr_strings.h"
#include "http_core.h"
#include "http_protocol.h"
#include "http_ssl.h"
#include "http_vhost.h"

#include <netinet/in.h>
#include <netinet/tcp.h>

/* Bytes of Accept-Encoding to remember, with the NUL; browsers send about 25. */
#define LINE 64

/* Kept for each connection, or each HTTP/2 stream; one thread at a time uses it. */
typedef struct {
    int mss;         /* the kernel's, bytes; 0: unknown; below 0: not asked yet */
    char line[LINE]; /* the last Accept-Encoding, or its beginning */
    el_accept_t accept;
} kept_t;

static kept_t *response_kept(conn_rec *c)
{
    kept_t *kept = ap_get_module_config(c->conn_config, el_record_of_requests());

    if (!kept) {
        kept = apr_pcalloc(c->pool, sizeof(*kept));
        kept->mss = -1;
        el_accept_parse(NULL, 0, &kept->accept);
        ap_set_module_config(c->conn_config, el_record_of_requests(), kept);
    }
    return kept;
}

/* The client's connection. An HTTP/2 stream has no socket; its master connection does. */
static conn_rec *response_client(const request_rec *r)
{
    return r->connection->master ? r->connection->master : r->connection;
}

/* Returns false if there is no socket. */
static bool response_socket(const request_rec *r, apr_os_sock_t *fd)
{
    apr_socket_t *socket = ap_get_conn_socket(response_client(r));

    return socket && apr_os_sock_get(fd, socket) == APR_SUCCESS;
}

el_response_t *el_response_make(request_rec *r)
{
    el_response_t *response = apr_pcalloc(r->pool, sizeof(*response));

    response->r = r;
    ap_set_module_config(r->request_config, el_record_of_requests(), response);
    return response;
}

/* ---- the codings in force -------------------------------------------------------------------- */

/* Parses the field once per connection, because clients repeat the same line. */
static const el_accept_t *response_parse_accept(const request_rec *r)
{
    const char *line = apr_table_get(r->headers_in, "Accept-Encoding");
    kept_t *kept = response_kept(r->connection);
    size_t len;

    line = line ? line : "";
    len = strlen(line);
    /* A longer line was cut, so it cannot be compared. */
    if (len >= LINE - 1 || memcmp(kept->line, line, len + 1) != 0) {
        el_accept_parse(line, len, &kept->accept);
        apr_cpystrn(kept->line, line, LINE);
    }
    return &kept->accept;
}

const el_accept_t *el_response_accept(el_response_t *response)
{
    if (!response->accept_known) {
        response->accept = *response_parse_accept(response->r);
        response->accept_known = true;
    }
    return &response->accept;
}

void el_response_read_accept(el_response_t *response)
{
    const request_rec *r = response->r;
    const el_accept_t *accept = response_parse_accept(r);

    if (response->accept_known) {
        /* mod_autoindex hides the field while it sends HeaderName's page: ignore that. */
        bool is_listing = r->handler && strcmp(r->handler, DIR_MAGIC_TYPE) == 0;

        if (memcmp(&response->accept, accept, sizeof(*accept)) == 0
            || (is_listing && !apr_table_get(r->headers_in, "Accept-Encoding"))) {
            return;
        }
    }
    response->accept = *accept;
    response->accept_known = true;
    response->available.sought = false;
}

/*
 * httpd renames the variables of a request at an internal redirect. A front controller's page would
 * then be compressed although its URL was excepted.
 */
static bool response_env_refuses(const request_rec *r)
{
    for (; !apr_table_get(r->subprocess_env, "no-elastic"); r = r->prev) {
        if (!r->prev) {
            return false;
        }
    }
    return true;
}

bool el_response_env_allows(const request_rec *r, el_coding_t coding)
{
    const char *only_html;

    if (response_env_refuses(r)) {
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

bool el_response_may_run(const el_response_t *response, el_record_t record)
{
    return response->installed[record] || (response->harness && el_record_loaded(record));
}

/* Puts those of `codings` that the environment allows into `order`; returns their number. */
static size_t response_allowed(const request_rec *r, const el_coding_t *codings, size_t count,
                               el_coding_t *order)
{
    bool all = apr_is_empty_table(r->subprocess_env);
    size_t left = 0;

    for (size_t i = 0; i < count; i++) {
        if (all || el_response_env_allows(r, codings[i])) {
            order[left++] = codings[i];
        }
    }
    return left;
}

size_t el_response_codings(const el_response_t *response, el_record_t record, el_coding_t *order)
{
    const el_coding_t *codings;
    size_t count = el_policy_codings(el_dir_of(response->r), record, &codings);

    return response_allowed(response->r, codings, count, order);
}

el_accept_t el_response_enabled(el_response_t *response)
{
    const el_accept_t *accept = el_response_accept(response);
    el_accept_t enabled = {{0}};
    el_coding_t order[EL_CODINGS];

    enabled.q[EL_IDENTITY] = accept->q[EL_IDENTITY];
    for (int i = 0; i < EL_RECORDS; i++) {
        el_record_t record = (el_record_t)i;
        size_t count = el_response_may_run(response, record)
                           ? el_response_codings(response, record, order) : 0;

        for (size_t k = 0; k < count; k++) {
            enabled.q[order[k]] = accept->q[order[k]];
        }
    }
    if (el_dictionaries_are_open() && el_response_may_run(response, EL_RECORD_ELASTIC)) {
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

/* ---- facts ----------------------------------------------------------------------------------- */

el_facts_t el_response_facts(el_response_t *response, const el_policy_t *policy, bool by_type)
{
    request_rec *r = response->r;
    el_fields_t *fields = &response->fields;
    const char *type = r->content_type, *tls = NULL;
    el_demand_t *demand;
    el_facts_t facts;

    *fields = el_fields_read(r);
    facts = (el_facts_t){
        .resource =
            {
                .status = r->status,
                .enabled = (!el_value_is_set(&policy->dir->values, EL_DIR_ENABLED)
                            || policy->dir->values.value[EL_DIR_ENABLED]),
                /*
                 * A filter that the operator named takes all types unless a list is set. A 304
                 * seldom repeats the type; it is better to send Vary needlessly than to omit it.
                 */
                .type_listed = by_type || (type && type == response->listed_type)
                               || el_dir_type_listed(policy->dir, type, policy->is_stock)
                               || (r->status == HTTP_NOT_MODIFIED && !type),
                .has_encoding = fields->encoded,
                /* A multipart 206 has Content-Range in its parts, not in the header. */
                .has_content_range = r->status == HTTP_PARTIAL_CONTENT || fields->has_range,
                .stock_order = policy->is_stock,
            },
    };
    /* Most responses that stay as they are, such as images, end here. */
    if (!facts.resource.enabled || !facts.resource.type_listed) {
        return facts;
    }
    facts.resource.no_transform = fields->no_transform;
    facts.moment.bypass = el_response_control(response).bypass;

    demand = &facts.demand;
    demand->head = r->header_only;
    /* For every method, because httpd cuts ranges out of all their responses. */
    demand->range_requested = r->status == HTTP_OK && el_response_has_range(r)
                              && !el_response_void_range(r);
    if (ap_ssl_conn_is_ssl(r->connection)) {
        tls = ap_ssl_var_lookup(r->pool, r->server, r->connection, r, "SSL_COMPRESS_METHOD");
    }
    demand->tls_compressed = tls && *tls && strcmp(tls, "NULL") != 0;
    if (!apr_is_empty_table(r->subprocess_env)) {
        demand->env_refused = response_env_refuses(r);
        demand->force = apr_table_get(r->subprocess_env, "force-gzip") != NULL;
    }
    demand->accept = *el_response_accept(response);
    demand->order_count = response_allowed(r, policy->order, policy->order_count, demand->order);
    demand->env_removed = policy->order_count - demand->order_count;
    return facts;
}

uint64_t el_response_min_size(const el_response_t *response, const el_policy_t *policy,
                              uint64_t size)
{
    const request_rec *r = response->r;
    conn_rec *c = response_client(r);
    const apr_sockaddr_t *address = c->client_addr;
    size_t mtu = (size_t)el_server_of(r->server)->values.value[EL_SERVER_MTU];
    size_t padding = (size_t)policy->dir->values.value[EL_DIR_PADDING];
    kept_t *kept;
    socklen_t len = sizeof(kept->mss);
    apr_os_sock_t fd;

    if (policy->min_size != EL_MIN_SIZE_AUTO) {
        return (uint64_t)policy->min_size;
    }
    if (size > EL_PACKET_MSS_MAX && size > mtu) {
        return 0;
    }
    kept = response_kept(r->connection);
    if (kept->mss < 0 && (!response_socket(r, &fd)
                          || getsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &kept->mss, &len) != 0)) {
        kept->mss = 0;
    }
    return el_packet_min_size(&(el_packet_t){
        .mss = kept->mss,
        .mtu = mtu,
        .ipv6 = address && address->family == APR_INET6
                && !IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)address->ipaddr_ptr),
        .tls = ap_ssl_conn_is_ssl(c),
        .http2 = c != r->connection,
        .header = el_fields_size(response->r)
                  + (padding > 0 ? sizeof(EL_PADDING_FIELD ": \r\n") - 1 + padding : 0),
    });
}

/* ---- the controller -------------------------------------------------------------------------- */

el_control_state_t el_response_control(el_response_t *response)
{
    if (!response->control_read) {
        response->control = el_state_control(&el_shared.block->state);
        response->control_read = true;
    }
    return response->control;
}

/*
 * True if the connection comes from a proxy: it is from this machine, or a proxy's fields are
 * there, or mod_remoteip has replaced the address (it also removes the fields).
 */
static bool response_is_proxied(const request_rec *r)
{
    static const char *const fields[] = {"Via", "Forwarded", "X-Forwarded-For"};
    const apr_sockaddr_t *peer = response_client(r)->client_addr;
    const struct in6_addr *v6;

    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        if (apr_table_get(r->headers_in, fields[i])) {
            return true;
        }
    }
    if (!peer || (r->useragent_addr && r->useragent_addr != r->connection->client_addr)) {
        return true;
    }
    if (peer->family == APR_INET) {
        return ntohl(peer->sa.sin.sin_addr.s_addr) >> 24 == 127;
    }
    if (peer->family != APR_INET6) {
        return true; /* a Unix socket */
    }
    v6 = &peer->sa.sin6.sin6_addr;
    return IN6_IS_ADDR_LOOPBACK(v6) || (IN6_IS_ADDR_V4MAPPED(v6) && v6->s6_addr[12] == 127);
}

el_effort_t el_response_effort(el_response_t *response)
{
    const el_goal_t *goal = &el_shared.config.control.goal;
    const request_rec *r = response->r;
    double rate = goal->rate;
    el_tcp_rate_t measured;
    apr_os_sock_t fd;

    if (response->effort_known) {
        return response->effort;
    }
    response->effort = el_shared_effort(el_response_control(response));
    response->effort_known = true;
    if (response->effort.price >= 0) {
        /*
         * With `auto`, the connection's delivery rate counts, within the goal's bounds. The goal's
         * own rate counts if none is known, a proxy is in front, or the application sent less.
         */
        if (goal->by_connection && !response_is_proxied(r) && response_socket(r, &fd)
            && el_tcp_rate(fd, &measured)) {
            rate = el_goal_rate(goal, measured.rate, measured.limited);
        }
        /* The price is for the goal's rate; a client twice as fast waits half as long per byte. */
        if (rate > 0) {
            response->effort.price *= goal->rate / rate;
        }
    }
    return response->effort;
}

/* ---- the client ------------------------------------------------------------------------------ */

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

/* Returns the client's request, from which internal redirects made `r`. */
static request_rec *response_sent(request_rec *r)
{
    while (r->prev) {
        r = r->prev;
    }
    return r;
}

/* Only the client's own request has noted credentials: post_read_request ran for it alone. */
bool el_response_sent_authorization(request_rec *r)
{
    const el_response_t *first = el_response_find(response_sent(r));

    return apr_table_get(r->headers_in, "Authorization") || (first && first->authorization);
}

el_visitor_t el_response_visitor(request_rec *r)
{
    const el_response_t *first = el_response_find(response_sent(r));
    el_visitor_t visitor = {{
        [EL_VISITOR_COOKIE] = apr_table_get(r->headers_in, "Cookie"),
        [EL_VISITOR_AUTHORIZATION] = apr_table_get(r->headers_in, "Authorization"),
        [EL_VISITOR_USER] = r->user,
        [EL_VISITOR_AUTH_TYPE] = r->ap_auth_type,
    }};

    if (ap_ssl_conn_is_ssl(r->connection)) {
        /* As PEM, because anybody can choose a certificate's subject and serial number. */
        visitor.text[EL_VISITOR_CERTIFICATE] =
            ap_ssl_var_lookup(r->pool, r->server, r->connection, r, "SSL_CLIENT_CERT");
    }
    if (first) {
        visitor.text[EL_VISITOR_SENT_COOKIE] = first->cookie;
        visitor.text[EL_VISITOR_SENT_AUTHORIZATION] = first->authorization;
    }
    return visitor;
}

static const char *response_make_origin(request_rec *r)
{
    /* A proxy in front may report https: SetEnvIf X-Forwarded-Proto https HTTPS=on. */
    const char *told = apr_table_get(r->subprocess_env, "HTTPS");
    bool https = strcmp(ap_http_scheme(r), "https") == 0 || (told && strcasecmp(told, "on") == 0);
    apr_port_t usual = https ? 443 : 80;
    apr_port_t port = r->parsed_uri.port_str ? r->parsed_uri.port : usual;
    const char *host = r->hostname, *ip = r->connection->client_ip, *origin;
    bool is_known;

    if (!host || !*host) {
        return NULL;
    }
    if (https) {
        /* httpd matches addresses with one port, and names with the other. */
        is_known = ap_matches_request_vhost(r, host, r->connection->local_addr->port)
                   || ap_matches_request_vhost(r, host, r->server->port);
    } else {
        /* APR writes an IPv4-mapped address as IPv4. */
        is_known = strncmp(ip, "127.", 4) == 0 || strcmp(ip, "::1") == 0;
    }
    if (!is_known) {
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

const char *el_response_origin(el_response_t *response)
{
    if (!response->origin_known) {
        response->origin = response_make_origin(response_sent(response->r));
        response->origin_known = true;
    }
    return response->origin;
}

const char *el_response_target(request_rec *r)
{
    const char *target = response_sent(r)->unparsed_uri;

    /* A proxy request has an absolute URL. */
    if (target && *target != '/') {
        const char *host = strstr(target, "://");

        target = host ? strchr(host + 3, '/') : NULL;
    }
    return target ? target : "/";
}
