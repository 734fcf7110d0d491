#include "httpd/response/chain.h"

#include "httpd/state/account.h"
#include "httpd/response/conditional.h"
#include "httpd/filters/inflate_output.h"
#include "httpd/filters/ranges.h"
#include "httpd/response/request.h"
#include "httpd/config/settings.h"

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

/* What a filter of the chain is to us. */
typedef enum {
    ROLE_ELASTIC = EL_RECORD_ELASTIC, /* a compressor of this name, ours or a stock one */
    ROLE_DEFLATE = EL_RECORD_DEFLATE,
    ROLE_BROTLI = EL_RECORD_BROTLI,
    ROLE_INFLATE,
    ROLE_NAMED, /* one past those that httpd knows by a name */
    ROLE_HARNESS = ROLE_NAMED, /* made by FilterDeclare: it may run one of ours, or anything */
    ROLE_OTHER
} role_t;

/* httpd's own records of the filters, by role; NULL where no module registered one. */
static const ap_filter_rec_t *registered[ROLE_NAMED];

/* A set of roles has a bit for each. */
#define BIT(role) (1u << (role))
#define COMPRESSORS (BIT(EL_RECORDS) - 1)

/* The compressors that are ours. */
static unsigned ours;

static const char *name_of_role(role_t role)
{
    return role == ROLE_INFLATE ? EL_INFLATE_NAME : el_record_info((el_record_t)role)->filter;
}

void el_chain_configure(void)
{
    ours = 0;
    for (role_t role = 0; role < ROLE_NAMED; role++) {
        registered[role] = ap_get_output_filter_handle(name_of_role(role));
        if (BIT(role) & COMPRESSORS && el_record_loaded((el_record_t)role)) {
            ours |= BIT(role);
        }
    }
}

/* Each request asks this of each filter: names are only compared where mod_filter made it. */
static role_t role_of(const ap_filter_t *f)
{
    bool by_type;

    if (!f->frec->providers) {
        for (role_t role = 0; role < ROLE_NAMED; role++) {
            if (f->frec == registered[role]) {
                return role;
            }
        }
        return ROLE_OTHER;
    }
    by_type = el_chain_by_type(f);
    for (role_t role = 0; by_type && role < ROLE_NAMED; role++) {
        if (strcasecmp(f->frec->name + strlen(BY_TYPE), name_of_role(role)) == 0) {
            return role;
        }
    }
    return by_type ? ROLE_OTHER : ROLE_HARNESS;
}

/* The next filter that a content filter may be; they stand in the order of their types. */
static ap_filter_t *content_filter(ap_filter_t *f)
{
    return f && f->frec->ftype < AP_FTYPE_PROTOCOL ? f : NULL;
}

bool el_chain_has(const ap_filter_t *f, el_record_t record)
{
    for (; f && el_record_loaded(record); f = f->next) {
        if (role_of(f) == (role_t)record) {
            return true;
        }
    }
    return false;
}

bool el_chain_has_stock(const ap_filter_t *f)
{
    for (; f; f = f->next) {
        role_t role = role_of(f);

        if (role < (role_t)EL_RECORDS && !el_record_loaded((el_record_t)role)) {
            return true;
        }
    }
    return false;
}

/* What one walk along the content filters finds. */
typedef struct {
    unsigned roles; /* a set */
    bool by_type;   /* one of ours stands within AddOutputFilterByType's harness */
} found_t;

/*
 * With `clear`, compressors are taken out and not found: one instance of ours will stand at the end
 * of the content filters.
 */
EL_RARE static found_t look(request_rec *r, bool clear)
{
    found_t found = {.by_type = false};
    ap_filter_t *next;

    for (ap_filter_t *f = content_filter(r->output_filters); f; f = content_filter(next)) {
        unsigned role = BIT(role_of(f));

        next = f->next;
        if (clear && role & COMPRESSORS) {
            ap_remove_output_filter(f);
            continue;
        }
        found.roles |= role;
        found.by_type = found.by_type || f->frec->providers != NULL;
    }
    return found;
}

static bool is_of_application(const char *content_type)
{
    return *content_type == 'a'
           && strncmp(content_type, "application/", strlen("application/")) == 0;
}

/*
 * Whether the response is a file of a type that is not compressed, so that no filter has to see it:
 * nothing stands there that could change its type. Types of applications may be those of a handler,
 * which gives its output another one.
 */
static bool is_left_alone(const request_rec *r, const el_dir_t *dir, found_t found)
{
    const unsigned changing = BIT(ROLE_OTHER) | BIT(ROLE_HARNESS) | BIT(ROLE_INFLATE);

    return !r->handler && r->finfo.filetype == APR_REG && r->content_type
           && !(found.roles & changing) && !dir->precompressed
           && !is_of_application(r->content_type)
           && !el_dir_type_listed(dir, r->content_type, false);
}

/* What stands in the chain, for conditional.c and precompressed.c. */
static void remember(request_rec *r, found_t found)
{
    el_request_t *request = el_request_of(r);
    unsigned stands = found.roles & ours;

    for (int i = 0; i < EL_RECORDS; i++) {
        request->stands[i] = stands & BIT(i);
    }
    request->decodes = found.roles & BIT(ROLE_INFLATE);
    request->may_stand = found.roles & BIT(ROLE_HARNESS);
    if (stands || request->may_stand) {
        /* Now: mod_autoindex takes the field away while the page of HeaderName is on its way. */
        el_request_keep_accept(r);
    }
    if (request->may_stand || (stands && found.by_type)) {
        el_conditional_insert(r);
    }
}

/* Puts ELASTIC in, where it is enabled, and remembers what may encode or decode the response. */
EL_RARE static void take_part(request_rec *r, bool enabled, found_t found)
{
    const unsigned encoders = ours | BIT(ROLE_HARNESS);

    if (enabled) {
        ap_add_output_filter_handle((ap_filter_rec_t *)registered[ROLE_ELASTIC], NULL, r,
                                    r->connection);
        found.roles |= BIT(ROLE_ELASTIC);
    }
    /* Where nothing of ours stands, nothing is kept, unless something is: of the last time. */
    if (found.roles & (encoders | BIT(ROLE_INFLATE)) || el_request_known(r)) {
        remember(r, found);
    }
    if (!(found.roles & encoders) && !el_dir_of(r)->precompressed) {
        el_account_skipped(r, EL_REASON_OFF);
    }
}

void el_chain_insert(request_rec *r)
{
    const el_dir_t *dir = el_dir_of(r);
    bool enabled = el_dir_enabled(dir, false);
    found_t found = {.roles = 0};

    /* A subrequest's body becomes part of another's. */
    if (r->main) {
        return;
    }
    el_ranges_insert(r);
    if (content_filter(r->output_filters)) {
        found = look(r, enabled);
    }
    if (enabled && is_left_alone(r, dir, found)) {
        el_account_skipped(r, EL_REASON_TYPE);
    } else {
        take_part(r, enabled, found);
    }
}

static bool is_harmless(const ap_filter_t *f)
{
    const char *name = f->frec->name + (el_chain_by_type(f) ? strlen(BY_TYPE) : 0);

    for (size_t i = 0; i < sizeof(harmless) / sizeof(harmless[0]); i++) {
        if (strcasecmp(name, harmless[i]) == 0) {
            return true;
        }
    }
    return false;
}

bool el_chain_changes_body(const request_rec *r)
{
    for (const ap_filter_t *f = content_filter(r->output_filters); f; f = content_filter(f->next)) {
        if (!(BIT(role_of(f)) & COMPRESSORS) && !is_harmless(f)) {
            return true;
        }
    }
    return false;
}
