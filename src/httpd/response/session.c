#include "httpd/response/session.h"

#include "httpd/config/settings.h"
#include "httpd/response/fields.h"

#include "elastic/cookie.h"

#include "apr_strings.h"

const char *el_session_of(request_rec *r)
{
    const el_dictionary_rule_t *rule = el_dir_dictionary(el_dir_of(r));
    const char *field = apr_table_get(r->headers_in, "Cookie"), *value;
    size_t len;

    if (!rule || !rule->cookie || !field) {
        return NULL;
    }
    value = el_cookie_find(field, rule->cookie, &len);
    return value ? apr_pstrcat(r->pool, rule->cookie, "=", apr_pstrmemdup(r->pool, value, len), NULL)
                 : NULL;
}

bool el_session_may_read(request_rec *r)
{
    const char *site = apr_table_get(r->headers_in, "Sec-Fetch-Site");
    el_cache_control_t control = el_fields_cache_control(r);

    return (control.only_mine || control.no_store)
           && (!site || strcmp(site, "same-origin") == 0 || strcmp(site, "none") == 0);
}
