#include "httpd/status/dump.h"

#include "httpd/config/settings.h"

#include "apr_strings.h"
#include "http_core.h"
#include "http_main.h"
#include "unixd.h"

#include <unistd.h>

/* Where lines go to, and the pool of their texts. */
typedef struct {
    apr_file_t *file;
    apr_pool_t *pool;
} dump_t;

/* What stands in a line: a value with line breaks would be two of them. */
static const char *clean(const dump_t *dump, const char *value)
{
    char *text = apr_pstrdup(dump->pool, value ? value : "");

    for (char *at = text; *at; at++) {
        *at = (unsigned char)*at < ' ' ? ' ' : *at;
    }
    return text;
}

static void put(const dump_t *dump, const char *key, const char *value)
{
    apr_file_printf(dump->file, "%s: %s\n", key, value);
}

static void put_flag(const dump_t *dump, const char *key, bool on)
{
    put(dump, key, on ? "On" : "Off");
}

static const char *joined(const dump_t *dump, const apr_array_header_t *words)
{
    return words ? clean(dump, apr_array_pstrcat(dump->pool, words, ' ')) : "";
}

static void put_server(const dump_t *dump, server_rec *main_server)
{
    const el_dictionary_store_t *store = el_server_of(main_server)->dictionary_store;

    put(dump, "ElasticVersion", ELASTIC_VERSION);
    put(dump, "ServerRoot", clean(dump, ap_server_root));
    put(dump, "RunDirectory", clean(dump, ap_runtime_dir_relative(dump->pool, "")));
    put(dump, "User", apr_psprintf(dump->pool, "%s %u %u", clean(dump, ap_unixd_config.user_name),
                                   (unsigned)ap_unixd_config.user_id,
                                   (unsigned)ap_unixd_config.group_id));
    put(dump, "ElasticDictionaryStore",
        store ? apr_psprintf(dump->pool, "%s\t%" APR_UINT64_T_FMT, clean(dump, store->folder),
                             store->most) : "");
}

/* The codings in force, best first, with their levels. */
static const char *codings_of(const dump_t *dump, const el_dir_t *dir)
{
    size_t count;
    const el_coding_t *codings = el_dir_codings(dir, &count);
    const char *text = "";

    for (size_t i = 0; i < count; i++) {
        el_range_t range = el_dir_range(dir, codings[i]);

        text = apr_psprintf(dump->pool, "%s%s%s %d %d", text, i ? ", " : "",
                            el_coding_info(codings[i])->token, range.min, range.max);
    }
    return text;
}

static void put_file(const dump_t *dump, const el_dictionary_file_t *file)
{
    put(dump, "ElasticDictionaryFile",
        apr_pstrcat(dump->pool, clean(dump, file->path), "\t", file->bytes ? file->url : "", "\t",
                    file->rule.match, "\t", file->rule.dest, "\t", joined(dump, file->hosts),
                    NULL));
}

static const char *addresses_of(const dump_t *dump, const server_rec *server)
{
    apr_array_header_t *words = apr_array_make(dump->pool, 1, sizeof(const char *));

    for (const server_addr_rec *at = server->addrs; at; at = at->next) {
        APR_ARRAY_PUSH(words, const char *) =
            apr_psprintf(dump->pool, "%s:%u", at->virthost, (unsigned)at->host_port);
    }
    return joined(dump, words);
}

/*
 * What is in force in a virtual host outside of sections, and the files of ElasticDictionaryFile
 * that it serves, also those of sections.
 */
static void put_vhost(const dump_t *dump, const server_rec *server)
{
    const el_dir_t *dir = el_record_settings(EL_RECORD_ELASTIC, server->lookup_defaults);
    const el_dictionary_rule_t *rule = el_dir_dictionary(dir);
    const apr_array_header_t *files = el_server_of(server)->dictionary_files;
    const core_server_config *core = ap_get_core_module_config(server->module_config);
    const char *link = el_dir_dictionary_link(dir);

    put(dump, "\nVirtualHost", server->is_virtual ? addresses_of(dump, server) : "main");
    put(dump, "DefinedAt", server->defn_name
        ? apr_psprintf(dump->pool, "%s:%u", clean(dump, server->defn_name),
                       server->defn_line_number) : "");
    put(dump, "ServerName", clean(dump, server->server_hostname));
    put(dump, "ServerPort", server->port ? apr_itoa(dump->pool, server->port) : "");
    put(dump, "ServerAlias", joined(dump, server->names));
    put(dump, "ServerAliasPattern", joined(dump, server->wild_names));
    put(dump, "DocumentRoot", clean(dump, core->ap_document_root));
    put_flag(dump, "Elastic", el_dir_enabled(dir, false));
    put(dump, "ElasticLevel", codings_of(dump, dir));
    put_flag(dump, "ElasticCache", el_dir_caches(dir));
    put_flag(dump, "ElasticPrecompressed", el_dir_precompressed(dir));
    put(dump, "ElasticDictionary",
        rule ? apr_pstrcat(dump->pool, rule->match, "\t", rule->dest, "\t", rule->id, NULL) : "");
    put(dump, "ElasticDictionaryLink", link ? link : "");
    for (int i = 0; files && i < files->nelts; i++) {
        put_file(dump, APR_ARRAY_IDX(files, i, const el_dictionary_file_t *));
    }
}

/* The module's directives below `node`, each with its sections, as httpd has read them. */
static void put_directives(const dump_t *dump, const ap_directive_t *node, const char *sections)
{
    for (; node; node = node->next) {
        const char *text = apr_pstrcat(dump->pool, node->directive, " ", node->args, NULL);

        if (node->first_child) {
            put_directives(dump, node->first_child,
                           apr_pstrcat(dump->pool, sections, *sections ? " " : "",
                                       clean(dump, text), NULL));
        } else if (strncasecmp(node->directive, "Elastic", strlen("Elastic")) == 0) {
            put(dump, "Directive",
                apr_psprintf(dump->pool, "%s:%d\t%s\t%s", clean(dump, node->filename),
                             node->line_num, sections, clean(dump, text)));
        }
    }
}

void el_dump(apr_pool_t *pool, server_rec *main_server)
{
    dump_t dump = {.pool = pool};

    if (!ap_exists_config_define("DUMP_ELASTIC") || !el_record_loaded(EL_RECORD_ELASTIC)
        || apr_file_open_stdout(&dump.file, pool) != APR_SUCCESS) {
        return;
    }
    put_server(&dump, main_server);
    for (const server_rec *server = main_server; server; server = server->next) {
        put_vhost(&dump, server);
    }
    apr_file_printf(dump.file, "\n");
    put_directives(&dump, ap_conftree, "");
}
