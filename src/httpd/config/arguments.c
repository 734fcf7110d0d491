#include "httpd/config/arguments.h"

#include "ap_mpm.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "http_core.h"
#include "http_log.h"

EL_USE_LOG;

const char *el_refuse(const cmd_parms *cmd, const char *given)
{
    return apr_psprintf(cmd->pool, "%s: '%s' is not allowed; it takes %s", cmd->cmd->name, given,
                        cmd->cmd->errmsg);
}

apr_array_header_t *el_words(const cmd_parms *cmd, const char *args)
{
    apr_array_header_t *words = apr_array_make(cmd->pool, 4, sizeof(const char *));

    while (*args) {
        APR_ARRAY_PUSH(words, const char *) = ap_getword_conf(cmd->pool, &args);
    }
    return words;
}

const char *el_word(const apr_array_header_t *words, int i)
{
    return APR_ARRAY_IDX(words, i, const char *);
}

const char *el_only_word(const cmd_parms *cmd, const char *args)
{
    apr_array_header_t *words = el_words(cmd, args);

    return words->nelts == 1 ? el_word(words, 0) : NULL;
}

bool el_number(const char *text, uint64_t min, uint64_t max, uint64_t *value)
{
    char *end;
    apr_int64_t parsed;

    if (!text || !apr_isdigit(*text)) {
        return false;
    }
    errno = 0;
    parsed = apr_strtoi64(text, &end, 10);
    if (errno || *end || parsed < 0 || (uint64_t)parsed < min || (uint64_t)parsed > max) {
        return false;
    }
    *value = (uint64_t)parsed;
    return true;
}

bool el_only_number(const cmd_parms *cmd, const char *args, int min, int max, int *value)
{
    uint64_t parsed;

    if (!el_number(el_only_word(cmd, args), (uint64_t)min, (uint64_t)max, &parsed)) {
        return false;
    }
    *value = (int)parsed;
    return true;
}

bool el_percentage(const char *text, double *share)
{
    char *end;
    double value;

    if (!text || !(apr_isdigit(*text) || *text == '.')
        || strspn(text, "0123456789.") != strlen(text)) {
        return false;
    }
    value = strtod(text, &end);
    if (*end || value > 100) {
        return false;
    }
    *share = value / 100;
    return true;
}

bool el_time(const cmd_parms *cmd, const char *text, apr_interval_time_t *time)
{
    size_t digits = text ? strspn(text, "0123456789") : 0;
    const char *unit = text ? text + digits : "";
    uint64_t count;

    /* More than a minute in ms is out of every range; the bound keeps the product in range. */
    if (!el_number(apr_pstrmemdup(cmd->pool, text ? text : "", digits), 0, 1000000, &count)) {
        return false;
    }
    if (strcasecmp(unit, "ms") == 0) {
        *time = apr_time_from_msec((apr_interval_time_t)count);
    } else if (!*unit || strcasecmp(unit, "s") == 0) {
        *time = apr_time_from_sec((apr_interval_time_t)count);
    } else {
        return false;
    }
    return true;
}

bool el_on_off(const char *text, bool *value)
{
    if (!text || (strcasecmp(text, "on") && strcasecmp(text, "off"))) {
        return false;
    }
    *value = strcasecmp(text, "on") == 0;
    return true;
}

void el_advise(cmd_parms *cmd, const char *text)
{
    int level = ap_check_cmd_context(cmd, NOT_IN_HTACCESS) ? APLOG_DEBUG : APLOG_WARNING;

    if (ap_state_query(AP_SQ_MAIN_STATE) == AP_SQ_MS_CREATE_PRE_CONFIG
        && ap_state_query(AP_SQ_RUN_MODE) != AP_SQ_RM_CONFIG_TEST) {
        return;
    }
    ap_log_error(APLOG_MARK, level, 0, cmd->server, "elastic: %s: %s", cmd->cmd->name, text);
}
