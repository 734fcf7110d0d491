/* The table of Elastic directives, and the functions of those that take more than one value. */
#include "httpd/config/commands.h"

#include "httpd/config/arguments.h"
#include "httpd/config/settings.h"

#include "elastic/counters.h"
#include "elastic/etag.h"
#include "elastic/http.h"
#include "elastic/packet.h"
#include "elastic/price.h"
#include "engines/engines.h"

#include "apr_strings.h"
#include "http_core.h"

/*
 * RFC 791 obliges every host to take a datagram of 576 bytes; an IPv4 packet's length has 16 bits.
 */
#define MTU_MIN 576
#define MTU_MAX 65535

#define INTERVAL_MIN apr_time_from_msec(100)
#define INTERVAL_MAX apr_time_from_sec(60)
/* The least interval that the paper advises (§4.3). */
#define INTERVAL_ADVISED apr_time_from_msec(500)

/* Half of a millisecond is what the fastest setup takes for a large page. */
#define MAX_TIME_MIN apr_time_from_msec(1)
#define MAX_TIME_MAX apr_time_from_sec(60)

/* More than any machine has. */
#define MEMORY_MAX (INT64_C(1) << 53)

/* What shmcb takes, whose sizes have 32 bits. */
#define STORE_MIN 8192
#define STORE_MAX (INT64_C(4294967295) - 1)

static void advise_interval(cmd_parms *cmd, int64_t *interval)
{
    if (*interval < INTERVAL_ADVISED) {
        el_advise(cmd, "below 500ms a sample may not show what the last change of level did");
    }
}

static const el_word_t auto_size[] = {{"auto", EL_MIN_SIZE_AUTO}, {NULL, 0}};
static const el_word_t auto_mtu[] = {{"auto", EL_DEFAULT_MTU}, {NULL, 0}};
static const el_word_t no_max_time[] = {{"Off", EL_NO_MAX_TIME}, {NULL, 0}};
static const el_word_t no_max_memory[] = {{"Off", EL_NO_MAX_MEMORY}, {NULL, 0}};
static const el_word_t no_padding[] = {{"Off", 0}, {NULL, 0}};
static const el_word_t cache_scopes[] = {{"server", false}, {"all", true}, {NULL, 0}};
static const el_word_t no_bypass[] = {{"Off", EL_NO_BYPASS_PPM}, {NULL, 0}};
static const el_word_t etags[] = {
    {"weak", EL_ETAG_WEAK}, {"suffix", EL_ETAG_SUFFIX}, {"keep", EL_ETAG_KEEP},
    {"remove", EL_ETAG_REMOVE}, {NULL, 0},
};
static const el_word_t controls[] = {
    {"step", EL_CONTROL_STEP}, {"mix", EL_CONTROL_MIX},
    {"external", EL_CONTROL_EXTERNAL}, {"off", EL_CONTROL_OFF}, {NULL, 0},
};
static const el_word_t loads[] = {
    {"auto", EL_LOAD_AUTO}, {"stat", EL_LOAD_STAT}, {"cgroup", EL_LOAD_CGROUP}, {NULL, 0},
};

/* Whether a pattern has `+` or `-` before it. */
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
    apr_array_header_t *rules = apr_array_make(cmd->pool, words->nelts, sizeof(el_type_rule_t));
    bool replace = false;

    if (!words->nelts) {
        return el_refuse(cmd, args);
    }
    for (int i = 0; i < words->nelts; i++) {
        if (!read_rule(el_word(words, i), apr_array_push(rules))) {
            return el_refuse(cmd, el_word(words, i));
        }
        replace = replace || !is_signed(el_word(words, i));
    }
    if (replace || !dir->types) {
        dir->types = rules;
        dir->types_replace = dir->types_replace || replace;
    } else {
        apr_array_cat(dir->types, rules);
    }
    return NULL;
}

static const char *set_codings(cmd_parms *cmd, void *config, const char *args)
{
    el_dir_t *dir = config;
    apr_array_header_t *words = el_words(cmd, args);
    unsigned seen = 0;
    size_t count = 0;

    if (!words->nelts) {
        return el_refuse(cmd, args);
    }
    for (int i = 0; i < words->nelts; i++) {
        el_coding_t coding = el_coding_find(el_word(words, i), strlen(el_word(words, i)));

        if (coding == EL_IDENTITY) {
            return el_refuse(cmd, el_word(words, i));
        }
        if (seen & 1u << coding) {
            return el_refuse(cmd, args);
        }
        seen |= 1u << coding;
        if (el_engine_for(coding)) {
            dir->codings[count++] = coding;
        } else {
            el_advise(cmd, apr_psprintf(cmd->pool, "%s is not built in and is left out",
                                        el_word(words, i)));
        }
    }
    dir->codings_count = count;
    dir->codings_set = true;
    return NULL;
}

/* What this build makes of the bounds of `coding`; warns where it is something else. */
static void keep_range(cmd_parms *cmd, el_dir_t *dir, el_coding_t coding, el_range_t wanted)
{
    const char *token = el_coding_info(coding)->token;
    el_range_t range = el_range_built_in(coding, wanted);

    if (!range.enabled) {
        el_advise(cmd, apr_psprintf(cmd->pool, "%s is not built in and is left out", token));
    } else if (wanted.max > range.max) {
        el_advise(cmd, apr_psprintf(cmd->pool, "%s ends at level %d in this build, which is used",
                                    token, range.max));
    }
    dir->range[coding] = range;
    dir->range_set[coding] = true;
}

/* The bounds that the words behind the coding say; false where they are none. */
static bool read_range(const apr_array_header_t *words, const el_coding_info_t *info,
                       el_range_t *range)
{
    bool stock = strcasecmp(el_word(words, 1), "stock") == 0;
    bool one = words->nelts == 2;
    int64_t min = info->stock_level, max = info->default_max;

    if ((!stock && !el_number(el_word(words, 1), info->level_min, info->level_max, &min))
        || (!one && !el_number(el_word(words, 2), info->level_min, info->level_max, &max))) {
        return false;
    }
    *range = el_range_of((int)min, (int)(one && !stock ? min : max));
    range->stock = stock;
    return range->min <= range->max;
}

static const char *set_level(cmd_parms *cmd, void *config, const char *args)
{
    apr_array_header_t *words = el_words(cmd, args);
    el_coding_t coding;
    el_range_t range;

    if (words->nelts != 2 && words->nelts != 3) {
        return el_refuse(cmd, args);
    }
    coding = el_coding_find(el_word(words, 0), strlen(el_word(words, 0)));
    if (coding == EL_IDENTITY || !read_range(words, el_coding_info(coding), &range)) {
        return el_refuse(cmd, args);
    }
    keep_range(cmd, config, coding, range);
    return NULL;
}

static const char *set_cpu(cmd_parms *cmd, void *config, const char *args)
{
    apr_array_header_t *words = el_words(cmd, args);
    const char *error = ap_check_cmd_context(cmd, GLOBAL_ONLY);
    el_server_t *server = el_server_config(cmd->server);
    int64_t low, high;

    (void)config;
    if (error) {
        return error;
    }
    if (words->nelts != 2 || !el_percentage(el_word(words, 0), &low)
        || !el_percentage(el_word(words, 1), &high) || low >= high) {
        return el_refuse(cmd, args);
    }
    el_value_set(&server->values, EL_SERVER_LOW, low);
    el_value_set(&server->values, EL_SERVER_HIGH, high);
    return NULL;
}

static const char *set_idle(cmd_parms *cmd, void *config, const char *args)
{
    apr_array_header_t *words = el_words(cmd, args);
    const char *error = ap_check_cmd_context(cmd, GLOBAL_ONLY);
    el_server_t *server = el_server_config(cmd->server);
    bool off = words->nelts == 1 && strcasecmp(el_word(words, 0), "Off") == 0;
    bool top = words->nelts == 2 && strcasecmp(el_word(words, 1), "top") == 0;
    int64_t share = 0;

    (void)config;
    if (error) {
        return error;
    }
    if ((words->nelts != 1 && !top) || (!off && !el_percentage(el_word(words, 0), &share))) {
        return el_refuse(cmd, args);
    }
    el_value_set(&server->values, EL_SERVER_IDLE, share);
    el_value_set(&server->values, EL_SERVER_IDLE_TOP, top);
    return NULL;
}

static const char *set_goal(cmd_parms *cmd, void *config, const char *args)
{
    const char *error = ap_check_cmd_context(cmd, GLOBAL_ONLY);
    const char *text = apr_array_pstrcat(cmd->pool, el_words(cmd, args), ' ');
    el_goal_t goal;

    (void)config;
    if (error) {
        return error;
    }
    if (!el_goal_parse(text, strlen(text), &goal)) {
        return el_refuse(cmd, args);
    }
    el_server_config(cmd->server)->goal = text;
    return NULL;
}

/* The bytes in parentheses at the end of the arguments of shmcb, where there are any. */
static bool read_store_size(const cmd_parms *cmd, el_cache_store_t *store)
{
    const char *size = strrchr(store->arguments, '(');
    size_t len = size ? strlen(size) : 0;
    int64_t nbytes;

    if (!size) {
        return strchr(store->arguments, ')') == NULL;
    }
    if (size[len - 1] != ')'
        || !el_number(apr_pstrmemdup(cmd->pool, size + 1, len - 2), STORE_MIN, STORE_MAX,
                      &nbytes)) {
        return false;
    }
    store->nbytes = (uint64_t)nbytes;
    return true;
}

/* The providers that other machines reach. */
static const char *const remote_stores[] = {"redis", "memcache"};

/* One of `remote_stores`, a colon, and where the store is, of which the provider knows more. */
static bool read_remote_store(const cmd_parms *cmd, const char *given, el_cache_store_t *store)
{
    size_t len = strcspn(given, ":");

    for (size_t i = 0; i < sizeof(remote_stores) / sizeof(remote_stores[0]); i++) {
        if (strlen(remote_stores[i]) == len && strncmp(given, remote_stores[i], len) == 0
            && given[len] && given[len + 1]) {
            *store = (el_cache_store_t){
                .provider = remote_stores[i],
                .arguments = apr_pstrdup(cmd->pool, given + len + 1),
                .remote = true,
            };
            return true;
        }
    }
    return false;
}

/* shmcb, and what may follow. */
static bool read_local_store(const cmd_parms *cmd, const char *given, el_cache_store_t *store)
{
    size_t len = strcspn(given, ":");
    const char *standard = store->arguments;

    if (strlen(store->provider) != len || strncmp(given, store->provider, len) != 0) {
        return false;
    }
    if (!given[len]) {
        return true;
    }
    store->arguments = given + len + 1;
    if (!read_store_size(cmd, store)) {
        return false;
    }
    if (!strchr(store->arguments, '(')) {
        store->arguments = apr_pstrcat(cmd->pool, store->arguments, standard, NULL);
    }
    return true;
}

static const char *set_cache_store(cmd_parms *cmd, void *config, const char *args)
{
    el_cache_store_t *store = apr_pcalloc(cmd->pool, sizeof(*store));
    const char *error = ap_check_cmd_context(cmd, GLOBAL_ONLY);
    const char *given = el_only_word(cmd, args);
    el_server_t *server = el_server_config(cmd->server);

    (void)config;
    if (error) {
        return error;
    }
    *store = el_server_cache_store(&(el_server_t){0});
    if (!given
        || (!read_local_store(cmd, given, store) && !read_remote_store(cmd, given, store))) {
        return el_refuse(cmd, args);
    }
    server->cache_store = store;
    return NULL;
}

/* The only word of the line as a path, relative to ServerRoot; NULL where it is none. */
static const char *path_of(const cmd_parms *cmd, const char *args)
{
    const char *given = el_only_word(cmd, args);

    return given && *given ? ap_server_root_relative(cmd->pool, given) : NULL;
}

/* A path; `cmd->info` is the offset of its field in el_server_t. */
static const char *set_path(cmd_parms *cmd, void *config, const char *args)
{
    const char *error = ap_check_cmd_context(cmd, GLOBAL_ONLY);
    const char *path = path_of(cmd, args);
    char *server = (char *)el_server_config(cmd->server);

    (void)config;
    if (error) {
        return error;
    }
    *(const char **)(server + (size_t)cmd->info) = path;
    return path ? NULL : el_refuse(cmd, args);
}

static const char *set_precompressed_root(cmd_parms *cmd, void *config, const char *args)
{
    el_precompressed_root_t *root = apr_pcalloc(cmd->pool, sizeof(*root));
    const ap_directive_t *section = cmd->directive->parent;
    const char *path = path_of(cmd, args);
    el_dir_t *dir = config;
    size_t len;

    if (!path) {
        return el_refuse(cmd, args);
    }
    for (len = strlen(path); len > 1 && path[len - 1] == '/'; len--) {
    }
    root->folder = apr_pstrmemdup(cmd->pool, path, len);
    if (section && strcasecmp(section->directive, "<Directory") == 0) {
        root->section = cmd->path;
    }
    root->server = cmd->server;
    dir->precompressed_root = root;
    return NULL;
}

#define EVERYWHERE OR_FILEINFO
#define NOT_HTACCESS (RSRC_CONF | ACCESS_CONF)

/* A directive of one value: what it takes is an el_argument_t. */
#define VALUE(name, where, help, ...)                                                              \
    AP_INIT_RAW_ARGS(name, el_set_value, ((void *)&(const el_argument_t){__VA_ARGS__}), where, help)
#define ON_OFF(of) .value = of, .words = el_words_on_off
#define GLOBAL(of) .server = true, .global = true, .value = of
#define PATH(name, field, help)                                                                    \
    AP_INIT_RAW_ARGS(name, set_path, (void *)offsetof(el_server_t, field), RSRC_CONF, help)

const command_rec el_commands[] = {
    VALUE("Elastic", EVERYWHERE, "On or Off: whether responses are compressed here",
          ON_OFF(EL_DIR_ENABLED)),
    AP_INIT_RAW_ARGS("ElasticTypes", set_types, NULL, EVERYWHERE,
                     "media types as text/html, text/* or application/*+json; with + or - added "
                     "to or taken from the inherited ones"),
    AP_INIT_RAW_ARGS("ElasticCodings", set_codings, NULL, EVERYWHERE,
                     "codings out of gzip, br and zstd, each once, the preferred one first"),
    AP_INIT_RAW_ARGS("ElasticLevel", set_level, NULL, NOT_HTACCESS,
                     "a coding and one level or a minimum and a maximum: gzip 1-12, br 0-11, "
                     "zstd 1-19; the minimum may be stock, which is no less than gzip 6, br 5 or "
                     "zstd 3"),
    VALUE("ElasticMinSize", NOT_HTACCESS,
          "auto, or the size in bytes below which bodies stay as they are",
          .value = EL_DIR_MIN_SIZE, .unit = EL_UNIT_ONE, .max = INT64_MAX, .words = auto_size),
    /* A body and its encoding are held in memory, and libraries count with 31 bits. */
    VALUE("ElasticWholeBody", NOT_HTACCESS,
          "the size in bytes up to which a complete body is encoded in one call, below 2G; K, M "
          "or G may follow",
          .value = EL_DIR_WHOLE_BODY, .unit = EL_UNIT_BYTES, .max = INT_MAX),
    VALUE("ElasticMaxTime", NOT_HTACCESS,
          "Off, or the time that encoding a body may be expected to take, 1ms to 60s (a bare "
          "number is seconds)",
          .value = EL_DIR_MAX_TIME, .unit = EL_UNIT_TIME, .min = MAX_TIME_MIN, .max = MAX_TIME_MAX,
          .words = no_max_time),
    VALUE("ElasticPrecompressed", EVERYWHERE,
          "On or Off: whether f.br, f.zst or f.gz is sent in place of a static file f",
          ON_OFF(EL_DIR_PRECOMPRESSED), .is_on = &el_settings_precompressed),
    AP_INIT_RAW_ARGS("ElasticPrecompressedRoot", set_precompressed_root, NULL, NOT_HTACCESS,
                     "the path of a folder of precompressed files, at the paths of their files"),
    VALUE("ElasticCache", EVERYWHERE,
          "On or Off: whether encodings are cached and used again",
          ON_OFF(EL_DIR_CACHE), .is_on = &el_settings_cache),
    AP_INIT_RAW_ARGS("ElasticCacheStore", set_cache_store, NULL, RSRC_CONF,
                     "where encodings are cached: shmcb, or shmcb:(BYTES), 8192 to 4294967294; "
                     "redis:HOST[:PORT] or memcache:HOST[:PORT], several with commas between"),
    PATH("ElasticCacheKey", cache_key,
         "the path of a file of 32 bytes or more that nobody but its owner may read"),
    VALUE("ElasticCacheScope", RSRC_CONF,
          "server or all: whether virtual hosts use each other's encodings",
          .server = true, .value = EL_SERVER_CACHE_SHARED, .words = cache_scopes),
    VALUE("ElasticCacheMaxSize", RSRC_CONF,
          "the bytes of the largest encoding that is cached; K, M or G may follow",
          GLOBAL(EL_SERVER_CACHE_MAX_SIZE), .unit = EL_UNIT_BYTES, .max = INT_MAX),
    AP_INIT_RAW_ARGS("ElasticDictionary", el_set_dictionary, NULL, NOT_HTACCESS,
                     "Off, or match=\"PATTERN\", a path in which * is any text, perhaps with ? and "
                     "a query, and perhaps match-dest=\"DESTINATION ...\" and id=\"TEXT\": "
                     "responses here become dictionaries"),
    AP_INIT_RAW_ARGS("ElasticDictionaryLink", el_set_dictionary_link, NULL, NOT_HTACCESS,
                     "Off, or the URL of a dictionary that documents here name in a Link field"),
    AP_INIT_RAW_ARGS("ElasticDictionaryFile", el_set_dictionary_file, NULL, NOT_HTACCESS,
                     "Off, or the path of a dictionary, and perhaps match=\"/PATTERN\", "
                     "match-dest=\"DESTINATION ...\" and host=\"NAME[:PORT] ...\": it is served, "
                     "and documents here name it"),
    AP_INIT_RAW_ARGS("ElasticDictionaryStore", el_set_dictionary_store, NULL, RSRC_CONF,
                     "the path of the folder of the dictionaries, and the bytes that "
                     "they may have, 1M or more; K, M or G may follow"),
    VALUE("ElasticInflate", EVERYWHERE,
          "On or Off: whether request bodies in gzip, br and zstd are decoded",
          ON_OFF(EL_DIR_INFLATE), .is_on = &el_settings_inflate),
    VALUE("ElasticPadding", EVERYWHERE,
          "Off, or the most bytes of padding that a response gets, 0 to 4096",
          .value = EL_DIR_PADDING, .unit = EL_UNIT_ONE, .max = EL_PADDING_MAX, .words = no_padding),
    VALUE("ElasticExplain", NOT_HTACCESS,
          "On or Off: whether responses say in Elastic-Explain what was decided and why",
          ON_OFF(EL_DIR_EXPLAIN)),
    VALUE("ElasticETag", NOT_HTACCESS,
          "weak, suffix, keep or remove: the entity tag of an encoded response",
          .value = EL_DIR_ETAG, .words = etags),
    VALUE("ElasticMTU", RSRC_CONF, "auto, or the link's packet size in bytes, 576 to 65535",
          .server = true, .value = EL_SERVER_MTU, .unit = EL_UNIT_ONE, .min = MTU_MIN,
          .max = MTU_MAX, .words = auto_mtu),
    AP_INIT_RAW_ARGS("ElasticCPU", set_cpu, NULL, RSRC_CONF,
                     "two percentages, 0 <= low < high <= 100: effort goes up below low and down "
                     "above high"),
    VALUE("ElasticInterval", RSRC_CONF,
          "the time between two samples, 100ms to 60s (a bare number is seconds)",
          GLOBAL(EL_SERVER_INTERVAL), .unit = EL_UNIT_TIME, .min = INTERVAL_MIN,
          .max = INTERVAL_MAX, .adjust = advise_interval),
    VALUE("ElasticControl", RSRC_CONF,
          "step, mix, external or off: how the effort follows the load",
          GLOBAL(EL_SERVER_CONTROL), .words = controls),
    VALUE("ElasticLoad", RSRC_CONF, "auto, stat or cgroup: what the load is read from",
          GLOBAL(EL_SERVER_LOAD), .words = loads),
    AP_INIT_RAW_ARGS("ElasticGoal", set_goal, NULL, RSRC_CONF,
                     "cpu, time [RATE|auto [LEAST MOST]] (above 0, as 5Mbit/s; LEAST at most MOST) "
                     "or cost PRICE/h PRICE/GB: what effort is spent for"),
    PATH("ElasticPosition", position, "the path of the file that ElasticControl external follows"),
    VALUE("ElasticBypass", RSRC_CONF,
          "Off, or the percentage of CPU above which nothing is compressed, 0 to 100",
          GLOBAL(EL_SERVER_BYPASS), .unit = EL_UNIT_PERCENT, .words = no_bypass),
    VALUE("ElasticPoolMemory", RSRC_CONF,
          "the bytes that all processes together keep for their encoders; K, M or G may follow",
          GLOBAL(EL_SERVER_POOL_MEMORY), .unit = EL_UNIT_BYTES, .max = MEMORY_MAX),
    VALUE("ElasticVhosts", RSRC_CONF,
          "how many virtual hosts are counted by themselves, 0 to 64; the others as one",
          GLOBAL(EL_SERVER_VHOSTS), .unit = EL_UNIT_ONE, .max = EL_VHOSTS),
    VALUE("ElasticMaxMemory", RSRC_CONF,
          "Off, or the bytes that bodies on their way may hold in all processes together; K, M or "
          "G may follow",
          GLOBAL(EL_SERVER_MAX_MEMORY), .unit = EL_UNIT_BYTES, .max = MEMORY_MAX,
          .words = no_max_memory),
    AP_INIT_RAW_ARGS("ElasticIdle", set_idle, NULL, RSRC_CONF,
                     "Off, or the percentage of CPU, 0 to 100, that may be used to make cached "
                     "encodings smaller while the load is below the low threshold; with top behind "
                     "it beyond ElasticLevel's maximum"),
    PATH("ElasticProcStat", proc_stat, "the path of a file that is read in place of /proc/stat"),
    {0},
};
