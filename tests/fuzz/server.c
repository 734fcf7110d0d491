#include "server.h"

#include "httpd/config/config.h"
#include "httpd/config/dropin.h"
#include "httpd/request/request.h"
#include "httpd/response/header.h"
#include "httpd/shared/shared.h"
#include "httpd/shared/stats.h"

#include "engines/memory.h"
#include "host/process.h"
#include "fuzz.h"

#include "apr_general.h"
#include "apr_hooks.h"
#include "apr_strings.h"
#include "http_core.h"
#include "http_log.h"
#include "http_protocol.h"
#include "http_request.h"

extern module elastic_module, deflate_module, brotli_module;

#define MODULES 3
#define FILTERS_MOST 16

static struct {
    apr_pool_t *pool;
    server_rec server;
    void *settings[MODULES]; /* of the server */
    void *places[MODULES];   /* of its directories */
    ap_filter_rec_t filters[FILTERS_MOST];
    int filters_count;
} world;

/* What the module calls of httpd. */

static ap_filter_rec_t *add_record(const char *name)
{
    ap_filter_rec_t *record = &world.filters[world.filters_count++];

    MUST(world.filters_count <= FILTERS_MOST);
    record->name = name;
    return record;
}

static ap_filter_rec_t *find_record(const char *name)
{
    for (int i = 0; i < world.filters_count; i++) {
        if (strcasecmp(world.filters[i].name, name) == 0) {
            return &world.filters[i];
        }
    }
    return NULL;
}

ap_filter_rec_t *ap_register_output_filter(const char *name, ap_out_filter_func function,
                                           ap_init_filter_func init, ap_filter_type type)
{
    ap_filter_rec_t *record = add_record(name);

    record->filter_func.out_func = function;
    record->ftype = type;
    return record;
}

ap_filter_rec_t *ap_register_input_filter(const char *name, ap_in_filter_func function,
                                          ap_init_filter_func init, ap_filter_type type)
{
    ap_filter_rec_t *record = add_record(name);

    record->filter_func.in_func = function;
    record->ftype = type;
    return record;
}

ap_filter_rec_t *ap_get_output_filter_handle(const char *name)
{
    return find_record(name);
}

static ap_filter_t *make_filter(ap_filter_rec_t *record, void *context, request_rec *r)
{
    ap_filter_t *f = apr_pcalloc(r->pool, sizeof(*f));

    f->frec = record;
    f->ctx = context;
    f->r = r;
    f->c = r->connection;
    return f;
}

ap_filter_t *ap_add_output_filter_handle(ap_filter_rec_t *record, void *context, request_rec *r,
                                         conn_rec *c)
{
    ap_filter_t *f = make_filter(record, context, r);

    f->next = r->output_filters;
    r->output_filters = f;
    return f;
}

ap_filter_t *ap_add_input_filter_handle(ap_filter_rec_t *record, void *context, request_rec *r,
                                        conn_rec *c)
{
    ap_filter_t *f = make_filter(record, context, r);

    f->next = r->input_filters;
    r->input_filters = f;
    return f;
}

static void remove_filter(ap_filter_t **link, const ap_filter_t *f)
{
    while (*link && *link != f) {
        link = &(*link)->next;
    }
    if (*link) {
        *link = f->next;
    }
}

void ap_remove_output_filter(ap_filter_t *f)
{
    remove_filter(&f->r->output_filters, f);
}

void ap_remove_input_filter(ap_filter_t *f)
{
    remove_filter(&f->r->input_filters, f);
}

apr_status_t ap_pass_brigade(ap_filter_t *f, apr_bucket_brigade *bb)
{
    return f->frec->filter_func.out_func(f, bb);
}

apr_status_t ap_get_brigade(ap_filter_t *f, apr_bucket_brigade *bb, ap_input_mode_t mode,
                            apr_read_type_e block, apr_off_t nbytes)
{
    return f->frec->filter_func.in_func(f, bb, mode, block, nbytes);
}

apr_status_t ap_save_brigade(ap_filter_t *f, apr_bucket_brigade **to, apr_bucket_brigade **from,
                             apr_pool_t *pool)
{
    if (!*to) {
        *to = apr_brigade_create(pool, f->c->bucket_alloc);
    }
    for (apr_bucket *e = APR_BRIGADE_FIRST(*from); e != APR_BRIGADE_SENTINEL(*from);
         e = APR_BUCKET_NEXT(e)) {
        apr_status_t rv = apr_bucket_setaside(e, pool);

        if (rv != APR_SUCCESS && rv != APR_ENOTIMPL) {
            return rv;
        }
    }
    APR_BRIGADE_CONCAT(*to, *from);
    return APR_SUCCESS;
}

static void destroy_error(void *data)
{
    ap_bucket_error *error = data;

    if (apr_bucket_shared_destroy(error)) {
        apr_bucket_free(error);
    }
}

static apr_status_t read_error(apr_bucket *e, const char **data, apr_size_t *len,
                               apr_read_type_e block)
{
    *data = NULL;
    *len = 0;
    return APR_SUCCESS;
}

const apr_bucket_type_t ap_bucket_type_error = {
    "ERROR", 5, APR_BUCKET_METADATA, destroy_error, read_error, apr_bucket_setaside_notimpl,
    apr_bucket_split_notimpl, apr_bucket_shared_copy,
};

apr_bucket *ap_bucket_error_create(int status, const char *text, apr_pool_t *pool,
                                   apr_bucket_alloc_t *alloc)
{
    apr_bucket *bucket = apr_bucket_alloc(sizeof(*bucket), alloc);
    ap_bucket_error *error = apr_bucket_alloc(sizeof(*error), alloc);

    APR_BUCKET_INIT(bucket);
    bucket->free = apr_bucket_free;
    bucket->list = alloc;
    error->status = status;
    error->data = apr_pstrdup(pool, text);
    bucket = apr_bucket_shared_make(bucket, error, 0, 0);
    bucket->type = &ap_bucket_type_error;
    return bucket;
}

void ap_set_content_length(request_rec *r, apr_off_t length)
{
    r->clength = length;
    apr_table_setn(r->headers_out, "Content-Length", apr_off_t_toa(r->pool, length));
}

int ap_find_token(apr_pool_t *pool, const char *line, const char *token)
{
    return line && strcasestr(line, token) != NULL;
}

int ap_parse_strict_length(apr_off_t *length, const char *text)
{
    char *end;

    return *text >= '0' && *text <= '9' && apr_strtoff(length, text, &end, 10) == APR_SUCCESS
           && !*end;
}

apr_off_t ap_get_limit_req_body(const request_rec *r)
{
    return 0;
}

void ap_die(int status, request_rec *r)
{
}

int ap_map_http_request_error(apr_status_t rv, int status)
{
    return status;
}

int ap_request_has_body(request_rec *r)
{
    return 1;
}

int ap_is_initial_req(request_rec *r)
{
    return !r->main && !r->prev;
}

int ap_ssl_conn_is_ssl(conn_rec *c)
{
    return 0;
}

void *ap_retained_data_get(const char *key)
{
    return NULL;
}

void *ap_retained_data_create(const char *key, apr_size_t size)
{
    return apr_pcalloc(world.pool, size);
}

void ap_log_rerror_(const char *file, int line, int module, int level, apr_status_t status,
                    const request_rec *r, const char *format, ...)
{
}

void ap_log_error_(const char *file, int line, int module, int level, apr_status_t status,
                   const server_rec *server, const char *format, ...)
{
}

#define NO_HOOK(name, type)                                                                        \
    void ap_hook_##name(type function, const char *const *before, const char *const *after,        \
                        int order)                                                                 \
    {                                                                                              \
    }

NO_HOOK(pre_config, ap_HOOK_pre_config_t *)
NO_HOOK(check_config, ap_HOOK_check_config_t *)
NO_HOOK(post_config, ap_HOOK_post_config_t *)
NO_HOOK(child_init, ap_HOOK_child_init_t *)
NO_HOOK(fixups, ap_HOOK_fixups_t *)
NO_HOOK(handler, ap_HOOK_handler_t *)
NO_HOOK(insert_filter, ap_HOOK_insert_filter_t *)
NO_HOOK(insert_error_filter, ap_HOOK_insert_error_filter_t *)
NO_HOOK(post_read_request, ap_HOOK_post_read_request_t *)
NO_HOOK(pre_mpm, void *)
NO_HOOK(test_config, ap_HOOK_test_config_t *)
NO_HOOK(pre_translate_name, ap_HOOK_pre_translate_name_t *)
NO_HOOK(translate_name, ap_HOOK_translate_name_t *)
NO_HOOK(map_to_storage, ap_HOOK_map_to_storage_t *)

/* A clock that goes on with each look, so that nothing waits. */

#define LOOK_NSEC UINT64_C(1000000)

static uint64_t now_nsec = UINT64_C(1000000000000);

uint64_t el_clock_nsec(void)
{
    return now_nsec += LOOK_NSEC;
}

uint64_t el_clock_usec(void)
{
    return el_clock_nsec() / 1000;
}

uint32_t el_clock_sec(void)
{
    return (uint32_t)(el_clock_nsec() / 1000000000);
}

uint64_t el_clock_cpu_nsec(void)
{
    return el_clock_nsec();
}

void apr_sleep(apr_interval_time_t time)
{
    now_nsec += (uint64_t)time * 1000;
}

/* What targets call. */

void server_start(void)
{
    static module *const records[MODULES] = {&elastic_module, &deflate_module, &brotli_module};
    el_shared_config_t config = {
        .control = {.mode = EL_CONTROL_OFF, .low = 0.5, .high = 0.8, .bypass = 2, .top = 8},
        .interval = 500000, .max_memory = EL_NO_MAX_MEMORY,
    };

    apr_initialize();
    apr_pool_create(&world.pool, NULL);
    apr_hook_global_pool = world.pool; /* of mod_status's hook, which is optional */
    world.server.server_hostname = "localhost";
    world.server.module_config = (ap_conf_vector_t *)world.settings;
    world.server.lookup_defaults = (ap_conf_vector_t *)world.places;
    for (int i = 0; i < MODULES; i++) {
        records[i]->module_index = i;
        records[i]->register_hooks(world.pool);
    }
    for (int i = 0; i < MODULES; i++) {
        world.settings[i] = records[i]->create_server_config(world.pool, &world.server);
        world.places[i] = records[i]->create_dir_config
                              ? records[i]->create_dir_config(world.pool, NULL) : NULL;
    }
    el_policy_configure(&world.server);
    MUST(el_shared_open(&config, &world.server) == APR_SUCCESS);
    el_vhosts_open(&world.server, world.pool);
    el_chain_configure();
    el_pool_share(1 << 24, true);
}

server_request_t server_begin(void)
{
    server_request_t request;
    apr_pool_t *pool;
    request_rec *r;
    void **places;

    apr_pool_create(&pool, world.pool);
    r = request.r = apr_pcalloc(pool, sizeof(*r));
    request.alloc = apr_bucket_alloc_create(pool);
    r->pool = pool;
    r->server = &world.server;
    r->connection = apr_pcalloc(pool, sizeof(*r->connection));
    r->connection->pool = pool;
    r->connection->bucket_alloc = request.alloc;
    r->connection->base_server = &world.server;
    r->connection->conn_config = apr_pcalloc(pool, MODULES * sizeof(void *));
    r->request_config = apr_pcalloc(pool, MODULES * sizeof(void *));
    r->headers_in = apr_table_make(pool, 8);
    r->headers_out = apr_table_make(pool, 8);
    r->err_headers_out = apr_table_make(pool, 8);
    r->subprocess_env = apr_table_make(pool, 8);
    r->notes = apr_table_make(pool, 8);
    r->status = HTTP_OK;
    r->method = "GET";
    r->method_number = M_GET;
    r->uri = "/fuzzed";
    r->handler = "";
    r->content_type = "text/plain";
    places = apr_pcalloc(pool, MODULES * sizeof(void *));
    r->per_dir_config = (ap_conf_vector_t *)places;
    places[elastic_module.module_index] = request.dir = el_dir_create(pool, NULL);
    places[deflate_module.module_index] = request.limits = el_limits_create(pool, NULL);
    return request;
}

void server_end(server_request_t *request)
{
    apr_pool_destroy(request->r->pool);
}

void server_add_output(request_rec *r, const char *name)
{
    ap_filter_rec_t *record = find_record(name);

    MUST(record != NULL);
    ap_add_output_filter_handle(record, NULL, r, r->connection);
}

void server_set_sink(request_rec *r, ap_out_filter_func sink, void *context)
{
    static ap_filter_rec_t record = {.name = "SINK", .ftype = AP_FTYPE_NETWORK};

    record.filter_func.out_func = sink;
    ap_add_output_filter_handle(&record, context, r, r->connection);
}

void server_set_source(request_rec *r, ap_in_filter_func source, void *context)
{
    static ap_filter_rec_t record = {.name = "SOURCE", .ftype = AP_FTYPE_NETWORK};

    record.filter_func.in_func = source;
    ap_add_input_filter_handle(&record, context, r, r->connection);
}

void server_begin_input(request_rec *r)
{
    atomic_store(&el_settings_inflate, true); /* as the directive does */
    el_input_begin(r);
}

int server_prepare_input(request_rec *r)
{
    return el_input_prepare(r);
}
