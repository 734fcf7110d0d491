/*
 * The record of one response: its facts, each computed once, at its first use, and the decisions.
 * Functions that httpd calls find the record with el_response_of(), and hand it on. A file whose
 * type is not listed has none, but for its credentials. It belongs to one thread at a time.
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
    bool possible;      /* a dictionary could be used here, by a client that names one */
    bool sought;        /* the fields below are filled in */
    unsigned depends;   /* EL_DEPENDS_…: what decided whether the reader may have the response */
    el_coding_t coding; /* one that needs a dictionary; EL_IDENTITY: there is none */
    uint8_t hash[EL_DICTIONARY_HASH]; /* the dictionary's */
    uint32_t shares[EL_SHARES]; /* of el_setup_t, also without a dictionary */
} el_available_t;

/* How the body is encoded (choose.c). */
typedef struct {
    el_coding_t coding;
    el_setup_t setup;
    unsigned set;  /* of EL_CODING_BIT()s: the codings that were equally good */
    bool by_costs; /* the costs of setups have a part in it */
    bool tried;    /* its cost is to be measured, whatever the others are */
    bool bounded;  /* it may have no more bytes than an httpd without this module would make */
} el_choice_t;

/* The knowledge of the store of encodings; zeroed: none, and nothing is kept. */
typedef struct {
    bool again;        /* seen recently: its encoding is kept */
    el_name_t name;    /* of the body */
    bool is_file;      /* it is the name of a file */
    int descriptor;    /* of that */
    el_file_id_t file; /* its numbers, before anybody read it */
    el_target_t target; /* what an encoding of it may become while CPU time is spare */
    el_found_t found;  /* its entry, but for the data, stays readable when its buffer is gone */
    el_waiters_t waiters; /* other threads may wait for the encoding */
    bool looked;       /* for an encoding */
    el_meter_t meter;  /* the time of that */
    bool used;         /* what was found goes out */
} el_cached_t;

/* How much of a body is waited for, and how long. */
typedef struct {
    uint64_t least; /* bytes; with fewer, a pause of the producer may last until `until` */
    uint64_t most;  /* bytes; with as many, nothing is waited for */
    bool events;    /* each is to go out at once: text/event-stream */
    uint64_t until; /* the waiting ends: µs of el_clock_usec() */
    uint64_t pause; /* µs of a pause, from `least` on */
} el_wait_t;

/* The state of a response that one of our filters has (filter.c). */
typedef enum {
    EL_PHASE_BEGIN,  /* no filter has seen any of it */
    EL_PHASE_HELD,   /* the decision waits for more of the body */
    EL_PHASE_STREAM, /* each brigade is encoded as it comes */
    EL_PHASE_DROP    /* HEAD: what is left of the body is dropped */
} el_phase_t;

typedef struct {
    request_rec *r;

    /* The output chain, as el_filter_insert() found it. */
    unsigned char installed[EL_RECORDS]; /* where our compressors are, from 1; 0: not there */
    bool harness;            /* a harness of mod_filter is there, whose filters are not visible */
    bool encodable;          /* one of ours may encode the response; not if INFLATE is alone */
    bool harnessed;          /* AddOutputFilterByType's too: mod_filter says whether ours run */
    bool inflates;           /* INFLATE is there */
    const char *listed_type; /* the response's type, if ElasticTypes was found to have it */

    /* The request, as the client sent it. */
    bool accept_known;
    el_accept_t accept;
    const char *cookie, *authorization; /* before other modules could take them away */
    const char *if_none_match;          /* as it came, if conditional.c extended it; or NULL */
    bool names_tags; /* by If-None-Match: see el_not_modified_now() */
    bool tagged; /* a 304 has its tag */
    bool origin_known;
    const char *origin; /* NULL: browsers use no dictionaries of it */
    el_available_t available;

    /* The controller, read at the first decision that needs it. */
    bool control_read, effort_known;
    el_control_state_t control;
    el_effort_t effort; /* at the rate of the client's connection */

    /* The decision of the compressing filter that has the response. */
    bool claimed; /* one of ours has decided for all: others step aside */
    ap_filter_t *filter;
    el_policy_t policy;
    el_facts_t facts;
    el_fields_t fields; /* as they were when the facts were read */
    unsigned behind; /* the roles of the filters behind it */

    /* The body, while the decision waits. */
    el_phase_t phase;
    bool announced;     /* there is a Content-Length to rely on, as `length` has it */
    uint64_t length;
    el_measure_t measure; /* of the first brigade, then of all that was held */
    bool min_size_read; /* facts.moment.min_size is computed */
    bool waits;         /* for the body's end, as `wait` says */
    el_wait_t wait;
    apr_bucket_brigade *held;

    /* The encoding. */
    bool whole;   /* the body is complete, and encoded in one call */
    bool planned; /* `choice` and encoder.plan are those of the body */
    el_choice_t choice;
    double expected_usec; /* of CPU time, if ElasticExplain is On; 0: the length is not known */
    el_cached_t cached;
    bool gathered; /* `body` has the complete body */
    el_whole_t body;
    el_encoder_t encoder;
    el_stream_t stream;
} el_response_t;

/*
 * The request's record if it was made, else NULL: then no filter of ours is in the chain. The
 * request of an internal redirect has its own.
 */
static inline el_response_t *el_response_find(const request_rec *r)
{
    return ap_get_module_config(r->request_config, el_record_of_requests());
}

/* Makes the record. */
el_response_t *el_response_make(request_rec *r);

/* The record, made at the first call. */
static inline el_response_t *el_response_of(request_rec *r)
{
    el_response_t *response = el_response_find(r);

    return response ? response : el_response_make(r);
}

/* The request's Accept-Encoding, among all codings, as it was when it was read last. */
const el_accept_t *el_response_accept(el_response_t *response);

/*
 * Reads the field anew. Other modules take it away, so that a backend does not encode, and give it
 * back for the filters: the field counts that is there when a filter begins.
 */
void el_response_read_accept(el_response_t *response);

/* The filter of `record` is in the output chain, or may be within a harness. */
bool el_response_may_run(const el_response_t *response, el_record_t record);

/*
 * The same as el_response_accept(), without the codings that no filter of ours would give here: the
 * dynamic codings that are possible.
 */
el_accept_t el_response_enabled(el_response_t *response);

/*
 * Puts into `order` those of a record's codings that no-gzip, no-brotli and gzip-only-text/html
 * allow, best first; returns how many.
 */
size_t el_response_codings(const el_response_t *response, el_record_t record, el_coding_t *order);

/* The environment (SetEnv no-gzip, …) allows a coding for this request. */
bool el_response_env_allows(const request_rec *r, el_coding_t coding);

/*
 * The facts that the header gives of a response before a filter of policy->record: without the
 * body's, `q_behind` and the dictionary (el_available_add()). `by_type`: AddOutputFilterByType has
 * judged the type. The record keeps the fields.
 */
el_facts_t el_response_facts(el_response_t *response, const el_policy_t *policy, bool by_type);

/*
 * Bytes below which the body stays as it is; by ElasticMinSize auto, those that fit one TCP segment
 * together with the header. `size` is that of the body, as far as known: the socket is not asked if
 * it is beyond every segment.
 */
uint64_t el_response_min_size(const el_response_t *response, const el_policy_t *policy,
                              uint64_t size);

/* If-Range is there and holds a date instead of a tag (RFC 9110 §13.1.5). */
bool el_response_dated_range(const request_rec *r);

/* The request asks for a Range, in either spelling that httpd accepts. */
bool el_response_has_range(const request_rec *r);

/*
 * A Range request of a negotiated resource is to get the whole (RFC 9110 §13.1.5): its If-Range
 * holds a date, which all representations share, or a tag that is weak or not this response's.
 */
bool el_response_void_range(const request_rec *r);

/* Makes it a request for the whole. */
void el_response_drop_range(request_rec *r);

/*
 * The controller's state, for all decisions about this response: read once, and anew only after a
 * wait that was longer than the controller's interval (hold.c).
 */
el_control_state_t el_response_control(el_response_t *response);

/* The same as an effort, at the rate of the client's connection. */
el_effort_t el_response_effort(el_response_t *response);

/*
 * In post_read_request: notes the credentials, because modules take them out before the response is
 * made (RequestHeader unset, mod_auth_openidc, mod_session_cookie). Runs behind mod_headers, so
 * that nobody sees a field that `RequestHeader … early` takes away, and before authentication.
 */
int el_response_note_credentials(request_rec *r);

/* The client has sent Authorization, whatever became of it. */
bool el_response_sent_authorization(request_rec *r);

/*
 * The texts that tell one visitor from another: credentials as sent and as they are now, the user,
 * the client's certificate. They live as long as the request.
 */
el_visitor_t el_response_visitor(request_rec *r);

/*
 * The origin that the browser sees (RFC 6454 §4), as in an entry of elastic/dictionary.h. NULL if
 * browsers use no dictionaries of it, because it is neither https nor this machine's own; or if the
 * host is no name of the virtual host: nobody has dictionaries kept for names that he makes up.
 */
const char *el_response_origin(el_response_t *response);

/*
 * The path and query as the browser has sent them, which it compares with its dictionary's rule:
 * not those of an internal redirect.
 */
const char *el_response_target(request_rec *r);

#endif
