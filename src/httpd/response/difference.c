#include "httpd/response/difference.h"

#include "httpd/config/settings.h"
#include "httpd/dictionary/dictionaries.h"
#include "httpd/response/fields.h"
#include "httpd/response/origin.h"
#include "httpd/response/request.h"
#include "httpd/response/session.h"
#include "httpd/state/shared.h"

#include "elastic/structured.h"
#include "engines/engines.h"

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

bool el_difference_possible(request_rec *r)
{
    return el_dictionaries_are_open() && el_server_of(r->server)->has_dictionaries
           && el_request_may_run(r, EL_RECORD_ELASTIC) && el_origin_of(r);
}

/* Whether whoever asks may read the response; `*depends` is what decided that. */
static bool is_permitted(request_rec *r, unsigned *depends)
{
    const el_dictionary_readers_t readers = {
        .site = apr_table_get(r->headers_in, "Sec-Fetch-Site"),
        .mode = apr_table_get(r->headers_in, "Sec-Fetch-Mode"),
        .origin = apr_table_get(r->headers_in, "Origin"),
        .allowed = el_field(r, "Access-Control-Allow-Origin"),
    };

    return el_dictionary_permitted(&readers, depends);
}

/* Looks for the dictionary that the field names. */
static el_dictionary_reason_t find(request_rec *r, const char *field, el_difference_t *difference)
{
    const char *named = apr_table_getm(r->pool, r->headers_in, "Dictionary-ID");
    char *id = apr_palloc(r->pool, EL_ID_ROOM);
    uint8_t hash[EL_DICTIONARY_HASH];
    unsigned depends;
    el_dictionary_request_t request = {
        .origin = el_origin_of(r),
        .target = el_origin_target(r),
        .dest = apr_table_get(r->headers_in, "Sec-Fetch-Dest"),
        .id = named ? id : NULL,
        .now = (uint64_t)apr_time_sec(r->request_time),
    };

    if (!el_structured_bytes(field, hash, sizeof(hash))
        || (named && !el_structured_string(named, id, EL_ID_ROOM))) {
        return EL_DICTIONARY_MALFORMED;
    }
    if (!is_permitted(r, &depends)) {
        return EL_DICTIONARY_CROSS_ORIGIN;
    }
    return el_dictionaries_find(difference->coding, hash, &request,
                                el_session_may_read(r) ? el_session_of(r) : NULL,
                                &difference->dictionary);
}

static apr_status_t release(void *dictionary)
{
    el_dictionary_release(dictionary);
    return APR_SUCCESS;
}

static const el_difference_t *look(request_rec *r)
{
    static const el_difference_t none = {.coding = EL_IDENTITY};
    const char *field = apr_table_getm(r->pool, r->headers_in, available);
    el_difference_t *difference;
    el_dictionary_reason_t reason;

    if (!field || !el_difference_possible(r)) {
        return &none;
    }
    difference = apr_pcalloc(r->pool, sizeof(*difference));
    difference->coding = coding_of(r);
    if (difference->coding == EL_IDENTITY) {
        return &none;
    }
    reason = find(r, field, difference);
    apr_table_setn(r->notes, "elastic-dictionary", el_dictionary_note(reason));
    el_shared_count((el_counter_t)(EL_COUNT_DICTIONARY + reason), 1);
    if (reason != EL_DICTIONARY_USED) {
        return &none;
    }
    apr_pool_cleanup_register(r->pool, difference->dictionary, release, apr_pool_cleanup_null);
    return difference;
}

const el_difference_t *el_difference_of(request_rec *r)
{
    el_request_t *request = el_request_of(r);

    if (!request->difference) {
        request->difference = look(r);
    }
    return request->difference;
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
        is_permitted(r, &depends);
    }
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (depends & rows[i].bit) {
            el_fields_add_vary(r, rows[i].field);
        }
    }
}
