#include "httpd/config/config.h"

#include "elastic/counters.h"
#include "elastic/dictionary.h"
#include "elastic/http.h"
#include "elastic/decide.h"
#include "engines/engines.h"

#include "apr_strings.h"
#include "http_core.h"

/* More than any machine has. */
#define BYTES_MAX (INT64_C(1) << 53)

/* For main-server directives of several words, as their `cmd_data`. False refuses the line. */
typedef bool (*directives_setter_t)(cmd_parms *cmd, el_server_t *server,
                                    const apr_array_header_t *words);

static const char *directives_set_global(cmd_parms *cmd, void *config, const char *args)
{
    const directives_setter_t *set = cmd->info;
    const char *error = ap_check_cmd_context(cmd, GLOBAL_ONLY);
    el_server_t *server = el_record_settings(EL_RECORD_ELASTIC, cmd->server->module_config);

    (void)config;
    if (error) {
        return error;
    }
    return (*set)(cmd, server, el_argument_words(cmd, args)) ? NULL : el_argument_refuse(cmd, args);
}

/* --- types, codings and levels */

static const char *directives_set_types(cmd_parms *cmd, void *config, const char *args)
{
    el_dir_t *dir = config;
    apr_array_header_t *words = el_argument_words(cmd, args);
    apr_array_header_t *rules = apr_array_make(cmd->pool, words->nelts, sizeof(el_type_rule_t));
    bool replace = false;

    if (!words->nelts) {
        return el_argument_refuse(cmd, args);
    }
    for (int i = 0; i < words->nelts; i++) {
        const char *given = el_argument_word(words, i);
        bool is_signed = *given == '+' || *given == '-';
        el_type_rule_t *rule = apr_array_push(rules);

        rule->listed = *given != '-';
        if (!el_mediatype_pattern(is_signed ? given + 1 : given, &rule->pattern)) {
            return el_argument_refuse(cmd, given);
        }
        replace = replace || !is_signed;
    }
    if (replace || !dir->types) {
        dir->types = rules;
        dir->types_replace = dir->types_replace || replace;
    } else {
        apr_array_cat(dir->types, rules);
    }
    return NULL;
}

static const char *directives_set_codings(cmd_parms *cmd, void *config, const char *args)
{
    el_dir_t *dir = config;
    apr_array_header_t *words = el_argument_words(cmd, args);
    unsigned seen = 0;
    size_t count = 0;

    if (!words->nelts) {
        return el_argument_refuse(cmd, args);
    }
    for (int i = 0; i < words->nelts; i++) {
        const char *given = el_argument_word(words, i);
        el_coding_t coding = el_coding_find(given, strlen(given));

        if (coding == EL_IDENTITY) {
            return el_argument_refuse(cmd, given);
        }
        if (seen & 1u << coding) {
            return el_argument_refuse(cmd, args);
        }
        seen |= 1u << coding;
        if (el_engine_for(coding)) {
            dir->codings[count++] = coding;
        } else {
            el_argument_advise(cmd, apr_psprintf(cmd->pool, "%s is not built in and is left out",
                                                 given));
        }
    }
    dir->codings_count = count;
    dir->codings_set = true;
    return NULL;
}

/* Reads the bounds after the coding; false if they are not valid. */
static bool directives_read_range(const apr_array_header_t *words, const el_coding_info_t *info,
                                  el_range_t *range)
{
    bool stock = strcasecmp(el_argument_word(words, 1), "stock") == 0;
    bool one = words->nelts == 2;
    int64_t least = info->level_min, most = info->level_max;
    int64_t min = info->stock_level, max = info->default_max;

    if ((!stock && !el_argument_number(el_argument_word(words, 1), least, most, &min))
        || (!one && !el_argument_number(el_argument_word(words, 2), least, most, &max))) {
        return false;
    }
    *range = el_range_of((int)min, (int)(one && !stock ? min : max));
    range->stock = stock;
    return range->min <= range->max;
}

static const char *directives_set_level(cmd_parms *cmd, void *config, const char *args)
{
    el_dir_t *dir = config;
    apr_array_header_t *words = el_argument_words(cmd, args);
    const char *token;
    el_coding_t coding;
    el_range_t range;
    int max;

    if (words->nelts != 2 && words->nelts != 3) {
        return el_argument_refuse(cmd, args);
    }
    coding = el_coding_find(el_argument_word(words, 0), strlen(el_argument_word(words, 0)));
    if (coding == EL_IDENTITY || !directives_read_range(words, el_coding_info(coding), &range)) {
        return el_argument_refuse(cmd, args);
    }
    /* This build's engine may be missing, or end at a lower level. */
    token = el_coding_info(coding)->token;
    max = range.max;
    range = el_range_built_in(coding, range);
    if (!range.enabled) {
        el_argument_advise(cmd,
                           apr_psprintf(cmd->pool, "%s is not built in and is left out", token));
    } else if (max > range.max) {
        el_argument_advise(cmd, apr_psprintf(cmd->pool, "%s ends at level %d in this build, which "
                                             "is used", token, range.max));
    }
    dir->range[coding] = range;
    dir->range_set[coding] = true;
    return NULL;
}

/* --- load and goal */

static bool directives_set_cpu(cmd_parms *cmd, el_server_t *server,
                               const apr_array_header_t *words)
{
    int64_t low, high;

    (void)cmd;
    if (words->nelts != 2 || !el_argument_percentage(el_argument_word(words, 0), &low)
        || !el_argument_percentage(el_argument_word(words, 1), &high) || low >= high) {
        return false;
    }
    el_value_set(&server->values, EL_SERVER_LOW, low);
    el_value_set(&server->values, EL_SERVER_HIGH, high);
    return true;
}

static bool directives_set_idle(cmd_parms *cmd, el_server_t *server,
                                const apr_array_header_t *words)
{
    bool off = words->nelts == 1 && strcasecmp(el_argument_word(words, 0), "Off") == 0;
    bool top = words->nelts == 2 && strcasecmp(el_argument_word(words, 1), "top") == 0;
    int64_t share = 0;

    (void)cmd;
    if ((words->nelts != 1 && !top)
        || (!off && !el_argument_percentage(el_argument_word(words, 0), &share))) {
        return false;
    }
    el_value_set(&server->values, EL_SERVER_IDLE, share);
    el_value_set(&server->values, EL_SERVER_IDLE_TOP, top);
    return true;
}

static bool directives_set_goal(cmd_parms *cmd, el_server_t *server,
                                const apr_array_header_t *words)
{
    el_goal_t goal;

    server->goal = apr_array_pstrcat(cmd->pool, words, ' ');
    return el_goal_parse(server->goal, strlen(server->goal), &goal);
}

/* --- paths and stores */

/* Returns the only word as a path relative to ServerRoot; NULL if that fails. */
static const char *directives_path(const cmd_parms *cmd, const char *args)
{
    const char *given = el_argument_only_word(cmd, args);

    return given && *given ? ap_server_root_relative(cmd->pool, given) : NULL;
}

/* Sets a path; `cmd->info` is the offset of the field in el_server_t. */
static const char *directives_set_path(cmd_parms *cmd, void *config, const char *args)
{
    const char *error = ap_check_cmd_context(cmd, GLOBAL_ONLY);
    const char *path = directives_path(cmd, args);
    char *server = el_record_settings(EL_RECORD_ELASTIC, cmd->server->module_config);

    (void)config;
    if (error) {
        return error;
    }
    *(const char **)(server + (size_t)cmd->info) = path;
    return path ? NULL : el_argument_refuse(cmd, args);
}

static const char *directives_set_precompressed_root(cmd_parms *cmd, void *config, const char *args)
{
    el_precompressed_root_t *root = apr_pcalloc(cmd->pool, sizeof(*root));
    const ap_directive_t *section = cmd->directive->parent;
    const char *path = directives_path(cmd, args);
    el_dir_t *dir = config;
    size_t len;

    if (!path) {
        return el_argument_refuse(cmd, args);
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

/* 64 MB of this machine's memory hold thousands of pages of 10 KB, or hundreds of 100 KB. */
static const el_cache_store_t directives_shmcb = {
    .provider = "shmcb", .arguments = "(67108864)", .nbytes = 64 * 1024 * 1024,
};

/* shmcb's sizes have 32 bits. */
#define SHMCB_MIN 8192
#define SHMCB_MAX (INT64_C(4294967295) - 1)

/* Reads shmcb's arguments: a path, bytes in parentheses, or both. Bytes have a default. */
static bool directives_read_shmcb(cmd_parms *cmd, const char *arguments, el_cache_store_t *store)
{
    const char *size = strrchr(arguments, '(');
    size_t len = size ? strlen(size) : 0;
    int64_t nbytes;

    store->arguments = arguments;
    if (!size) {
        store->arguments = apr_pstrcat(cmd->pool, arguments, directives_shmcb.arguments, NULL);
        return strchr(arguments, ')') == NULL;
    }
    if (size[len - 1] != ')'
        || !el_argument_number(apr_pstrmemdup(cmd->pool, size + 1, len - 2), SHMCB_MIN, SHMCB_MAX,
                               &nbytes)) {
        return false;
    }
    store->nbytes = (uint64_t)nbytes;
    return true;
}

/* Reads shmcb, or a provider that other machines reach; a colon and its arguments may follow. */
static bool directives_set_cache_store(cmd_parms *cmd, el_server_t *server,
                                       const apr_array_header_t *words)
{
    static const char *const remote[] = {"redis", "memcache"};
    el_cache_store_t *store = apr_pmemdup(cmd->pool, &directives_shmcb, sizeof(*store));
    const char *given = words->nelts == 1 ? el_argument_word(words, 0) : "";
    size_t len = strcspn(given, ":");
    const char *provider = apr_pstrmemdup(cmd->pool, given, len);
    const char *arguments = given[len] ? given + len + 1 : NULL;

    server->cache_store = store;
    if (strcmp(provider, store->provider) == 0) {
        /* mod_socache_shmcb would follow the NULL that a path over APR_PATH_MAX becomes. */
        return !arguments
               || (directives_read_shmcb(cmd, arguments, store)
                   && ap_server_root_relative(cmd->temp_pool, arguments));
    }
    for (size_t i = 0; i < sizeof(remote) / sizeof(remote[0]); i++) {
        if (strcmp(provider, remote[i]) == 0 && arguments && *arguments) {
            *store = (el_cache_store_t){
                .provider = remote[i], .arguments = arguments, .remote = true,
            };
            return true;
        }
    }
    return false;
}

/* --- dictionaries */

/* The request destinations of Fetch, except the empty one. */
#define DESTINATIONS                                                                               \
    " audio audioworklet compression-dictionary document embed font frame iframe image json "      \
    "manifest object paintworklet report script serviceworker sharedworker style text track "      \
    "video webidentity worker xslt "

/* Checks the words of match-dest. Returns the fault, or NULL. */
static const char *directives_dest_fault(cmd_parms *cmd, const char *words)
{
    const char *rest = words, *word;

    if (strlen(words) >= EL_DEST_ROOM) {
        return "it is too long";
    }
    while (*(word = ap_getword_white(cmd->temp_pool, &rest))) {
        if (!strstr(DESTINATIONS, apr_pstrcat(cmd->temp_pool, " ", word, " ", NULL))) {
            return apr_psprintf(cmd->pool, "%s is no destination of requests", word);
        }
    }
    return NULL;
}

/* Reads `key="value"` and moves past it; NULL if the key is another. */
static const char *directives_take(cmd_parms *cmd, const char **args, const char *key)
{
    size_t len = strlen(key);

    if (strncasecmp(*args, key, len) != 0 || (*args)[len] != '=') {
        return NULL;
    }
    *args += len + 1;
    return ap_getword_conf(cmd->pool, args);
}

/* Reads one argument of a rule. Returns the fault, or NULL. */
static const char *directives_read_rule(cmd_parms *cmd, const char **args,
                                        el_dictionary_rule_t *rule)
{
    const char *value;

    if ((value = directives_take(cmd, args, "match")) != NULL) {
        rule->match = value;
        return el_dictionary_pattern_fault(value);
    }
    if ((value = directives_take(cmd, args, "match-dest")) != NULL) {
        rule->dest = value;
        return directives_dest_fault(cmd, value);
    }
    if ((value = directives_take(cmd, args, "id")) != NULL) {
        rule->id = value;
        if (strlen(value) >= EL_ID_ROOM) {
            return "it has more than 1024 characters";
        }
        return el_structured_can_hold(value) ? NULL
                                             : "it has characters that are not printable ASCII";
    }
    return "there is no such argument";
}

/* The error that configtest shows for the argument `at`. */
static const char *directives_refuse_argument(const cmd_parms *cmd, const char *at,
                                              const char *fault)
{
    return apr_psprintf(cmd->pool, "%s: '%s' is not allowed: %s; it takes %s", cmd->cmd->name, at,
                        fault, cmd->cmd->errmsg);
}

static const char *directives_set_dictionary(cmd_parms *cmd, void *config, const char *args)
{
    el_server_t *server = el_record_settings(EL_RECORD_ELASTIC, cmd->server->module_config);
    el_dictionary_rule_t *rule = apr_pcalloc(cmd->pool, sizeof(*rule));
    el_dir_t *dir = config;
    const char *rest = args;

    rule->dest = rule->id = "";
    dir->dictionary = rule;
    if (strcasecmp(args, "Off") == 0) {
        return NULL;
    }
    while (*rest) {
        const char *at = rest;
        const char *fault = directives_read_rule(cmd, &rest, rule);

        if (fault) {
            return directives_refuse_argument(cmd, at, fault);
        }
    }
    if (!rule->match) {
        return el_argument_refuse(cmd, args);
    }
    if (!server->dictionary_rules) {
        server->dictionary_rules = apr_array_make(cmd->pool, 1, sizeof(rule));
    }
    APR_ARRAY_PUSH(server->dictionary_rules, const el_dictionary_rule_t *) = rule;
    return NULL;
}

/* Reads the names of host="…". Returns the fault, or NULL. */
static const char *directives_read_hosts(cmd_parms *cmd, const char *words,
                                         el_dictionary_file_t *file)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._[]:";
    apr_array_header_t *hosts = apr_array_make(cmd->pool, 1, sizeof(const char *));
    const char *word;

    while (*(word = ap_getword_white(cmd->pool, &words))) {
        /* As in a Host field, an IPv6 address is in brackets. */
        const char *end = *word == '[' ? strchr(word, ']') : NULL;
        const char *port = end ? end + 1 : word + strcspn(word, ":");
        int64_t number;

        if (port == word || strspn(word, letters) != strlen(word)
            || (*port && (*port != ':' || !el_argument_number(port + 1, 1, 65535, &number)))) {
            return apr_psprintf(cmd->pool, "%s is no name of a host, with a port or without", word);
        }
        APR_ARRAY_PUSH(hosts, const char *) = word;
    }
    file->hosts = hosts;
    return hosts->nelts > 0 ? NULL : "there is no name in it";
}

/* Reads one argument after the path. Returns the fault, or NULL. */
static const char *directives_read_file(cmd_parms *cmd, const char **args,
                                        el_dictionary_file_t *file)
{
    const char *value = directives_take(cmd, args, "host");
    const char *fault;

    if (value) {
        return directives_read_hosts(cmd, value, file);
    }
    fault = strncasecmp(*args, "id=", strlen("id=")) == 0
                ? "there is no such argument" : directives_read_rule(cmd, args, &file->rule);
    return fault || !file->rule.match || *file->rule.match == '/' ? fault
                                                                  : "it does not begin with /";
}

static const char *directives_set_dictionary_file(cmd_parms *cmd, void *config, const char *args)
{
    el_dictionary_file_t *file = apr_pcalloc(cmd->pool, sizeof(*file));
    el_server_t *server = el_record_settings(EL_RECORD_ELASTIC, cmd->server->module_config);
    const char *rest = args, *path = ap_getword_conf(cmd->pool, &rest);
    el_dir_t *dir = config;

    if (!dir->dictionary_files) {
        dir->dictionary_files = apr_array_make(cmd->pool, 2, sizeof(file));
    }
    if (strcasecmp(args, "Off") == 0) {
        APR_ARRAY_PUSH(dir->dictionary_files, el_dictionary_file_t *) = NULL;
        if (!cmd->path) {
            el_server_dictionary_files_off(server, cmd->pool);
        }
        return NULL;
    }
    file->path = *path ? ap_server_root_relative(cmd->pool, path) : NULL;
    file->in_section = cmd->path != NULL;
    file->rule.id = "";
    while (file->path && *rest) {
        const char *at = rest;
        const char *fault = directives_read_file(cmd, &rest, file);

        if (fault) {
            return directives_refuse_argument(cmd, at, fault);
        }
    }
    if (!file->path) {
        return el_argument_refuse(cmd, args);
    }
    /* Most dictionaries are made from a site's pages. */
    file->rule.dest = file->rule.dest ? file->rule.dest : file->rule.match ? "" : "document";
    file->rule.match = file->rule.match ? file->rule.match : "/*";
    if (!server->dictionary_files) {
        server->dictionary_files = apr_array_make(cmd->pool, 2, sizeof(file));
    }
    APR_ARRAY_PUSH(dir->dictionary_files, el_dictionary_file_t *) = file;
    APR_ARRAY_PUSH(server->dictionary_files, el_dictionary_file_t *) = file;
    return NULL;
}

static const char *directives_set_dictionary_link(cmd_parms *cmd, void *config, const char *args)
{
    const char *url = el_argument_only_word(cmd, args);
    el_dir_t *dir = config;

    /* The URL stands in the angle brackets of a Link field (RFC 8288 §3). */
    if (!url || !*url || !el_structured_can_hold(url) || strpbrk(url, "<>\" \\")) {
        return el_argument_refuse(cmd, args);
    }
    dir->dictionary_link = strcasecmp(url, "Off") == 0 ? "" : url;
    return NULL;
}

static bool directives_set_dictionary_store(cmd_parms *cmd, el_server_t *server,
                                            const apr_array_header_t *words)
{
    /* A dictionary may take an eighth of the store. */
    static const el_argument_t bytes = {
        .unit = EL_UNIT_BYTES, .min = 1024 * 1024, .max = BYTES_MAX,
    };
    el_dictionary_store_t *store = apr_pcalloc(cmd->pool, sizeof(*store));
    int64_t most = 64 * 1024 * 1024; /* about a hundred large ones */

    if (words->nelts < 1 || words->nelts > 2 || !*el_argument_word(words, 0)
        || (words->nelts == 2
            && !el_argument_read(cmd, &bytes, el_argument_word(words, 1), &most))) {
        return false;
    }
    store->folder = ap_server_root_relative(cmd->pool, el_argument_word(words, 0));
    store->most = (uint64_t)most;
    server->dictionary_store = store;
    return store->folder != NULL;
}

/* --- stock modules */

/* `cmd->info` is the record. */
static const char *directives_set_note(cmd_parms *cmd, void *config, const char *args)
{
    static const char *const kinds[EL_NOTES] = {
        [EL_NOTE_INPUT] = "Input",
        [EL_NOTE_OUTPUT] = "Output",
        [EL_NOTE_RATIO] = "Ratio",
    };
    el_record_t record = (el_record_t)(uintptr_t)cmd->info;
    el_stock_t *stock = el_record_settings(record, cmd->server->module_config);
    apr_array_header_t *words = el_argument_words(cmd, args);

    (void)config;
    if (words->nelts == 1 && *el_argument_word(words, 0)) {
        stock->note[EL_NOTE_RATIO] = el_argument_word(words, 0);
        return NULL;
    }
    for (int i = 0; words->nelts == 2 && i < EL_NOTES; i++) {
        if (strcasecmp(el_argument_word(words, 0), kinds[i]) == 0) {
            stock->note[i] = el_argument_word(words, 1);
            return NULL;
        }
    }
    return el_argument_refuse(cmd, args);
}

/* zlib makes no gzip stream with a smaller window; mod_deflate accepts one and then fails. */
#define GZIP_WINDOW_MIN 9

static void directives_raise_window(cmd_parms *cmd, int64_t *bits)
{
    if (*bits < GZIP_WINDOW_MIN) {
        el_argument_advise(cmd, apr_psprintf(cmd->pool, "zlib has no window of %d bits for gzip; "
                                             "%d is used", (int)*bits, GZIP_WINDOW_MIN));
        *bits = GZIP_WINDOW_MIN;
    }
}

/* --- the tables */

/* The paper's least interval (§4.3): earlier samples may not yet see the effect of a step. */
static void directives_advise_interval(cmd_parms *cmd, int64_t *interval)
{
    if (*interval < apr_time_from_msec(500)) {
        el_argument_advise(cmd,
                           "below 500ms a sample may not show what the last change of level did");
    }
}

/* The MTU of Ethernet (IEEE 802.3), and so of nearly every path. */
#define ETHERNET_MTU 1500

static const el_argument_word_t on_off[] = {{"On", true}, {"Off", false}, {NULL, 0}};
static const el_argument_word_t auto_size[] = {{"auto", EL_MIN_SIZE_AUTO}, {NULL, 0}};
static const el_argument_word_t auto_mtu[] = {{"auto", ETHERNET_MTU}, {NULL, 0}};
static const el_argument_word_t no_max_time[] = {{"Off", EL_NO_MAX_TIME}, {NULL, 0}};
static const el_argument_word_t no_max_memory[] = {{"Off", EL_NO_MAX_MEMORY}, {NULL, 0}};
static const el_argument_word_t no_padding[] = {{"Off", 0}, {NULL, 0}};
static const el_argument_word_t cache_scopes[] = {{"server", false}, {"all", true}, {NULL, 0}};
static const el_argument_word_t no_bypass[] = {{"Off", EL_NO_BYPASS_PPM}, {NULL, 0}};
static const el_argument_word_t etags[] = {
    {"weak", EL_ETAG_WEAK}, {"suffix", EL_ETAG_SUFFIX}, {"keep", EL_ETAG_KEEP},
    {"remove", EL_ETAG_REMOVE}, {NULL, 0},
};
static const el_argument_word_t controls[] = {
    {"step", EL_CONTROL_STEP}, {"mix", EL_CONTROL_MIX},
    {"external", EL_CONTROL_EXTERNAL}, {"off", EL_CONTROL_OFF}, {NULL, 0},
};
static const el_argument_word_t loads[] = {
    {"auto", EL_LOAD_AUTO}, {"stat", EL_LOAD_STAT}, {"cgroup", EL_LOAD_CGROUP}, {NULL, 0},
};
static const el_argument_word_t stock_etags[] = {
    {"AddSuffix", EL_ETAG_SUFFIX}, {"NoChange", EL_ETAG_KEEP}, {"Remove", EL_ETAG_REMOVE},
    {NULL, 0},
};

#define EVERYWHERE OR_FILEINFO
#define NOT_HTACCESS (RSRC_CONF | ACCESS_CONF)

#define WORDS(name, set, where, help) AP_INIT_RAW_ARGS(name, set, NULL, where, help)
#define GLOBAL_WORDS(name, set, help)                                                              \
    AP_INIT_RAW_ARGS(name, directives_set_global, ((void *)&(const directives_setter_t){set}),     \
                     RSRC_CONF, help)
#define PATH(name, field, help)                                                                    \
    AP_INIT_RAW_ARGS(name, directives_set_path, (void *)offsetof(el_server_t, field), RSRC_CONF,   \
                     help)
#define ON_OFF(of) .value = of, .words = on_off
#define GLOBAL(of) .server = true, .global = true, .value = of

const command_rec el_commands[] = {
    EL_ARGUMENT("Elastic", EVERYWHERE, "On or Off: whether responses are compressed here",
                ON_OFF(EL_DIR_ENABLED)),
    WORDS("ElasticTypes", directives_set_types, EVERYWHERE,
          "media types as text/html, text/* or application/*+json; with + or - added to or taken "
          "from the inherited ones"),
    WORDS("ElasticCodings", directives_set_codings, EVERYWHERE,
          "codings out of gzip, br and zstd, each once, the preferred one first"),
    WORDS("ElasticLevel", directives_set_level, NOT_HTACCESS,
          "a coding and one level or a minimum and a maximum: gzip 1-12, br 0-11, zstd 1-19; the "
          "minimum may be stock, which is no less than gzip 6, br 5 or zstd 3"),
    EL_ARGUMENT("ElasticMinSize", NOT_HTACCESS,
                "auto, or the size in bytes below which bodies stay as they are",
                .value = EL_DIR_MIN_SIZE, .unit = EL_UNIT_ONE, .max = INT64_MAX, .words = auto_size,
                .unset = EL_MIN_SIZE_AUTO),
    /*
     * The body and its encoding are held in memory, and libraries use 31-bit lengths. Pages are
     * smaller than 1 MB; larger bodies are streamed, which bounds a response's memory.
     */
    EL_ARGUMENT("ElasticWholeBody", NOT_HTACCESS,
                "the size in bytes up to which a complete body is encoded in one call, below 2G; "
                "K, M or G may follow",
                .value = EL_DIR_WHOLE_BODY, .unit = EL_UNIT_BYTES, .max = INT_MAX,
                .unset = 1024 * 1024),
    /* The fastest setup takes half a millisecond for a large page. */
    EL_ARGUMENT("ElasticMaxTime", NOT_HTACCESS,
                "Off, or the time that encoding a body may be expected to take, 1ms to 60s (a bare "
                "number is seconds)",
                .value = EL_DIR_MAX_TIME, .unit = EL_UNIT_TIME, .min = apr_time_from_msec(1),
                .max = apr_time_from_sec(60), .words = no_max_time, .unset = EL_NO_MAX_TIME),
    EL_ARGUMENT("ElasticPrecompressed", EVERYWHERE,
                "On or Off: whether f.br, f.zst or f.gz is sent in place of a static file f",
                ON_OFF(EL_DIR_PRECOMPRESSED), .is_on = &el_settings_precompressed),
    WORDS("ElasticPrecompressedRoot", directives_set_precompressed_root, NOT_HTACCESS,
          "the path of a folder of precompressed files, at the paths of their files"),
    EL_ARGUMENT("ElasticCache", EVERYWHERE,
                "On or Off: whether compressed copies of bodies are stored and sent again",
                ON_OFF(EL_DIR_CACHE), .is_on = &el_settings_cache),
    GLOBAL_WORDS("ElasticCacheStore", directives_set_cache_store,
                 "where compressed copies are stored: shmcb, or shmcb:(BYTES), 8192 to 4294967294; "
                 "redis:HOST[:PORT] or memcache:HOST[:PORT], several with commas between"),
    PATH("ElasticCacheKey", cache_key,
         "the path of a file of 32 bytes or more that nobody but its owner may read"),
    EL_ARGUMENT("ElasticCacheScope", RSRC_CONF,
                "server or all: whether virtual hosts use each other's compressed copies",
                .server = true, .value = EL_SERVER_CACHE_SHARED, .words = cache_scopes),
    EL_ARGUMENT("ElasticCacheMaxSize", RSRC_CONF,
                "the bytes of the largest compressed copy that is stored; K, M or G may follow",
                GLOBAL(EL_SERVER_CACHE_MAX_SIZE), .unit = EL_UNIT_BYTES, .max = INT_MAX,
                .unset = 1024 * 1024),
    WORDS("ElasticDictionary", directives_set_dictionary, NOT_HTACCESS,
          "Off, or match=\"PATTERN\", a path in which * is any text, perhaps with ? and a query, "
          "and perhaps match-dest=\"DESTINATION ...\" and id=\"TEXT\": responses here become "
          "dictionaries"),
    WORDS("ElasticDictionaryLink", directives_set_dictionary_link, NOT_HTACCESS,
          "Off, or the URL of a dictionary that documents here name in a Link field"),
    WORDS("ElasticDictionaryFile", directives_set_dictionary_file, NOT_HTACCESS,
          "Off, or the path of a dictionary, and perhaps match=\"/PATTERN\", "
          "match-dest=\"DESTINATION ...\" and host=\"NAME[:PORT] ...\": it is served, and "
          "documents here name it"),
    GLOBAL_WORDS("ElasticDictionaryStore", directives_set_dictionary_store,
                 "the path of the folder of the dictionaries, and the bytes that they may have, "
                 "1M or more; K, M or G may follow"),
    EL_ARGUMENT("ElasticInflate", EVERYWHERE,
                "On or Off: whether request bodies in gzip, br and zstd are decoded",
                ON_OFF(EL_DIR_INFLATE), .is_on = &el_settings_inflate),
    EL_ARGUMENT("ElasticPadding", EVERYWHERE,
                "Off, or the most bytes of padding that a response gets, 0 to 4096",
                .value = EL_DIR_PADDING, .unit = EL_UNIT_ONE, .max = EL_PADDING_MAX,
                .words = no_padding),
    EL_ARGUMENT("ElasticExplain", NOT_HTACCESS,
                "On or Off: whether responses say in Elastic-Explain what was decided and why",
                ON_OFF(EL_DIR_EXPLAIN)),
    EL_ARGUMENT("ElasticETag", NOT_HTACCESS,
                "weak, suffix, keep or remove: the ETag of a compressed response",
                .value = EL_DIR_ETAG, .words = etags, .unset = EL_ETAG_WEAK),
    /* Hosts accept datagrams of 576 bytes (RFC 791); an IPv4 packet's length has 16 bits. */
    EL_ARGUMENT("ElasticMTU", RSRC_CONF, "auto, or the link's packet size in bytes, 576 to 65535",
                .server = true, .value = EL_SERVER_MTU, .unit = EL_UNIT_ONE, .min = 576,
                .max = 65535, .words = auto_mtu, .unset = ETHERNET_MTU),
    GLOBAL_WORDS("ElasticCPU", directives_set_cpu,
                 "two percentages, 0 <= low < high <= 100: levels go up below low and down above "
                 "high"),
    /* The paper's least interval (§4.3): the next sample then sees the effect of a step. */
    EL_ARGUMENT("ElasticInterval", RSRC_CONF,
                "the time between two samples, 100ms to 60s (a bare number is seconds)",
                GLOBAL(EL_SERVER_INTERVAL), .unit = EL_UNIT_TIME, .min = apr_time_from_msec(100),
                .max = apr_time_from_sec(60), .adjust = directives_advise_interval,
                .unset = apr_time_from_msec(500)),
    EL_ARGUMENT("ElasticControl", RSRC_CONF,
                "step, mix, external or off: how the levels follow the load",
                GLOBAL(EL_SERVER_CONTROL), .words = controls, .unset = EL_CONTROL_STEP),
    EL_ARGUMENT("ElasticLoad", RSRC_CONF, "auto, stat or cgroup: what the load is read from",
                GLOBAL(EL_SERVER_LOAD), .words = loads, .unset = EL_LOAD_AUTO),
    GLOBAL_WORDS("ElasticGoal", directives_set_goal,
                 "cpu, time [RATE|auto [LEAST MOST]] (above 0, as 5Mbit/s; LEAST at most MOST) or "
                 "cost PRICE/h PRICE/GB: what the levels are chosen for"),
    PATH("ElasticPosition", position, "the path of the file that ElasticControl external follows"),
    EL_ARGUMENT("ElasticBypass", RSRC_CONF,
                "Off, or the percentage of CPU above which nothing is compressed, 0 to 100",
                GLOBAL(EL_SERVER_BYPASS), .unit = EL_UNIT_PERCENT, .words = no_bypass,
                .unset = EL_NO_BYPASS_PPM),
    /* 64 MB hold a hundred and sixty of zlib's largest contexts. */
    EL_ARGUMENT("ElasticPoolMemory", RSRC_CONF,
                "the bytes that all processes together keep for their encoders; K, M or G may "
                "follow",
                GLOBAL(EL_SERVER_POOL_MEMORY), .unit = EL_UNIT_BYTES, .max = BYTES_MAX,
                .unset = 64 * 1024 * 1024),
    EL_ARGUMENT("ElasticVhosts", RSRC_CONF,
                "how many virtual hosts are counted by themselves, 0 to 64; the others as one",
                GLOBAL(EL_SERVER_VHOSTS), .unit = EL_UNIT_ONE, .max = EL_VHOSTS,
                .unset = EL_VHOSTS_DEFAULT),
    EL_ARGUMENT("ElasticMaxMemory", RSRC_CONF,
                "Off, or the bytes that bodies on their way may hold in all processes together; K, "
                "M or G may follow",
                GLOBAL(EL_SERVER_MAX_MEMORY), .unit = EL_UNIT_BYTES, .max = BYTES_MAX,
                .words = no_max_memory),
    GLOBAL_WORDS("ElasticIdle", directives_set_idle,
                 "Off, or the percentage of CPU, 0 to 100, that may be used to make compressed "
                 "copies smaller while the load is below the low threshold; with top behind it "
                 "beyond ElasticLevel's maximum"),
    PATH("ElasticProcStat", proc_stat, "the path of a file that is read in place of /proc/stat"),
    {0},
};

#define NUMBER(of, which, least, most)                                                             \
    .record = of, .server = true, .value = which, .unit = EL_UNIT_ONE, .min = least, .max = most
#define LIMIT(which, least, usual)                                                                 \
    .record = EL_RECORD_DEFLATE, .value = which, .unit = EL_UNIT_ONE, .min = least,                \
    .max = INT64_MAX, .unset = usual
#define ETAG(name, of)                                                                             \
    EL_ARGUMENT(name, RSRC_CONF,                                                                   \
                "AddSuffix, NoChange or Remove: the ETag of a compressed response", .record = of,  \
                .server = true, .value = EL_STOCK_ETAG, .words = stock_etags,                      \
                .unset = EL_ETAG_SUFFIX)
#define NOTE(name, of)                                                                             \
    AP_INIT_RAW_ARGS(name, directives_set_note, (void *)of, RSRC_CONF,                             \
                     "the note's name, before it Input, Output or Ratio, which is what one name "  \
                     "alone means")

const command_rec el_deflate_commands[] = {
    NOTE("DeflateFilterNote", EL_RECORD_DEFLATE),
    EL_ARGUMENT("DeflateWindowSize", RSRC_CONF, "zlib's window, 1 to 15 bits",
                NUMBER(EL_RECORD_DEFLATE, EL_STOCK_WINDOW_BITS, 1, 15),
                .adjust = directives_raise_window),
    EL_ARGUMENT("DeflateMemLevel", RSRC_CONF, "zlib's memory level, 1 to 9",
                NUMBER(EL_RECORD_DEFLATE, EL_STOCK_MEM_LEVEL, 1, 9)),
    /* Output is sent in httpd's own buckets, so this size has no effect. */
    EL_ARGUMENT("DeflateBufferSize", RSRC_CONF,
                "a number of bytes above 0; it is accepted and has no effect",
                NUMBER(EL_RECORD_DEFLATE, EL_STOCK_BUFFER_SIZE, 1, INT_MAX)),
    EL_ARGUMENT("DeflateCompressionLevel", RSRC_CONF, "the highest level of gzip, 1 to 9",
                NUMBER(EL_RECORD_DEFLATE, EL_STOCK_LEVEL, 1, 9)),
    ETAG("DeflateAlterETag", EL_RECORD_DEFLATE),
    EL_ARGUMENT("DeflateInflateLimitRequestBody", OR_ALL,
                "the bytes that a request body may have when it is decoded; 0 for those of "
                "LimitRequestBody",
                LIMIT(EL_LIMIT_SIZE, 0, 0)),
    /* mod_deflate's: far above ordinary ratios, far below deflate's maximum, 1032. */
    EL_ARGUMENT("DeflateInflateRatioLimit", OR_ALL,
                "a number above 0: how many bytes one encoded byte may give",
                LIMIT(EL_LIMIT_RATIO, 1, 200)),
    EL_ARGUMENT("DeflateInflateRatioBurst", OR_ALL,
                "a number above 0: how many times in a row the ratio may be above its limit",
                LIMIT(EL_LIMIT_BURST, 1, 3)),
    {0},
};

const command_rec el_brotli_commands[] = {
    NOTE("BrotliFilterNote", EL_RECORD_BROTLI),
    EL_ARGUMENT("BrotliCompressionQuality", RSRC_CONF, "the highest level of br, 0 to 11",
                NUMBER(EL_RECORD_BROTLI, EL_STOCK_LEVEL, 0, 11)),
    EL_ARGUMENT("BrotliCompressionWindow", RSRC_CONF, "br's window, 10 to 24 bits",
                NUMBER(EL_RECORD_BROTLI, EL_STOCK_WINDOW_BITS, 10, 24)),
    EL_ARGUMENT("BrotliCompressionMaxInputBlock", RSRC_CONF,
                "br's largest input block, 16 to 24 bits",
                NUMBER(EL_RECORD_BROTLI, EL_STOCK_BLOCK_BITS, 16, 24)),
    ETAG("BrotliAlterETag", EL_RECORD_BROTLI),
    {0},
};

/* --- defaults */

/* The order among equal q: br saves more bytes than gzip at any cost that both can have. */
static const el_coding_t preferred_codings[] = {EL_BR, EL_ZSTD, EL_GZIP};

/* The paper leaves ElasticCPU's thresholds to the operator; a fifth of the CPU is a reserve. */
#define DEFAULT_LOW (50 * EL_PPM_PER_PERCENT)
#define DEFAULT_HIGH (80 * EL_PPM_PER_PERCENT)

void el_directives_begin(void)
{
    static const command_rec *const tables[] = {
        el_commands, el_deflate_commands, el_brotli_commands,
    };
    el_dir_t *dir = &el_dir_defaults;

    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        for (const command_rec *row = tables[i]; row->name; row++) {
            const el_argument_t *argument = row->cmd_data;

            if (row->func.raw_args == el_argument_set) {
                el_values_t *values = argument->record == EL_RECORD_ELASTIC
                    ? (argument->server ? &el_server_defaults.values : &dir->values)
                    : (argument->server ? &el_stock_defaults.values : &el_limits_defaults);

                values->value[argument->value] = argument->unset;
            }
        }
    }
    el_server_defaults.values.value[EL_SERVER_LOW] = DEFAULT_LOW;
    el_server_defaults.values.value[EL_SERVER_HIGH] = DEFAULT_HIGH;
    el_server_defaults.cache_store = &directives_shmcb;

    dir->codings_count = 0;
    for (size_t i = 0; i < sizeof(preferred_codings) / sizeof(preferred_codings[0]); i++) {
        if (el_engine_for(preferred_codings[i])) {
            dir->codings[dir->codings_count++] = preferred_codings[i];
        }
    }
    for (int i = EL_IDENTITY + 1; i < EL_CODINGS; i++) {
        const el_coding_info_t *info = el_coding_info((el_coding_t)i);

        dir->range[i] = el_range_built_in((el_coding_t)i,
                                          el_range_of(info->default_min, info->default_max));
    }
    atomic_store(&el_settings_inflate, false);
    atomic_store(&el_settings_precompressed, false);
    atomic_store(&el_settings_cache, false);
}
