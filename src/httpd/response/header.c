#include "httpd/response/header.h"

#include "httpd/config/glue.h"

#include "elastic/http.h"

#include "apr_strings.h"
#include "http_config.h"
#include "http_core.h"
#include "http_protocol.h"

const char *el_field(const request_rec *r, const char *name)
{
    const char *value = apr_table_get(r->headers_out, name);

    return value ? value : apr_table_get(r->err_headers_out, name);
}

/* Joins two lists; either may be NULL. */
static const char *header_join(apr_pool_t *pool, const char *inner, const char *outer)
{
    return inner && outer ? apr_pstrcat(pool, inner, ", ", outer, NULL) : inner ? inner : outer;
}

el_cache_control_t el_fields_cache_control(request_rec *r)
{
    const char *field =
        header_join(r->pool, apr_table_getm(r->pool, r->headers_out, "Cache-Control"),
                    apr_table_getm(r->pool, r->err_headers_out, "Cache-Control"));

    return el_cache_control_parse(field ? field : "");
}

void el_field_unset(request_rec *r, const char *name)
{
    apr_table_unset(r->headers_out, name);
    apr_table_unset(r->err_headers_out, name);
}

/* True if Content-Encoding names transfer encodings only (RFC 2045): these encode no body. */
static bool header_is_plain(const char *encoding)
{
    static const char *const plain[] = {"7bit", "8bit", "binary"};
    const char *name;
    size_t len = strlen(encoding), name_len, i;

    while (el_encoding_pop(encoding, &len, &name, &name_len)) {
        for (i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
            if (strlen(plain[i]) == name_len && strncasecmp(name, plain[i], name_len) == 0) {
                break;
            }
        }
        if (i == sizeof(plain) / sizeof(plain[0])) {
            return false;
        }
    }
    return true;
}

const char *el_fields_encoding(request_rec *r)
{
    /* httpd writes this field over the one in headers_out. */
    const char *inner = r->content_encoding
                            ? r->content_encoding
                            : apr_table_getm(r->pool, r->headers_out, "Content-Encoding");

    return header_join(r->pool, inner,
                       apr_table_getm(r->pool, r->err_headers_out, "Content-Encoding"));
}

void el_fields_unset_lengths(apr_table_t *fields)
{
    /* RFC 9530 defines Repr-Digest and Content-Digest. */
    static const char *const stale[] = {
        "Content-Length", "Content-MD5", "Digest", "Repr-Digest", "Content-Digest", "Accept-Ranges",
    };

    for (size_t i = 0; !apr_is_empty_table(fields) && i < sizeof(stale) / sizeof(stale[0]); i++) {
        apr_table_unset(fields, stale[i]);
    }
}

static void header_read_table(request_rec *r, const apr_table_t *table, el_fields_t *fields)
{
    const apr_array_header_t *rows = apr_table_elts(table);

    for (int i = 0; i < rows->nelts; i++) {
        const apr_table_entry_t *row = &APR_ARRAY_IDX(rows, i, const apr_table_entry_t);

        if (*row->key != 'C' && *row->key != 'c') {
            continue;
        }
        if (strcasecmp(row->key, "Content-Length") == 0) {
            fields->length = fields->length ? fields->length : row->val;
        } else if (strcasecmp(row->key, "Cache-Control") == 0) {
            fields->no_transform =
                fields->no_transform || ap_find_token(r->pool, row->val, "no-transform");
        } else if (strcasecmp(row->key, "Content-Encoding") == 0) {
            fields->encoded = fields->encoded || !header_is_plain(row->val);
        } else if (strcasecmp(row->key, "Content-Range") == 0) {
            fields->has_range = true;
        }
    }
}

el_fields_t el_fields_read(request_rec *r)
{
    el_fields_t fields = {.encoded = r->content_encoding && !header_is_plain(r->content_encoding)};

    header_read_table(r, r->headers_out, &fields);
    header_read_table(r, r->err_headers_out, &fields);
    return fields;
}

/* True if any field `name` in the table has the token. */
static bool header_has_token(request_rec *r, const apr_table_t *table, const char *name,
                             const char *token)
{
    const apr_array_header_t *rows = apr_table_elts(table);
    /* Most tables have no such field, and apr_table_get() finds that in a third of the time. */
    int i = apr_table_get(table, name) ? 0 : rows->nelts;

    for (; i < rows->nelts; i++) {
        const apr_table_entry_t *row = &APR_ARRAY_IDX(rows, i, const apr_table_entry_t);

        if (strcasecmp(row->key, name) == 0 && ap_find_token(r->pool, row->val, token)) {
            return true;
        }
    }
    return false;
}

/* The bytes of a field's line. */
static size_t header_field_size(const char *name, const char *value)
{
    return strlen(name) + strlen(value) + strlen(": \r\n");
}

size_t el_fields_table_size(const apr_table_t *table)
{
    const apr_array_header_t *rows = apr_table_elts(table);
    size_t sum = 0;

    for (int i = 0; i < rows->nelts; i++) {
        const apr_table_entry_t *row = &APR_ARRAY_IDX(rows, i, const apr_table_entry_t);

        sum += header_field_size(row->key, row->val);
    }
    return sum;
}

size_t el_fields_size(request_rec *r)
{
    size_t sum = strlen(r->status_line ? r->status_line : ap_get_status_line(r->status))
                 + el_fields_table_size(r->headers_out) + el_fields_table_size(r->err_headers_out)
                 + header_field_size("Server", ap_get_server_banner());

    if (r->content_type) {
        sum += header_field_size("Content-Type", r->content_type);
    }
    if (header_has_token(r, r->headers_in, "Connection", "keep-alive")) {
        sum += header_field_size("Keep-Alive", "timeout=300, max=10000");
        /* EL_PACKET_CORE_HEADER counts `Connection: close`. */
        sum += strlen("Keep-Alive") - strlen("close");
    }
    return sum;
}

/* Numbers with this many digits fit in apr_off_t. */
#define LENGTH_DIGITS 18

bool el_fields_length(const el_fields_t *fields, uint64_t *length)
{
    const char *text = fields->length;
    uint64_t number = 0;
    size_t digits = 0;

    while (text && text[digits] >= '0' && text[digits] <= '9') {
        number = number * 10 + (uint64_t)(text[digits++] - '0');
    }
    if (digits == 0 || digits > LENGTH_DIGITS || text[digits] != '\0') {
        return false;
    }
    *length = number;
    return true;
}

bool el_fields_varies(request_rec *r, const char *name)
{
    return header_has_token(r, r->headers_out, "Vary", name)
           || header_has_token(r, r->err_headers_out, "Vary", name);
}

void el_fields_add_vary(request_rec *r, const char *name)
{
    if (!el_field(r, "Vary")) {
        apr_table_addn(r->headers_out, "Vary", name);
    } else if (!el_fields_varies(r, name) && !el_fields_varies(r, "*")) {
        apr_table_mergen(r->headers_out, "Vary", name);
    }
}

void el_fields_set_etag(request_rec *r, const char *tag)
{
    bool outer = !apr_is_empty_table(r->err_headers_out) && !apr_table_get(r->headers_out, "ETag");

    if (!tag) {
        el_field_unset(r, "ETag");
    } else {
        apr_table_setn(outer ? r->err_headers_out : r->headers_out, "ETag", tag);
    }
}

void el_fields_set_coding(request_rec *r, el_coding_t coding, el_etag_mode_t mode)
{
    el_fields_unset_lengths(r->headers_out);
    el_fields_unset_lengths(r->err_headers_out);
    el_fields_set_encoding(r, el_coding_info(coding)->token);
    el_fields_encode_etag(r, coding, mode);
}

void el_fields_set_encoding(request_rec *r, const char *codings)
{
    el_field_unset(r, "Content-Encoding");
    r->content_encoding = NULL;
    if (codings) {
        apr_table_setn(r->headers_out, "Content-Encoding", codings);
    }
}

void el_fields_encode_etag(request_rec *r, el_coding_t coding, el_etag_mode_t mode)
{
    const char *tag = el_field(r, "ETag");

    if (tag && *tag == '"' && tag[strlen(tag) - 1] != '"' && mode != EL_ETAG_KEEP) {
        /*
         * mod_negotiation leaves the quote of a tag open. Without a suffix, the encodings would
         * share the identity's tag.
         */
        el_fields_set_etag(r, NULL);
    } else if (tag && mode != EL_ETAG_KEEP) {
        size_t size = strlen(tag) + EL_ETAG_GROWTH;
        char *encoded = apr_palloc(r->pool, size);

        el_fields_set_etag(r, el_etag_encode(tag, mode, coding, encoded, size) ? encoded : NULL);
    }
}

/* ---- the chain of filters -------------------------------------------------------------------- */

/* AddOutputFilterByType puts each filter into a harness named with this prefix. */
#define BY_TYPE "BYTYPE:"

/* Content filters that do not change the body's bytes. */
static const char *const harmless[] = {
    "FIXUP_HEADERS_OUT", "FIXUP_HEADERS_ERR",    "MOD_EXPIRES",           "CACHE_SAVE",
    "CACHE_INVALIDATE",  "CACHE_OUT",            "BUFFER",                "MOD_SESSION_OUT",
    EL_FILTER_RANGES,    EL_FILTER_NOT_MODIFIED, EL_FILTER_PADDING,       EL_FILTER_DICTIONARY,
    EL_FILTER_EXPLAIN,   EL_FILTER_SKIPPED,      EL_FILTER_PRECOMPRESSED, EL_FILTER_NO_BODY,
};

/* httpd's own records of the filters, by role; NULL if no module registered one. */
static const ap_filter_rec_t *registered[EL_ROLES_NAMED];

static unsigned ours;

static const char *chain_name_of_role(el_role_t role)
{
    return role == EL_ROLE_INFLATE ? EL_FILTER_INFLATE : el_record_infos[(el_record_t)role].filter;
}

void el_chain_configure(void)
{
    ours = 0;
    for (el_role_t role = 0; role < EL_ROLES_NAMED; role++) {
        registered[role] = ap_get_output_filter_handle(chain_name_of_role(role));
        if (EL_ROLE_BIT(role) & EL_ROLE_COMPRESSORS && el_record_loaded((el_record_t)role)) {
            ours |= EL_ROLE_BIT(role);
        }
    }
}

unsigned el_chain_ours(void)
{
    return ours;
}

bool el_chain_by_type(const ap_filter_t *f)
{
    return f->frec->providers && strncasecmp(f->frec->name, BY_TYPE, strlen(BY_TYPE)) == 0;
}

/* Runs for each filter of each request, so it compares names only for mod_filter's filters. */
static el_role_t chain_role_of(const ap_filter_t *f)
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
        if (strcasecmp(f->frec->name + strlen(BY_TYPE), chain_name_of_role(role)) == 0) {
            return role;
        }
    }
    return by_type ? EL_ROLE_OTHER : EL_ROLE_HARNESS;
}

/* Returns `f` if it is a content filter, else NULL: the chain is ordered by filter types. */
static ap_filter_t *chain_content(ap_filter_t *f)
{
    return f && f->frec->ftype < AP_FTYPE_PROTOCOL ? f : NULL;
}

unsigned el_chain_roles(ap_filter_t *f)
{
    unsigned roles = 0;

    for (f = chain_content(f); f; f = chain_content(f->next)) {
        roles |= EL_ROLE_BIT(chain_role_of(f));
    }
    return roles;
}

el_chain_t el_chain_look(request_rec *r, bool clear)
{
    el_chain_t found = {.roles = 0};
    unsigned char compressors = 0;
    ap_filter_t *next;

    for (ap_filter_t *f = chain_content(r->output_filters); f; f = chain_content(next)) {
        el_role_t role = chain_role_of(f);
        bool compresses = EL_ROLE_BIT(role) & EL_ROLE_COMPRESSORS;

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
    for (ap_filter_t *f = chain_content(r->output_filters); f; f = chain_content(f->next)) {
        if (f->frec->providers && !(EL_ROLE_BIT(chain_role_of(f)) & EL_ROLE_COMPRESSORS)) {
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

static bool chain_is_harmless_name(const char *name)
{
    for (size_t i = 0; i < sizeof(harmless) / sizeof(harmless[0]); i++) {
        if (strcasecmp(name, harmless[i]) == 0) {
            return true;
        }
    }
    return false;
}

const char *el_chain_foreign(apr_pool_t *pool, ap_filter_t *f)
{
    const char *names = NULL;

    for (f = chain_content(f); f; f = chain_content(f->next)) {
        const char *name = f->frec->name + (el_chain_by_type(f) ? strlen(BY_TYPE) : 0);

        if (!(EL_ROLE_BIT(chain_role_of(f)) & EL_ROLE_COMPRESSORS)
            && !chain_is_harmless_name(name)) {
            names = names ? apr_pstrcat(pool, names, " ", f->frec->name, NULL) : f->frec->name;
        }
    }
    return names;
}

/*
 * Checks the filters that a directive lists, because httpd reports unknown ones only during a
 * request. CACHE stands for mod_cache's filters, which do not change the body either.
 */
static void chain_check_list(const server_rec *server, const ap_directive_t *directive,
                             apr_pool_t *pool)
{
    bool output = strcasestr(directive->directive, "Output") != NULL;
    const char *arguments = directive->args;
    const char *list = ap_getword_conf(pool, &arguments);
    const ap_filter_rec_t *before = NULL;

    while (*list) {
        const char *name = ap_getword(pool, &list, ';');
        const ap_filter_rec_t *record =
            output ? ap_get_output_filter_handle(name) : ap_get_input_filter_handle(name);
        el_role_t role = 0;

        while (role < EL_ROLES_NAMED && strcasecmp(name, chain_name_of_role(role)) != 0) {
            role++;
        }
        if (role < EL_ROLES_NAMED) {
            before = output && record ? record : before;
            if (!record) {
                el_warn(server, 0, "%s, line %d: %s: no loaded module has the filter %s; load the "
                        "module of mod_elastic.so that has it, or remove the line",
                        directive->filename, directive->line_num, directive->directive, name);
            }
        } else if (before && record && record->ftype == before->ftype
                   && !chain_is_harmless_name(name) && strcasecmp(name, "CACHE") != 0) {
            el_warn(server, 0, "%s, line %d: %s: the filter %s gets compressed bytes; name it "
                    "first", directive->filename, directive->line_num, directive->directive, name);
        }
    }
}

void el_chain_check(const server_rec *server, const ap_directive_t *directive, apr_pool_t *pool)
{
    static const char *const listing[] = {"SetOutputFilter", "AddOutputFilter", "SetInputFilter",
                                          "AddInputFilter"};

    for (; directive && !el_warnings_are_early(); directive = directive->next) {
        for (size_t i = 0; i < sizeof(listing) / sizeof(*listing); i++) {
            if (strcasecmp(directive->directive, listing[i]) == 0) {
                chain_check_list(server, directive, pool);
            }
        }
        el_chain_check(server, directive->first_child, pool);
    }
}
