/* The Elastic directives' table, and what each of them accepts. */
#include "httpd/config/arguments.h"
#include "httpd/config/control_directives.h"
#include "httpd/base/records.h"
#include "httpd/config/settings.h"

#include "elastic/engine.h"

#include "apr_lib.h"
#include "apr_strings.h"
#include "http_core.h"

/*
 * RFC 791 obliges every host to take a datagram of 576 bytes; an IPv4 packet's length has 16 bits.
 */
#define MTU_MIN 576
#define MTU_MAX 65535

#define INTERVAL_MIN apr_time_from_msec(100)
#define INTERVAL_MAX apr_time_from_sec(60)
/* Half of a millisecond is what the fastest setup takes for a large page. */
#define MAX_TIME_MIN apr_time_from_msec(1)
#define MAX_TIME_MAX apr_time_from_sec(60)
/* The least interval that the paper advises (§4.3). */
#define INTERVAL_ADVISED apr_time_from_msec(500)

static const char *set_switch(const cmd_parms *cmd, const char *args, bool *value, bool *is_set)
{
    if (!el_on_off(el_only_word(cmd, args), value)) {
        return el_refuse(cmd, args);
    }
    *is_set = true;
    return NULL;
}

/* The same of what no request pays for while it is On nowhere. */
static const char *set_costly(const cmd_parms *cmd, const char *args, bool *value, bool *is_set,
                              atomic_bool *anywhere)
{
    const char *refused = set_switch(cmd, args, value, is_set);

    if (!refused && *value) {
        atomic_store(anywhere, true);
    }
    return refused;
}

static const char *set_enabled(cmd_parms *cmd, void *config, const char *args)
{
    el_dir_t *dir = config;

    return set_switch(cmd, args, &dir->enabled, &dir->enabled_set);
}

static const char *set_precompressed(cmd_parms *cmd, void *config, const char *args)
{
    el_dir_t *dir = config;

    return set_costly(cmd, args, &dir->precompressed, &dir->precompressed_set,
                      &el_settings_precompressed);
}

static const char *set_inflate(cmd_parms *cmd, void *config, const char *args)
{
    el_dir_t *dir = config;

    return set_costly(cmd, args, &dir->inflate, &dir->inflate_set, &el_settings_inflate);
}

/* A pattern with `+` or `-` before it, or neither. */
static bool is_signed(const char *given)
{
    return *given == '+' || *given == '-';
}

static bool read_rule(const char *given, el_type_rule_t *rule)
{
    rule->listed = *given != '-';
    return el_mediatype_pattern(is_signed(given) ? given + 1 : given, &rule->pattern);
}

static const char *set_types(cmd_parms *cmd, void *config, const char *args)
{
    el_dir_t *dir = config;
    apr_array_header_t *words = el_words(cmd, args);
    bool replace = false;

    if (!words->nelts) {
        return el_refuse(cmd, args);
    }
    for (int i = 0; i < words->nelts; i++) {
        const char *given = el_word(words, i);
        el_type_rule_t rule;

        if (!read_rule(given, &rule)) {
            return el_refuse(cmd, given);
        }
        replace = replace || !is_signed(given);
    }
    if (replace || !dir->types) {
        dir->types = apr_array_make(cmd->pool, words->nelts, sizeof(el_type_rule_t));
        dir->types_replace = dir->types_replace || replace;
    }
    for (int i = 0; i < words->nelts; i++) {
        read_rule(el_word(words, i), apr_array_push(dir->types));
    }
    return NULL;
}

static const char *set_codings(cmd_parms *cmd, void *config, const char *args)
{
    el_dir_t *dir = config;
    apr_array_header_t *words = el_words(cmd, args);
    el_coding_t order[EL_CODINGS];
    size_t count = 0;

    if (!words->nelts) {
        return el_refuse(cmd, args);
    }
    for (int i = 0; i < words->nelts; i++) {
        el_coding_t coding = el_coding_find(el_word(words, i), strlen(el_word(words, i)));

        if (coding == EL_IDENTITY) {
            return el_refuse(cmd, el_word(words, i));
        }
        for (size_t k = 0; k < count; k++) {
            if (order[k] == coding) {
                return el_refuse(cmd, args);
            }
        }
        if (!el_engine_for(coding)) {
            el_advise(cmd, apr_psprintf(cmd->pool, "%s is not built in and is left out",
                                        el_word(words, i)));
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
    apr_array_header_t *words = el_words(cmd, args);
    const el_coding_info_t *info;
    el_coding_t coding;
    uint64_t bound[2];
    int top;

    if (words->nelts != 2 && words->nelts != 3) {
        return el_refuse(cmd, args);
    }
    coding = el_coding_find(el_word(words, 0), strlen(el_word(words, 0)));
    info = el_coding_info(coding);
    if (!info) {
        return el_refuse(cmd, args);
    }
    for (int i = 0; i < 2; i++) {
        const char *text = el_word(words, words->nelts == 3 ? i + 1 : 1);

        if (!el_number(text, (uint64_t)info->level_min, (uint64_t)info->level_max, &bound[i])) {
            return el_refuse(cmd, args);
        }
    }
    if (bound[0] > bound[1]) {
        return el_refuse(cmd, args);
    }
    top = el_engine_top(coding);
    if (top == EL_ENGINE_NONE) {
        el_advise(cmd, apr_psprintf(cmd->pool, "%s is not built in", info->token));
    } else if (bound[1] > (uint64_t)top) {
        el_advise(cmd, apr_psprintf(cmd->pool, "%s ends at level %d here, which is used instead",
                                    info->token, top));
    }
    dir->range[coding] = el_range_of((int)bound[0], (int)bound[1]);
    dir->range_set[coding] = true;
    return NULL;
}

static el_server_t *server_config(const cmd_parms *cmd)
{
    return el_record_settings(EL_RECORD_ELASTIC, cmd->server->module_config);
}

/* A number of bytes, also with K, M or G behind it (of 1024). */
static bool bytes_of(const cmd_parms *cmd, const char *text, uint64_t *bytes)
{
    static const char units[] = "KMG";
    size_t digits = text ? strspn(text, "0123456789") : 0;
    const char *unit = text ? text + digits : "";
    const char *known = *unit ? strchr(units, apr_toupper(*unit)) : units;
    int shift = !*unit ? 0 : known ? 10 * (int)(known - units + 1) : 0;

    /* 2^53 bytes are beyond every machine; the bound keeps the product in range. */
    if (!known || (*unit && unit[1])
        || !el_number(apr_pstrmemdup(cmd->pool, text ? text : "", digits), 0,
                      UINT64_C(1) << (53 - shift), bytes)) {
        return false;
    }
    *bytes <<= shift;
    return true;
}

static const char *set_whole_body(cmd_parms *cmd, void *config, const char *args)
{
    el_dir_t *dir = config;

    /* A body and its encoding are held in memory, and libraries count with 31 bits. */
    if (!bytes_of(cmd, el_only_word(cmd, args), &dir->whole_body) || dir->whole_body > INT_MAX) {
        return el_refuse(cmd, args);
    }
    dir->whole_body_set = true;
    return NULL;
}

static const char *set_max_time(cmd_parms *cmd, void *config, const char *args)
{
    el_dir_t *dir = config;
    const char *given = el_only_word(cmd, args);

    if (given && strcasecmp(given, "off") == 0) {
        dir->max_time = EL_NO_MAX_TIME;
    } else if (!el_time(cmd, given, &dir->max_time) || dir->max_time < MAX_TIME_MIN
               || dir->max_time > MAX_TIME_MAX) {
        return el_refuse(cmd, args);
    }
    dir->max_time_set = true;
    return NULL;
}

static const char *set_pool_memory(cmd_parms *cmd, void *config, const char *args)
{
    el_server_t *server = server_config(cmd);
    const char *error = ap_check_cmd_context(cmd, GLOBAL_ONLY);

    (void)config;
    if (error) {
        return error;
    }
    if (!bytes_of(cmd, el_only_word(cmd, args), &server->pool_memory)) {
        return el_refuse(cmd, args);
    }
    server->pool_memory_set = true;
    return NULL;
}

static const char *set_min_size(cmd_parms *cmd, void *config, const char *args)
{
    el_dir_t *dir = config;
    const char *given = el_only_word(cmd, args);

    if (given && strcasecmp(given, "auto") == 0) {
        dir->min_size = EL_MIN_SIZE_AUTO;
    } else if (!el_number(given, 0, APR_INT64_MAX, &dir->min_size)) {
        return el_refuse(cmd, args);
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
    const char *given = el_only_word(cmd, args);

    for (size_t i = 0; given && i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcasecmp(given, names[i]) == 0) {
            dir->etag = (el_etag_mode_t)i;
            dir->etag_set = true;
            el_settings_untagged = el_settings_untagged || dir->etag == EL_ETAG_KEEP
                                   || dir->etag == EL_ETAG_REMOVE;
            return NULL;
        }
    }
    return el_refuse(cmd, args);
}

static const char *set_mtu(cmd_parms *cmd, void *config, const char *args)
{
    const char *given = el_only_word(cmd, args);
    uint64_t mtu = EL_DEFAULT_MTU;

    (void)config;
    if (!given || (strcasecmp(given, "auto") && !el_number(given, MTU_MIN, MTU_MAX, &mtu))) {
        return el_refuse(cmd, args);
    }
    server_config(cmd)->mtu = mtu;
    return NULL;
}

static const char *set_cpu(cmd_parms *cmd, void *config, const char *args)
{
    apr_array_header_t *words = el_words(cmd, args);
    el_server_t *server = server_config(cmd);
    const char *error = ap_check_cmd_context(cmd, GLOBAL_ONLY);
    double low, high;

    (void)config;
    if (error) {
        return error;
    }
    if (words->nelts != 2 || !el_percentage(el_word(words, 0), &low)
        || !el_percentage(el_word(words, 1), &high) || low >= high) {
        return el_refuse(cmd, args);
    }
    server->low = low;
    server->high = high;
    server->cpu_set = true;
    return NULL;
}

static const char *set_interval(cmd_parms *cmd, void *config, const char *args)
{
    const char *given = el_only_word(cmd, args);
    const char *error = ap_check_cmd_context(cmd, GLOBAL_ONLY);
    apr_interval_time_t interval;

    (void)config;
    if (error) {
        return error;
    }
    if (!el_time(cmd, given, &interval) || interval < INTERVAL_MIN || interval > INTERVAL_MAX) {
        return el_refuse(cmd, args);
    }
    if (interval < INTERVAL_ADVISED) {
        el_advise(cmd, "below 500ms the load that a step causes may not be seen before the next");
    }
    server_config(cmd)->interval = interval;
    return NULL;
}

static const char *set_bypass(cmd_parms *cmd, void *config, const char *args)
{
    const char *given = el_only_word(cmd, args);
    const char *error = ap_check_cmd_context(cmd, GLOBAL_ONLY);
    el_server_t *server = server_config(cmd);

    (void)config;
    if (error) {
        return error;
    }
    if (given && strcasecmp(given, "off") == 0) {
        server->bypass = EL_NO_BYPASS;
    } else if (!el_percentage(given, &server->bypass)) {
        return el_refuse(cmd, args);
    }
    server->bypass_set = true;
    return NULL;
}

static const char *set_proc_stat(cmd_parms *cmd, void *config, const char *args)
{
    const char *given = el_only_word(cmd, args);
    const char *error = ap_check_cmd_context(cmd, GLOBAL_ONLY);

    (void)config;
    if (error) {
        return error;
    }
    if (!given || !*given) {
        return el_refuse(cmd, args);
    }
    server_config(cmd)->proc_stat = ap_server_root_relative(cmd->pool, given);
    return server_config(cmd)->proc_stat ? NULL : el_refuse(cmd, args);
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
    AP_INIT_RAW_ARGS("ElasticWholeBody", set_whole_body, NULL, NOT_HTACCESS,
                     "the size in bytes up to which a complete body is encoded in one call, below "
                     "2G; K, M or G may follow"),
    AP_INIT_RAW_ARGS("ElasticMaxTime", set_max_time, NULL, NOT_HTACCESS,
                     "Off, or the time that encoding a body may be expected to take, 1ms to 60s (a "
                     "bare number is seconds)"),
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
    AP_INIT_RAW_ARGS("ElasticControl", el_set_control, NULL, RSRC_CONF,
                     "step, mix, predict, external or off: how the effort follows the load"),
    AP_INIT_RAW_ARGS("ElasticLoad", el_set_load, NULL, RSRC_CONF,
                     "auto, stat, cgroup or psi: what the load is read from"),
    AP_INIT_RAW_ARGS("ElasticGoal", el_set_goal, NULL, RSRC_CONF,
                     "cpu, latency p95 TIME (us, ms or s) or cost PRICE/h PRICE/GB: what effort "
                     "is spent for"),
    AP_INIT_RAW_ARGS("ElasticPosition", el_set_position, NULL, RSRC_CONF,
                     "the path of the file that ElasticControl external follows"),
    AP_INIT_RAW_ARGS("ElasticBypass", set_bypass, NULL, RSRC_CONF,
                     "Off, or the percentage of CPU above which nothing is compressed, 0 to 100"),
    AP_INIT_RAW_ARGS("ElasticPoolMemory", set_pool_memory, NULL, RSRC_CONF,
                     "the bytes that all processes together keep for their encoders; K, M or G may "
                     "follow"),
    AP_INIT_RAW_ARGS("ElasticProcStat", set_proc_stat, NULL, RSRC_CONF,
                     "the path of a file that is read in place of /proc/stat"),
    {NULL},
};
