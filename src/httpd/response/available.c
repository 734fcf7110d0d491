#include "httpd/response/steps.h"

#include "httpd/config/config.h"
#include "httpd/dictionary/dictionaries.h"
#include "httpd/response/header.h"

#include "elastic/dictionary.h"
#include "elastic/http.h"
#include "engines/engines.h"

#include "apr_strings.h"

static const char field_name[] = "Available-Dictionary";

/*
 * The record's part with `possible` set. A dictionary is possible if browsers use dictionaries of
 * this origin, ELASTIC is in the chain, and a rule or an ElasticDictionaryFile of this virtual host
 * matches the URL. Dictionaries that clients already have do not count, so that a URL's responses
 * all vary by the dictionary or all do not.
 */
static el_available_t *available_record(el_response_t *response)
{
    el_available_t *available = &response->available;
    request_rec *r = response->r;
    const el_server_t *server = el_server_of(r->server);
    const apr_array_header_t *files = server->dictionary_files, *rules = server->dictionary_rules;
    const char *origin, *target;

    if (available->rule_sought) {
        return available;
    }
    available->rule_sought = true;
    if (!el_dictionaries_are_open() || !el_response_may_run(response, EL_RECORD_ELASTIC)
        || (!files && !rules)) {
        return available;
    }
    origin = files ? el_response_origin(response) : NULL;
    target = el_response_target(r);
    for (int i = 0; origin && i < files->nelts && !available->possible; i++) {
        const el_dictionary_file_t *file = APR_ARRAY_IDX(files, i, const el_dictionary_file_t *);

        available->possible = el_site_file_is_for(file, origin)
                              && el_dictionary_pattern_match(file->rule.match, file->url, target);
    }
    for (int i = 0; rules && i < rules->nelts && !available->possible; i++) {
        const el_dictionary_rule_t *rule = APR_ARRAY_IDX(rules, i, const el_dictionary_rule_t *);

        /* A rule's dictionaries may come from any URL. */
        available->possible = el_dictionary_pattern_match(rule->match, NULL, target);
    }
    available->possible = available->possible && el_response_origin(response);
    return available;
}

/*
 * True if the reader may have a response whose Access-Control-Allow-Origin is `allowed`. Notes the
 * fields that decided it.
 */
static bool available_is_permitted(el_response_t *response, const char *allowed)
{
    const apr_table_t *fields = response->r->headers_in;
    const el_dictionary_readers_t readers = {
        .site = apr_table_get(fields, "Sec-Fetch-Site"),
        .mode = apr_table_get(fields, "Sec-Fetch-Mode"),
        .origin = apr_table_get(fields, "Origin"),
        .allowed = allowed,
    };

    return el_dictionary_permitted(&readers, &response->available.depends);
}

/* Looks for the dictionary that the field names. httpd has joined repeated fields into one. */
static el_dictionary_reason_t available_find(el_response_t *response, const char *field)
{
    request_rec *r = response->r;
    el_available_t *available = &response->available;
    const char *named = apr_table_get(r->headers_in, "Dictionary-ID");
    char *id = apr_palloc(r->pool, EL_ID_ROOM);
    el_dictionary_entry_t *entry = apr_palloc(r->pool, sizeof(*entry));
    const char *origin = el_response_origin(response);
    el_dictionary_reason_t reason;
    el_dictionary_request_t request = {
        .origin = origin,
        .target = el_response_target(r),
        .dest = apr_table_get(r->headers_in, "Sec-Fetch-Dest"),
        .id = named ? id : NULL,
        .now = (uint64_t)apr_time_sec(r->request_time),
    };

    if (!el_structured_bytes(field, available->hash, sizeof(available->hash))
        || (named && !el_structured_string(named, id, EL_ID_ROOM))) {
        return EL_DICTIONARY_MALFORMED;
    }
    /* Here: may the reader have any response? This one's header is judged when it is known. */
    if (!available_is_permitted(response, "*")) {
        return EL_DICTIONARY_CROSS_ORIGIN;
    }
    reason = el_dictionaries_find(r->server, available->hash, &request, entry);
    if (reason == EL_DICTIONARY_USED) {
        available->shares[EL_SHARE_PAGE] = el_ratio_key(origin, EL_SHARE_PAGE, request.target);
        available->shares[EL_SHARE_RULE] = el_ratio_key(origin, EL_SHARE_RULE, entry->match);
    }
    return reason;
}

void el_available_note(const request_rec *r, el_dictionary_reason_t reason)
{
    apr_table_setn(r->notes, "elastic-dictionary", el_dictionary_notes[reason]);
    el_shared_count((el_counter_t)(EL_COUNT_DICTIONARY + (unsigned)reason), 1);
}

const el_available_t *el_available_ahead(el_response_t *response)
{
    static const el_coding_t all[] = {EL_DCZ, EL_DCB};
    request_rec *r = response->r;
    el_available_t *available = available_record(response);
    el_coding_t order[sizeof(all) / sizeof(all[0])];
    el_dictionary_reason_t reason;
    const char *field;
    size_t count = 0;

    if (available->sought) {
        return available;
    }
    available->sought = true;
    available->coding = EL_IDENTITY;
    if (!available->possible) {
        return available;
    }
    available->shares[EL_SHARE_PLAIN] =
        el_ratio_key(el_response_origin(response), EL_SHARE_PLAIN, el_response_target(r));
    field = apr_table_get(r->headers_in, field_name);
    if (!field) {
        return available;
    }
    /* Of the codings that take a dictionary, the one that the client likes best. */
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (el_engine_for(all[i])) {
            order[count++] = all[i];
        }
    }
    available->coding = el_accept_choose(el_response_accept(response), order, count);
    if (available->coding != EL_IDENTITY) {
        reason = available_find(response, field);
        if (reason != EL_DICTIONARY_USED) {
            el_available_note(r, reason);
            available->coding = EL_IDENTITY;
        }
    }
    return available;
}

const el_available_t *el_available_of(el_response_t *response)
{
    el_available_t *available = &response->available;

    el_available_ahead(response);
    if (available->coding != EL_IDENTITY
        && !available_is_permitted(response,
                                   el_field(response->r, "Access-Control-Allow-Origin"))) {
        el_available_note(response->r, EL_DICTIONARY_CROSS_ORIGIN);
        available->coding = EL_IDENTITY;
    }
    return available;
}

void el_available_add(el_response_t *response, const el_policy_t *policy, bool ahead,
                      el_demand_t *demand)
{
    const el_available_t *available;

    if (!policy->is_stock && demand->order_count > 0 && el_dictionaries_are_open()) {
        available = ahead ? el_available_ahead(response) : el_available_of(response);
        demand->available = available->coding;
        memcpy(demand->shares, available->shares, sizeof(demand->shares));
    }
}

static apr_status_t available_release(void *dictionary)
{
    el_dictionary_release(dictionary);
    return APR_SUCCESS;
}

const el_dictionary_t *el_available_prepare(el_response_t *response, int level)
{
    request_rec *r = response->r;
    const el_available_t *available = el_available_of(response);
    el_dictionary_t *dictionary = NULL;

    /* The header may have changed since the dictionary was found. */
    if (available->coding == EL_IDENTITY) {
        return NULL;
    }
    el_available_note(r, el_dictionaries_prepare(available->hash, available->coding, level,
                                                 &dictionary));
    if (dictionary) {
        apr_pool_cleanup_register(r->pool, dictionary, available_release, apr_pool_cleanup_null);
    }
    return dictionary;
}

void el_available_add_vary(el_response_t *response)
{
    static const struct {
        unsigned bit;
        const char *field;
    } rows[] = {
        {EL_DEPENDS_SITE, "Sec-Fetch-Site"},
        {EL_DEPENDS_MODE, "Sec-Fetch-Mode"},
        {EL_DEPENDS_ORIGIN, "Origin"},
    };
    request_rec *r = response->r;
    unsigned depends = 0;

    el_fields_add_vary(r, "Accept-Encoding");
    if (!el_dictionaries_are_open() || !available_record(response)->possible) {
        return;
    }
    el_fields_add_vary(r, field_name);
    if (apr_table_get(r->headers_in, field_name)) {
        available_is_permitted(response, el_field(r, "Access-Control-Allow-Origin"));
        depends = response->available.depends;
    }
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (depends & rows[i].bit) {
            el_fields_add_vary(r, rows[i].field);
        }
    }
}
