/*
 * The record of one response: what is known of it, and what was decided about it. Each fact is
 * computed once, at its first use, and stays here; whoever has the request finds it with
 * el_response_of(). A file whose type is not listed has none, but for its credentials.
 *
 * A request, and so its record, belongs to one thread at a time.
 */
#ifndef ELASTIC_RESPONSE_RESPONSE_H
#define ELASTIC_RESPONSE_RESPONSE_H

#include "httpd/body/body.h"
#include "httpd/body/encoder.h"
#include "httpd/body/stream.h"
#include "httpd/cache/improver.h"
#include "httpd/cache/waiters.h"
#include "httpd/cache/store.h"
#include "httpd/config/policy.h"
#include "httpd/dictionary/dictionaries.h"
#include "httpd/response/fields.h"
#include "httpd/shared/shared.h"

#include "elastic/accept.h"
#include "elastic/decide.h"
#include "elastic/entry.h"

/* The dictionary that the request names (available.c). */
typedef struct {
    bool rule_sought;   /* `possible` is known */
    bool possible;      /* a dictionary could be used here, by a client that names one */
    bool sought;        /* what follows was looked for */
    unsigned depends;   /* EL_DEPENDS_…: what decided whether who asks may read the response */
    el_coding_t coding; /* one that needs a dictionary; EL_IDENTITY: there is none */
    uint8_t hash[EL_DICTIONARY_HASH]; /* the dictionary's */
    uint32_t shares[EL_SHARES]; /* of el_setup_t, also without a dictionary */
} el_available_t;

/* How the body is encoded (choose.c). */
typedef struct {
    el_coding_t coding;
    el_setup_t setup;
    unsigned set;  /* of EL_CODING_BIT()s: the codings that were equally good */
    bool by_costs; /* what setups cost has a part in it */
    bool tried;    /* its cost is to be measured, whatever the others are */
    bool bounded;  /* it may have no more bytes than an httpd without this module would make */
} el_choice_t;

/*
 * What the store of encodings knows of the body (cached.c); zeroed: nothing, and nothing is kept.
 */
typedef struct {
    bool again;        /* it had been seen of late, so what it is encoded to is kept */
    el_name_t name;    /* of the body */
    bool is_file;      /* it is the name of a file */
    int descriptor;    /* of that */
    el_file_id_t file; /* its numbers, before anybody read it */
    el_target_t target; /* what an encoding of it may become while CPU time is spare */
    el_found_t found;  /* its entry, but for the data, stays readable where its buffer is gone */
    el_waiters_t waiters; /* others may wait for what is made of it */
    bool looked;       /* for an encoding */
    el_meter_t meter;  /* the time of that */
    bool used;         /* what was found goes out */
} el_cached_t;

/* For how much of a body, and how long, its end is waited for. */
typedef struct {
    uint64_t least; /* bytes, below which a pause of the producer may take until the end */
    uint64_t most;  /* bytes, from which on nothing is waited for */
    bool events;    /* each is to go out at once: text/event-stream */
    uint64_t until; /* the waiting ends: µs of el_clock_usec() */
    uint64_t pause; /* µs of a pause, from `least` on */
} el_wait_t;

/* What a brigade has, by its buckets' lengths. */
typedef struct {
    bool ended;    /* EOS is there */
    bool complete; /* and every length is known */
    bool plain;    /* nothing but data, FLUSH and EOS is there */
    uint64_t size; /* bytes of data of known length */
} el_measure_t;

/* Where a response stands that one of our filters has (output.c). */
typedef enum {
    EL_PHASE_BEGIN,  /* no filter has seen any of it */
    EL_PHASE_HELD,   /* the decision waits for more of the body */
    EL_PHASE_STREAM, /* each brigade is encoded as it comes */
    EL_PHASE_DROP    /* HEAD: what is left of the body is dropped */
} el_phase_t;

typedef struct {
    /* The output chain, as insertion.c found it. */
    unsigned char installed[EL_RECORDS]; /* where our compressors are, from 1; 0: not there */
    bool harness;            /* a harness of mod_filter is there, whose filters are not visible */
    bool encodable;          /* one of ours may encode the response: none where INFLATE is alone */
    bool harnessed;          /* AddOutputFilterByType's too: mod_filter says whether ours run */
    bool inflates;           /* INFLATE is there */
    const char *listed_type; /* the response's type, where ElasticTypes was found to have it */

    /* What the client has sent. */
    bool accept_known;
    el_accept_t accept;
    const char *cookie, *authorization; /* before other modules could take them away */
    const char *if_none_match;          /* where conditional.c extended it; or NULL */
    bool names_tags; /* by If-None-Match: see el_not_modified_now() */
    bool tagged; /* a 304 has its tag */
    bool origin_known;
    const char *origin; /* NULL: browsers use no dictionaries of it */
    el_available_t available;

    /* What the controller says, read at the first decision that needs it. */
    bool control_read, effort_known;
    el_control_state_t control;
    el_effort_t effort; /* at the rate of the client's connection */

    /* The decision of the compressing filter that has the response. */
    bool claimed; /* one of ours has decided for all: others step aside */
    const ap_filter_t *filter;
    el_policy_t policy;
    el_facts_t facts;
    el_fields_t fields; /* as they were when the facts were read */
    unsigned behind; /* the roles of the filters behind it */

    /* The body, while the decision waits. */
    el_phase_t phase;
    bool announced;     /* there is a Content-Length to rely on, as `length` has it */
    uint64_t length;
    el_measure_t measure; /* of the first brigade */
    bool min_size_read; /* facts.moment.min_size is computed */
    bool waits;         /* the body's end is waited for, as `wait` says */
    el_wait_t wait;
    apr_bucket_brigade *held;

    /* The encoding. */
    bool whole;   /* the body is complete, and encoded in one call */
    bool planned; /* `choice` and encoder.plan are those of the body */
    el_choice_t choice;
    double expected_usec; /* of CPU time, where ElasticExplain is On; 0: the length is not known */
    el_cached_t cached;
    bool gathered; /* `body` has the complete body */
    el_whole_t body;
    el_encoder_t encoder;
    el_stream_t stream;
} el_response_t;

/*
 * The request's record where it was made, else NULL: then no filter of ours is in the chain. An
 * internal redirect's request has its own.
 */
static inline el_response_t *el_response_find(const request_rec *r)
{
    return ap_get_module_config(r->request_config, el_record_of_requests());
}

/* The same, made at the first call. */
el_response_t *el_response_make(request_rec *r);

static inline el_response_t *el_response_of(request_rec *r)
{
    el_response_t *response = el_response_find(r);

    return response ? response : el_response_make(r);
}

/* What the request accepts, among all codings: as it was when it was read last. */
const el_accept_t *el_response_accept(request_rec *r);

/*
 * Reads the field anew. Others take it away, so that a backend does not encode, and give it back
 * for the filters: what is there when a filter begins is what counts.
 */
void el_response_read_accept(request_rec *r);

/* Whether the filter of `record` is in the output chain, or may be within a harness. */
bool el_response_may_run(request_rec *r, el_record_t record);

/*
 * The same as el_response_accept(), without the codings that no filter of ours would give here:
 * what a dynamic coding can be.
 */
el_accept_t el_response_enabled(request_rec *r);

/*
 * Puts into `order` those of a record's codings that no-gzip, no-brotli and gzip-only-text/html
 * allow, best first; returns how many.
 */
size_t el_response_codings(request_rec *r, el_record_t record, el_coding_t *order);

/* Whether the environment (SetEnv no-gzip, …) allows a coding for this request. */
bool el_response_env_allows(request_rec *r, el_coding_t coding);

/* Whether If-Range is there and holds a date instead of a tag (RFC 9110 §13.1.5). */
bool el_response_dated_range(const request_rec *r);

/* Whether the request asks for a Range, in either spelling that httpd accepts. */
bool el_response_has_range(const request_rec *r);

/*
 * Whether a Range request of a negotiated resource is to get the whole: its If-Range holds a date,
 * which all representations share, so that a slice of one would be spliced onto a prefix of
 * another; or a tag that is weak or not this response's, and so does not match (RFC 9110 §13.1.5).
 */
bool el_response_void_range(const request_rec *r);

/* Makes it a request for the whole. */
void el_response_drop_range(request_rec *r);

/*
 * What the controller says, for all decisions about this response: read once, and anew only after
 * el_response_forget_control().
 */
el_control_state_t el_response_control(request_rec *r);
el_effort_t el_response_effort(request_rec *r);

/* The response was waited for longer than the controller's interval. */
void el_response_forget_control(request_rec *r);

/*
 * In post_read_request: notes the credentials of a request that has some, because modules take them
 * out before the response is made (RequestHeader unset, mod_auth_openidc, mod_session_cookie).
 * Behind mod_headers, whose `RequestHeader … early` says that nobody is to see a field, and before
 * whoever authenticates.
 */
int el_response_note_credentials(request_rec *r);

/* Whether the client has sent Authorization, whatever became of it. */
bool el_response_sent_authorization(request_rec *r);

/*
 * What tells one visitor from another: credentials as the client sent them and as they are now, the
 * user that httpd authenticated, the client's certificate. The texts live as long as the request.
 */
el_visitor_t el_response_visitor(request_rec *r);

/*
 * The origin that the browser sees (RFC 6454 §4), as in an entry of elastic/dictionary.h. NULL
 * where browsers use no dictionaries of it: it is not https, nor a name of this machine that was
 * asked for from this machine; and where the host is none of the names of the virtual host, so that
 * nobody has dictionaries kept for names that he makes up.
 */
const char *el_response_origin(request_rec *r);

/*
 * The path of the request as the browser has sent it, with the query: not that of an internal
 * redirect, because the browser compares it with the rule of its dictionary, too.
 */
const char *el_response_target(request_rec *r);

#endif
