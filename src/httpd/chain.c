#include "chain.h"

#include "account.h"
#include "ranges.h"
#include "request.h"
#include "settings.h"

/* AddOutputFilterByType wraps each filter into a harness of this name. */
#define BY_TYPE "BYTYPE:"

static const char *const stock[] = {"DEFLATE", "BROTLI_COMPRESS"};

/* They read or copy bodies, or change the header, and stand among the content filters. */
static const char *const harmless[] = {
    "FIXUP_HEADERS_OUT", "FIXUP_HEADERS_ERR", "MOD_EXPIRES", "CACHE_SAVE",
    "CACHE_INVALIDATE",  "CACHE_OUT",         "BUFFER",    EL_RANGES_NAME, "MOD_SESSION_OUT",
};

bool el_chain_by_type(const ap_filter_t *f)
{
    return strncasecmp(f->frec->name, BY_TYPE, strlen(BY_TYPE)) == 0;
}

static bool is_named(const ap_filter_t *f, const char *name)
{
    const char *found = f->frec->name + (el_chain_by_type(f) ? strlen(BY_TYPE) : 0);

    return strcasecmp(found, name) == 0;
}

static bool is_any(const ap_filter_t *f, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (is_named(f, names[i])) {
            return true;
        }
    }
    return false;
}

#define IS_ANY(f, names) is_any(f, names, sizeof(names) / sizeof((names)[0]))

static bool has_elastic(const request_rec *r)
{
    for (const ap_filter_t *f = r->output_filters; f; f = f->next) {
        if (is_named(f, EL_FILTER_NAME)) {
            return true;
        }
    }
    return false;
}

/* Takes every compressor out: one instance of ours will stand at the end of the content filters. */
static void remove_compressors(request_rec *r)
{
    ap_filter_t *next;

    for (ap_filter_t *f = r->output_filters; f; f = next) {
        next = f->next;
        if (is_named(f, EL_FILTER_NAME) || IS_ANY(f, stock)) {
            ap_remove_output_filter(f);
        }
    }
}

void el_chain_insert(request_rec *r)
{
    /* A subrequest's body becomes part of another's. */
    if (r->main) {
        return;
    }
    el_ranges_insert(r);
    if (el_dir_enabled(el_dir_of(r), false)) {
        remove_compressors(r);
        ap_add_output_filter(EL_FILTER_NAME, NULL, r, r->connection);
        el_request_of(r)->stands = true;
    } else if (has_elastic(r)) {
        el_request_of(r)->stands = true;
    } else if (!el_dir_of(r)->precompressed) {
        el_account_skipped(r, EL_REASON_OFF);
    }
}

bool el_chain_has_stock(const ap_filter_t *f)
{
    for (; f; f = f->next) {
        if (IS_ANY(f, stock)) {
            return true;
        }
    }
    return false;
}

bool el_chain_changes_body(const request_rec *r)
{
    for (const ap_filter_t *f = r->output_filters; f; f = f->next) {
        if (f->frec->ftype < AP_FTYPE_PROTOCOL && !is_named(f, EL_FILTER_NAME) && !IS_ANY(f, stock)
            && !IS_ANY(f, harmless)) {
            return true;
        }
    }
    return false;
}
