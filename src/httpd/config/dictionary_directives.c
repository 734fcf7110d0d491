#include "httpd/config/commands.h"

#include "httpd/config/arguments.h"
#include "httpd/config/settings.h"

#include "elastic/dictionary.h"
#include "elastic/http.h"

#include "apr_strings.h"
#include "http_core.h"

/* A dictionary takes an eighth of the store at most; 64 MB are some hundred large ones. */
#define STORE_MIN (1024 * 1024)
#define STORE_DEFAULT (64 * 1024 * 1024)
#define STORE_MAX (INT64_C(1) << 53)

/* The destinations of requests that Fetch knows, but for the empty one. */
static const char *const destinations[] = {
    "audio",   "audioworklet",  "compression-dictionary", "document", "embed", "font", "frame",
    "iframe",  "image", "json", "manifest", "object",     "paintworklet", "report", "script",
    "serviceworker", "sharedworker", "style", "text", "track", "video", "webidentity", "worker",
    "xslt",
};

static bool is_destination(const char *word)
{
    for (size_t i = 0; i < sizeof(destinations) / sizeof(destinations[0]); i++) {
        if (strcmp(word, destinations[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* What is wrong with the words between spaces; NULL: nothing. */
static const char *fault_of_dest(cmd_parms *cmd, const char *words)
{
    const char *rest = words, *word;

    if (strlen(words) >= EL_DEST_ROOM) {
        return "it is too long";
    }
    while (*(word = ap_getword_white(cmd->temp_pool, &rest))) {
        if (!is_destination(word)) {
            return apr_psprintf(cmd->pool, "%s is no destination of requests", word);
        }
    }
    return NULL;
}

static const char *fault_of_id(const char *id)
{
    if (strlen(id) >= EL_ID_ROOM) {
        return "it has more than 1024 characters";
    }
    return el_structured_can_hold(id) ? NULL : "it has characters that are not printable ASCII";
}

/* Reads `key="value"`, and moves behind it; NULL where there is no such key. */
static const char *take_value(cmd_parms *cmd, const char **args, const char *key)
{
    size_t len = strlen(key);

    if (strncasecmp(*args, key, len) != 0 || (*args)[len] != '=') {
        return NULL;
    }
    *args += len + 1;
    return ap_getword_conf(cmd->pool, args);
}

/* Reads one of the arguments. What is wrong with it, or NULL. */
static const char *read_argument(cmd_parms *cmd, const char **args, el_dictionary_rule_t *rule)
{
    const char *value;

    if ((value = take_value(cmd, args, "match")) != NULL) {
        rule->match = value;
        return el_dictionary_pattern_fault(value);
    }
    if ((value = take_value(cmd, args, "match-dest")) != NULL) {
        rule->dest = value;
        return fault_of_dest(cmd, value);
    }
    if ((value = take_value(cmd, args, "id")) != NULL) {
        rule->id = value;
        return fault_of_id(value);
    }
    return "there is no such argument";
}

static void add_rule(cmd_parms *cmd, const el_dictionary_rule_t *rule)
{
    el_server_t *server = el_server_config(cmd->server);

    if (!server->dictionary_rules) {
        server->dictionary_rules = apr_array_make(cmd->pool, 1, sizeof(rule));
    }
    APR_ARRAY_PUSH(server->dictionary_rules, const el_dictionary_rule_t *) = rule;
}

const char *el_set_dictionary(cmd_parms *cmd, void *config, const char *args)
{
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
        const char *fault = read_argument(cmd, &rest, rule);

        if (fault) {
            return apr_psprintf(cmd->pool, "%s: '%s' is not allowed: %s; it takes %s",
                                cmd->cmd->name, at, fault, cmd->cmd->errmsg);
        }
    }
    if (!rule->match) {
        return el_refuse(cmd, args);
    }
    add_rule(cmd, rule);
    return NULL;
}

/* A name as it stands in a Host field, perhaps with a port; an address of IPv6 is in brackets. */
static bool is_host(const char *text)
{
    const char *end = *text == '[' ? strchr(text, ']') : NULL;
    size_t name = end ? (size_t)(end - text) + 1 : strcspn(text, ":");
    int64_t port;

    return name > 0 && strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                    "-._[]:") == strlen(text)
           && (!text[name] || (text[name] == ':' && el_number(text + name + 1, 1, 65535, &port)));
}

static const char *read_hosts(cmd_parms *cmd, const char *words, el_dictionary_file_t *file)
{
    apr_array_header_t *hosts = apr_array_make(cmd->pool, 1, sizeof(const char *));
    const char *word;

    while (*(word = ap_getword_white(cmd->pool, &words))) {
        if (!is_host(word)) {
            return apr_psprintf(cmd->pool, "%s is no name of a host, with a port or without", word);
        }
        APR_ARRAY_PUSH(hosts, const char *) = word;
    }
    file->hosts = hosts;
    return hosts->nelts > 0 ? NULL : "there is no name in it";
}

/* Reads one of the arguments behind the path. What is wrong with it, or NULL. */
static const char *read_file_argument(cmd_parms *cmd, const char **args, el_dictionary_file_t *file)
{
    const char *value = take_value(cmd, args, "host");
    const char *fault;

    if (value) {
        return read_hosts(cmd, value, file);
    }
    fault = strncasecmp(*args, "id=", strlen("id=")) == 0
                ? "there is no such argument" : read_argument(cmd, args, &file->rule);
    return fault || !file->rule.match || *file->rule.match == '/' ? fault
                                                                  : "it does not begin with /";
}

const char *el_set_dictionary_file(cmd_parms *cmd, void *config, const char *args)
{
    el_dictionary_file_t *file = apr_pcalloc(cmd->pool, sizeof(*file));
    el_server_t *server = el_server_config(cmd->server);
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
        const char *fault = read_file_argument(cmd, &rest, file);

        if (fault) {
            return apr_psprintf(cmd->pool, "%s: '%s' is not allowed: %s; it takes %s",
                                cmd->cmd->name, at, fault, cmd->cmd->errmsg);
        }
    }
    if (!file->path) {
        return el_refuse(cmd, args);
    }
    /* Most are made of the pages of a site. */
    file->rule.dest = file->rule.dest ? file->rule.dest : file->rule.match ? "" : "document";
    file->rule.match = file->rule.match ? file->rule.match : "/*";
    if (!server->dictionary_files) {
        server->dictionary_files = apr_array_make(cmd->pool, 2, sizeof(file));
    }
    APR_ARRAY_PUSH(dir->dictionary_files, el_dictionary_file_t *) = file;
    APR_ARRAY_PUSH(server->dictionary_files, el_dictionary_file_t *) = file;
    return NULL;
}

/* What may stand between the angle brackets of a Link field (RFC 8288 §3). */
static bool is_link(const char *url)
{
    return *url && el_structured_can_hold(url) && !strpbrk(url, "<>\" \\");
}

const char *el_set_dictionary_link(cmd_parms *cmd, void *config, const char *args)
{
    const char *url = el_only_word(cmd, args);
    el_dir_t *dir = config;

    if (!url || !is_link(url)) {
        return el_refuse(cmd, args);
    }
    dir->dictionary_link = strcasecmp(url, "Off") == 0 ? "" : url;
    return NULL;
}

const char *el_set_dictionary_store(cmd_parms *cmd, void *config, const char *args)
{
    static const el_argument_t bytes = {
        .unit = EL_UNIT_BYTES, .min = STORE_MIN, .max = STORE_MAX,
    };
    el_dictionary_store_t *store = apr_pcalloc(cmd->pool, sizeof(*store));
    const char *error = ap_check_cmd_context(cmd, GLOBAL_ONLY);
    const apr_array_header_t *words = el_words(cmd, args);
    int64_t most = STORE_DEFAULT;

    (void)config;
    if (error) {
        return error;
    }
    if (words->nelts < 1 || words->nelts > 2 || !*el_word(words, 0)
        || (words->nelts == 2 && !el_argument_read(cmd, &bytes, el_word(words, 1), &most))) {
        return el_refuse(cmd, args);
    }
    store->folder = ap_server_root_relative(cmd->pool, el_word(words, 0));
    store->most = (uint64_t)most;
    el_server_config(cmd->server)->dictionary_store = store;
    return store->folder ? NULL : el_refuse(cmd, args);
}
