/*
 * The directives' table, and what each of them accepts. Every value that is not allowed is refused
 * with the directive's name, what was given and what is allowed, which is the table's own help
 * text.
 */
#include "settings.h"

#include "elastic/engine.h"
#include "elastic/mediatype.h"

#include "ap_mpm.h"
#include "apr_lib.h"
#include "apr_strings.h"
#include "http_core.h"
#include "http_log.h"

APLOG_USE_MODULE(elastic);

/*
 * RFC 791 obliges every host to take a datagram of 576 bytes; an IPv4 packet's length has 16 bits.
 */
#define MTU_MIN 576
#define MTU_MAX 65535

#define INTERVAL_MIN apr_time_from_msec(100)
#define INTERVAL_MAX apr_time_from_sec(60)
/* The least interval that the paper advises (§4.3). */
#define INTERVAL_ADVISED apr_time_from_msec(500)

static const char *refuse(const cmd_parms *cmd, const char *given)
{
    return apr_psprintf(cmd->pool, "%s: '%s' is not allowed; it takes %s", cmd->cmd->name, given,
                        cmd->cmd->errmsg);
}

/* The words of a directive's line, quotes removed. */
static apr_array_header_t *words_of(const cmd_parms *cmd, const char *args)
{
    apr_array_header_t *words = apr_array_make(cmd->pool, 4, sizeof(const char *));

    while (*args) {
        APR_ARRAY_PUSH(words, const char *) = ap_getword_conf(cmd->pool, &args);
    }
    return words;
}

static const char *word(const apr_array_header_t *words, int i)
{
    return APR_ARRAY_IDX(words, i, const char *);
}

/* The only word of the line, or NULL where there are none or several. */
static const char *only_word(const cmd_parms *cmd, const char *args)
{
    apr_array_header_t *words = words_of(cmd, args);

    return words->nelts == 1 ? word(words, 0) : NULL;
}

/* A whole number min … max, digits and nothing else. */
static bool number(const char *text, uint64_t min, uint64_t max, uint64_t *value)
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

/* A percentage 0 … 100, with or without a fraction, as a share 0 … 1. */
static bool percentage(const char *text, double *share)
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

/* A time: digits and ms, s or nothing for seconds. */
static bool time_of(const cmd_parms *cmd, const char *text, apr_interval_time_t *time)
{
    size_t digits = text ? strspn(text, "0123456789") : 0;
    const char *unit = text ? text + digits : "";
    uint64_t count;

    /* More than a minute in ms is out of every range; the bound keeps the product in range. */
    if (!number(apr_pstrmemdup(cmd->pool, text ? text : "", digits), 0, 1000000, &count)) {
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

static bool on_off(const char *text, bool *value)
{
    if (!text || (strcasecmp(text, "on") && strcasecmp(text, "off"))) {
        return false;
    }
    *value = strcasecmp(text, "on") == 0;
    return true;
}

/*
 * Says something once at startup, though httpd reads its configuration twice there; from .htaccess,
 * which is read per request, only at debug level.
 */
static void advise(cmd_parms *cmd, const char *text)
{
    int level = ap_check_cmd_context(cmd, NOT_IN_HTACCESS) ? APLOG_DEBUG : APLOG_WARNING;

    if (ap_state_query(AP_SQ_MAIN_STATE) == AP_SQ_MS_CREATE_PRE_CONFIG
        && ap_state_query(AP_SQ_RUN_MODE) != AP_SQ_RM_CONFIG_TEST) {
        return;
    }
    ap_log_error(APLOG_MARK, level, 0, cmd->server, "elastic: %s: %s", cmd->cmd->name, text);
}

static const char *set_enabled(cmd_parms *cmd, void *config, const char *args)
{
    el_dir_t *dir = config;

    if (!on_off(only_word(cmd, args), &dir->enabled)) {
        return refuse(cmd, args);
    }
    dir->enabled_set = true;
    return NULL;
}

static const char *set_precompressed(cmd_parms *cmd, void *config, const char *args)
{
    el_dir_t *dir = config;

    if (!on_off(only_word(cmd, args), &dir->precompressed)) {
        return refuse(cmd, args);
    }
    dir->precompressed_set = true;
    return NULL;
}

static const char *set_inflate(cmd_parms *cmd, void *config, const char *args)
{
    el_dir_t *dir = config;

    if (!on_off(only_word(cmd, args), &dir->inflate)) {
        return refuse(cmd, args);
    }
    dir->inflate_set = true;
    return NULL;
}

static const char *set_types(cmd_parms *cmd, void *config, const char *args)
{
    el_dir_t *dir = config;
    apr_array_header_t *words = words_of(cmd, args);
    bool replace = false;

    if (!words->nelts) {
        return refuse(cmd, args);
    }
    for (int i = 0; i < words->nelts; i++) {
        const char *given = word(words, i);
        char sign = *given == '+' || *given == '-' ? *given : '\0';

        if (!el_mediatype_pattern_ok(sign ? given + 1 : given)) {
            return refuse(cmd, given);
        }
        replace = replace || !sign;
    }
    if (replace || !dir->types) {
        dir->types = apr_array_make(cmd->pool, words->nelts, sizeof(el_type_rule_t));
        dir->types_replace = dir->types_replace || replace;
    }
    for (int i = 0; i < words->nelts; i++) {
        const char *given = word(words, i);
        el_type_rule_t *rule = apr_array_push(dir->types);

        rule->listed = *given != '-';
        rule->pattern = *given == '+' || *given == '-' ? given + 1 : given;
    }
    return NULL;
}

static const char *set_codings(cmd_parms *cmd, void *config, const char *args)
{
    el_dir_t *dir = config;
    apr_array_header_t *words = words_of(cmd, args);
    el_coding_t order[EL_CODINGS];
    size_t count = 0;

    if (!words->nelts) {
        return refuse(cmd, args);
    }
    for (int i = 0; i < words->nelts; i++) {
        el_coding_t coding = el_coding_find(word(words, i), strlen(word(words, i)));

        if (coding == EL_IDENTITY) {
            return refuse(cmd, word(words, i));
        }
        for (size_t k = 0; k < count; k++) {
            if (order[k] == coding) {
                return refuse(cmd, args);
            }
        }
        if (!el_engine_for(coding)) {
            advise(cmd, apr_psprintf(cmd->pool, "%s is not built in and is left out",
                                     word(words, i)));
        }
        order[count++] = coding;
    }
    memcpy(dir->codings, order, sizeof(order[0]) * count);
    dir->codings_count = count;
    dir->codings_set = true;
    return NULL;
}

static const char *set_level(cmd_parms *cmd, void *config, const char *args)
{
    el_dir_t *dir = config;
    apr_array_header_t *words = words_of(cmd, args);
    const el_coding_info_t *info;
    const el_engine_t *engine;
    el_coding_t coding;
    uint64_t bound[2];

    if (words->nelts != 2 && words->nelts != 3) {
        return refuse(cmd, args);
    }
    coding = el_coding_find(word(words, 0), strlen(word(words, 0)));
    info = el_coding_info(coding);
    if (!info) {
        return refuse(cmd, args);
    }
    for (int i = 0; i < 2; i++) {
        const char *text = word(words, words->nelts == 3 ? i + 1 : 1);

        if (!number(text, (uint64_t)info->level_min, (uint64_t)info->level_max, &bound[i])) {
            return refuse(cmd, args);
        }
    }
    if (bound[0] > bound[1]) {
        return refuse(cmd, args);
    }
    engine = el_engine_for(coding);
    if (!engine) {
        advise(cmd, apr_psprintf(cmd->pool, "%s is not built in", info->token));
    } else if (bound[1] > (uint64_t)engine->level_max) {
        advise(cmd, apr_psprintf(cmd->pool, "%s ends at level %d here, which is used instead",
                                 info->token, engine->level_max));
    }
    dir->range[coding] = (el_range_t){(int)bound[0], (int)bound[1]};
    dir->range_set[coding] = true;
    return NULL;
}

static const char *set_min_size(cmd_parms *cmd, void *config, const char *args)
{
    el_dir_t *dir = config;
    const char *given = only_word(cmd, args);

    if (given && strcasecmp(given, "auto") == 0) {
        dir->min_size = EL_MIN_SIZE_AUTO;
    } else if (!number(given, 0, APR_INT64_MAX, &dir->min_size)) {
        return refuse(cmd, args);
    }
    dir->min_size_set = true;
    return NULL;
}

static const char *set_etag(cmd_parms *cmd, void *config, const char *args)
{
    static const char *const names[] = {
        [EL_ETAG_WEAK] = "weak",
        [EL_ETAG_SUFFIX] = "suffix",
        [EL_ETAG_KEEP] = "keep",
        [EL_ETAG_REMOVE] = "remove",
    };
    el_dir_t *dir = config;
    const char *given = only_word(cmd, args);

    for (size_t i = 0; given && i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcasecmp(given, names[i]) == 0) {
            dir->etag = (el_etag_mode_t)i;
            dir->etag_set = true;
            el_settings_untagged = el_settings_untagged || dir->etag == EL_ETAG_KEEP
                                   || dir->etag == EL_ETAG_REMOVE;
            return NULL;
        }
    }
    return refuse(cmd, args);
}

static el_server_t *server_config(const cmd_parms *cmd)
{
    return ap_get_module_config(cmd->server->module_config, &elastic_module);
}

static const char *set_mtu(cmd_parms *cmd, void *config, const char *args)
{
    const char *given = only_word(cmd, args);
    uint64_t mtu = EL_DEFAULT_MTU;

    (void)config;
    if (!given || (strcasecmp(given, "auto") && !number(given, MTU_MIN, MTU_MAX, &mtu))) {
        return refuse(cmd, args);
    }
    server_config(cmd)->mtu = mtu;
    return NULL;
}

static const char *set_cpu(cmd_parms *cmd, void *config, const char *args)
{
    apr_array_header_t *words = words_of(cmd, args);
    el_server_t *server = server_config(cmd);
    const char *error = ap_check_cmd_context(cmd, GLOBAL_ONLY);
    double low, high;

    (void)config;
    if (error) {
        return error;
    }
    if (words->nelts != 2 || !percentage(word(words, 0), &low) || !percentage(word(words, 1), &high)
        || low >= high) {
        return refuse(cmd, args);
    }
    server->low = low;
    server->high = high;
    server->cpu_set = true;
    return NULL;
}

static const char *set_interval(cmd_parms *cmd, void *config, const char *args)
{
    const char *given = only_word(cmd, args);
    const char *error = ap_check_cmd_context(cmd, GLOBAL_ONLY);
    apr_interval_time_t interval;

    (void)config;
    if (error) {
        return error;
    }
    if (!time_of(cmd, given, &interval) || interval < INTERVAL_MIN || interval > INTERVAL_MAX) {
        return refuse(cmd, args);
    }
    if (interval < INTERVAL_ADVISED) {
        advise(cmd, "below 500ms the load that a step causes may not be seen before the next");
    }
    server_config(cmd)->interval = interval;
    return NULL;
}

static const char *set_control(cmd_parms *cmd, void *config, const char *args)
{
    const char *given = only_word(cmd, args);
    const char *error = ap_check_cmd_context(cmd, GLOBAL_ONLY);
    el_server_t *server = server_config(cmd);

    (void)config;
    if (error) {
        return error;
    }
    if (!given || (strcasecmp(given, "step") && strcasecmp(given, "off"))) {
        return refuse(cmd, args);
    }
    server->mode = strcasecmp(given, "off") ? EL_CONTROL_STEP : EL_CONTROL_OFF;
    server->mode_set = true;
    return NULL;
}

static const char *set_bypass(cmd_parms *cmd, void *config, const char *args)
{
    const char *given = only_word(cmd, args);
    const char *error = ap_check_cmd_context(cmd, GLOBAL_ONLY);
    el_server_t *server = server_config(cmd);

    (void)config;
    if (error) {
        return error;
    }
    if (given && strcasecmp(given, "off") == 0) {
        server->bypass = EL_NO_BYPASS;
    } else if (!percentage(given, &server->bypass)) {
        return refuse(cmd, args);
    }
    server->bypass_set = true;
    return NULL;
}

static const char *set_proc_stat(cmd_parms *cmd, void *config, const char *args)
{
    const char *given = only_word(cmd, args);
    const char *error = ap_check_cmd_context(cmd, GLOBAL_ONLY);

    (void)config;
    if (error) {
        return error;
    }
    if (!given || !*given) {
        return refuse(cmd, args);
    }
    server_config(cmd)->proc_stat = ap_server_root_relative(cmd->pool, given);
    return server_config(cmd)->proc_stat ? NULL : refuse(cmd, args);
}

#define EVERYWHERE OR_FILEINFO
#define NOT_HTACCESS (RSRC_CONF | ACCESS_CONF)

const command_rec el_commands[] = {
    AP_INIT_RAW_ARGS("Elastic", set_enabled, NULL, EVERYWHERE,
                     "On or Off: whether responses are compressed here"),
    AP_INIT_RAW_ARGS("ElasticTypes", set_types, NULL, EVERYWHERE,
                     "media types as text/html, text/* or application/*+json; with + or - added "
                     "to or taken from the inherited ones"),
    AP_INIT_RAW_ARGS("ElasticCodings", set_codings, NULL, EVERYWHERE,
                     "codings out of gzip, br and zstd, each once, the preferred one first"),
    AP_INIT_RAW_ARGS("ElasticLevel", set_level, NULL, NOT_HTACCESS,
                     "a coding and one level or a minimum and a maximum: gzip 1-12, br 0-11, "
                     "zstd 1-19"),
    AP_INIT_RAW_ARGS("ElasticMinSize", set_min_size, NULL, NOT_HTACCESS,
                     "auto, or the size in bytes below which bodies stay as they are"),
    AP_INIT_RAW_ARGS("ElasticPrecompressed", set_precompressed, NULL, EVERYWHERE,
                     "On or Off: whether f.br, f.zst or f.gz is sent in place of a static file f"),
    AP_INIT_RAW_ARGS("ElasticInflate", set_inflate, NULL, EVERYWHERE,
                     "On or Off: whether request bodies in gzip and br are decoded"),
    AP_INIT_RAW_ARGS("ElasticETag", set_etag, NULL, NOT_HTACCESS,
                     "weak, suffix, keep or remove: the entity tag of an encoded response"),
    AP_INIT_RAW_ARGS("ElasticMTU", set_mtu, NULL, RSRC_CONF,
                     "auto, or the link's packet size in bytes, 576 to 65535"),
    AP_INIT_RAW_ARGS("ElasticCPU", set_cpu, NULL, RSRC_CONF,
                     "two percentages, 0 <= low < high <= 100: effort goes up below low and down "
                     "above high"),
    AP_INIT_RAW_ARGS("ElasticInterval", set_interval, NULL, RSRC_CONF,
                     "the time between two samples, 100ms to 60s (a bare number is seconds)"),
    AP_INIT_RAW_ARGS("ElasticControl", set_control, NULL, RSRC_CONF,
                     "step or off: how the effort follows the load"),
    AP_INIT_RAW_ARGS("ElasticBypass", set_bypass, NULL, RSRC_CONF,
                     "Off, or the percentage of CPU above which nothing is compressed, 0 to 100"),
    AP_INIT_RAW_ARGS("ElasticProcStat", set_proc_stat, NULL, RSRC_CONF,
                     "the path of a file that is read in place of /proc/stat"),
    {NULL},
};
