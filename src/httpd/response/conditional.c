#include "httpd/response/conditional.h"

#include "httpd/config/policy.h"
#include "httpd/dictionary/dictionary.h"
#include "httpd/response/fields.h"
#include "httpd/response/response.h"

#include "elastic/etag.h"

#include "apr_strings.h"
#include "apr_uri.h"
#include "http_protocol.h"
#include "httpd.h"

/*
 * A backend's limits are not known. By default httpd, gunicorn and nginx take a line of a field up
 * to this size (nginx two bytes more), and Tomcat, Jetty and AJP so much of all of them together.
 */
#define BACKEND_LIMIT 8190

static const char if_none_match[] = "If-None-Match", if_match[] = "If-Match";

/* Whether another server, or a FastCGI process, answers. */
static bool is_proxied(const request_rec *r)
{
    return r->proxyreq != PROXYREQ_NONE
           || (r->handler && *r->handler == 'p' && strncmp(r->handler, "proxy:", 6) == 0);
}

static bool takes_a_coding(request_rec *r)
{
    el_accept_t accept = el_response_enabled(r);

    for (int coding = EL_IDENTITY + 1; coding < EL_ALL_CODINGS; coding++) {
        if (el_accept_takes(&accept, (el_coding_t)coding)) {
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
    return is_proxied(r) && el_response_dated_range(r) && el_response_has_range(r)
           && el_response_of(r)->encodable;
}

/*
 * Whether `added` bytes at the end of the field `name` leave what goes to a backend within its
 * limits. A header that is beyond them as it came is one that this backend takes.
 */
static bool may_grow(const request_rec *r, const char *name, const char *list, size_t added)
{
    size_t header = strlen(r->the_request) + el_fields_table_size(r->headers_in);

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

/*
 * httpd's tag of the file that answers, or that WebDAV changes; NULL where another server answers,
 * there is no file, or FileETag makes no tag. Whether a script answers in its place is not known
 * yet.
 */
static const char *tag_of_file(request_rec *r)
{
    const char *tag = NULL;

    if (!is_proxied(r) && r->finfo.filetype == APR_REG) {
        tag = ap_make_etag(r, 0);
    }
    return tag && *tag ? tag : NULL;
}

/* Sets of el_etag_mode_t, with the bit 1 << mode for each. */
#define ANY_MODE (~0u)

/* The codings that the filters here may give a body, where they make its tag by one of `modes`. */
static el_accept_t codings_tagged(request_rec *r, unsigned modes)
{
    el_accept_t codings = {{0}};

    for (int record = 0; record < EL_RECORDS; record++) {
        el_policy_t policy;

        if (!el_response_may_run(r, (el_record_t)record)) {
            continue;
        }
        policy = el_policy_of(r, (el_record_t)record);
        el_policy_read_encoding(&policy);
        if (!(modes & 1u << policy.etag)) {
            continue;
        }
        for (size_t i = 0; i < policy.order_count; i++) {
            codings.q[policy.order[i]] = EL_Q_ONE;
        }
        if (!policy.is_stock && el_dictionaries_are_open()) {
            codings.q[EL_DCB] = codings.q[EL_DCZ] = EL_Q_ONE;
        }
    }
    return codings;
}

el_accept_t el_conditional_given(request_rec *r)
{
    el_accept_t given = el_response_enabled(r);
    el_accept_t suffixed = codings_tagged(r, 1u << EL_ETAG_WEAK | 1u << EL_ETAG_SUFFIX);

    for (int coding = EL_IDENTITY + 1; coding < EL_ALL_CODINGS; coding++) {
        if (suffixed.q[coding] == 0) {
            given.q[coding] = 0;
        }
    }
    return given;
}

/* Adds the tags of the identities to If-None-Match. */
static void name_bases(request_rec *r, const char *list)
{
    el_response_t *request = el_response_of(r);
    el_accept_t given = el_conditional_given(r);
    const el_etag_rule_t encoded = {.accept = &given};
    const el_etag_rule_t decoded = {.accept = &given, .decoded = true};
    size_t size, len;
    char *bases = room_for_bases(r, list, &size);
    const char *file;
    el_etag_t named;

    len = el_etag_bases(list, &encoded, bases, size);
    if (request->inflates) {
        len += el_etag_bases(list, &decoded, bases + len, size - len);
    }
    file = len == 0 ? tag_of_file(r) : NULL;
    if (file
        && (el_etag_named(list, file, &encoded, &named)
            || (request->inflates && el_etag_named(list, file, &decoded, &named)))) {
        bases = apr_pstrcat(r->pool, ", ", file, NULL);
        len = strlen(bases);
    }
    if (add_tags(r, if_none_match, list, bases, len)) {
        request->if_none_match = list;
    }
}

/* Whether `tag`, as a client may have made it strong, is that of an encoding of what has `file`. */
static bool is_of_file(request_rec *r, const el_etag_t *tag, const char *file,
                       const el_accept_t *codings)
{
    const el_etag_rule_t encoded = {.accept = codings};
    const el_etag_rule_t decoded = {.accept = codings, .decoded = true};

    return !tag->weak && *file == '"'
           && (el_etag_made_from(tag, file, &encoded)
               || (el_response_of(r)->inflates && el_etag_made_from(tag, file, &decoded)));
}

/*
 * Adds to If-Match the file's own tag, where it is strong and an encoding's is there: in any mode,
 * for several WebDAV clients send a weak one as if it were strong, and write in good faith what
 * they have read. What the request accepts does not matter: it asks about a body that the client
 * has.
 */
static bool name_file(request_rec *r, const char *list, const char *file)
{
    el_accept_t codings = codings_tagged(r, ANY_MODE);
    const char *cursor = list;
    el_etag_t tag;

    while (file && el_etag_next(&cursor, &tag)) {
        if (is_of_file(r, &tag, file, &codings)) {
            const char *added = apr_pstrcat(r->pool, ", ", file, NULL);

            return add_tags(r, if_match, list, added, strlen(added));
        }
    }
    return false;
}

/*
 * Adds to If-Match the tags of the identities that belong to strong tags, which are given out.
 * Whose they are is for the script or the backend to say.
 */
static void name_strong_bases(request_rec *r, const char *list)
{
    const el_stock_t *deflate = el_stock_of(r->server, EL_RECORD_DEFLATE);
    el_accept_t strong = codings_tagged(r, 1u << EL_ETAG_SUFFIX);
    el_etag_rule_t rule = {.accept = &strong, .strong = true};
    size_t size, len;
    char *bases = room_for_bases(r, list, &size);

    len = el_etag_bases(list, &rule, bases, size);
    if (el_response_of(r)->inflates && el_stock_etag(deflate) == EL_ETAG_SUFFIX) {
        rule.decoded = true;
        len += el_etag_bases(list, &rule, bases + len, size - len);
    }
    add_tags(r, if_match, list, bases, len);
}

/* Whether the URI in WebDAV's If is r's; mod_dav compares like this, without the host. */
static bool is_own_uri(request_rec *r, const char *text, size_t len)
{
    apr_uri_t uri;
    size_t path_len, own_len = strlen(r->uri);

    if (apr_uri_parse(r->pool, apr_pstrmemdup(r->pool, text, len), &uri) != APR_SUCCESS
        || !uri.path) {
        return false;
    }
    ap_getparents(uri.path);
    if (ap_unescape_url(uri.path) != OK) {
        return false;
    }
    path_len = strlen(uri.path);
    path_len -= path_len > 1 && uri.path[path_len - 1] == '/';
    own_len -= own_len > 1 && r->uri[own_len - 1] == '/';
    return path_len == own_len && memcmp(uri.path, r->uri, own_len) == 0;
}

/*
 * Puts the file's own tag in place of those of its encodings in WebDAV's If, by name_file()'s
 * rule. What is said with Not, or about other resources, stays: that these do not have such a tag
 * is true.
 */
static void translate_states(request_rec *r, const char *field, const char *file)
{
    el_accept_t codings = codings_tagged(r, ANY_MODE);
    el_etag_state_t state = {.at = field};
    const char *copied = field, *uri = NULL;
    char *made = apr_palloc(r->pool, strlen(field) + 1), *to = made;
    bool is_own = true;

    while (el_etag_next_state(&state)) {
        if (state.uri != uri) {
            uri = state.uri;
            is_own = is_own_uri(r, uri, state.uri_len);
        }
        if (is_own && !state.negated && is_of_file(r, &state.tag, file, &codings)) {
            /* The file's tag is shorter, by the suffix. */
            to = apr_cpystrn(to, copied, (apr_size_t)(state.tag.text - copied) + 1);
            to = apr_cpystrn(to, file, strlen(file) + 1);
            copied = state.tag.text + state.tag.len;
        }
    }
    if (copied != field) {
        apr_cpystrn(to, copied, strlen(copied) + 1);
        apr_table_setn(r->headers_in, "If", made);
    }
}

static const char *states_of(const request_rec *r)
{
    bool is_dav = r->method_number != M_GET && r->handler && strcmp(r->handler, "dav-handler") == 0;

    return is_dav ? apr_table_get(r->headers_in, "If") : NULL;
}

/* What the client has must be what it changes. */
static void extend_strongly(request_rec *r, const char *match, const char *states)
{
    const char *file = tag_of_file(r);

    if (match && !name_file(r, match, file)) {
        name_strong_bases(r, match);
    }
    if (states && file) {
        translate_states(r, states, file);
    }
}

EL_RARE static void extend(request_rec *r)
{
    /* With other methods than GET and HEAD, a tag that matches is an error. */
    const char *list = r->method_number == M_GET ? apr_table_get(r->headers_in, if_none_match)
                                                 : NULL;
    const char *match = apr_table_get(r->headers_in, if_match);
    const char *states = states_of(r);
    bool by_date = asks_a_backend_by_date(r);

    if (!list && !match && !states && !by_date) {
        return;
    }
    /* A copy, because mod_cache keeps a pointer to the table as the client sent it. */
    r->headers_in = apr_table_copy(r->pool, r->headers_in);
    if (by_date && takes_a_coding(r)) {
        el_response_drop_range(r);
    }
    if (list) {
        el_response_of(r)->names_tags = true;
        name_bases(r, list);
    }
    if (match || states) {
        extend_strongly(r, match, states);
    }
}

void el_conditional_prepare(request_rec *r)
{
    const el_response_t *request = el_response_find(r);

    if (request && !r->main && (request->inflates || request->encodable)) {
        extend(r);
    }
}
