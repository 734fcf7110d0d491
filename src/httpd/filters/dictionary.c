#include "httpd/filters/dictionary.h"

#include "httpd/base/filter_names.h"
#include "httpd/body/body.h"
#include "httpd/config/settings.h"
#include "httpd/dictionary/dictionaries.h"
#include "httpd/response/fields.h"
#include "httpd/response/origin.h"
#include "httpd/response/request.h"
#include "httpd/state/shared.h"

#include "elastic/dictionary.h"
#include "elastic/structured.h"
#include "host/clock.h"

#include "apr_date.h"
#include "apr_strings.h"
#include "util_filter.h"

/*
 * How long the end of a body is waited for. It is one that the operator has named, which a browser
 * fetches when it has nothing else to do.
 */
#define PATIENCE 10000000 /* µs */

/*
 * Of a member's name, its quotes and what is between members; and each character of a value may be
 * escaped.
 */
#define FIELD_ROOM (2 * (EL_MATCH_ROOM + EL_DEST_ROOM + EL_ID_ROOM) + 256)

/* Of one response. */
typedef struct {
    const el_dictionary_rule_t *rule;
    const char *origin;
    uint64_t lifetime; /* seconds for which the browser uses the dictionary; 0: not at all */
    uint64_t seen;     /* bytes of the body */
    uint64_t until;    /* its end is waited for: µs of el_clock_usec() */
    apr_bucket_brigade *held;
} making_t;

static ap_filter_rec_t *record;

/* Seconds by Expires, counted from Date, which httpd has not set yet (RFC 9111 §4.2.1). */
static uint64_t seconds_until_expires(const request_rec *r)
{
    const char *field = el_field(r, "Expires");
    apr_time_t at = field ? apr_date_parse_http(field) : 0;

    return at > r->request_time ? (uint64_t)apr_time_sec(at - r->request_time) : 0;
}

/* How long a browser that shares with nobody uses the response; 0: it may not, or none says. */
static uint64_t lifetime_of(request_rec *r)
{
    el_cache_control_t control = el_fields_cache_control(r);

    if (control.no_store || control.no_cache) {
        return 0;
    }
    return control.has_max_age ? control.max_age : seconds_until_expires(r);
}

static bool has_token(request_rec *r, const char *name, const char *token)
{
    const char *lines = el_field_lines(r, name);

    return lines && ap_find_token(r->pool, lines, token);
}

/* Whether nothing that the client has sent, or is, may have a part in the body. */
static bool is_for_anyone(request_rec *r)
{
    return !r->user && !el_fields_cache_control(r).only_mine && !has_token(r, "Vary", "Cookie")
           && !has_token(r, "Vary", "*") && !has_token(r, "Vary", "Authorization")
           && !apr_table_get(r->headers_in, "Authorization") && !el_field(r, "Set-Cookie")
           && !el_field(r, "Set-Cookie2");
}

static bool is_document(const request_rec *r)
{
    static const char *const types[] = {"text/html", "application/xhtml+xml"};

    for (size_t i = 0; r->content_type && i < sizeof(types) / sizeof(types[0]); i++) {
        size_t len = strlen(types[i]);

        if (strncasecmp(r->content_type, types[i], len) == 0
            && strchr("; \t", r->content_type[len])) {
            return true;
        }
    }
    return false;
}

static void add_link(request_rec *r)
{
    const char *url = el_dir_dictionary_link(el_dir_of(r));

    if (url && r->status == HTTP_OK && is_document(r)) {
        apr_table_addn(r->headers_out, "Link",
                       apr_pstrcat(r->pool, "<", url, ">; rel=\"compression-dictionary\"", NULL));
    }
}

/* Whether a precompressed file is sent: then the response was taken before any filter could. */
static bool is_sibling(request_rec *r)
{
    return el_request_of(r)->claimed && r->finfo.filetype == APR_REG;
}

/* NULL where the response does not become a dictionary, whatever its body. */
static making_t *begin(request_rec *r)
{
    const el_dictionary_rule_t *rule = el_dir_dictionary(el_dir_of(r));
    const char *origin = el_origin_of(r);
    making_t *making;
    uint64_t lifetime, length;

    if (!origin) {
        return NULL;
    }
    add_link(r);
    if (!rule || r->status != HTTP_OK || r->method_number != M_GET || r->header_only
        || el_request_has_range(r) || (el_fields_encoded(r) && !is_sibling(r))
        || !is_for_anyone(r)
        || (el_fields_length(r, &length) && length > el_dictionaries_most())) {
        return NULL;
    }
    lifetime = lifetime_of(r);
    if (!lifetime) {
        return NULL;
    }
    making = apr_pcalloc(r->pool, sizeof(*making));
    making->rule = rule;
    making->origin = origin;
    making->lifetime = lifetime;
    making->until = el_clock_usec() + PATIENCE;
    return making;
}

/*
 * False where a text is too long. A browser may use a dictionary for somewhat longer than it was
 * given out for: after a 304 it begins to count anew.
 */
static bool describe(const request_rec *r, const making_t *making, el_dictionary_entry_t *entry)
{
    const char *target = el_origin_target(r);
    size_t len = strcspn(target, "?");

    memset(entry, 0, sizeof(*entry));
    if (len >= sizeof(entry->path)) {
        return false;
    }
    memcpy(entry->path, target, len);
    apr_cpystrn(entry->origin, making->origin, sizeof(entry->origin));
    apr_cpystrn(entry->match, making->rule->match, sizeof(entry->match));
    apr_cpystrn(entry->dest, making->rule->dest, sizeof(entry->dest));
    apr_cpystrn(entry->id, making->rule->id, sizeof(entry->id));
    entry->expires = (uint64_t)apr_time_sec(r->request_time) + 2 * making->lifetime;
    return el_structured_can_hold(entry->path);
}

static void set_field(request_rec *r, const el_dictionary_entry_t *entry)
{
    char *text = apr_palloc(r->pool, FIELD_ROOM);
    el_structured_writer_t writer = el_structured_begin(text, FIELD_ROOM);

    el_structured_add_string(&writer, "match", entry->match);
    if (entry->dest[0]) {
        el_structured_add_words(&writer, "match-dest", entry->dest);
    }
    if (entry->id[0]) {
        el_structured_add_string(&writer, "id", entry->id);
    }
    apr_table_setn(r->headers_out, "Use-As-Dictionary", text);
}

/* `bb` has all of the body. */
static void become(request_rec *r, const making_t *making, apr_bucket_brigade *bb)
{
    el_measure_t measure = el_body_measure(bb);
    el_dictionary_entry_t entry;
    el_whole_t whole;

    if (!measure.complete || !measure.plain || measure.size == 0
        || measure.size > el_dictionaries_most() || !describe(r, making, &entry)
        || el_body_gather(bb, (size_t)measure.size, &whole) != APR_SUCCESS) {
        return;
    }
    if (el_dictionaries_keep(&entry, whole.data, whole.nbytes)) {
        set_field(r, &entry);
        el_shared_count(EL_COUNT_DICTIONARIES, 1);
    }
    el_body_release(&whole);
}

/*
 * Of a precompressed file the browser's dictionary is what it decodes to: the file beside it. Where
 * that is something else, the browser asks with a hash that is not known here.
 */
static void become_file(request_rec *r, const making_t *making)
{
    apr_bucket_brigade *bb = apr_brigade_create(r->pool, r->connection->bucket_alloc);
    apr_file_t *file;

    if (apr_file_open(&file, r->filename, APR_READ | APR_BINARY, 0, r->pool) == APR_SUCCESS) {
        apr_brigade_insert_file(bb, file, 0, r->finfo.size, r->pool);
        APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_eos_create(bb->bucket_alloc));
        become(r, making, bb);
    }
    apr_brigade_destroy(bb);
}

/* Whether the body's end is still to come: then its buckets are kept for the next call. */
static bool waits(ap_filter_t *f, making_t *making, apr_bucket_brigade **bb, apr_status_t *rv)
{
    const el_wait_t wait = {
        .least = el_dictionaries_most(),
        .most = el_dictionaries_most() + 1,
        .until = making->until,
        .pause = PATIENCE,
    };
    el_look_t look = el_body_look(*bb, &wait, &making->seen, rv);

    if (look == EL_LOOK_MORE && el_clock_usec() < making->until) {
        *rv = ap_save_brigade(f, &making->held, bb, f->r->pool);
        return true;
    }
    if (making->held) {
        APR_BRIGADE_PREPEND(*bb, making->held);
    }
    if (look == EL_LOOK_ENDED) {
        become(f->r, making, *bb);
    }
    return false;
}

static apr_status_t filter(ap_filter_t *f, apr_bucket_brigade *bb)
{
    apr_status_t rv;

    if (APR_BRIGADE_EMPTY(bb)) {
        return APR_SUCCESS;
    }
    if (!f->ctx && !f->r->main) {
        f->ctx = begin(f->r);
    }
    if (f->ctx && el_fields_encoded(f->r)) {
        become_file(f->r, f->ctx);
    } else if (f->ctx && waits(f, f->ctx, &bb, &rv)) {
        return rv;
    }
    /* Where the body cannot be read, its own buckets say so to whoever reads them next. */
    ap_remove_output_filter(f);
    return ap_pass_brigade(f->next, bb);
}

void el_dictionary_filter_insert(request_rec *r)
{
    const el_dir_t *dir = el_dir_of(r);

    if (!el_dictionaries_are_open() || !(el_dir_dictionary(dir) || el_dir_dictionary_link(dir))) {
        return;
    }
    /* It is there already after an internal redirect. */
    for (const ap_filter_t *f = r->output_filters; f; f = f->next) {
        if (f->frec == record) {
            return;
        }
    }
    ap_add_output_filter_handle(record, NULL, r, r->connection);
}

void el_dictionary_filter_register(void)
{
    /* As late as ELASTIC, so that fields that mod_headers sets are there. */
    record = ap_register_output_filter(EL_FILTER_DICTIONARY, filter, NULL, AP_FTYPE_CONTENT_SET);
}
