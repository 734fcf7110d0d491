#include "httpd/config/dropin.h"

#include "apr_lib.h"
#include "apr_strings.h"
#include "http_core.h"
#include "http_log.h"

int el_log_index = APLOG_NO_MODULE;
EL_USE_LOG;

const module *el_records_loaded[EL_RECORDS];
el_stock_t el_stock_defaults;
el_values_t el_limits_defaults;

const el_record_info_t el_record_infos[EL_RECORDS] = {
    [EL_RECORD_ELASTIC] = {"mod_elastic.c", "ELASTIC", EL_IDENTITY},
    [EL_RECORD_DEFLATE] = {"mod_deflate.c", "DEFLATE", EL_GZIP},
    [EL_RECORD_BROTLI] = {"mod_brotli.c", "BROTLI_COMPRESS", EL_BR},
};

/* --- warnings */

/* The most warnings that the status page shows. */
#define WARNINGS_MOST 16

/* In the configuration's pool; NULL: none yet. */
static apr_array_header_t *dropin_warnings;

static apr_status_t dropin_forget_warnings(void *unused)
{
    (void)unused;
    dropin_warnings = NULL;
    return APR_SUCCESS;
}

bool el_warnings_are_early(void)
{
    return ap_state_query(AP_SQ_MAIN_STATE) == AP_SQ_MS_CREATE_PRE_CONFIG
           && ap_state_query(AP_SQ_RUN_MODE) != AP_SQ_RM_CONFIG_TEST;
}

void el_warn(const server_rec *server, apr_status_t error, const char *format, ...)
{
    apr_pool_t *pconf = server->process->pconf;
    va_list arguments;
    char *text;

    va_start(arguments, format);
    text = apr_pvsprintf(pconf, format, arguments);
    va_end(arguments);
    ap_log_error(APLOG_MARK, APLOG_WARNING, error, server, "elastic: %s", text);
    if (!dropin_warnings) {
        dropin_warnings = apr_array_make(pconf, WARNINGS_MOST, sizeof(const char *));
        apr_pool_cleanup_register(pconf, NULL, dropin_forget_warnings,
                                  apr_pool_cleanup_null);
    }
    if (dropin_warnings->nelts < WARNINGS_MOST) {
        APR_ARRAY_PUSH(dropin_warnings, const char *) = text;
    }
}

const apr_array_header_t *el_warnings(apr_pool_t *pool)
{
    return dropin_warnings ? dropin_warnings : apr_array_make(pool, 1, sizeof(const char *));
}

/* --- arguments of directives */

const char *el_argument_refuse(const cmd_parms *cmd, const char *given)
{
    return apr_psprintf(cmd->pool, "%s: '%s' is not allowed; it takes %s", cmd->cmd->name, given,
                        cmd->cmd->errmsg);
}

void el_argument_advise(cmd_parms *cmd, const char *text)
{
    if (!ap_check_cmd_context(cmd, NOT_IN_HTACCESS) && !el_warnings_are_early()) {
        el_warn(cmd->server, 0, "%s: %s", cmd->cmd->name, text);
    }
}

apr_array_header_t *el_argument_words(const cmd_parms *cmd, const char *args)
{
    apr_array_header_t *words = apr_array_make(cmd->pool, 4, sizeof(const char *));

    while (*args) {
        APR_ARRAY_PUSH(words, const char *) = ap_getword_conf(cmd->pool, &args);
    }
    return words;
}

const char *el_argument_only_word(const cmd_parms *cmd, const char *args)
{
    apr_array_header_t *words = el_argument_words(cmd, args);

    return words->nelts == 1 ? el_argument_word(words, 0) : NULL;
}

bool el_argument_number(const char *text, int64_t min, int64_t max, int64_t *value)
{
    char *end;
    apr_int64_t parsed;

    if (!apr_isdigit(*text)) {
        return false;
    }
    errno = 0;
    parsed = apr_strtoi64(text, &end, 10);
    if (errno || *end || parsed < min || parsed > max) {
        return false;
    }
    *value = parsed;
    return true;
}

bool el_argument_percentage(const char *text, int64_t *ppm)
{
    char *end;
    double value;

    if (!(apr_isdigit(*text) || *text == '.') || strspn(text, "0123456789.") != strlen(text)) {
        return false;
    }
    value = strtod(text, &end);
    if (*end || value > 100) {
        return false;
    }
    *ppm = (int64_t)(value * EL_PPM_PER_PERCENT + 0.5);
    return true;
}

bool el_argument_read(const cmd_parms *cmd, const el_argument_t *argument, const char *given,
                      int64_t *value)
{
    static const struct {
        el_argument_unit_t unit;
        const char *letters;
        int64_t factor;
    } rows[] = {
        {EL_UNIT_ONE, "", 1},
        {EL_UNIT_BYTES, "", 1},
        {EL_UNIT_BYTES, "K", 1 << 10},
        {EL_UNIT_BYTES, "M", 1 << 20},
        {EL_UNIT_BYTES, "G", 1 << 30},
        {EL_UNIT_TIME, "", APR_USEC_PER_SEC},
        {EL_UNIT_TIME, "s", APR_USEC_PER_SEC},
        {EL_UNIT_TIME, "ms", APR_USEC_PER_SEC / 1000},
    };
    size_t digits = given ? strspn(given, "0123456789") : 0;
    int64_t factor = 0;

    for (const el_argument_word_t *word = argument->words; given && word && word->name; word++) {
        if (strcasecmp(word->name, given) == 0) {
            *value = word->value;
            return true;
        }
    }
    if (!given || argument->unit == EL_UNIT_PERCENT) {
        return given && el_argument_percentage(given, value);
    }
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].unit == argument->unit && strcasecmp(rows[i].letters, given + digits) == 0) {
            factor = rows[i].factor;
        }
    }
    if (factor == 0 || !el_argument_number(apr_pstrmemdup(cmd->pool, given, digits), 0,
                                           INT64_MAX / factor, value)) {
        return false;
    }
    *value *= factor;
    return *value >= argument->min && *value <= argument->max;
}

const char *el_argument_set(cmd_parms *cmd, void *config, const char *args)
{
    const el_argument_t *argument = cmd->info;
    const char *error = argument->global ? ap_check_cmd_context(cmd, GLOBAL_ONLY) : NULL;
    el_values_t *values = argument->server
                              ? el_record_settings(argument->record, cmd->server->module_config)
                              : config;
    int64_t value;

    if (error) {
        return error;
    }
    if (!el_argument_read(cmd, argument, el_argument_only_word(cmd, args), &value)) {
        return el_argument_refuse(cmd, args);
    }
    if (argument->adjust) {
        argument->adjust(cmd, &value);
    }
    if (argument->is_on && value == true) {
        atomic_store(argument->is_on, true);
    }
    el_value_set(values, argument->value, value);
    return NULL;
}

/* --- settings */

void *el_stock_create(apr_pool_t *pool, server_rec *server)
{
    (void)server;
    return apr_pmemdup(pool, &el_stock_defaults, sizeof(el_stock_defaults));
}

/* Merges field by field: unlike in the stock modules, one directive in a vhost resets no other. */
void *el_stock_merge(apr_pool_t *pool, void *base, void *add)
{
    const el_stock_t *from = add;
    el_stock_t *to = apr_pmemdup(pool, base, sizeof(*to));

    el_values_merge(&to->values, &from->values);
    for (int i = 0; i < EL_NOTES; i++) {
        to->note[i] = from->note[i] ? from->note[i] : to->note[i];
    }
    return to;
}

const el_stock_t *el_stock_of(const server_rec *server, el_record_t record)
{
    const el_stock_t *stock = record == EL_RECORD_ELASTIC
                                  ? NULL
                                  : el_record_settings(record, server->module_config);

    return stock ? stock : &el_stock_defaults;
}

void *el_limits_create(apr_pool_t *pool, char *path)
{
    (void)path;
    return apr_pmemdup(pool, &el_limits_defaults, sizeof(el_limits_defaults));
}

void *el_limits_merge(apr_pool_t *pool, void *base, void *add)
{
    el_values_t *to = apr_pmemdup(pool, base, sizeof(*to));

    el_values_merge(to, add);
    return to;
}

el_limits_t el_limits_of(const request_rec *r)
{
    const el_values_t *set = el_record_settings(EL_RECORD_DEFLATE, r->per_dir_config);
    const int64_t *value = set ? set->value : el_limits_defaults.value;
    el_limits_t limits = {
        .size = (uint64_t)value[EL_LIMIT_SIZE],
        .ratio = (uint64_t)value[EL_LIMIT_RATIO],
        .burst = (uint64_t)value[EL_LIMIT_BURST],
        .is_request = true,
    };

    if (limits.size == 0) {
        el_limits_spool(&limits, r);
    }
    return limits;
}

void el_limits_spool(el_limits_t *limits, const request_rec *r)
{
    apr_off_t most = ap_get_limit_req_body(r);

    if (most > 0 && (limits->size == 0 || (uint64_t)most < limits->size)) {
        limits->size = (uint64_t)most;
    }
}
