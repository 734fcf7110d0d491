/*
 * The lengths of what goes out: from which body size on compression can save a TCP segment at all,
 * and padding, which hides the length of an encoding.
 *
 * Pure; any thread; all sizes in bytes.
 */
#ifndef ELASTIC_PACKET_H
#define ELASTIC_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
 * Of every response, beside its own fields: "HTTP/1.1 " and the line's end 11, Date 37,
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

/*
 * The smallest body worth compressing: one byte more than fits into one segment together with the
 * response's header. 1 where the header alone fills it.
 */
size_t el_packet_min_size(const el_packet_t *packet);

/*
 * Padding against attacks that learn a secret from the length of an encoding (BREACH): random bytes
 * -> the value of a header field.
 *
 * The length is the sum of two draws. After one draw, no padding would be as likely as any other,
 * and the shortest of some hundred responses would show the encoding's own length.
 *
 * The characters are those of a token (RFC 9110 §5.6.2) for which the code of HPACK and QPACK has 8
 * bits (RFC 7541 appendix B): the padding is as long over HTTP/2 and HTTP/3 as over HTTP/1.1,
 * whether that code is used or not. They are random too, so that a table of earlier fields does not
 * have it.
 */

/* Proxies and clients take header fields of 8 KB in all; half of that is left to the others. */
#define EL_PADDING_MAX 4096

#define EL_PADDING_FIELD "Elastic-Padding"

/* The bytes of a header that the field takes at most, with its name and the end of its line. */
static inline size_t el_padding_room(size_t most)
{
    return most > 0 ? sizeof(EL_PADDING_FIELD ": \r\n") - 1 + most : 0;
}

/* How many random bytes a padding of up to `most` bytes is made of. */
#define EL_PADDING_RANDOM(most) (8 + ((most) + 3) / 4)

/*
 * Makes 0 … `most` characters of the EL_PADDING_RANDOM(most) bytes at `random`, which nobody must
 * be able to predict. `text` has room for `most` + 1; it ends with 0. Returns the length.
 */
size_t el_padding_make(const uint8_t *random, size_t most, char *text);

#endif
