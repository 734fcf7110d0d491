#include "httpd/config/arguments.h"

#include "httpd/config/values.h"

#include "ap_mpm.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "http_core.h"

/* Millionths in a hundredth. */
#define PPM_PER_PERCENT 10000.

const el_word_t el_words_on_off[] = {{"On", true}, {"Off", false}, {NULL, 0}};

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

bool el_number(const char *text, int64_t min, int64_t max, int64_t *value)
{
    char *end;
    apr_int64_t parsed;

    if (!text || !apr_isdigit(*text)) {
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

bool el_percentage(const char *text, int64_t *ppm)
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
    *ppm = (int64_t)(value * PPM_PER_PERCENT + 0.5);
    return true;
}

void el_advise(cmd_parms *cmd, const char *text)
{
    if (!ap_check_cmd_context(cmd, NOT_IN_HTACCESS) && !el_warnings_are_early()) {
        el_warn(cmd->server, 0, "%s: %s", cmd->cmd->name, text);
    }
}

/* What the letters behind a number multiply it by; 0 where they are none of the unit's. */
static int64_t factor_of(el_unit_t unit, const char *letters)
{
    static const struct {
        el_unit_t unit;
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

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].unit == unit && strcasecmp(rows[i].letters, letters) == 0) {
            return rows[i].factor;
        }
    }
    return 0;
}

static bool find_word(const el_word_t *words, const char *given, int64_t *value)
{
    for (; words && words->name; words++) {
        if (strcasecmp(words->name, given) == 0) {
            *value = words->value;
            return true;
        }
    }
    return false;
}

bool el_argument_read(const cmd_parms *cmd, const el_argument_t *argument, const char *given,
                      int64_t *value)
{
    size_t digits;
    int64_t factor;

    if (!given) {
        return false;
    }
    if (find_word(argument->words, given, value)) {
        return true;
    }
    if (argument->unit == EL_UNIT_PERCENT) {
        return el_percentage(given, value);
    }
    digits = strspn(given, "0123456789");
    factor = factor_of(argument->unit, given + digits);
    if (factor == 0
        || !el_number(apr_pstrmemdup(cmd->pool, given, digits), 0, INT64_MAX / factor, value)) {
        return false;
    }
    *value *= factor;
    return *value >= argument->min && *value <= argument->max;
}

const char *el_set_value(cmd_parms *cmd, void *config, const char *args)
{
    const el_argument_t *argument = cmd->info;
    const char *error = argument->global ? ap_check_cmd_context(cmd, GLOBAL_ONLY) : NULL;
    el_values_t *values =
        argument->server ? el_record_settings(argument->record, cmd->server->module_config)
                         : config;
    int64_t value;

    if (error) {
        return error;
    }
    if (!el_argument_read(cmd, argument, el_only_word(cmd, args), &value)) {
        return el_refuse(cmd, args);
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
