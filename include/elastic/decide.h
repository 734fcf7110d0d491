/*
 * The decision: all facts of a response -> the coding to compress with, or a named reason not to.
 *
 * The reason is the log's note, the status page's counter and the test's assertion. A new reason is
 * one row of EL_REASONS; the compiler then asks filter_identity() in src/httpd/response/filter.c
 * about it.
 *
 * Pure; any thread.
 */
#ifndef ELASTIC_DECIDE_H
#define ELASTIC_DECIDE_H

#include "elastic/http.h"
#include "elastic/engine.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(identifier, note, meaning for readers of the log) */
#define EL_REASONS(X)                                                                              \
    X(NONE, "", "it was compressed")                                                               \
    X(OFF, "off", "Elastic is Off here")                                                           \
    X(TYPE, "type", "the media type is not in ElasticTypes")                                       \
    X(SMALL, "small", "header and body fit into one TCP segment, or below ElasticMinSize")         \
    X(ENCODED, "encoded", "the body is encoded already, by its header or its first bytes")         \
    X(NOT_ACCEPTABLE, "not-acceptable", "the client takes no coding that is enabled")              \
    X(ENV, "env", "the environment has no-gzip, no-brotli, no-elastic or gzip-only-text/html")     \
    X(NO_TRANSFORM, "no-transform", "the response has Cache-Control: no-transform")                \
    X(RANGE, "range", "the request has Range, or the response Content-Range")                      \
    X(STATUS, "status", "a response with this status has no body to compress")                     \
    X(HEAD, "head", "a HEAD request: the header says what GET would carry")                       \
    X(BYPASS, "bypass", "ElasticBypass: the CPU is too busy even for the lowest levels")           \
    X(NOT_SMALLER, "not-smaller", "it saves no bytes, or the beginning of a stream hardly any")    \
    X(MEMORY, "memory", "ElasticMaxMemory: bodies on their way hold all that they may")            \
    X(TLS_COMPRESSION, "tls-compression", "TLS compresses the connection already")                 \
    X(ERROR, "error", "the encoder failed; the error log says more")

typedef enum {
#define X(id, note, text) EL_REASON_##id,
    EL_REASONS(X)
#undef X
    EL_REASON_COUNT
} el_reason_t;

typedef struct {
    const char *note; /* "" for EL_REASON_NONE */
    const char *text; /* for people */
} el_reason_info_t;

extern const el_reason_info_t el_reasons[EL_REASON_COUNT];

/* The resource: facts of the response and its configuration that are the same for all clients. */
typedef struct {
    int status;
    bool enabled;           /* false if Elastic is Off */
    bool type_listed;       /* the media type is in ElasticTypes */
    bool has_encoding;      /* Content-Encoding other than identity, or a body that looks encoded */
    bool has_content_range;
    bool no_transform;
    bool stock_order;       /* test small and env before Vary is set, as the stock modules do */
} el_resource_t;

/* The request: its fields, and the environment variables that restrict them. */
typedef struct {
    bool head;            /* the method is HEAD */
    bool range_requested; /* it has Range and, if it has If-Range, that holds */
    bool tls_compressed;
    bool env_refused;     /* no-elastic is set */
    bool force;           /* force-gzip: skip the Accept-Encoding test for gzip */
    el_accept_t accept;
    el_coding_t order[EL_CODINGS]; /* the codings enabled for this response, best first */
    size_t order_count;
    size_t env_removed;   /* codings that environment variables took out of `order` */
    el_coding_t available; /* with a dictionary that client and server share; wins ties */
    uint32_t shares[EL_SHARES]; /* see el_setup_t */
    uint16_t q_behind;    /* best weight of a later filter of ours; 0: none */
} el_demand_t;

/* The moment: the load, and the facts of the body that are known by now. */
typedef struct {
    bool bypass;
    bool may_be_cached; /* the cache may have an encoding: do not bypass yet */
    bool size_known;
    uint64_t size;     /* of the body if known, otherwise the bytes seen so far */
    uint64_t min_size; /* smaller bodies are not compressed */
} el_moment_t;

typedef struct {
    el_resource_t resource;
    el_demand_t demand;
    el_moment_t moment;
} el_facts_t;

typedef struct {
    el_coding_t coding; /* EL_IDENTITY: not compressed; see reason */
    el_reason_t reason; /* EL_REASON_HEAD comes with the coding that GET would use */
    bool vary;          /* Accept-Encoding could change the answer */
} el_decision_t;

/*
 * Decides. Callers call it again as more facts become known. The order of the tests is part of the
 * contract: reasons of the resource come before reasons of the request, because only the latter
 * need Vary (RFC 9110 §12.5.5). With `stock_order`, small bodies, environment variables and parts
 * of a body do not set Vary either.
 *
 * A client that refuses identity gets a coding if it accepts one, however small the body.
 */
el_decision_t el_decide(const el_facts_t *facts);

/* True if ElasticBypass forbids to encode the body. A client that refuses identity is exempt. */
bool el_decide_is_bypassed(const el_facts_t *facts);

/*
 * Sizes on the wire: the smallest body whose compression can save a TCP segment, and padding, which
 * hides the length of an encoding.
 *
 * Pure; any thread; all sizes in bytes.
 */

/* IPv4 20 + TCP 20 + timestamps option 12 (RFC 9293 §3.1, RFC 7323 §3.2). IPv6's header is 40. */
#define EL_PACKET_OVERHEAD_IPV4 52
#define EL_PACKET_OVERHEAD_IPV6 72

/*
 * A larger segment size is the loopback's (Linux answers 32768 there): jumbo frames end at 9216.
 * The configured MTU is used instead.
 */
#define EL_PACKET_MSS_MAX 9216

/* A TLS record: 5 + 8 + 16 of TLS 1.2 with AES-GCM, the most that current ciphers add. */
#define EL_PACKET_TLS_RECORD 29

/* Two HTTP/2 frame headers: HEADERS and DATA (RFC 9113 §4.1). */
#define EL_PACKET_H2_FRAMES 18

/*
 * Sent with every response beside its own fields: "HTTP/1.1 " and the line's end 11, Date 37, Vary:
 * Accept-Encoding 23, Connection: close 19, the blank line 2.
 */
#define EL_PACKET_CORE_HEADER 92

typedef struct {
    int mss; /* payload of a segment by the kernel; <= 0: unknown */
    size_t mtu;   /* the link's; used if mss is unknown or too large */
    bool ipv6;    /* the connection's family; used with `mtu` */
    bool tls;
    bool http2;
    size_t header; /* bytes of the response's own status text and fields */
} el_packet_t;

/*
 * The smallest body worth compressing: one byte more than fits into one segment with the header. 1
 * if the header alone fills the segment.
 */
size_t el_packet_min_size(const el_packet_t *packet);

/*
 * Padding: random bytes -> the value of a header field. It protects against attacks that learn a
 * secret from the length of an encoding (BREACH).
 *
 * The length is the sum of two random draws. With one draw, length 0 would be as likely as any
 * other, and the shortest of a few hundred responses would show the encoding's own length.
 *
 * The characters are token characters (RFC 9110 §5.6.2) whose HPACK and QPACK code has 8 bits (RFC
 * 7541 appendix B), so the padding is as long over HTTP/2 and HTTP/3 as over HTTP/1.1, with or
 * without that code. They are random too, so that no dynamic table holds the value already.
 */

/* Half of the 8 KB of header fields that proxies and clients accept. */
#define EL_PADDING_MAX 4096

#define EL_PADDING_FIELD "Elastic-Padding"

/* Random bytes needed for a padding of up to `most` bytes. */
#define EL_PADDING_RANDOM(most) (8 + ((most) + 3) / 4)

/*
 * Makes 0 … `most` characters from the EL_PADDING_RANDOM(most) bytes at `random`, which must be
 * unpredictable. `text` has room for `most` + 1 and is terminated by 0. Returns the length.
 */
size_t el_padding_make(const uint8_t *random, size_t most, char *text);

#endif
