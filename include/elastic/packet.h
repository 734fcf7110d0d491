/*
 * Segment arithmetic: from which body size on compression can save a TCP segment at all.
 *
 * Pure; any thread; all sizes in bytes.
 */
#ifndef ELASTIC_PACKET_H
#define ELASTIC_PACKET_H

#include <stdbool.h>
#include <stddef.h>

/*
 * IPv4 20 + TCP 20 + the timestamps option 12 (RFC 9293 §3.1, RFC 7323 §3.2); IPv6's header is 40.
 */
#define EL_PACKET_OVERHEAD_IPV4 52
#define EL_PACKET_OVERHEAD_IPV6 72

/*
 * A segment size above this is loopback's (Linux answers 32768 there), not a wire's: jumbo frames
 * end at 9216. The configured MTU is used instead.
 */
#define EL_PACKET_MSS_MAX 9216

/*
 * A TLS record around the response: TLS 1.2 with AES-GCM takes 5 + 8 + 16, the most of today's
 * ciphers.
 */
#define EL_PACKET_TLS_RECORD 29

/* HTTP/2 frame headers: one of HEADERS, one of DATA (RFC 9113 §4.1). */
#define EL_PACKET_H2_FRAMES 18

/*
 * What every response carries beside its own fields: "HTTP/1.1 " and the line's end 11, Date 37,
 * Vary: Accept-Encoding 23, Connection: close 19, the blank line 2.
 */
#define EL_PACKET_CORE_HEADER 92

typedef struct {
    int mss; /* payload of a segment, as the kernel gives it for the connection; <= 0: unknown */
    size_t mtu;   /* the link's, used where mss is unknown or beyond EL_PACKET_MSS_MAX */
    bool ipv6;    /* the connection's family, for the same case */
    bool tls;
    bool http2;
    size_t header; /* bytes of its own status text and fields, beside EL_PACKET_CORE_HEADER */
} el_packet_t;

/* The payload of one segment of the connection. */
size_t el_packet_payload(const el_packet_t *packet);

/*
 * The smallest body worth compressing: one byte more than fits into one segment together with the
 * response's header. 1 where the header alone fills it.
 */
size_t el_packet_min_size(const el_packet_t *packet);

#endif
