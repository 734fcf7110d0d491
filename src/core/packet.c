#include "elastic/packet.h"

size_t el_packet_payload(const el_packet_t *packet)
{
    size_t overhead = packet->ipv6 ? EL_PACKET_OVERHEAD_IPV6 : EL_PACKET_OVERHEAD_IPV4;

    if (packet->mss > 0 && packet->mss <= EL_PACKET_MSS_MAX) {
        return (size_t)packet->mss;
    }
    return packet->mtu > overhead ? packet->mtu - overhead : 0;
}

size_t el_packet_min_size(const el_packet_t *packet)
{
    size_t payload = el_packet_payload(packet);
    size_t used = packet->header + EL_PACKET_CORE_HEADER;

    if (packet->tls) {
        used += EL_PACKET_TLS_RECORD;
    }
    if (packet->http2) {
        used += EL_PACKET_H2_FRAMES;
    }
    return payload > used ? payload - used + 1 : 1;
}
