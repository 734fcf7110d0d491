#include "httpd/response/facts.h"

#include "httpd/response/available.h"
#include "httpd/response/connection.h"
#include "httpd/response/response.h"

#include "http_ssl.h"

static bool tls_compressed(request_rec *r)
{
    const char *method;

    if (!ap_ssl_conn_is_ssl(r->connection)) {
        return false;
    }
    method = ap_ssl_var_lookup(r->pool, r->server, r->connection, r, "SSL_COMPRESS_METHOD");
    return method && *method && strcmp(method, "NULL") != 0;
}

static void read_demand(request_rec *r, const el_policy_t *policy, bool ahead, el_demand_t *demand)
{
    const el_available_t *available;

    demand->head = r->header_only;
    /* Whatever the method: httpd cuts ranges out of the response of each. */
    demand->range_requested = r->status == HTTP_OK && el_response_has_range(r)
                              && !el_response_void_range(r);
    demand->tls_compressed = tls_compressed(r);
    if (!apr_is_empty_table(r->subprocess_env)) {
        demand->env_refused = apr_table_get(r->subprocess_env, "no-elastic") != NULL;
        demand->force = apr_table_get(r->subprocess_env, "force-gzip") != NULL;
    }
    demand->accept = *el_response_accept(r);
    demand->order_count = el_response_codings(r, policy->record, demand->order);
    demand->env_removed = policy->order_count - demand->order_count;
    if (!policy->is_stock && demand->order_count > 0 && el_dictionaries_are_open()) {
        available = ahead ? el_available_ahead(r) : el_available_of(r);
        demand->available = available->coding;
        memcpy(demand->shares, available->shares, sizeof(demand->shares));
    }
}

/* Whether the type is to be compressed; where insertion.c has found so, it is not asked again. */
static bool is_listed(request_rec *r, const el_policy_t *policy)
{
    const el_response_t *response = el_response_of(r);

    /* Where a filter is named, its types are the operator's business: no list is any type. */
    return (response->listed_type && response->listed_type == r->content_type)
           || el_dir_type_listed(policy->dir, r->content_type, policy->is_stock);
}

el_facts_t el_facts_of(request_rec *r, const el_policy_t *policy, bool by_type, bool ahead)
{
    el_fields_t *fields = &el_response_of(r)->fields;
    el_facts_t facts;

    *fields = el_fields_read(r);
    facts = (el_facts_t){
        .resource =
            {
                .status = r->status,
                .enabled = (!el_value_is_set(&policy->dir->values, EL_DIR_ENABLED)
                            || policy->dir->values.value[EL_DIR_ENABLED]),
                /* A 304 seldom repeats the type: Vary there does no harm, its absence may. */
                .type_listed = by_type || is_listed(r, policy)
                               || (r->status == HTTP_NOT_MODIFIED && !r->content_type),
                .has_encoding = fields->encoded,
                /* The parts of a multipart 206 carry it instead of the header. */
                .has_content_range = r->status == HTTP_PARTIAL_CONTENT || fields->has_range,
                .stock_order = policy->is_stock,
            },
    };

    /* Most responses that stay as they are, images for one, end here. */
    if (facts.resource.enabled && facts.resource.type_listed) {
        facts.resource.no_transform = fields->no_transform;
        facts.moment.bypass = el_response_control(r).bypass;
        read_demand(r, policy, ahead, &facts.demand);
    }
    return facts;
}

el_facts_t el_facts_of_200(request_rec *r, const el_policy_t *policy, bool by_type)
{
    int status = r->status;
    el_facts_t facts;
    el_moment_t *moment = &facts.moment;

    /* What is asked here reads the status, too. */
    r->status = HTTP_OK;
    facts = el_facts_of(r, policy, by_type || !r->content_type, false);
    moment->size_known = el_fields_length(&el_response_of(r)->fields, &moment->size);
    moment->min_size = el_connection_min_size(r, policy, moment->size);
    r->status = status;
    return facts;
}
