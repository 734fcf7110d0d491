#include "httpd/response/conditional.h"

#include "httpd/config/policy.h"
#include "httpd/dictionary/dictionaries.h"
#include "httpd/response/request.h"

#include "elastic/etag.h"

#include "apr_strings.h"

/*
 * A backend's limits are not known. By default httpd, gunicorn and nginx take a line of a field up to
 * this size (nginx two bytes more), and Tomcat, Jetty and AJP so much of all of them together.
 */
#define BACKEND_LIMIT 8190

static const char if_none_match[] = "If-None-Match", if_match[] = "If-Match";

/* Whether another server, or a FastCGI process, answers. */
static bool is_proxied(const request_rec *r)
{
    return r->proxyreq != PROXYREQ_NONE || (r->handler && strncmp(r->handler, "proxy:", 6) == 0);
}

static bool takes_a_coding(const el_accept_t *accept)
{
    for (int coding = EL_IDENTITY + 1; coding < EL_ALL_CODINGS; coding++) {
        if (el_accept_takes(accept, (el_coding_t)coding)) {
            return true;
        }
    }
    return false;
}

/*
 * A backend knows of its own body only: where If-Range has that body's date, it answers a slice of
 * it, and the client joins it to the part of an encoded one that it may have. Files wait with this
 * until their type is known; a backend has answered by then.
 */
static bool asks_a_backend_by_date(request_rec *r)
{
    return is_proxied(r) && el_request_dated_range(r) && el_request_has_range(r)
           && el_request_encodable(r);
}

static int add_size(void *size, const char *name, const char *value)
{
    *(size_t *)size += strlen(name) + strlen(": ") + strlen(value) + strlen("\r\n");
    return 1;
}

/*
 * Whether `added` bytes at the end of the field `name` leave what goes to a backend within its
 * limits. A header that is beyond them as it came is one that this backend takes.
 */
static bool may_grow(const request_rec *r, const char *name, const char *list, size_t added)
{
    size_t header = strlen(r->the_request);

    apr_table_do(add_size, &header, r->headers_in, NULL);
    return strlen(name) + strlen(": ") + strlen(list) + added <= BACKEND_LIMIT
           && (header > BACKEND_LIMIT || header + added <= BACKEND_LIMIT);
}

/* Adds `len` bytes of tags to the list in the field `name`; false where it stays as it is. */
static bool add_tags(request_rec *r, const char *name, const char *list, const char *tags,
                     size_t len)
{
    if (len == 0 || (is_proxied(r) && !may_grow(r, name, list, len))) {
        return false;
    }
    apr_table_setn(r->headers_in, name, apr_pstrcat(r->pool, list, tags, NULL));
    return true;
}

/* Memory for all bases of a list: of "x-gunzip-gzip" both "x-gunzip" and "x" are. */
static char *room_for_bases(request_rec *r, const char *list, size_t *size)
{
    *size = strlen(list) * 3 + 1;
    return apr_palloc(r->pool, *size);
}

/* Adds the tags of the identities to If-None-Match. */
static void name_bases(request_rec *r, const char *list, const el_accept_t *accept)
{
    el_request_t *request = el_request_of(r);
    size_t size, len;
    char *bases = room_for_bases(r, list, &size);

    len = el_etag_bases(list, accept, bases, size);
    if (request->inflates) {
        len += el_etag_decoded_bases(list, accept, bases + len, size - len);
    }
    if (add_tags(r, if_none_match, list, bases, len)) {
        request->if_none_match = list;
    }
}

/*
 * The codings whose tags are strong here: with `suffix`, which is what the drop-ins have. What the
 * request accepts does not matter: it asks about a body that the client has.
 */
static el_accept_t strongly_tagged(request_rec *r)
{
    el_accept_t strong = {{0}};

    for (int record = 0; record < EL_RECORDS; record++) {
        el_policy_t policy;

        if (!el_request_may_run(r, (el_record_t)record)) {
            continue;
        }
        policy = el_policy_of(r, (el_record_t)record);
        el_policy_read_encoding(&policy);
        for (size_t i = 0; i < policy.order_count && policy.etag == EL_ETAG_SUFFIX; i++) {
            strong.q[policy.order[i]] = EL_Q_ONE;
        }
        if (!policy.is_stock && policy.etag == EL_ETAG_SUFFIX && el_dictionaries_are_open()) {
            strong.q[EL_DCB] = strong.q[EL_DCZ] = EL_Q_ONE;
        }
    }
    return strong;
}

/* Adds to If-Match the tags of the identities that belong to strong tags, which are given out. */
static void name_strong_bases(request_rec *r, const char *list)
{
    const el_stock_t *deflate = el_stock_of(r->server, EL_RECORD_DEFLATE);
    el_accept_t strong = strongly_tagged(r);
    size_t size, len;
    char *bases = room_for_bases(r, list, &size);

    len = el_etag_strong_bases(list, &strong, false, bases, size);
    if (el_request_of(r)->inflates && el_stock_etag(deflate) == EL_ETAG_SUFFIX) {
        len += el_etag_strong_bases(list, &strong, true, bases + len, size - len);
    }
    add_tags(r, if_match, list, bases, len);
}

EL_RARE static void extend(request_rec *r)
{
    /* With other methods than GET and HEAD, a tag that matches is an error. */
    const char *list = r->method_number == M_GET ? apr_table_get(r->headers_in, if_none_match)
                                                 : NULL;
    const char *match = apr_table_get(r->headers_in, if_match);
    bool by_date = asks_a_backend_by_date(r);
    el_accept_t accept;

    if (!list && !match && !by_date) {
        return;
    }
    accept = el_request_enabled(r);
    /* A copy, because mod_cache keeps a pointer to the table as the client sent it. */
    r->headers_in = apr_table_copy(r->pool, r->headers_in);
    if (by_date && takes_a_coding(&accept)) {
        el_request_drop_range(r);
    }
    if (list) {
        name_bases(r, list, &accept);
    }
    if (match) {
        name_strong_bases(r, match);
    }
}

void el_conditional_prepare(request_rec *r)
{
    const el_request_t *request = el_request_find(r);

    if (request && !r->main && (request->inflates || el_request_encodable(r))) {
        extend(r);
    }
}
