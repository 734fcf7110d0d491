#include "httpd/response/chain.h"

#include "httpd/config/glue.h"

#include "apr_strings.h"
#include "http_config.h"

/* AddOutputFilterByType wraps each filter into a harness of this name. */
#define BY_TYPE "BYTYPE:"

#define COMPRESSORS (EL_ROLE_BIT(EL_RECORDS) - 1)

/* Content filters that read or copy bodies, or change the header. */
static const char *const harmless[] = {
    "FIXUP_HEADERS_OUT", "FIXUP_HEADERS_ERR", "MOD_EXPIRES",  "CACHE_SAVE",
    "CACHE_INVALIDATE",  "CACHE_OUT",         "BUFFER",       "MOD_SESSION_OUT",
    EL_FILTER_RANGES,    EL_FILTER_NOT_MODIFIED, EL_FILTER_PADDING, EL_FILTER_DICTIONARY,
    EL_FILTER_EXPLAIN,   EL_FILTER_SKIPPED,      EL_FILTER_PRECOMPRESSED,
};

/* httpd's own records of the filters, by role; NULL where no module registered one. */
static const ap_filter_rec_t *registered[EL_ROLES_NAMED];

static unsigned ours;

static const char *name_of_role(el_role_t role)
{
    return role == EL_ROLE_INFLATE ? EL_FILTER_INFLATE : el_record_infos[(el_record_t)role].filter;
}

void el_chain_configure(void)
{
    ours = 0;
    for (el_role_t role = 0; role < EL_ROLES_NAMED; role++) {
        registered[role] = ap_get_output_filter_handle(name_of_role(role));
        if (EL_ROLE_BIT(role) & COMPRESSORS && el_record_loaded((el_record_t)role)) {
            ours |= EL_ROLE_BIT(role);
        }
    }
}

unsigned el_chain_ours(void)
{
    return ours;
}

unsigned el_chain_stock(unsigned roles)
{
    return roles & COMPRESSORS & ~ours;
}

bool el_chain_by_type(const ap_filter_t *f)
{
    return f->frec->providers && strncasecmp(f->frec->name, BY_TYPE, strlen(BY_TYPE)) == 0;
}

/* For each filter of each request: names are only compared where mod_filter made it. */
static el_role_t role_of(const ap_filter_t *f)
{
    bool by_type;

    if (!f->frec->providers) {
        for (el_role_t role = 0; role < EL_ROLES_NAMED; role++) {
            if (f->frec == registered[role]) {
                return role;
            }
        }
        return EL_ROLE_OTHER;
    }
    by_type = el_chain_by_type(f);
    for (el_role_t role = 0; by_type && role < EL_ROLES_NAMED; role++) {
        if (strcasecmp(f->frec->name + strlen(BY_TYPE), name_of_role(role)) == 0) {
            return role;
        }
    }
    return by_type ? EL_ROLE_OTHER : EL_ROLE_HARNESS;
}

/* `f` where it is a content filter: filters are in the order of their types. */
static ap_filter_t *content_filter(ap_filter_t *f)
{
    return f && f->frec->ftype < AP_FTYPE_PROTOCOL ? f : NULL;
}

unsigned el_chain_roles(ap_filter_t *f)
{
    unsigned roles = 0;

    for (f = content_filter(f); f; f = content_filter(f->next)) {
        roles |= EL_ROLE_BIT(role_of(f));
    }
    return roles;
}

el_chain_t el_chain_look(request_rec *r, bool clear)
{
    el_chain_t found = {.roles = 0};
    unsigned char compressors = 0;
    ap_filter_t *next;

    for (ap_filter_t *f = content_filter(r->output_filters); f; f = content_filter(next)) {
        el_role_t role = role_of(f);
        bool compresses = EL_ROLE_BIT(role) & COMPRESSORS;

        next = f->next;
        if (clear && compresses) {
            ap_remove_output_filter(f);
            continue;
        }
        if (ours & EL_ROLE_BIT(role) && !found.place[role]) {
            found.place[role] = ++compressors;
        }
        found.roles |= EL_ROLE_BIT(role);
        found.harnessed = found.harnessed || f->frec->providers != NULL;
    }
    return found;
}

bool el_chain_harnesses_compress(const request_rec *r)
{
    for (ap_filter_t *f = content_filter(r->output_filters); f; f = content_filter(f->next)) {
        if (f->frec->providers && !(EL_ROLE_BIT(role_of(f)) & COMPRESSORS)) {
            return false;
        }
    }
    return true;
}

void el_chain_add_elastic(request_rec *r)
{
    ap_add_output_filter_handle((ap_filter_rec_t *)registered[EL_ROLE_ELASTIC], NULL, r,
                                r->connection);
}

static bool is_harmless_name(const char *name)
{
    for (size_t i = 0; i < sizeof(harmless) / sizeof(harmless[0]); i++) {
        if (strcasecmp(name, harmless[i]) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_harmless(const ap_filter_t *f)
{
    return is_harmless_name(f->frec->name + (el_chain_by_type(f) ? strlen(BY_TYPE) : 0));
}

const char *el_chain_foreign(apr_pool_t *pool, ap_filter_t *f)
{
    const char *names = NULL;

    for (f = content_filter(f); f; f = content_filter(f->next)) {
        if (!(EL_ROLE_BIT(role_of(f)) & COMPRESSORS) && !is_harmless(f)) {
            names = names ? apr_pstrcat(pool, names, " ", f->frec->name, NULL) : f->frec->name;
        }
    }
    return names;
}

static bool is_of_this_module(const char *name)
{
    for (el_role_t role = 0; role < EL_ROLES_NAMED; role++) {
        if (strcasecmp(name, name_of_role(role)) == 0) {
            return true;
        }
    }
    return false;
}

static bool only_watches(const char *name)
{
    return is_harmless_name(name) || strcasecmp(name, "CACHE") == 0; /* where mod_cache's go */
}

/* The filters that a directive lists. httpd says of an unknown one only when a request comes. */
static void check_list(const server_rec *server, const ap_directive_t *directive, apr_pool_t *pool)
{
    bool output = strcasestr(directive->directive, "Output") != NULL;
    const char *arguments = directive->args;
    const char *list = ap_getword_conf(pool, &arguments);
    const ap_filter_rec_t *before = NULL;

    while (*list) {
        const char *name = ap_getword(pool, &list, ';');
        const ap_filter_rec_t *record =
            output ? ap_get_output_filter_handle(name) : ap_get_input_filter_handle(name);

        if (is_of_this_module(name)) {
            before = output && record ? record : before;
            if (!record) {
                el_warn(server, 0, "%s, line %d: %s: no loaded module has the filter %s; load the "
                        "record of mod_elastic.so that has it, or remove the line",
                        directive->filename, directive->line_num, directive->directive, name);
            }
        } else if (before && record && record->ftype == before->ftype && !only_watches(name)) {
            el_warn(server, 0, "%s, line %d: %s: the filter %s gets compressed bytes; name it "
                    "first", directive->filename, directive->line_num, directive->directive, name);
        }
    }
}

static void check_tree(const server_rec *server, const ap_directive_t *directive, apr_pool_t *pool)
{
    static const char *const listing[] = {"SetOutputFilter", "AddOutputFilter", "SetInputFilter",
                                          "AddInputFilter"};

    for (; directive; directive = directive->next) {
        for (size_t i = 0; i < sizeof(listing) / sizeof(*listing); i++) {
            if (strcasecmp(directive->directive, listing[i]) == 0) {
                check_list(server, directive, pool);
            }
        }
        check_tree(server, directive->first_child, pool);
    }
}

void el_chain_check(const server_rec *server, apr_pool_t *pool)
{
    if (!el_warnings_are_early()) {
        check_tree(server, ap_conftree, pool);
    }
}
