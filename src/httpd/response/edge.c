#include "httpd/response/steps.h"

#include "elastic/http.h"
#include "elastic/decide.h"

#include "apr_strings.h"
#include "mod_cache.h"

/* ---- ranges ---------------------------------------------------------------------------------- */

static bool mod_cache_loaded;

void el_edge_configure(void)
{
    mod_cache_loaded = ap_find_linked_module("mod_cache.c") != NULL;
}

void el_ranges_insert(request_rec *r)
{
    if (mod_cache_loaded) {
        ap_add_output_filter(EL_FILTER_RANGES, r, r, r->connection);
    }
}

/*
 * True if the body is in a dynamic coding. With tags that are kept or removed, now or when the
 * response was cached, only Vary shows it. Files that only exist encoded do not vary, and a
 * precompressed file's tag ends in its extension (precompressed.c).
 */
static bool edge_is_dynamic(request_rec *r)
{
    const char *cursor = el_field(r, "ETag");
    el_etag_t tag;
    bool tagged = cursor && el_etag_next(&cursor, &tag);
    size_t base;

    if (!el_fields_read(r).encoded) {
        return false;
    }
    if (tagged && el_etag_coding(&tag, &base) != EL_IDENTITY) {
        return true;
    }
    /* mod_cache sets these variables when it answers. */
    if (!(apr_table_get(r->subprocess_env, AP_CACHE_HIT_ENV)
          || apr_table_get(r->subprocess_env, AP_CACHE_REVALIDATE_ENV))
        || !el_fields_varies(r, "Accept-Encoding")) {
        return false;
    }
    for (int coding = EL_IDENTITY + 1; tagged && coding < EL_CODINGS; coding++) {
        const char *extension = el_coding_info((el_coding_t)coding)->extension;
        size_t len = strlen(extension) + 1;

        if (tag.len > len && strncmp(tag.text + tag.len - len, extension, len - 1) == 0) {
            return false;
        }
    }
    return true;
}

static apr_status_t edge_guard_ranges(ap_filter_t *f, apr_bucket_brigade *bb)
{
    ap_filter_t *next;

    if (f->ctx && edge_is_dynamic(f->r)) {
        el_field_unset(f->r, "Accept-Ranges");
        for (ap_filter_t *other = f->next; other; other = next) {
            next = other->next;
            if (strcasecmp(other->frec->name, "BYTERANGE") == 0) {
                ap_remove_output_filter(other);
            }
        }
    }
    return el_body_leave(f, bb);
}

/* ---- ElasticPadding: a response header field of random length -------------------------------- */

/*
 * Runs after mod_cache's filter: stored responses have no padding, and each served copy gets its
 * own. httpd's random bytes are cryptographic, seeded by the system, and different in each child,
 * so a client learns nothing about other clients' padding from its own.
 */
static apr_status_t edge_pad(ap_filter_t *f, apr_bucket_brigade *bb)
{
    request_rec *r = f->r;

    /* Without a body there is no length to hide. */
    if (f->ctx && !AP_STATUS_IS_HEADER_ONLY(r->status)) {
        size_t most = (size_t)el_dir_of(r)->values.value[EL_DIR_PADDING];
        uint8_t random[EL_PADDING_RANDOM(EL_PADDING_MAX)];
        char *text = apr_palloc(r->pool, most + 1);

        ap_random_insecure_bytes(random, EL_PADDING_RANDOM(most));
        el_padding_make(random, most, text);
        apr_table_setn(r->headers_out, EL_PADDING_FIELD, text);
    }
    return el_body_leave(f, bb);
}

/* ---- ElasticExplain -------------------------------------------------------------------------- */

/* Room for everything except strings; escaping may double those. */
#define ROOM 512

/* The field being written, and a pool for numbers as text. */
typedef struct {
    apr_pool_t *pool;
    el_structured_writer_t writer;
} list_t;

static void edge_explain_count(list_t *list, const char *name, uint64_t value)
{
    el_structured_param_bare(&list->writer, name,
                             apr_psprintf(list->pool, "%" APR_UINT64_T_FMT, value));
}

/* Adds a number from a note of the log, without the mark of an approximate one. */
static void edge_explain_note(list_t *list, const char *name, const char *note)
{
    if (note) {
        el_structured_param_bare(&list->writer, name, *note == '~' ? note + 1 : note);
    }
}

/* Adds the reason. Nothing was decided if mod_cache answered or the response ended early. */
static void edge_explain_outcome(list_t *list, const request_rec *r, const el_response_t *response)
{
    const char *reason = apr_table_get(r->notes, "elastic-reason");
    const char *engine = apr_table_get(r->notes, "elastic-engine");

    if (apr_table_get(r->subprocess_env, "cache-hit")) {
        reason = "mod-cache";
    } else if (!reason && engine
               && (strcmp(engine, "cache") == 0 || strcmp(engine, "precompressed") == 0)) {
        reason = engine;
    } else if (!reason) {
        reason = response->planned ? "compressed" : "unseen";
    }
    el_structured_add_bare(&list->writer, "reason", reason);
}

/* Adds the coding, the setup and the sizes. A stream's notes are missing until its end. */
static void edge_explain_encoding(list_t *list, const request_rec *r, const el_response_t *response)
{
    const char *coding = apr_table_get(r->notes, "elastic-coding");
    const char *kept = apr_table_get(r->notes, "elastic-setup");
    const el_moment_t *moment = &response->facts.moment;
    /* An error page may have replaced a body that was held. */
    bool is_of_body = response->claimed ? !response->stream.broken : !response->filter;

    if (!coding && response->planned) {
        coding = el_coding_info(response->choice.coding)->token;
    }
    if (coding) {
        el_structured_param_bare(&list->writer, "coding", coding);
    }
    if (kept) {
        el_structured_param_string(&list->writer, "setup", kept);
    } else if (response->planned) {
        el_structured_param_string(
            &list->writer, "setup",
            apr_psprintf(list->pool, "%s %d", response->encoder.plan.engine->name,
                         response->encoder.level));
    }
    if (is_of_body && moment->size_known) {
        edge_explain_count(list, "size", moment->size);
    }
    if (is_of_body && moment->min_size > 0) {
        edge_explain_count(list, "min-size", moment->min_size);
    }
    edge_explain_note(list, "in", apr_table_get(r->notes, "elastic-in"));
    edge_explain_note(list, "out", apr_table_get(r->notes, "elastic-out"));
    edge_explain_note(list, "usec", apr_table_get(r->notes, "elastic-usec"));
    if (response->expected_usec > 0) {
        edge_explain_count(list, "expected-usec", (uint64_t)(response->expected_usec + 0.5));
    }
}

/* Adds the controller's state at the decision, or the present one if there was none. */
static void edge_explain_controller(list_t *list, const el_response_t *response)
{
    el_control_state_t control = response->control_read ? response->control
                                                        : el_state_control(&el_shared.block->state);
    uint64_t load = atomic_load_explicit(&el_shared.block->state.load_ppm, memory_order_relaxed);
    double price = response->effort_known ? response->effort.price
                                          : el_shared_effort_at(control).price;
    const struct {
        const char *name;
        bool known;
        double value;
    } rows[] = {
        {"price", price >= 0, price},
        {"position", true, control.top ? el_control_position(control) / control.top : 1},
        {"load", load != EL_STATE_NO_LOAD, (double)load / EL_PPM},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].known) {
            el_structured_param_bare(&list->writer, rows[i].name,
                                     apr_psprintf(list->pool, "%.3f", rows[i].value));
        }
    }
}

static ap_filter_rec_t *explain;

void el_explain_insert(request_rec *r)
{
    const ap_filter_t *f = r->output_filters;

    if (!el_dir_of(r)->values.value[EL_DIR_EXPLAIN] || r->main) {
        return;
    }
    while (f && !(f->frec == explain && f->ctx)) {
        f = f->next;
    }
    if (!f) {
        ap_add_output_filter_handle(explain, explain, r, r->connection);
    }
}

/*
 * The field is a dictionary (RFC 8941 §3.2) with one member, "reason", and parameters. Sizes are in
 * bytes, times in µs, the price in ns of CPU time for a saved byte. Facts that are unknown when the
 * header is sent are left out.
 */
static apr_status_t edge_explain(ap_filter_t *f, apr_bucket_brigade *bb)
{
    static const el_response_t nothing;
    request_rec *r = f->r;
    const el_response_t *response = el_response_find(r);
    const char *type = r->content_type ? r->content_type : "";
    const char *filters = apr_table_get(r->notes, "elastic-filter");
    size_t room = ROOM + 2 * strlen(type) + (filters ? 2 * strlen(filters) : 0);
    char *text = apr_palloc(r->pool, room);
    list_t list = {r->pool, el_structured_begin(text, room)};

    if (!f->ctx) {
        return el_body_leave(f, bb);
    }
    response = response ? response : &nothing;
    edge_explain_outcome(&list, r, response);
    if (*type) {
        el_structured_param_string(&list.writer, "type", type);
    }
    if (filters) {
        el_structured_param_string(&list.writer, "filter", filters);
    }
    edge_explain_encoding(&list, r, response);
    edge_explain_controller(&list, response);
    apr_table_setn(r->headers_out, "Elastic-Explain", text);
    apr_table_mergen(r->headers_out, "Cache-Control", "no-store");
    return el_body_leave(f, bb);
}

void el_edge_register(void)
{
    /* The last position before protocol filters such as BYTERANGE. */
    const ap_filter_type last = (ap_filter_type)(AP_FTYPE_PROTOCOL - 1);

    ap_register_output_filter(EL_FILTER_PADDING, edge_pad, NULL, last);
    explain = ap_register_output_filter(EL_FILTER_EXPLAIN, edge_explain, NULL, last);
    ap_register_output_filter(EL_FILTER_RANGES, edge_guard_ranges, NULL, last);
}
