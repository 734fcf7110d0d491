#include "httpd/response/segment.h"

#include "httpd/response/fields.h"

#include "elastic/packet.h"

#include "apr_portable.h"
#include "http_core.h"
#include "http_ssl.h"

#include <netinet/in.h>
#include <netinet/tcp.h>

/* The payload of a segment, as the kernel has it for the connection; 0 where it says nothing. */
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

uint64_t el_segment_min_size(request_rec *r, const el_policy_t *policy, uint64_t size)
{
    /* An HTTP/2 stream's own socket has no segments. */
    conn_rec *c = r->connection->master ? r->connection->master : r->connection;
    size_t mtu = el_server_mtu(el_server_of(r->server));

    if (policy->min_size != EL_MIN_SIZE_AUTO) {
        return (uint64_t)policy->min_size;
    }
    if (size > EL_PACKET_MSS_MAX && size > mtu) {
        return 0;
    }
    return el_packet_min_size(&(el_packet_t){
        .mss = connection_mss(c),
        .mtu = mtu,
        .ipv6 = is_ipv6(c),
        .tls = ap_ssl_conn_is_ssl(c),
        .http2 = c != r->connection,
        .header = el_fields_size(r),
    });
}
