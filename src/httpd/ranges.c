#include "ranges.h"

#include "response.h"

#include "http_config.h"

static bool cached;

void el_ranges_configure(void)
{
    cached = ap_find_linked_module("mod_cache.c") != NULL;
}

void el_ranges_insert(request_rec *r)
{
    if (cached) {
        ap_add_output_filter(EL_RANGES_NAME, NULL, r, r->connection);
    }
}

static bool has_tag_of_coding(const request_rec *r)
{
    const char *cursor = el_response_header(r, "ETag");
    el_etag_t tag;
    size_t base;

    return cursor && el_etag_next(&cursor, &tag) && el_etag_coding(&tag, &base) != EL_IDENTITY;
}

apr_status_t el_ranges_filter(ap_filter_t *f, apr_bucket_brigade *bb)
{
    ap_filter_t *next;

    if (el_response_encoded(f->r) && has_tag_of_coding(f->r)) {
        el_response_unset(f->r, "Accept-Ranges");
        for (ap_filter_t *other = f->next; other; other = next) {
            next = other->next;
            if (strcasecmp(other->frec->name, "BYTERANGE") == 0) {
                ap_remove_output_filter(other);
            }
        }
    }
    ap_remove_output_filter(f);
    return ap_pass_brigade(f->next, bb);
}
