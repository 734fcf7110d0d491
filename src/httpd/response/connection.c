#include "httpd/response/connection.h"

#include "httpd/response/fields.h"

#include "elastic/packet.h"
#include "host/tcp_info.h"

#include "apr_portable.h"
#include "apr_strings.h"
#include "http_core.h"
#include "http_ssl.h"

#include <netinet/in.h>
#include <netinet/tcp.h>

/* Bytes of a line of Accept-Encoding that is remembered, with the NUL; browsers' have some 25. */
#define LINE 64

/* What is kept of a connection, or of one stream with HTTP/2: a single thread uses it at a time. */
typedef struct {
    int mss;         /* see segment_size(); below 0: not asked for yet */
    char line[LINE]; /* the beginning of the last Accept-Encoding */
    el_accept_t accept;
} kept_t;

static kept_t *kept_of(conn_rec *c)
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

const el_accept_t *el_connection_accept(request_rec *r)
{
    const char *line = apr_table_get(r->headers_in, "Accept-Encoding");
    kept_t *kept = kept_of(r->connection);
    size_t len;

    line = line ? line : "";
    len = strlen(line);
    /* Of a longer one the end is not known. */
    if (len >= LINE - 1 || memcmp(kept->line, line, len + 1) != 0) {
        el_accept_parse(line, len, &kept->accept);
        apr_cpystrn(kept->line, line, LINE);
    }
    return &kept->accept;
}

/* The client's connection: of an HTTP/2 stream its master, whose socket is a real one. */
static conn_rec *connection_of(request_rec *r)
{
    return r->connection->master ? r->connection->master : r->connection;
}

/* False where there is no socket. */
static bool find_socket(request_rec *r, apr_os_sock_t *fd)
{
    apr_socket_t *socket = ap_get_conn_socket(connection_of(r));

    return socket && apr_os_sock_get(fd, socket) == APR_SUCCESS;
}

/* The payload of a segment in bytes, as the kernel has it; 0 where it says nothing. */
static int segment_size(request_rec *r)
{
    kept_t *kept = kept_of(r->connection);
    socklen_t len = sizeof(kept->mss);
    apr_os_sock_t fd;

    if (kept->mss < 0 && (!find_socket(r, &fd)
                          || getsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &kept->mss, &len) != 0)) {
        kept->mss = 0;
    }
    return kept->mss;
}

static bool is_loopback(const apr_sockaddr_t *address)
{
    const struct in6_addr *v6;

    if (address->family == APR_INET) {
        return ntohl(address->sa.sin.sin_addr.s_addr) >> 24 == 127;
    }
    if (address->family != APR_INET6) {
        return true; /* a socket of this machine */
    }
    v6 = &address->sa.sin6.sin6_addr;
    return IN6_IS_ADDR_LOOPBACK(v6) || (IN6_IS_ADDR_V4MAPPED(v6) && v6->s6_addr[12] == 127);
}

/*
 * Whether the connection ends at a proxy: mod_remoteip takes the fields away, but not the address.
 */
static bool is_proxied(request_rec *r)
{
    static const char *const fields[] = {"Via", "Forwarded", "X-Forwarded-For"};
    const apr_sockaddr_t *peer = connection_of(r)->client_addr;

    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        if (apr_table_get(r->headers_in, fields[i])) {
            return true;
        }
    }
    return !peer || is_loopback(peer)
           || (r->useragent_addr && r->useragent_addr != r->connection->client_addr);
}

double el_connection_rate(request_rec *r, const el_goal_t *goal)
{
    el_tcp_rate_t measured;
    apr_os_sock_t fd;

    if (!goal->by_connection || is_proxied(r) || !find_socket(r, &fd)
        || !el_tcp_rate(fd, &measured)) {
        return goal->rate;
    }
    return el_goal_rate(goal, measured.rate, measured.limited);
}

static bool is_ipv6(const conn_rec *c)
{
    const apr_sockaddr_t *address = c->client_addr;

    return address && address->family == APR_INET6
           && !IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)address->ipaddr_ptr);
}

uint64_t el_connection_min_size(request_rec *r, const el_policy_t *policy, uint64_t size)
{
    conn_rec *c = connection_of(r);
    size_t mtu = (size_t)el_server_of(r->server)->values.value[EL_SERVER_MTU];
    size_t padding = (size_t)policy->dir->values.value[EL_DIR_PADDING];

    if (policy->min_size != EL_MIN_SIZE_AUTO) {
        return (uint64_t)policy->min_size;
    }
    if (size > EL_PACKET_MSS_MAX && size > mtu) {
        return 0;
    }
    return el_packet_min_size(&(el_packet_t){
        .mss = segment_size(r),
        .mtu = mtu,
        .ipv6 = is_ipv6(c),
        .tls = ap_ssl_conn_is_ssl(c),
        .http2 = c != r->connection,
        .header = el_fields_size(r) + el_padding_room(padding),
    });
}
