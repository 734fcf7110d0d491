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

/* X(identifier, note, what it means to the one who reads the log) */
#define EL_REASONS(X)                                                                              \
    X(NONE, "", "it was compressed")                                                               \
    X(OFF, "off", "Elastic is Off here")                                                           \
    X(TYPE, "type", "the media type is not in ElasticTypes")                                       \
    X(SMALL, "small", "header and body fit into one TCP segment, or below ElasticMinSize")         \
    X(ENCODED, "encoded", "the body is encoded already, by its header or its first bytes")         \
    X(NOT_ACCEPTABLE, "not-acceptable", "the client takes no coding that is enabled")              \
    X(ENV, "env", "no-gzip, no-brotli, no-elastic or gzip-only-text/html is set")                  \
    X(NO_TRANSFORM, "no-transform", "the response has Cache-Control: no-transform")                \
    X(RANGE, "range", "the request has Range, or the response Content-Range")                      \
    X(STATUS, "status", "a response with this status has no body to compress")                     \
    X(HEAD, "head", "a HEAD request: the header says what GET would carry")                       \
    X(BYPASS, "bypass", "ElasticBypass: the CPU is too busy even for the floor")                   \
    X(NOT_SMALLER, "not-smaller", "the encoded body was no smaller, or a trial of it hardly was") \
    X(MEMORY, "memory", "ElasticMaxMemory: bodies on their way hold all that they may")            \
    X(TLS_COMPRESSION, "tls-compression", "TLS compresses the connection already")                 \
    X(ERROR, "error", "the encoder failed; the error log says more")

typedef enum {
#define X(id, note, text) EL_REASON_##id,
    EL_REASONS(X)
#undef X
    EL_REASON_COUNT
} el_reason_t;

/* The note of `reason`, "" for EL_REASON_NONE. */
const char *el_reason_note(el_reason_t reason);

/* A sentence for people. */
const char *el_reason_text(el_reason_t reason);

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
    uint64_t size;     /* of the body, where known; where not: the bytes seen so far */
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
 * A client that refuses identity gets a coding where it takes one, however small the body.
 */
el_decision_t el_decide(const el_facts_t *facts);

/*
 * True if ElasticBypass forbids to encode the body. A client that refuses identity gets its coding.
 */
bool el_decide_is_bypassed(const el_facts_t *facts);

#endif
