#include "httpd/response/available.h"

#include "httpd/config/settings.h"
#include "httpd/dictionary/dictionary.h"
#include "httpd/response/fields.h"

#include "elastic/ratio.h"
#include "elastic/structured.h"
#include "engines/engines.h"

#include "apr_strings.h"

static const char field_name[] = "Available-Dictionary";

/* The coding that the client likes better of those that take a dictionary; EL_IDENTITY: none. */
static el_coding_t coding_of(request_rec *r)
{
    static const el_coding_t all[] = {EL_DCZ, EL_DCB};
    el_coding_t order[sizeof(all) / sizeof(all[0])];
    size_t count = 0;

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (el_engine_for(all[i])) {
            order[count++] = all[i];
        }
    }
    return el_accept_choose(el_response_accept(r), order, count);
}

/* Whether some file of ElasticDictionaryFile is for the URL. */
static bool has_file(request_rec *r)
{
    const apr_array_header_t *files = el_server_of(r->server)->dictionary_files;
    const char *origin = files ? el_response_origin(r) : NULL;
    bool found = false;

    for (int i = 0; origin && i < files->nelts && !found; i++) {
        const el_dictionary_file_t *file = APR_ARRAY_IDX(files, i, const el_dictionary_file_t *);

        found = el_site_file_is_for(file, origin)
                && el_dictionary_pattern_match(file->rule.match, file->url, el_response_target(r));
    }
    return found;
}

/* Whether some rule of this server's configuration is for the URL. */
static bool has_rule(request_rec *r)
{
    const apr_array_header_t *rules = el_server_of(r->server)->dictionary_rules;
    bool found = has_file(r);

    for (int i = 0; rules && i < rules->nelts && !found; i++) {
        const el_dictionary_rule_t *rule = APR_ARRAY_IDX(rules, i, const el_dictionary_rule_t *);

        /* Its dictionaries may be anywhere. */
        found = el_dictionary_pattern_match(rule->match, NULL, el_response_target(r));
    }
    return found;
}

/*
 * The request's part of the record, with `possible`: a rule of this virtual host is for the URL,
 * browsers use dictionaries of this origin, and ELASTIC is in the chain. So only such rules count,
 * whatever was given out before: all responses of the URL then vary by the dictionary, and those of
 * other URLs do not.
 */
static el_available_t *record_of(request_rec *r)
{
    el_available_t *available = &el_response_of(r)->available;

    if (!available->rule_sought) {
        available->rule_sought = true;
        available->possible = el_dictionaries_are_open()
                               && el_response_may_run(r, EL_RECORD_ELASTIC) && has_rule(r)
                               && el_response_origin(r);
    }
    return available;
}

/*
 * Whether whoever asks may read a response that allows it to the origin `allowed`; the record notes
 * what decided that.
 */
static bool is_permitted(request_rec *r, const char *allowed)
{
    const el_dictionary_readers_t readers = {
        .site = apr_table_get(r->headers_in, "Sec-Fetch-Site"),
        .mode = apr_table_get(r->headers_in, "Sec-Fetch-Mode"),
        .origin = apr_table_get(r->headers_in, "Origin"),
        .allowed = allowed,
    };

    return el_dictionary_permitted(&readers, &el_response_of(r)->available.depends);
}

static const char *allowed_by(request_rec *r)
{
    return el_field(r, "Access-Control-Allow-Origin");
}

/* Looks for the dictionary that the field names. Of a field that comes twice httpd has made one. */
static el_dictionary_reason_t find(request_rec *r, const char *field, el_available_t *available)
{
    const char *named = apr_table_get(r->headers_in, "Dictionary-ID");
    char *id = apr_palloc(r->pool, EL_ID_ROOM);
    el_dictionary_entry_t *entry = apr_palloc(r->pool, sizeof(*entry));
    const char *origin = el_response_origin(r);
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
    /* Whether whoever asks may read any response; whether this one is known with its header. */
    if (!is_permitted(r, "*")) {
        return EL_DICTIONARY_CROSS_ORIGIN;
    }
    reason = el_dictionaries_find(r->server, available->hash, &request, entry);
    if (reason == EL_DICTIONARY_USED) {
        available->shares[EL_SHARE_PAGE] = el_ratio_key(origin, EL_SHARE_PAGE, request.target);
        available->shares[EL_SHARE_RULE] = el_ratio_key(origin, EL_SHARE_RULE, entry->match);
    }
    return reason;
}

static void note(request_rec *r, el_dictionary_reason_t reason)
{
    apr_table_setn(r->notes, "elastic-dictionary", el_dictionary_note(reason));
    el_shared_count((el_counter_t)(EL_COUNT_DICTIONARY + (unsigned)reason), 1);
}

static void look(request_rec *r, el_available_t *available)
{
    const char *field = apr_table_get(r->headers_in, field_name);
    el_dictionary_reason_t reason;

    available->sought = true;
    available->coding = EL_IDENTITY;
    if (!available->possible) {
        return;
    }
    available->shares[EL_SHARE_PLAIN] =
        el_ratio_key(el_response_origin(r), EL_SHARE_PLAIN, el_response_target(r));
    available->coding = field ? coding_of(r) : EL_IDENTITY;
    if (available->coding == EL_IDENTITY) {
        return;
    }
    reason = find(r, field, available);
    if (reason != EL_DICTIONARY_USED) {
        note(r, reason);
        available->coding = EL_IDENTITY;
    }
}

const el_available_t *el_available_ahead(request_rec *r)
{
    el_available_t *available = record_of(r);

    if (!available->sought) {
        look(r, available);
    }
    return available;
}

const el_available_t *el_available_of(request_rec *r)
{
    el_available_t *available = record_of(r);

    el_available_ahead(r);
    if (available->coding != EL_IDENTITY && !is_permitted(r, allowed_by(r))) {
        note(r, EL_DICTIONARY_CROSS_ORIGIN);
        available->coding = EL_IDENTITY;
    }
    return available;
}

static apr_status_t release(void *dictionary)
{
    el_dictionary_release(dictionary);
    return APR_SUCCESS;
}

const el_dictionary_t *el_available_prepare(request_rec *r, int level)
{
    const el_available_t *available = el_available_of(r);
    el_dictionary_t *dictionary = NULL;

    /* The header may have changed since the dictionary was found. */
    if (available->coding == EL_IDENTITY) {
        return NULL;
    }
    note(r, el_dictionaries_prepare(available->hash, available->coding, level, &dictionary));
    if (dictionary) {
        apr_pool_cleanup_register(r->pool, dictionary, release, apr_pool_cleanup_null);
    }
    return dictionary;
}

void el_available_outdone(request_rec *r)
{
    note(r, EL_DICTIONARY_OUTDONE);
}

void el_available_add_vary(request_rec *r)
{
    static const struct {
        unsigned bit;
        const char *field;
    } rows[] = {
        {EL_DEPENDS_SITE, "Sec-Fetch-Site"},
        {EL_DEPENDS_MODE, "Sec-Fetch-Mode"},
        {EL_DEPENDS_ORIGIN, "Origin"},
    };
    unsigned depends = 0;

    el_fields_add_vary(r, "Accept-Encoding");
    if (!el_dictionaries_are_open() || !record_of(r)->possible) {
        return;
    }
    el_fields_add_vary(r, field_name);
    if (apr_table_get(r->headers_in, field_name)) {
        is_permitted(r, allowed_by(r));
        depends = record_of(r)->depends;
    }
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (depends & rows[i].bit) {
            el_fields_add_vary(r, rows[i].field);
        }
    }
}
