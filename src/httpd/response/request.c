#include "httpd/response/request.h"

#include "elastic/packet.h"
#include "httpd/config/policy.h"
#include "httpd/response/response.h"
#include "httpd/state/shared.h"

#include "http_core.h"
#include "http_ssl.h"

#include "apr_portable.h"

#include <netinet/in.h>
#include <netinet/tcp.h>

const el_request_t *el_request_known(const request_rec *r)
{
    return ap_get_module_config(r->request_config, el_record_of_requests());
}

el_request_t *el_request_of(request_rec *r)
{
    const module *record = el_record_of_requests();
    el_request_t *request = ap_get_module_config(r->request_config, record);

    if (!request) {
        request = apr_pcalloc(r->pool, sizeof(*request));
        ap_set_module_config(r->request_config, record, request);
    }
    return request;
}

void el_request_keep_accept(request_rec *r)
{
    el_request_t *request = el_request_of(r);

    if (!request->accept_kept) {
        request->accept_line = apr_table_get(r->headers_in, "Accept-Encoding");
        request->accept_kept = true;
    }
}

const el_accept_t *el_request_accept(request_rec *r)
{
    el_request_t *request = el_request_of(r);

    if (!request->accept_read) {
        const char *line;

        el_request_keep_accept(r);
        line = request->accept_line;
        el_accept_parse(line, line ? strlen(line) : 0, &request->accept);
        request->accept_read = true;
    }
    return &request->accept;
}

bool el_request_env_allows(request_rec *r, el_coding_t coding)
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

bool el_request_stands(request_rec *r)
{
    const el_request_t *request = el_request_of(r);

    for (int i = 0; i < EL_RECORDS; i++) {
        if (request->stands[i]) {
            return true;
        }
    }
    return false;
}

size_t el_request_codings(request_rec *r, el_record_t record, el_coding_t *order, size_t *removed)
{
    size_t count = el_policy_codings(el_dir_of(r), record, order);
    size_t left = 0;

    for (size_t i = 0; i < count; i++) {
        if (el_request_env_allows(r, order[i])) {
            order[left++] = order[i];
        }
    }
    if (removed) {
        *removed = count - left;
    }
    return left;
}

el_accept_t el_request_enabled(request_rec *r)
{
    const el_request_t *request = el_request_of(r);
    const el_accept_t *accept = el_request_accept(r);
    el_accept_t enabled = {{0}};
    el_coding_t order[EL_CODINGS];

    enabled.q[EL_IDENTITY] = accept->q[EL_IDENTITY];
    for (int record = 0; record < EL_RECORDS; record++) {
        size_t count = request->stands[record]
                               || (request->may_stand && el_record_loaded((el_record_t)record))
                           ? el_request_codings(r, (el_record_t)record, order, NULL)
                           : 0;

        for (size_t i = 0; i < count; i++) {
            enabled.q[order[i]] = accept->q[order[i]];
        }
    }
    return enabled;
}

bool el_request_has_range(const request_rec *r)
{
    const char *range = apr_table_get(r->headers_in, "Range");

    /* httpd knows no other unit, and ignores what it does not know (RFC 9110 §14.2). */
    range = range ? range : apr_table_get(r->headers_in, "Request-Range");
    return range && strncasecmp(range, "bytes=", strlen("bytes=")) == 0;
}

bool el_request_dated_range(const request_rec *r)
{
    const char *if_range = apr_table_get(r->headers_in, "If-Range");

    return if_range && *if_range != '"' && strncmp(if_range, "W/\"", 3) != 0;
}

bool el_request_void_range(const request_rec *r)
{
    const char *if_range = apr_table_get(r->headers_in, "If-Range");
    const char *tag = el_response_header(r, "ETag");

    if (!if_range || !el_request_has_range(r)) {
        return false;
    }
    return *if_range != '"' || !tag || strcmp(if_range, tag) != 0;
}

void el_request_drop_range(request_rec *r)
{
    apr_table_unset(r->headers_in, "Range");
    apr_table_unset(r->headers_in, "Request-Range");
    apr_table_unset(r->headers_in, "If-Range");
}

static bool tls_compressed(request_rec *r)
{
    const char *method;

    if (!ap_ssl_conn_is_ssl(r->connection)) {
        return false;
    }
    method = ap_ssl_var_lookup(r->pool, r->server, r->connection, r, "SSL_COMPRESS_METHOD");
    return method && *method && strcmp(method, "NULL") != 0;
}

el_facts_t el_request_facts(request_rec *r, el_record_t record, bool by_type)
{
    const el_dir_t *dir = el_dir_of(r);
    el_facts_t facts = {
        .status = r->status,
        .enabled = el_dir_enabled(dir, true),
        .stock_order = el_policy_is_stock(record),
        .head = r->header_only,
        /* A 304 seldom repeats the type: Vary there does no harm, and its absence may. */
        .type_listed = by_type || el_policy_type_listed(dir, record, r->content_type)
                       || (r->status == HTTP_NOT_MODIFIED && !r->content_type),
        .has_encoding = el_response_encoded(r),
        /* The parts of a multipart 206 carry it instead of the header. */
        .has_content_range = r->status == HTTP_PARTIAL_CONTENT
                             || el_response_header(r, "Content-Range") != NULL,
    };

    /* Most responses that stay as they are, images for one, end here. */
    if (!facts.enabled || !facts.type_listed) {
        return facts;
    }
    facts.range_requested = r->status == HTTP_OK && r->method_number == M_GET
                            && el_request_has_range(r) && !el_request_void_range(r);
    facts.no_transform = el_response_no_transform(r);
    facts.tls_compressed = tls_compressed(r);
    facts.bypass = el_state_control(el_shared.state).bypass;
    facts.env_refused = apr_table_get(r->subprocess_env, "no-elastic") != NULL;
    facts.force = apr_table_get(r->subprocess_env, "force-gzip") != NULL;
    facts.accept = *el_request_accept(r);
    facts.order_count = el_request_codings(r, record, facts.order, &facts.env_removed);
    return facts;
}

/*
 * The segment's payload by the kernel's word, or 0. An HTTP/2 stream's own socket would answer
 * nonsense.
 */
static int connection_mss(conn_rec *c)
{
    apr_socket_t *socket = ap_get_conn_socket(c);
    apr_os_sock_t fd;
    int mss = 0;
    socklen_t len = sizeof(mss);

    if (!socket || apr_os_sock_get(&fd, socket) != APR_SUCCESS
        || getsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &mss, &len) != 0) {
        return 0;
    }
    return mss;
}

static bool is_ipv6(const conn_rec *c)
{
    const apr_sockaddr_t *address = c->client_addr;

    return address && address->family == APR_INET6
           && !IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)address->ipaddr_ptr);
}

void el_request_min_size(request_rec *r, el_record_t record, el_facts_t *facts)
{
    conn_rec *c = r->connection->master ? r->connection->master : r->connection;
    uint64_t configured = el_policy_min_size(el_dir_of(r), record);
    size_t mtu = el_server_mtu(el_server_of(r->server));
    el_packet_t packet;

    if (configured != EL_MIN_SIZE_AUTO) {
        facts->min_size = configured;
        return;
    }
    /* No segment holds more, so a larger body needs no question to the socket. */
    if (facts->size > EL_PACKET_MSS_MAX && facts->size > mtu) {
        facts->min_size = 0;
        return;
    }
    packet = (el_packet_t){
        .mss = connection_mss(c),
        .mtu = mtu,
        .ipv6 = is_ipv6(c),
        .tls = ap_ssl_conn_is_ssl(c),
        .http2 = c != r->connection,
        .header = el_response_header_size(r),
    };
    facts->min_size = el_packet_min_size(&packet);
}
