#include "httpd/response/request.h"

#include "httpd/config/policy.h"
#include "httpd/dictionary/dictionaries.h"
#include "httpd/response/fields.h"

const el_request_t *el_request_find(const request_rec *r)
{
    return ap_get_module_config(r->request_config, el_record_of_requests());
}

el_request_t *el_request_of(request_rec *r)
{
    const module *record = el_record_of_requests();
    el_request_t *request = ap_get_module_config(r->request_config, record);

    if (!request) {
        request = apr_pcalloc(r->pool, sizeof(*request));
        ap_set_module_config(r->request_config, record, request);
    }
    return request;
}

void el_request_keep_accept(request_rec *r)
{
    el_request_t *request = el_request_of(r);

    if (!request->accept_kept) {
        request->accept_line = apr_table_get(r->headers_in, "Accept-Encoding");
        request->accept_kept = true;
    }
}

const el_accept_t *el_request_accept(request_rec *r)
{
    el_request_t *request = el_request_of(r);

    if (!request->accept_parsed) {
        const char *line;

        el_request_keep_accept(r);
        line = request->accept_line;
        el_accept_parse(line, line ? strlen(line) : 0, &request->accept);
        request->accept_parsed = true;
    }
    return &request->accept;
}

bool el_request_env_allows(request_rec *r, el_coding_t coding)
{
    const char *only_html;

    if (apr_table_get(r->subprocess_env, "no-elastic")) {
        return false;
    }
    switch (coding) {
    case EL_GZIP:
        if (apr_table_get(r->subprocess_env, "no-gzip")) {
            return false;
        }
        only_html = apr_table_get(r->subprocess_env, "gzip-only-text/html");
        return !only_html || strcmp(only_html, "1") != 0
               || (r->content_type && strncmp(r->content_type, "text/html", 9) == 0);
    case EL_BR:
        return !apr_table_get(r->subprocess_env, "no-brotli");
    default:
        return true;
    }
}

bool el_request_installed(request_rec *r)
{
    const el_request_t *request = el_request_of(r);

    for (int i = 0; i < EL_RECORDS; i++) {
        if (request->installed[i]) {
            return true;
        }
    }
    return false;
}

bool el_request_may_run(request_rec *r, el_record_t record)
{
    const el_request_t *request = el_request_of(r);

    return request->installed[record] || (request->harness && el_record_loaded(record));
}

bool el_request_encodable(request_rec *r)
{
    return el_request_installed(r) || el_request_of(r)->harness;
}

size_t el_request_env_filter(request_rec *r, el_coding_t *order, size_t count)
{
    size_t left = 0;

    for (size_t i = 0; i < count; i++) {
        if (el_request_env_allows(r, order[i])) {
            order[left++] = order[i];
        }
    }
    return left;
}

el_accept_t el_request_enabled(request_rec *r)
{
    const el_accept_t *accept = el_request_accept(r);
    el_accept_t enabled = {{0}};
    el_coding_t order[EL_CODINGS];

    enabled.q[EL_IDENTITY] = accept->q[EL_IDENTITY];
    for (int i = 0; i < EL_RECORDS; i++) {
        el_record_t record = (el_record_t)i;
        size_t count;

        if (!el_request_may_run(r, record)) {
            continue;
        }
        count = el_policy_codings(el_dir_of(r), record, order);
        count = el_request_env_filter(r, order, count);
        for (size_t k = 0; k < count; k++) {
            enabled.q[order[k]] = accept->q[order[k]];
        }
    }
    if (el_dictionaries_are_open() && el_request_may_run(r, EL_RECORD_ELASTIC)) {
        enabled.q[EL_DCB] = accept->q[EL_DCB];
        enabled.q[EL_DCZ] = accept->q[EL_DCZ];
    }
    return enabled;
}

bool el_request_has_range(const request_rec *r)
{
    const char *range = apr_table_get(r->headers_in, "Range");

    /* httpd knows no other unit, and ignores what it does not know (RFC 9110 §14.2). */
    range = range ? range : apr_table_get(r->headers_in, "Request-Range");
    return range && strncasecmp(range, "bytes=", strlen("bytes=")) == 0;
}

bool el_request_dated_range(const request_rec *r)
{
    const char *if_range = apr_table_get(r->headers_in, "If-Range");

    return if_range && *if_range != '"' && strncmp(if_range, "W/\"", 3) != 0;
}

bool el_request_void_range(const request_rec *r)
{
    const char *if_range = apr_table_get(r->headers_in, "If-Range");
    const char *tag = el_field(r, "ETag");

    if (!if_range || !el_request_has_range(r)) {
        return false;
    }
    return *if_range != '"' || !tag || strcmp(if_range, tag) != 0;
}

void el_request_drop_range(request_rec *r)
{
    apr_table_unset(r->headers_in, "Range");
    apr_table_unset(r->headers_in, "Request-Range");
    apr_table_unset(r->headers_in, "If-Range");
}
