#include "httpd/response/difference.h"

#include "httpd/config/settings.h"
#include "httpd/response/fields.h"
#include "httpd/response/origin.h"
#include "httpd/response/request.h"
#include "httpd/shared/shared.h"

#include "elastic/structured.h"
#include "engines/engines.h"

#include "apr_hash.h"
#include "apr_strings.h"

static const char available[] = "Available-Dictionary";

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
    return el_accept_choose(el_request_accept(r), order, count);
}

/* A relative pattern is for the directory of its dictionary, which may be any. */
static bool is_for(const el_dictionary_rule_t *rule, const char *target)
{
    return el_url_pattern_relative(rule->match)
           || el_url_pattern_match(rule->match, "/", target);
}

/* Whether some rule of this server's configuration is for the URL. */
static bool has_rule(request_rec *r)
{
    const apr_array_header_t *rules = el_server_of(r->server)->dictionary_rules;
    el_request_t *request = el_request_of(r);

    if (!request->rule_sought) {
        for (int i = 0; i < rules->nelts && !request->rule_found; i++) {
            request->rule_found = is_for(APR_ARRAY_IDX(rules, i, const el_dictionary_rule_t *),
                                         el_origin_target(r));
        }
        request->rule_sought = true;
    }
    return request->rule_found;
}

bool el_difference_possible(request_rec *r)
{
    return el_dictionaries_are_open() && el_server_of(r->server)->dictionary_rules
           && el_request_may_run(r, EL_RECORD_ELASTIC) && el_origin_of(r) && has_rule(r);
}

/*
 * Whether whoever asks may read a response that allows it to the origin `allowed`; `*depends` is what
 * decided that.
 */
static bool is_permitted(request_rec *r, const char *allowed, unsigned *depends)
{
    const el_dictionary_readers_t readers = {
        .site = apr_table_get(r->headers_in, "Sec-Fetch-Site"),
        .mode = apr_table_get(r->headers_in, "Sec-Fetch-Mode"),
        .origin = apr_table_get(r->headers_in, "Origin"),
        .allowed = allowed,
    };

    return el_dictionary_permitted(&readers, depends);
}

static const char *allowed_by(request_rec *r)
{
    return el_field(r, "Access-Control-Allow-Origin");
}

static uint32_t hash_of(const char *text)
{
    apr_ssize_t len = APR_HASH_KEY_STRING;

    return apr_hashfunc_default(text, &len);
}

/* A number for what `kind` of share `text` has in this origin; never 0. */
static uint32_t share_of(const el_dictionary_name_t *name, unsigned kind, const char *text)
{
    uint32_t hash = hash_of(name->origin) + kind;

    return (hash * 31 + hash_of(text)) | 1u << 31;
}

/* Looks for the dictionary that the field names. Of a field that comes twice httpd has made one. */
static el_dictionary_reason_t find(request_rec *r, const char *field, el_difference_t *difference)
{
    const char *named = apr_table_get(r->headers_in, "Dictionary-ID");
    char *id = apr_palloc(r->pool, EL_ID_ROOM);
    el_dictionary_entry_t *entry = apr_palloc(r->pool, sizeof(*entry));
    el_dictionary_reason_t reason;
    unsigned depends;
    el_dictionary_request_t request = {
        .origin = difference->name.origin,
        .target = el_origin_target(r),
        .dest = apr_table_get(r->headers_in, "Sec-Fetch-Dest"),
        .id = named ? id : NULL,
        .now = (uint64_t)apr_time_sec(r->request_time),
    };

    if (!el_structured_bytes(field, difference->name.hash, sizeof(difference->name.hash))
        || (named && !el_structured_string(named, id, EL_ID_ROOM))) {
        return EL_DICTIONARY_MALFORMED;
    }
    /* The response's header may not be complete yet: el_difference_of() asks once more. */
    if (!is_permitted(r, "*", &depends)) {
        return EL_DICTIONARY_CROSS_ORIGIN;
    }
    reason = el_dictionaries_find(&difference->name, &request, entry);
    if (reason == EL_DICTIONARY_USED) {
        difference->shares[EL_SHARE_PAGE] = share_of(&difference->name, EL_SHARE_PAGE, request.target);
        difference->shares[EL_SHARE_RULE] = share_of(&difference->name, EL_SHARE_RULE, entry->match);
    }
    return reason;
}

static void note(request_rec *r, el_dictionary_reason_t reason)
{
    apr_table_setn(r->notes, "elastic-dictionary", el_dictionary_note(reason));
    el_shared_count((el_counter_t)(EL_COUNT_DICTIONARY + reason), 1);
}

static el_difference_t *look(request_rec *r)
{
    const char *field = apr_table_get(r->headers_in, available);
    el_difference_t *difference = apr_pcalloc(r->pool, sizeof(*difference));
    el_dictionary_reason_t reason;

    difference->coding = EL_IDENTITY;
    if (!el_difference_possible(r)) {
        return difference;
    }
    difference->name.origin = el_origin_of(r);
    difference->shares[EL_SHARE_PLAIN] = share_of(&difference->name, EL_SHARE_PLAIN,
                                                  el_origin_target(r));
    difference->coding = field ? coding_of(r) : EL_IDENTITY;
    if (difference->coding == EL_IDENTITY) {
        return difference;
    }
    reason = find(r, field, difference);
    if (reason != EL_DICTIONARY_USED) {
        note(r, reason);
        difference->coding = EL_IDENTITY;
    }
    return difference;
}

static el_difference_t *find_once(request_rec *r)
{
    el_request_t *request = el_request_of(r);

    if (!request->difference) {
        request->difference = look(r);
    }
    return request->difference;
}

const el_difference_t *el_difference_ahead(request_rec *r)
{
    return find_once(r);
}

const el_difference_t *el_difference_of(request_rec *r)
{
    el_difference_t *difference = find_once(r);
    unsigned depends;

    if (difference->coding != EL_IDENTITY && !is_permitted(r, allowed_by(r), &depends)) {
        note(r, EL_DICTIONARY_CROSS_ORIGIN);
        difference->coding = EL_IDENTITY;
    }
    return difference;
}

static apr_status_t release(void *dictionary)
{
    el_dictionary_release(dictionary);
    return APR_SUCCESS;
}

const el_dictionary_t *el_difference_prepare(request_rec *r, int level)
{
    const el_difference_t *difference = el_difference_of(r);
    el_dictionary_t *dictionary = NULL;

    note(r, el_dictionaries_prepare(&difference->name, difference->coding, level, &dictionary));
    if (dictionary) {
        apr_pool_cleanup_register(r->pool, dictionary, release, apr_pool_cleanup_null);
    }
    return dictionary;
}

void el_difference_outdone(request_rec *r)
{
    note(r, EL_DICTIONARY_OUTDONE);
}

void el_difference_add_vary(request_rec *r)
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
    if (!el_difference_possible(r)) {
        return;
    }
    el_fields_add_vary(r, available);
    if (apr_table_get(r->headers_in, available)) {
        is_permitted(r, allowed_by(r), &depends);
    }
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (depends & rows[i].bit) {
            el_fields_add_vary(r, rows[i].field);
        }
    }
}
