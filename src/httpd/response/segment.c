#include "httpd/response/segment.h"

#include "httpd/response/connection.h"
#include "httpd/response/fields.h"

#include "elastic/packet.h"

#include "http_ssl.h"

#include <netinet/in.h>

static bool is_ipv6(const conn_rec *c)
{
    const apr_sockaddr_t *address = c->client_addr;

    return address && address->family == APR_INET6
           && !IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)address->ipaddr_ptr);
}

uint64_t el_segment_min_size(request_rec *r, const el_policy_t *policy, uint64_t size)
{
    conn_rec *c = el_connection_of(r);
    size_t mtu = el_server_mtu(el_server_of(r->server));

    if (policy->min_size != EL_MIN_SIZE_AUTO) {
        return (uint64_t)policy->min_size;
    }
    if (size > EL_PACKET_MSS_MAX && size > mtu) {
        return 0;
    }
    return el_packet_min_size(&(el_packet_t){
        .mss = el_connection_mss(r),
        .mtu = mtu,
        .ipv6 = is_ipv6(c),
        .tls = ap_ssl_conn_is_ssl(c),
        .http2 = c != r->connection,
        .header = el_fields_size(r) + el_padding_room(el_dir_padding(policy->dir)),
    });
}
