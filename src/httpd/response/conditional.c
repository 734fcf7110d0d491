#include "httpd/response/steps.h"

#include "httpd/config/glue.h"
#include "httpd/response/choose.h"

#include "elastic/etag.h"

#include "apr_strings.h"
#include "apr_uri.h"
#include "http_protocol.h"

/*
 * The assumed limit of a backend. By default httpd, gunicorn and nginx accept a field line of this
 * size (nginx two bytes more); Tomcat, Jetty and AJP accept as much for all fields together.
 */
#define BACKEND_LIMIT 8190

/* This variable makes mod_filter's harnesses run their filters for statuses other than 200. */
#define RUN_HARNESSES "filter-errordocs"

static const char if_none_match[] = "If-None-Match", if_match[] = "If-Match";

static ap_filter_rec_t *not_modified, *no_body;

/* Room for all bases of a list: "x-gunzip-gzip" has two, "x-gunzip" and "x". */
#define BASES_ROOM(list) (strlen(list) * 3 + 1)

/* ---- before the handler ---------------------------------------------------------------------- */

/* True if another server or a FastCGI process answers. */
static bool conditional_is_proxied(const request_rec *r)
{
    return r->proxyreq != PROXYREQ_NONE
           || (r->handler && strncmp(r->handler, "proxy:", 6) == 0);
}

/*
 * Appends `len` bytes of tags to the list in the field `name`. Returns false if there are none, or
 * if a backend might refuse so long a header. A header that was longer to begin with is extended:
 * its backend must accept it.
 */
static bool conditional_add_tags(request_rec *r, const char *name, const char *list,
                                 const char *tags, size_t len)
{
    if (len == 0) {
        return false;
    }
    if (conditional_is_proxied(r)) {
        size_t header = strlen(r->the_request) + el_fields_table_size(r->headers_in);

        if (strlen(name) + strlen(": ") + strlen(list) + len > BACKEND_LIMIT
            || (header <= BACKEND_LIMIT && header + len > BACKEND_LIMIT)) {
            return false;
        }
    }
    apr_table_setn(r->headers_in, name, apr_pstrcat(r->pool, list, tags, NULL));
    return true;
}

/*
 * httpd's tag of the file that answers or that WebDAV changes. NULL if a backend answers, there is
 * no file, or FileETag makes no tag. A script may still answer instead of the file.
 */
static const char *conditional_file_tag(request_rec *r)
{
    const char *tag = NULL;

    if (!conditional_is_proxied(r) && r->finfo.filetype == APR_REG) {
        tag = ap_make_etag(r, 0);
    }
    return tag && *tag ? tag : NULL;
}

/* A set of el_etag_mode_t has the bit 1 << mode for each. */
#define ANY_MODE (~0u)

/* The codings of our filters that set a body's tag by one of `modes`. */
static el_accept_t conditional_tagged(const el_response_t *response, unsigned modes)
{
    el_accept_t codings = {{0}};

    for (int record = 0; record < EL_RECORDS; record++) {
        el_policy_t policy;

        if (!el_response_may_run(response, (el_record_t)record)) {
            continue;
        }
        policy = el_policy_of(response->r, (el_record_t)record);
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

/* The codings that this request accepts and that add a suffix to tags here. */
static el_accept_t conditional_given(el_response_t *response)
{
    el_accept_t given = el_response_enabled(response);
    el_accept_t suffixed = conditional_tagged(response, 1u << EL_ETAG_WEAK | 1u << EL_ETAG_SUFFIX);

    for (int coding = EL_IDENTITY + 1; coding < EL_ALL_CODINGS; coding++) {
        if (suffixed.q[coding] == 0) {
            given.q[coding] = 0;
        }
    }
    return given;
}

/* Adds the identities' tags to If-None-Match. */
static void conditional_name_bases(el_response_t *response, const char *list)
{
    request_rec *r = response->r;
    el_accept_t given = conditional_given(response);
    const el_etag_rule_t encoded = {.accept = &given};
    const el_etag_rule_t decoded = {.accept = &given, .decoded = true};
    size_t size = BASES_ROOM(list), len;
    char *bases = apr_palloc(r->pool, size);
    const char *file;
    el_etag_t named;

    len = el_etag_bases(list, &encoded, bases, size);
    if (response->inflates) {
        len += el_etag_bases(list, &decoded, bases + len, size - len);
    }
    file = len == 0 ? conditional_file_tag(r) : NULL;
    if (file
        && (el_etag_named(list, file, &encoded, &named)
            || (response->inflates && el_etag_named(list, file, &decoded, &named)))) {
        bases = apr_pstrcat(r->pool, ", ", file, NULL);
        len = strlen(bases);
    }
    if (conditional_add_tags(r, if_none_match, list, bases, len)) {
        response->if_none_match = list;
    }
}

/* True if `tag`, which a client may have made strong, names an encoding of the body with `file`. */
static bool conditional_is_of_file(const el_response_t *response, const el_etag_t *tag,
                                   const char *file, const el_accept_t *codings)
{
    const el_etag_rule_t encoded = {.accept = codings};
    const el_etag_rule_t decoded = {.accept = codings, .decoded = true};

    return !tag->weak && *file == '"'
           && (el_etag_made_from(tag, file, &encoded)
               || (response->inflates && el_etag_made_from(tag, file, &decoded)));
}

/*
 * Extends If-Match. If the file's tag is strong and the list has the tag of an encoding of it, adds
 * the file's tag. It does so in every mode, because several WebDAV clients send a weak tag as a
 * strong one, and whatever Accept-Encoding says, because the condition is about a body that the
 * client has.
 *
 * Otherwise adds the identities' tags of strong tags, for the script or backend to compare.
 */
static void conditional_extend_match(el_response_t *response, const char *list, const char *file)
{
    request_rec *r = response->r;
    el_accept_t any = conditional_tagged(response, ANY_MODE);
    el_accept_t strong = conditional_tagged(response, 1u << EL_ETAG_SUFFIX);
    el_etag_rule_t rule = {.accept = &strong, .strong = true};
    const char *cursor = list;
    el_etag_t tag;
    size_t size = BASES_ROOM(list), len;
    char *bases;

    while (file && el_etag_next(&cursor, &tag)) {
        if (conditional_is_of_file(response, &tag, file, &any)) {
            const char *added = apr_pstrcat(r->pool, ", ", file, NULL);

            if (conditional_add_tags(r, if_match, list, added, strlen(added))) {
                return;
            }
            break;
        }
    }
    bases = apr_palloc(r->pool, size);
    len = el_etag_bases(list, &rule, bases, size);
    if (response->inflates
        && el_stock_of(r->server, EL_RECORD_DEFLATE)->values.value[EL_STOCK_ETAG]
               == EL_ETAG_SUFFIX) {
        rule.decoded = true;
        len += el_etag_bases(list, &rule, bases + len, size - len);
    }
    conditional_add_tags(r, if_match, list, bases, len);
}

/* True if the URI in WebDAV's If is that of `r`. Like mod_dav, ignores the host. */
static bool conditional_is_own_uri(request_rec *r, const char *text, size_t len)
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
 * Replaces the tags of the file's encodings in WebDAV's If by the file's own, as in If-Match.
 * Negated tags and those of other resources stay, because they do not describe this file.
 */
static void conditional_translate(el_response_t *response, const char *field, const char *file)
{
    request_rec *r = response->r;
    el_accept_t codings = conditional_tagged(response, ANY_MODE);
    el_etag_state_t state = {.at = field};
    const char *copied = field, *uri = NULL;
    char *made = apr_palloc(r->pool, strlen(field) + 1), *to = made;
    bool is_own = true;

    while (el_etag_next_state(&state)) {
        if (state.uri != uri) {
            uri = state.uri;
            is_own = conditional_is_own_uri(r, uri, state.uri_len);
        }
        if (is_own && !state.negated
            && conditional_is_of_file(response, &state.tag, file, &codings)) {
            /* The file's tag is never longer: it has no suffix. */
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

EL_RARE static void conditional_extend(el_response_t *response)
{
    request_rec *r = response->r;
    bool is_get = r->method_number == M_GET;
    /* For methods other than GET and HEAD, a matching If-None-Match is an error. */
    const char *list = is_get ? apr_table_get(r->headers_in, if_none_match) : NULL;
    const char *match = apr_table_get(r->headers_in, if_match);
    bool is_dav = !is_get && r->handler && strcmp(r->handler, "dav-handler") == 0;
    const char *states = is_dav ? apr_table_get(r->headers_in, "If") : NULL;
    /*
     * If the date in If-Range matches, a backend answers with a slice, which the client would join
     * to its part of an encoded body. For files, the check can wait for their type; for backends it
     * must come before they answer.
     */
    bool by_date =
        conditional_is_proxied(r) && el_response_dated_range(r) && response->encodable;
    const char *file;

    if (!list && !match && !states && !by_date) {
        return;
    }
    /* mod_cache keeps a pointer to the original table, so change a copy. */
    r->headers_in = apr_table_copy(r->pool, r->headers_in);
    if (by_date) {
        el_accept_t accept = el_response_enabled(response);
        int coding = EL_IDENTITY + 1;

        while (coding < EL_ALL_CODINGS && !el_accept_takes(&accept, (el_coding_t)coding)) {
            coding++;
        }
        if (coding < EL_ALL_CODINGS) {
            el_response_drop_range(r);
        }
    }
    if (list) {
        response->names_tags = true;
        conditional_name_bases(response, list);
    }
    file = match || states ? conditional_file_tag(r) : NULL;
    if (match) {
        conditional_extend_match(response, match, file);
    }
    if (states && file) {
        conditional_translate(response, states, file);
    }
}

void el_conditional_prepare(request_rec *r)
{
    el_response_t *response = el_response_find(r);

    if (response && !r->main && (response->inflates || response->encodable)) {
        conditional_extend(response);
    }
}

/* ---- the header of a 304 --------------------------------------------------------------------- */

/* They describe the identity; a cache would compare its encoded body with them, and drop that. */
static void conditional_unset_identity(request_rec *r)
{
    el_field_unset(r, "Content-Length");
    el_field_unset(r, "Accept-Ranges");
}

bool el_not_modified_named(el_response_t *response)
{
    request_rec *r = response->r;
    const char *list = response->if_none_match ? response->if_none_match
                                               : apr_table_get(r->headers_in, if_none_match);
    const char *current = el_field(r, "ETag");
    el_accept_t accept;
    el_etag_rule_t rule;
    el_etag_t named;
    size_t base;
    bool found;

    if (!list || !current) {
        return false;
    }
    accept = el_response_enabled(response);
    rule = (el_etag_rule_t){.accept = &accept};
    found = el_etag_named(list, current, &rule, &named);
    if (!found && response->inflates) {
        rule.decoded = true;
        found = el_etag_named(list, current, &rule, &named);
    }
    if (!found) {
        return false;
    }
    response->tagged = true;
    if (!el_etag_same(&named, current)) {
        el_fields_set_etag(r, apr_pstrmemdup(r->pool, named.text, named.len));
    }
    if (el_etag_coding(&named, &base) != EL_IDENTITY) {
        conditional_unset_identity(r);
    }
    return true;
}

bool el_not_modified_now(el_response_t *response, const char *decoded)
{
    request_rec *r = response->r;
    /* httpd and the backend have not answered the condition. */
    bool undecided = response->names_tags && !r->no_local_copy
                     && (r->status == HTTP_OK || r->status == HTTP_PARTIAL_CONTENT);
    const char *list = undecided ? apr_table_get(r->headers_in, if_none_match) : NULL;
    const char *current = list ? el_field(r, "ETag") : NULL;
    el_etag_rule_t rule;
    el_accept_t given;
    el_etag_t tag;

    if (!current) {
        return false;
    }
    given = conditional_given(response);
    rule = (el_etag_rule_t){.accept = &given};
    while (el_etag_next(&list, &tag)) {
        if (!(decoded ? el_etag_same(&tag, decoded) : el_etag_made_from(&tag, current, &rule))) {
            continue;
        }
        el_fields_set_etag(r, apr_pstrmemdup(r->pool, tag.text, tag.len));
        conditional_unset_identity(r);
        el_field_unset(r, "Content-Range");
        response->tagged = true;
        r->status = HTTP_NOT_MODIFIED;
        r->status_line = NULL;
        ap_add_output_filter_handle(no_body, no_body, r, r->connection);
        if (!decoded) {
            el_available_add_vary(response);
        }
        return true;
    }
    return false;
}

el_facts_t el_not_modified_facts(el_response_t *response, const el_policy_t *policy, bool by_type)
{
    request_rec *r = response->r;
    int status = r->status;
    el_moment_t *moment;
    el_facts_t facts;

    /* The functions below read the status. */
    r->status = HTTP_OK;
    facts = el_response_facts(response, policy, by_type || !r->content_type);
    el_available_add(response, policy, false, &facts.demand);
    moment = &facts.moment;
    moment->size_known = el_fields_length(&response->fields, &moment->size);
    moment->min_size = el_response_min_size(response, policy, moment->size);
    r->status = status;
    return facts;
}

void el_not_modified_tag(el_response_t *response, el_policy_t *policy, const el_facts_t *facts)
{
    request_rec *r = response->r;
    el_choose_for_t body = {.policy = policy, .facts = facts};
    el_coding_t coding = el_decide(facts).coding;
    const char *current;
    el_etag_t tag;
    size_t base;

    if (response->tagged || el_not_modified_named(response) || coding == EL_IDENTITY) {
        return;
    }
    /* A cache or a backend may have encoded the body already; keep its tag then. */
    current = el_field(r, "ETag");
    if (current && el_etag_next(&current, &tag) && el_etag_coding(&tag, &base) != EL_IDENTITY) {
        return;
    }
    el_policy_read_encoding(policy);
    body.effort = el_response_effort(response);
    body.whole = facts->moment.size_known && facts->moment.size <= policy->whole_most;
    coding = el_choose(&body, coding).coding;
    response->tagged = true;
    el_fields_encode_etag(r, coding, policy->etag);
    conditional_unset_identity(r);
}

/* The answer that one of our filters would give to a 200. */
typedef struct {
    el_policy_t policy;
    el_facts_t facts;
    el_coding_t coding; /* EL_IDENTITY: no filter encodes it */
    bool negotiated;    /* another client might get it encoded */
} judgement_t;

/* The answer of the filter that would encode: the highest weight wins, then the first. */
static judgement_t conditional_judge(el_response_t *response)
{
    judgement_t best = {.coding = EL_IDENTITY};
    bool negotiated = false;

    for (unsigned place = 1; place <= EL_RECORDS; place++) {
        for (int record = 0; record < EL_RECORDS; record++) {
            judgement_t judgement;
            el_decision_t decision;
            const uint16_t *q;

            if (response->installed[record] != place) {
                continue;
            }
            judgement.policy = el_policy_of(response->r, (el_record_t)record);
            judgement.facts = el_not_modified_facts(response, &judgement.policy, false);
            decision = el_decide(&judgement.facts);
            judgement.coding = decision.coding;
            negotiated = negotiated || decision.vary;
            q = judgement.facts.demand.accept.q;
            if (decision.coding != EL_IDENTITY
                && (best.coding == EL_IDENTITY || q[decision.coding] > q[best.coding])) {
                best = judgement;
            }
        }
    }
    best.negotiated = negotiated;
    return best;
}

void el_not_modified_returned(request_rec *r)
{
    el_response_t *response;
    judgement_t best;

    if (r->main || r->status != HTTP_NOT_MODIFIED) {
        return;
    }
    response = el_response_of(r);
    best = conditional_judge(response);
    if (!best.negotiated && !response->if_none_match) {
        return;
    }
    if (response->encodable) {
        el_available_add_vary(response);
    }
    /* mod_filter hides which types it handles; then only a tag that the client named is certain. */
    if (!response->harnessed || !r->content_type) {
        el_not_modified_tag(response, &best.policy, &best.facts);
    } else {
        el_not_modified_named(response);
    }
}

/* Handles a 304 if a harness of mod_filter holds our filter, and skips it as for all but 200. */
static apr_status_t conditional_filter(ap_filter_t *f, apr_bucket_brigade *bb)
{
    request_rec *r = f->r;
    apr_status_t rv;

    if (!f->ctx) {
        return el_body_leave(f, bb);
    }
    ap_remove_output_filter(f);
    /* With a content type, mod_filter can select its filters. All of them must be compressors. */
    if (r->status != HTTP_NOT_MODIFIED || !r->content_type || !el_chain_harnesses_compress(r)
        || apr_table_get(r->subprocess_env, RUN_HARNESSES)) {
        el_not_modified_returned(r);
        return ap_pass_brigade(f->next, bb);
    }
    apr_table_setn(r->subprocess_env, RUN_HARNESSES, "1");
    rv = ap_pass_brigade(f->next, bb);
    apr_table_unset(r->subprocess_env, RUN_HARNESSES);
    return rv;
}

static apr_status_t conditional_drop(ap_filter_t *f, apr_bucket_brigade *bb)
{
    return f->ctx ? el_no_body(f, bb) : el_body_leave(f, bb);
}

void el_not_modified_register(void)
{
    /* Before all filters that a harness may hold. */
    not_modified = ap_register_output_filter(EL_FILTER_NOT_MODIFIED, conditional_filter, NULL,
                                             (ap_filter_type)(AP_FTYPE_RESOURCE - 2));
    /*
     * Drops the body after any filter turned a 200 into a 304. It is a filter of its own because a
     * harness of mod_filter does not call its filter again after that.
     */
    no_body =
        ap_register_output_filter(EL_FILTER_NO_BODY, conditional_drop, NULL, AP_FTYPE_CONTENT_SET);
}

void el_not_modified_insert(request_rec *r)
{
    ap_add_output_filter_handle(not_modified, not_modified, r, r->connection);
}
