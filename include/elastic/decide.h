/*
 * The decision: everything known of a response -> compress with which coding, or a named reason not
 * to.
 *
 * The reason is the log's note, the status page's counter and the test's assertion. A new reason is
 * one row of EL_REASONS; the compiler then asks is_final() in src/httpd/response/send.c about it.
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

/* X(identifier, note, what it means to the one who reads the log) */
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

/* The resource: the response, and what the configuration says of it, whoever asks. */
typedef struct {
    int status;
    bool enabled;           /* false if Elastic is Off */
    bool type_listed;       /* the media type is in ElasticTypes */
    bool has_encoding;      /* a Content-Encoding other than identity, or a body that begins so */
    bool has_content_range;
    bool no_transform;
    bool stock_order;       /* small and env are found out before Vary, as the stock modules do */
} el_resource_t;

/* The request: what the client asks for, and what its environment takes away. */
typedef struct {
    bool head;            /* the method is HEAD */
    bool range_requested; /* it asks for a Range that holds */
    bool tls_compressed;
    bool env_refused;     /* no-elastic is set */
    bool force;           /* force-gzip: the Accept-Encoding test is skipped for gzip */
    el_accept_t accept;
    el_coding_t order[EL_CODINGS]; /* the codings enabled for this response, best first */
    size_t order_count;
    size_t env_removed;   /* how many codings the environment took out of `order` */
    el_coding_t available; /* of a dictionary that client and server share; before equals */
    uint32_t shares[EL_SHARES]; /* of el_setup_t */
    uint16_t q_behind;    /* the best weight of a coding of our filters behind this one; 0: none */
} el_demand_t;

/* The moment: the load, and what of the body is known by now. */
typedef struct {
    bool bypass;
    bool may_be_cached; /* an encoding may be there already, which takes no CPU: no bypass yet */
    bool size_known;
    uint64_t size;     /* of the body if known, otherwise the bytes seen so far */
    uint64_t min_size; /* smaller bodies stay as they are */
} el_moment_t;

typedef struct {
    el_resource_t resource;
    el_demand_t demand;
    el_moment_t moment;
} el_facts_t;

typedef struct {
    el_coding_t coding; /* EL_IDENTITY: not compressed, see reason */
    el_reason_t reason; /* EL_REASON_HEAD comes with a coding: the one that GET would carry */
    bool vary;          /* the answer depended, or could have depended, on Accept-Encoding */
} el_decision_t;

/*
 * Decides; called again as more facts are known. The order of the tests is part of the contract:
 * what the resource rules out comes before what the request rules out, because only the latter
 * needs Vary (RFC 9110 §12.5.5). With `stock_order` small bodies, environment variables and parts
 * of a body leave Vary alone, too.
 *
 * A client that refuses identity gets a coding if it takes one, however small the body.
 */
el_decision_t el_decide(const el_facts_t *facts);

/*
 * True if ElasticBypass forbids to encode the body. A client that refuses identity gets its coding.
 */
bool el_decide_is_bypassed(const el_facts_t *facts);

/*
 * The lengths of what goes out: from which body size on compression can save a TCP segment at all,
 * and padding, which hides the length of an encoding.
 *
 * Pure; any thread; all sizes in bytes.
 */

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
    size_t mtu;   /* the link's, used if mss is unknown or beyond EL_PACKET_MSS_MAX */
    bool ipv6;    /* the connection's family, for the same case */
    bool tls;
    bool http2;
    size_t header; /* bytes of its own status text and fields, beside EL_PACKET_CORE_HEADER */
} el_packet_t;

/*
 * The smallest body worth compressing: one byte more than fits into one segment together with the
 * response's header. 1 if the header alone fills it.
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

/* How many random bytes a padding of up to `most` bytes is made of. */
#define EL_PADDING_RANDOM(most) (8 + ((most) + 3) / 4)

/*
 * Makes 0 … `most` characters of the EL_PADDING_RANDOM(most) bytes at `random`, which nobody must
 * be able to predict. `text` has room for `most` + 1; it ends with 0. Returns the length.
 */
size_t el_padding_make(const uint8_t *random, size_t most, char *text);

#endif
