#include "httpd/response/explanation.h"

#include "httpd/config/settings.h"
#include "httpd/response/request.h"
#include "httpd/shared/costs.h"
#include "httpd/shared/shared.h"

#include "elastic/structured.h"

#include "apr_strings.h"

/* What a cost is for, bytes. */
#define KB 1024

/* What is recorded; zeroed: nothing. */
struct el_explanation {
    bool size_known;
    uint64_t size; /* of the body */
    uint64_t min_size;
    el_coding_t coding; /* EL_IDENTITY: none was decided for */
    const char *engine; /* NULL: none was planned */
    int level;
    double expected; /* µs of CPU time; 0 where the body's length is not known */
};

/* NULL where nobody asks. */
static el_explanation_t *record_of(const request_rec *r)
{
    el_request_t *request;

    if (!el_dir_explains(el_dir_of(r))) {
        return NULL;
    }
    request = el_request_of((request_rec *)r);
    if (!request->explanation) {
        request->explanation = apr_pcalloc(r->pool, sizeof(el_explanation_t));
    }
    return request->explanation;
}

void el_explanation_facts(const request_rec *r, const el_facts_t *facts)
{
    el_explanation_t *record = record_of(r);

    if (record) {
        record->size_known = facts->moment.size_known;
        record->size = facts->moment.size;
        record->min_size = facts->moment.min_size;
    }
}

void el_explanation_plan(const request_rec *r, const el_choice_t *choice, const char *engine,
                         bool whole)
{
    el_explanation_t *record = record_of(r);

    if (record) {
        el_cost_t cost = el_costs_expect(choice->coding, &choice->setup, whole);

        record->coding = choice->coding;
        record->engine = engine;
        record->level = choice->setup.level;
        record->expected = (double)cost.nsec * (double)choice->setup.size_hint / KB / 1000;
    }
}

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

/* A note of the log, which is a number; one that is marked as approximate has that mark before it. */
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
static const char *outcome(const request_rec *r, const el_explanation_t *record)
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
    return engine || record->engine ? "compressed" : "unseen";
}

/* Of a stream nothing is noted before its end. */
static void add_setup(list_t *list, const request_rec *r, const el_explanation_t *record)
{
    const char *coding = apr_table_get(r->notes, "elastic-coding");
    const char *kept = apr_table_get(r->notes, "elastic-setup");

    if (!coding && record->coding != EL_IDENTITY) {
        coding = el_coding_info(record->coding)->token;
    }
    if (coding) {
        el_structured_param_bare(&list->writer, "coding", coding);
    }
    if (kept) {
        el_structured_param_string(&list->writer, "setup", kept);
    } else if (record->engine) {
        el_structured_param_string(
            &list->writer, "setup",
            apr_psprintf(list->pool, "%s %d", record->engine, record->level));
    }
}

static void add_sizes(list_t *list, const request_rec *r, const el_explanation_t *record)
{
    if (record->size_known) {
        add_count(list, "size", record->size);
    }
    if (record->min_size > 0) {
        add_count(list, "min-size", record->min_size);
    }
    add_note(list, "in", apr_table_get(r->notes, "elastic-in"));
    add_note(list, "out", apr_table_get(r->notes, "elastic-out"));
    add_note(list, "usec", apr_table_get(r->notes, "elastic-usec"));
    if (record->expected > 0) {
        add_count(list, "expected-usec", (uint64_t)(record->expected + 0.5));
    }
}

/* What the decision went by, of the controller; as it is now. */
static void add_controller(list_t *list)
{
    el_control_state_t control = el_state_control(el_shared.state);
    uint64_t load = atomic_load_explicit(&el_shared.state->load_ppm, memory_order_relaxed);
    double price = el_shared_priced(control).price;

    if (price >= 0) {
        add_decimal(list, "price", price);
    }
    add_decimal(list, "position", control.top ? el_control_position(control) / control.top : 1);
    if (load != EL_STATE_NO_LOAD) {
        add_decimal(list, "load", (double)load / EL_PPM);
    }
}

const char *el_explanation_text(request_rec *r)
{
    static const el_explanation_t nothing;
    const el_explanation_t *record = record_of(r);
    const char *type = r->content_type ? r->content_type : "";
    size_t room = ROOM + 2 * strlen(type);
    char *text = apr_palloc(r->pool, room);
    list_t list = {r->pool, el_structured_begin(text, room)};

    record = record ? record : &nothing;
    el_structured_add_bare(&list.writer, "reason", outcome(r, record));
    if (*type) {
        el_structured_param_string(&list.writer, "type", type);
    }
    add_setup(&list, r, record);
    add_sizes(&list, r, record);
    add_controller(&list);
    return text;
}
