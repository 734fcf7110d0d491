#include "httpd/filters/filters.h"

#include "httpd/config/glue.h"
#include "httpd/response/response.h"

#include "elastic/http.h"

#include "apr_strings.h"

/* Room for all but the strings, of which each may need twice its length. */
#define ROOM 512

/* The field that is being written, and where numbers become text. */
typedef struct {
    apr_pool_t *pool;
    el_structured_writer_t writer;
} list_t;

static void add_count(list_t *list, const char *name, uint64_t value)
{
    el_structured_param_bare(&list->writer, name,
                             apr_psprintf(list->pool, "%" APR_UINT64_T_FMT, value));
}

static void add_decimal(list_t *list, const char *name, double value)
{
    el_structured_param_bare(&list->writer, name, apr_psprintf(list->pool, "%.3f", value));
}

/*
 * A note of the log, which is a number; one that is marked as approximate has that mark before it.
 */
static void add_note(list_t *list, const char *name, const char *note)
{
    if (note) {
        el_structured_param_bare(&list->writer, name, *note == '~' ? note + 1 : note);
    }
}

/*
 * What became of the response. Of what mod_cache had, nothing was decided here; nor of what ended
 * before the filters saw it.
 */
static const char *outcome(const request_rec *r, const el_response_t *response)
{
    const char *reason = apr_table_get(r->notes, "elastic-reason");
    const char *engine = apr_table_get(r->notes, "elastic-engine");

    if (apr_table_get(r->subprocess_env, "cache-hit")) {
        return "mod-cache";
    }
    if (reason) {
        return reason;
    }
    if (engine && (strcmp(engine, "cache") == 0 || strcmp(engine, "precompressed") == 0)) {
        return engine;
    }
    return engine || response->planned ? "compressed" : "unseen";
}

/* Of a stream nothing is noted before its end. */
static void add_setup(list_t *list, const request_rec *r, const el_response_t *response)
{
    const char *coding = apr_table_get(r->notes, "elastic-coding");
    const char *kept = apr_table_get(r->notes, "elastic-setup");

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
}

static void add_sizes(list_t *list, const request_rec *r, const el_response_t *response)
{
    const el_moment_t *moment = &response->facts.moment;
    /* An error page may take the place of a body that was held. */
    bool is_of_body = response->claimed ? !response->stream.broken : !response->filter;

    if (is_of_body && moment->size_known) {
        add_count(list, "size", moment->size);
    }
    if (is_of_body && moment->min_size > 0) {
        add_count(list, "min-size", moment->min_size);
    }
    add_note(list, "in", apr_table_get(r->notes, "elastic-in"));
    add_note(list, "out", apr_table_get(r->notes, "elastic-out"));
    add_note(list, "usec", apr_table_get(r->notes, "elastic-usec"));
    if (response->expected_usec > 0) {
        add_count(list, "expected-usec", (uint64_t)(response->expected_usec + 0.5));
    }
}

/* What the decision went by, of the controller; as it is now where nothing was decided. */
static void add_controller(list_t *list, const el_response_t *response)
{
    el_control_state_t control = response->control_read ? response->control
                                                        : el_state_control(&el_shared.block->state);
    uint64_t load = atomic_load_explicit(&el_shared.block->state.load_ppm, memory_order_relaxed);
    double price = response->effort_known ? response->effort.price
                                          : el_shared_effort_at(control).price;

    if (price >= 0) {
        add_decimal(list, "price", price);
    }
    add_decimal(list, "position", control.top ? el_control_position(control) / control.top : 1);
    if (load != EL_STATE_NO_LOAD) {
        add_decimal(list, "load", (double)load / EL_PPM);
    }
}

/*
 * The value, from r->pool: a dictionary of one member (RFC 8941 §3.2), "reason", whose parameters
 * say more. Sizes are in bytes, times in µs of the time elapsed, the price in ns of CPU time for a
 * saved byte. What is not known when the header goes is left out.
 */
static const char *explanation_of(request_rec *r)
{
    static const el_response_t nothing;
    const el_response_t *response = el_response_find(r);
    const char *type = r->content_type ? r->content_type : "";
    const char *filters = apr_table_get(r->notes, "elastic-filter");
    size_t room = ROOM + 2 * strlen(type) + (filters ? 2 * strlen(filters) : 0);
    char *text = apr_palloc(r->pool, room);
    list_t list = {r->pool, el_structured_begin(text, room)};

    response = response ? response : &nothing;
    el_structured_add_bare(&list.writer, "reason", outcome(r, response));
    if (*type) {
        el_structured_param_string(&list.writer, "type", type);
    }
    if (filters) {
        el_structured_param_string(&list.writer, "filter", filters);
    }
    add_setup(&list, r, response);
    add_sizes(&list, r, response);
    add_controller(&list, response);
    return text;
}

static ap_filter_rec_t *explain;

static bool is_inserted(const request_rec *r)
{
    const ap_filter_t *f = r->output_filters;

    while (f && f->frec != explain) {
        f = f->next;
    }
    return f;
}

void el_explain_insert(request_rec *r)
{
    if (el_dir_of(r)->values.value[EL_DIR_EXPLAIN] && !r->main && !is_inserted(r)) {
        ap_add_output_filter_handle(explain, NULL, r, r->connection);
    }
}

static apr_status_t filter(ap_filter_t *f, apr_bucket_brigade *bb)
{
    request_rec *r = f->r;

    apr_table_setn(r->headers_out, "Elastic-Explain", explanation_of(r));
    apr_table_mergen(r->headers_out, "Cache-Control", "no-store");
    ap_remove_output_filter(f);
    return ap_pass_brigade(f->next, bb);
}

void el_explain_register(void)
{
    /* Just before the filters of the protocol. */
    explain = ap_register_output_filter(EL_FILTER_EXPLAIN, filter, NULL,
                                        (ap_filter_type)(AP_FTYPE_PROTOCOL - 1));
}
