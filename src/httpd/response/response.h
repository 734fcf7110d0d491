/*
 * The record of one response: its facts, each computed once at its first use, and the decisions.
 * Functions that httpd calls find the record with el_response_of() and pass it on. A file of an
 * unlisted type has no record, unless the request had credentials. One thread at a time uses it.
 */
#ifndef ELASTIC_RESPONSE_RESPONSE_H
#define ELASTIC_RESPONSE_RESPONSE_H

#include "httpd/body/body.h"
#include "httpd/body/encoder.h"
#include "httpd/cache/store.h"
#include "httpd/cache/local.h"
#include "httpd/config/config.h"
#include "httpd/dictionary/dictionaries.h"
#include "httpd/response/header.h"
#include "httpd/shared/shared.h"

#include "elastic/http.h"
#include "elastic/decide.h"
#include "elastic/entry.h"

/* The dictionary that the request names (available.c). */
typedef struct {
    bool rule_sought;   /* `possible` is known */
    bool possible;      /* a client that names a dictionary could use it here */
    bool sought;        /* the fields below are filled in */
    unsigned depends;   /* EL_DEPENDS_…: the fields that decided whether the reader may have it */
    el_coding_t coding; /* a coding that needs a dictionary; EL_IDENTITY: there is none */
    uint8_t hash[EL_DICTIONARY_HASH]; /* of the dictionary */
    uint32_t shares[EL_SHARES]; /* as in el_setup_t; set even if no dictionary is used */
} el_available_t;

/* How the body will be encoded (choose.c). */
typedef struct {
    el_coding_t coding;
    el_setup_t setup;
    unsigned set;  /* EL_CODING_BIT()s of the codings that the client likes equally */
    bool by_costs; /* the measured costs had a part in the choice */
    bool tried;    /* el_choose_trial() chose it: measure its cost in any case */
    bool bounded;  /* must make no more bytes than an httpd without this module */
} el_choice_t;

/* The cache's part (cached.c). Zeroed: nothing is known, and nothing will be stored. */
typedef struct {
    bool again;        /* seen recently: cache its encoding */
    el_name_t name;    /* of the body */
    bool is_file;      /* `name` is made from a file's numbers */
    int descriptor;    /* that file */
    el_file_id_t file; /* its numbers, read before its content was */
    el_target_t target; /* the best that the idle thread may make of it */
    el_found_t found;  /* the entry found; all but its data stays readable after release */
    el_waiters_t waiters; /* other threads that may wait for this encoding */
    bool looked;       /* a look-up was made */
    el_meter_t meter;  /* measures the look-up */
    bool used;         /* the entry found is sent */
} el_cached_t;

/* How much of a body to wait for, and how long. */
typedef struct {
    uint64_t least; /* bytes; with fewer, waits for the producer until `until` */
    uint64_t most;  /* bytes; with this many, does not wait */
    bool events;    /* text/event-stream: sends each event at once */
    uint64_t until; /* end of the wait, µs of el_clock_usec() */
    uint64_t pause; /* the longest pause of the producer once `least` is there, µs */
} el_wait_t;

/* What our filter does with the response (filter.c). */
typedef enum {
    EL_PHASE_BEGIN,  /* it has not seen the body */
    EL_PHASE_HELD,   /* the decision waits for more of the body */
    EL_PHASE_STREAM, /* encodes each brigade as it comes */
    EL_PHASE_DROP    /* HEAD: drops the rest of the body */
} el_phase_t;

typedef struct {
    request_rec *r;

    /* The output chain, as el_filter_insert() found it. */
    unsigned char installed[EL_RECORDS]; /* our compressors' order, from 1; 0: absent */
    bool harness;            /* a harness of mod_filter is there; what it runs is unknown */
    bool encodable;          /* one of our compressors may run; INFLATE does not count */
    bool harnessed;          /* `harness`, or ours run under AddOutputFilterByType */
    bool inflates;           /* INFLATE is in the chain */
    const char *listed_type; /* the content type, if ElasticTypes is known to list it */

    /* The request, as the client sent it. */
    bool accept_known;
    el_accept_t accept;
    const char *cookie, *authorization; /* noted before other modules can remove them */
    const char *if_none_match;          /* the original, if conditional.c extended it; else NULL */
    bool names_tags; /* If-None-Match may still make it a 304: el_not_modified_now() */
    bool tagged; /* a 304 with its final tag */
    bool origin_known;
    const char *origin; /* NULL: browsers use no dictionaries from here */
    el_available_t available;

    /* The controller's state, read at the first decision that needs it. */
    bool control_read, effort_known;
    el_control_state_t control;
    el_effort_t effort; /* at the rate of the client's connection */

    /* The decision of the compressing filter that has the response. */
    bool claimed; /* a filter of ours has decided: the others step aside */
    ap_filter_t *filter;
    el_policy_t policy;
    el_facts_t facts;
    el_fields_t fields; /* the header fields, as the facts were read from them */
    unsigned behind; /* the roles of the filters after this one */

    /* The body while the decision waits. */
    el_phase_t phase;
    bool announced;     /* Content-Length is reliable; `length` has it */
    uint64_t length;
    el_measure_t measure; /* of the first brigade, then of all that was held */
    bool min_size_read; /* facts.moment.min_size is set */
    bool waits;         /* waits for the body's end, as `wait` says */
    el_wait_t wait;
    apr_bucket_brigade *held;

    /* The encoding. */
    bool whole;   /* the body is complete; encode it in one call */
    bool planned; /* `choice` and encoder.plan are set */
    el_choice_t choice;
    double expected_usec; /* CPU time, with ElasticExplain; 0: no length */
    el_cached_t cached;
    bool gathered; /* `body` holds the complete body */
    el_whole_t body;
    el_encoder_t encoder;
    el_stream_t stream;
} el_response_t;

/*
 * The request's record, or NULL if none was made: then no filter of ours is in the chain. An
 * internal redirect's request has its own.
 */
static inline el_response_t *el_response_find(const request_rec *r)
{
    return ap_get_module_config(r->request_config, el_record_of_requests());
}

el_response_t *el_response_make(request_rec *r);

/* The record; makes it at the first call. */
static inline el_response_t *el_response_of(request_rec *r)
{
    el_response_t *response = el_response_find(r);

    return response ? response : el_response_make(r);
}

/* The request's Accept-Encoding, as last read, with all codings. */
const el_accept_t *el_response_accept(el_response_t *response);

/*
 * Reads the field again. Some modules hide it from backends and restore it for the filters, so the
 * value at the time when a filter begins counts.
 */
void el_response_read_accept(el_response_t *response);

/* True if the filter of `record` is in the output chain, or possibly inside a harness. */
bool el_response_may_run(const el_response_t *response, el_record_t record);

/* As el_response_accept(), but only with the codings that our filters may give here. */
el_accept_t el_response_enabled(el_response_t *response);

/*
 * Puts the codings of `record` that no-gzip, no-brotli and gzip-only-text/html allow into `order`,
 * best first. Returns their number.
 */
size_t el_response_codings(const el_response_t *response, el_record_t record, el_coding_t *order);

/* True if the environment (SetEnv no-gzip, …) allows the coding for this request. */
bool el_response_env_allows(const request_rec *r, el_coding_t coding);

/*
 * The facts that the header gives to a filter of policy->record. Leaves out those of the body,
 * `q_behind` and the dictionary (el_available_add()). `by_type`: AddOutputFilterByType selected the
 * type. Sets response->fields.
 */
el_facts_t el_response_facts(el_response_t *response, const el_policy_t *policy, bool by_type);

/*
 * The size in bytes below which the body stays uncompressed. With ElasticMinSize auto, bodies that
 * fit into one TCP segment with the header do. `size` is the body's as far as known; for one that
 * is larger than every segment, the socket is not asked.
 */
uint64_t el_response_min_size(const el_response_t *response, const el_policy_t *policy,
                              uint64_t size);

/* True if If-Range has a date instead of a tag (RFC 9110 §13.1.5). */
bool el_response_dated_range(const request_rec *r);

/* True if the request has Range or Request-Range in bytes. */
bool el_response_has_range(const request_rec *r);

/*
 * True if a Range request must get the whole because its If-Range cannot match a negotiated
 * response (RFC 9110 §13.1.5): it has a date, which all encodings share, or a weak or other tag.
 */
bool el_response_void_range(const request_rec *r);

/* Turns it into a request for the whole. */
void el_response_drop_range(request_rec *r);

/*
 * The controller's state for all decisions about this response. Read once, and again only after a
 * wait longer than the controller's interval (hold.c).
 */
el_control_state_t el_response_control(el_response_t *response);

/* The effort that this state means, for the rate of the client's connection. */
el_effort_t el_response_effort(el_response_t *response);

/*
 * In post_read_request: notes the credentials, because other modules remove them before the
 * response is made (RequestHeader unset, mod_auth_openidc, mod_session_cookie). Runs before
 * authentication, but after mod_headers: fields that `RequestHeader … early` removes do not count.
 */
int el_response_note_credentials(request_rec *r);

/* True if the client sent Authorization, even if another module has removed it. */
bool el_response_sent_authorization(request_rec *r);

/*
 * The texts that tell visitors apart: credentials as sent and as they are now, the user, the client
 * certificate. They live as long as the request.
 */
el_visitor_t el_response_visitor(request_rec *r);

/*
 * The origin that the browser sees (RFC 6454 §4), as in an entry of elastic/dictionary.h. NULL if
 * browsers use no dictionaries there, because it is neither https nor loopback; and if the virtual
 * host does not have that name, so that clients cannot have dictionaries stored for invented hosts.
 */
const char *el_response_origin(el_response_t *response);

/*
 * The path and query that the browser sent, and compares with its dictionary's rule; never those of
 * an internal redirect.
 */
const char *el_response_target(request_rec *r);

#endif
