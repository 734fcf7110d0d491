#include "httpd/filters/filters.h"

#include "httpd/config/glue.h"
#include "httpd/response/fields.h"

#include "elastic/etag.h"

#include "http_config.h"
#include "mod_cache.h"
#include "util_filter.h"

static bool mod_cache_loaded;

void el_ranges_configure(void)
{
    mod_cache_loaded = ap_find_linked_module("mod_cache.c") != NULL;
}

void el_ranges_insert(request_rec *r)
{
    if (mod_cache_loaded) {
        ap_add_output_filter(EL_FILTER_RANGES, NULL, r, r->connection);
    }
}

/* Whether a tag is a precompressed file's: it ends in the extension (see precompressed.c). */
static bool is_of_precompressed_file(const el_etag_t *tag)
{
    for (int coding = EL_IDENTITY + 1; coding < EL_CODINGS; coding++) {
        const char *extension = el_coding_info((el_coding_t)coding)->extension;
        size_t len = strlen(extension) + 1;

        if (tag->len > len && strncmp(tag->text + tag->len - len, extension, len - 1) == 0) {
            return true;
        }
    }
    return false;
}

/* Whether the response came out of mod_cache, which notes it in the environment. */
static bool is_from_cache(const request_rec *r)
{
    return apr_table_get(r->subprocess_env, AP_CACHE_HIT_ENV)
           || apr_table_get(r->subprocess_env, AP_CACHE_REVALIDATE_ENV);
}

/*
 * Whether the body is in a dynamic coding. Where this configuration keeps or removes tags, or the
 * one did with which the response came into the cache, no tag shows that; but Vary does. Files that
 * only exist encoded do not vary.
 */
static bool is_dynamic(request_rec *r)
{
    const char *cursor = el_field(r, "ETag");
    el_etag_t tag;
    bool tagged = cursor && el_etag_next(&cursor, &tag);
    size_t base;

    if (!el_fields_read(r).encoded) {
        return false;
    }
    if (tagged && el_etag_coding(&tag, &base) != EL_IDENTITY) {
        return true;
    }
    return is_from_cache(r) && el_fields_varies(r, "Accept-Encoding")
           && !(tagged && is_of_precompressed_file(&tag));
}

static apr_status_t filter(ap_filter_t *f, apr_bucket_brigade *bb)
{
    ap_filter_t *next;

    if (is_dynamic(f->r)) {
        el_field_unset(f->r, "Accept-Ranges");
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

void el_ranges_register(void)
{
    /* Just before BYTERANGE. */
    ap_register_output_filter(EL_FILTER_RANGES, filter, NULL,
                              (ap_filter_type)(AP_FTYPE_PROTOCOL - 1));
}
