#include "httpd/filters/explain.h"

#include "httpd/base/filter_names.h"
#include "httpd/config/settings.h"
#include "httpd/response/explanation.h"

#include "util_filter.h"

static ap_filter_rec_t *explain;

static bool is_inserted(const request_rec *r)
{
    const ap_filter_t *f = r->output_filters;

    while (f && f->frec != explain) {
        f = f->next;
    }
    return f;
}

void el_explain_insert(request_rec *r)
{
    if (el_dir_explains(el_dir_of(r)) && !r->main && !is_inserted(r)) {
        ap_add_output_filter_handle(explain, NULL, r, r->connection);
    }
}

static apr_status_t filter(ap_filter_t *f, apr_bucket_brigade *bb)
{
    request_rec *r = f->r;

    apr_table_setn(r->headers_out, "Elastic-Explain", el_explanation_text(r));
    apr_table_mergen(r->headers_out, "Cache-Control", "no-store");
    ap_remove_output_filter(f);
    return ap_pass_brigade(f->next, bb);
}

void el_explain_register(void)
{
    /* Just before the filters of the protocol. */
    explain = ap_register_output_filter(EL_FILTER_EXPLAIN, filter, NULL,
                                        (ap_filter_type)(AP_FTYPE_PROTOCOL - 1));
}
