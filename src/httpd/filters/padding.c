#include "httpd/filters/filters.h"

#include "httpd/config/config.h"
#include "httpd/config/glue.h"

#include "elastic/packet.h"

#include "util_filter.h"

/*
 * By httpd's generator: cryptographic, seeded by the system, and another in each child. Who sees
 * the padding of responses of his own learns nothing about that of others.
 */
static const char *make(apr_pool_t *pool, size_t most)
{
    uint8_t random[EL_PADDING_RANDOM(EL_PADDING_MAX)];
    char *text = apr_palloc(pool, most + 1);

    ap_random_insecure_bytes(random, EL_PADDING_RANDOM(most));
    el_padding_make(random, most, text);
    return text;
}

/* A response that has no body shows no length. */
static apr_status_t filter(ap_filter_t *f, apr_bucket_brigade *bb)
{
    request_rec *r = f->r;

    if (!AP_STATUS_IS_HEADER_ONLY(r->status)) {
        apr_table_setn(r->headers_out, EL_PADDING_FIELD,
                       make(r->pool, (size_t)el_dir_of(r)->values.value[EL_DIR_PADDING]));
    }
    ap_remove_output_filter(f);
    return ap_pass_brigade(f->next, bb);
}

void el_padding_register(void)
{
    /* Just before the filters of the protocol. */
    ap_register_output_filter(EL_FILTER_PADDING, filter, NULL,
                              (ap_filter_type)(AP_FTYPE_PROTOCOL - 1));
}
