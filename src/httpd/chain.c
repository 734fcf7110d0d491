#include "chain.h"

#include "account.h"
#include "conditional.h"
#include "filter_inflate.h"
#include "ranges.h"
#include "request.h"
#include "settings.h"

/* AddOutputFilterByType wraps each filter into a harness of this name. */
#define BY_TYPE "BYTYPE:"

/* They read or copy bodies, or change the header, and stand among the content filters. */
static const char *const harmless[] = {
    "FIXUP_HEADERS_OUT", "FIXUP_HEADERS_ERR", "MOD_EXPIRES",  "CACHE_SAVE",
    "CACHE_INVALIDATE",  "CACHE_OUT",         "BUFFER",       "MOD_SESSION_OUT",
    EL_RANGES_NAME,      EL_CONDITIONAL_NAME,
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

static bool is_harmless(const ap_filter_t *f)
{
    for (size_t i = 0; i < sizeof(harmless) / sizeof(harmless[0]); i++) {
        if (is_named(f, harmless[i])) {
            return true;
        }
    }
    return false;
}

/* Whether `f` compresses, by its name: ours or a stock one of the same name. */
static bool is_of(const ap_filter_t *f, el_record_t record)
{
    return is_named(f, el_record_info(record)->filter);
}

static bool is_compressor(const ap_filter_t *f)
{
    for (int i = 0; i < EL_RECORDS; i++) {
        if (is_of(f, (el_record_t)i)) {
            return true;
        }
    }
    return false;
}

bool el_chain_has(const ap_filter_t *f, el_record_t record)
{
    for (; f && el_record_loaded(record); f = f->next) {
        if (is_of(f, record)) {
            return true;
        }
    }
    return false;
}

bool el_chain_has_stock(const ap_filter_t *f)
{
    for (; f; f = f->next) {
        for (int i = 0; i < EL_RECORDS; i++) {
            if (!el_record_loaded((el_record_t)i) && is_of(f, (el_record_t)i)) {
                return true;
            }
        }
    }
    return false;
}

/*
 * Whether mod_filter made a filter in the chain: one of AddOutputFilterByType, whose name says what
 * it runs, or of FilterDeclare, which may run one of ours, or anything.
 */
static bool has_harness(const ap_filter_t *f, bool by_type)
{
    for (; f; f = f->next) {
        if (f->frec->providers && el_chain_by_type(f) == by_type) {
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
        if (is_compressor(f)) {
            ap_remove_output_filter(f);
        }
    }
}

/* Whether INFLATE stands there, ours or mod_deflate's. */
static bool has_inflate(const request_rec *r)
{
    for (const ap_filter_t *f = r->output_filters; f; f = f->next) {
        if (is_named(f, EL_INFLATE_NAME)) {
            return true;
        }
    }
    return false;
}

void el_chain_insert(request_rec *r)
{
    el_request_t *request;

    /* A subrequest's body becomes part of another's. */
    if (r->main) {
        return;
    }
    el_ranges_insert(r);
    if (el_dir_enabled(el_dir_of(r), false)) {
        remove_compressors(r);
        ap_add_output_filter(el_record_info(EL_RECORD_ELASTIC)->filter, NULL, r, r->connection);
    }
    request = el_request_of(r);
    for (int i = 0; i < EL_RECORDS; i++) {
        request->stands[i] = el_chain_has(r->output_filters, (el_record_t)i);
    }
    request->decodes = has_inflate(r);
    request->may_stand = has_harness(r->output_filters, false);
    if (el_request_stands(r) || request->may_stand) {
        /* Now: mod_autoindex takes the field away while the page of HeaderName is on its way. */
        el_request_accept(r);
    }
    if (request->may_stand || (el_request_stands(r) && has_harness(r->output_filters, true))) {
        ap_add_output_filter(EL_CONDITIONAL_NAME, NULL, r, r->connection);
    }
    if (!el_request_stands(r) && !request->may_stand && !el_dir_of(r)->precompressed) {
        el_account_skipped(r, EL_REASON_OFF);
    }
}

bool el_chain_changes_body(const request_rec *r)
{
    for (const ap_filter_t *f = r->output_filters; f; f = f->next) {
        if (f->frec->ftype < AP_FTYPE_PROTOCOL && !is_compressor(f) && !is_harmless(f)) {
            return true;
        }
    }
    return false;
}
