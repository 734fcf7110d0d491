#include "elastic/packet.h"

size_t el_packet_min_size(const el_packet_t *packet)
{
    size_t overhead = packet->ipv6 ? EL_PACKET_OVERHEAD_IPV6 : EL_PACKET_OVERHEAD_IPV4;
    bool known = packet->mss > 0 && packet->mss <= EL_PACKET_MSS_MAX;
    size_t payload = packet->mtu > overhead ? packet->mtu - overhead : 0;
    size_t used = packet->header + EL_PACKET_CORE_HEADER;

    payload = known ? (size_t)packet->mss : payload;
    used += packet->tls ? EL_PACKET_TLS_RECORD : 0;
    used += packet->http2 ? EL_PACKET_H2_FRAMES : 0;
    return payload > used ? payload - used + 1 : 1;
}

/* 32 random bits for each of the two draws. */
#define DRAW 4

/* 0 … `most`; by 32 bits, so that none of a few thousand is likelier by more than a millionth. */
static size_t packet_draw(const uint8_t *random, size_t most)
{
    uint64_t bits = 0;

    for (int i = 0; i < DRAW; i++) {
        bits = bits << 8 | random[i];
    }
    return (size_t)(bits * (most + 1) >> 32);
}

size_t el_padding_make(const uint8_t *random, size_t most, char *text)
{
    static const char characters[] = {'X', 'Z', '&', '*'};
    size_t len = packet_draw(random, most / 2) + packet_draw(random + DRAW, most - most / 2);

    random += 2 * DRAW;
    for (size_t i = 0; i < len; i++) {
        text[i] = characters[random[i / 4] >> i % 4 * 2 & 3];
    }
    text[len] = '\0';
    return len;
}
