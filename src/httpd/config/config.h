/*
 * The settings of elastic_module for directories and servers, the policy for one response (both in
 * settings.c), and the tables of directives with their defaults (directives.c). A setting that no
 * directive set has its default.
 *
 * Read-only once the configuration is read; any thread.
 */
#ifndef ELASTIC_CONFIG_CONFIG_H
#define ELASTIC_CONFIG_CONFIG_H

#include "httpd/config/dropin.h"

#include "elastic/control.h"
#include "elastic/http.h"
#include "elastic/ladder.h"
#include "elastic/load.h"
#include "elastic/price.h"

#include <stdatomic.h>

/* ElasticMinSize auto. */
#define EL_MIN_SIZE_AUTO INT64_C(-1)

/* ElasticBypass Off, in millionths: above every possible load. */
#define EL_NO_BYPASS_PPM 2000000

/* ElasticMaxTime Off. */
#define EL_NO_MAX_TIME 0

/* ElasticMaxMemory Off. */
#define EL_NO_MAX_MEMORY INT64_C(-1)

/* ElasticControl external, beside the values of el_control_mode_t. */
#define EL_CONTROL_EXTERNAL (EL_CONTROL_OFF + 1)

/* The numbers of a directory. */
enum {
    EL_DIR_ENABLED,       /* bool: Elastic */
    EL_DIR_PRECOMPRESSED, /* bool */
    EL_DIR_INFLATE,       /* bool */
    EL_DIR_MIN_SIZE,      /* bytes, or EL_MIN_SIZE_AUTO */
    EL_DIR_WHOLE_BODY,    /* bytes up to which a complete body is encoded in one call */
    EL_DIR_MAX_TIME,      /* µs, or EL_NO_MAX_TIME */
    EL_DIR_ETAG,          /* el_etag_mode_t */
    EL_DIR_PADDING,       /* the most bytes; 0: none */
    EL_DIR_CACHE,         /* bool: ElasticCache */
    EL_DIR_EXPLAIN,       /* bool */
    EL_DIR_VALUES
};
_Static_assert(EL_DIR_VALUES <= EL_VALUES_MAX, "el_values_t holds them all");

/* The numbers of a server. All except the MTU and the scope are read from the main server only. */
enum {
    EL_SERVER_MTU,        /* bytes */
    EL_SERVER_LOW,        /* ElasticCPU's thresholds, millionths */
    EL_SERVER_HIGH,
    EL_SERVER_BYPASS,     /* millionths, or EL_NO_BYPASS_PPM */
    EL_SERVER_CONTROL,    /* el_control_mode_t, or EL_CONTROL_EXTERNAL */
    EL_SERVER_INTERVAL,   /* µs */
    EL_SERVER_LOAD,       /* el_load_kind_t; if not set and ElasticProcStat is: EL_LOAD_STAT */
    EL_SERVER_POOL_MEMORY, /* bytes of idle encoders in all processes */
    EL_SERVER_MAX_MEMORY, /* bytes, or EL_NO_MAX_MEMORY; not set: see mod_elastic.c */
    EL_SERVER_CACHE_SHARED, /* bool: ElasticCacheScope all */
    EL_SERVER_CACHE_MAX_SIZE, /* bytes of the largest encoding */
    EL_SERVER_IDLE,       /* ElasticIdle, millionths of the CPU */
    EL_SERVER_IDLE_TOP,   /* bool: above ElasticLevel's maximum */
    EL_SERVER_VHOSTS,     /* names with counts of their own */
    EL_SERVER_VALUES
};
_Static_assert(EL_SERVER_VALUES <= EL_VALUES_MAX, "el_values_t holds them all");

/* A rule of ElasticTypes. */
typedef struct {
    el_mediatype_t pattern;
    bool listed; /* false for -type */
} el_type_rule_t;

/* ElasticPrecompressedRoot, and its place in the configuration. */
typedef struct {
    const char *folder;
    const char *section;      /* the enclosing <Directory>'s folder; NULL: none */
    const server_rec *server; /* whose configuration has it */
} el_precompressed_root_t;

/* ElasticDictionary; all NULL: Off. */
typedef struct {
    const char *match; /* accepted by el_dictionary_pattern_fault() */
    const char *dest;  /* words separated by spaces; "": any */
    const char *id;    /* "": none */
} el_dictionary_rule_t;

/*
 * ElasticDictionaryFile. dictionary/dictionary.c reads the file and sets the fields after `hosts`.
 * If that fails, `bytes` is NULL and the directive has no effect.
 */
typedef struct {
    const char *path;
    bool in_section; /* in a <Directory>, <Location> or similar */
    el_dictionary_rule_t rule;
    const apr_array_header_t *hosts; /* of const char *, "name" or "name:port"; NULL: any */
    bool tried;
    const char *bytes;
    size_t nbytes;
    const char *small; /* the same in br, from a file beside it; NULL: none */
    size_t small_nbytes;
    const char *type; /* the media type */
    uint8_t hash[EL_DICTIONARY_HASH];
    const char *url; /* its path on each host */
} el_dictionary_file_t;

typedef struct {
    el_values_t values;
    bool range_set[EL_CODINGS];
    el_range_t range[EL_CODINGS]; /* limited to the levels of this build's engines */
    bool codings_set;
    size_t codings_count;
    el_coding_t codings[EL_CODINGS]; /* enabled ones that have an engine, best first */
    bool types_replace;        /* the default types do not count */
    apr_array_header_t *types; /* of el_type_rule_t; the last match wins; or NULL */
    const el_precompressed_root_t *precompressed_root; /* NULL: not set */
    const el_dictionary_rule_t *dictionary;  /* NULL: not set */
    const char *dictionary_link; /* ElasticDictionaryLink; NULL: not set; "": Off */
    /*
     * Of el_dictionary_file_t *. Documents name the last file that is for their host. A NULL entry
     * means Off: entries before it do not count. NULL: not set.
     */
    apr_array_header_t *dictionary_files;
} el_dir_t;

/* ElasticCacheStore. */
typedef struct {
    const char *provider;  /* a socache provider of httpd */
    const char *arguments; /* the provider's */
    uint64_t nbytes;       /* of memory, if it is this machine's */
    bool remote;           /* other machines reach it */
} el_cache_store_t;

/* ElasticDictionaryStore. */
typedef struct {
    const char *folder;
    uint64_t most; /* bytes */
} el_dictionary_store_t;

typedef struct {
    el_values_t values;
    const char *proc_stat; /* NULL: not set */
    const char *position;  /* ElasticPosition; NULL: not set */
    const char *goal;      /* ElasticGoal, accepted by el_goal_parse(); NULL: not set */
    const el_cache_store_t *cache_store;
    const char *cache_key; /* ElasticCacheKey; NULL: not set */
    const el_dictionary_store_t *dictionary_store; /* NULL: not set */
    /* Of el_dictionary_rule_t *: every ElasticDictionary of this server; NULL: none. */
    apr_array_header_t *dictionary_rules;
    /*
     * Of el_dictionary_file_t *: every file that is in force anywhere; NULL: none. `off`: of the
     * outer server's files, only those in sections count.
     */
    apr_array_header_t *dictionary_files;
    bool dictionary_files_off;
} el_server_t;

/*
 * True if ElasticInflate, ElasticPrecompressed or ElasticCache is On anywhere; else no request
 * spends time on them. A .htaccess file may set one at any time, in any thread.
 */
extern atomic_bool el_settings_inflate, el_settings_precompressed, el_settings_cache;

/* The settings without any directive, filled by el_directives_begin(). */
extern el_dir_t el_dir_defaults;
extern el_server_t el_server_defaults;

void *el_dir_create(apr_pool_t *pool, char *path);
void *el_dir_merge(apr_pool_t *pool, void *base, void *add);
void *el_server_create(apr_pool_t *pool, server_rec *server);
void *el_server_merge(apr_pool_t *pool, void *base, void *add);

/* The settings of a request; the defaults if elastic_module is not loaded. */
static inline const el_dir_t *el_dir_of(const request_rec *r)
{
    const el_dir_t *found = el_record_settings(EL_RECORD_ELASTIC, r->per_dir_config);

    return found ? found : &el_dir_defaults;
}

static inline const el_server_t *el_server_of(const server_rec *server)
{
    const el_server_t *found = el_record_settings(EL_RECORD_ELASTIC, server->module_config);

    return found ? found : &el_server_defaults;
}

/* ElasticDictionaryFile Off outside of sections: forgets the files before it. */
void el_server_dictionary_files_off(el_server_t *server, apr_pool_t *pool);

/*
 * True if ElasticTypes lists a response's type (NULL: no type). If it is not set, or only adds and
 * removes types, starts from every type with `any`, else from the default list.
 */
bool el_dir_type_listed(const el_dir_t *dir, const char *content_type, bool any);

/* The rule by which responses become dictionaries here; NULL: none do. */
const el_dictionary_rule_t *el_dir_dictionary(const el_dir_t *dir);

/* The URL of the dictionary that documents here name in Link; NULL: none. */
const char *el_dir_dictionary_link(const el_dir_t *dir);

/* Limits `wanted` to the levels of this build's engine; not enabled if it has no engine. */
el_range_t el_range_built_in(el_coding_t coding, el_range_t wanted);

/*
 * The settings for one response of a record's filter, computed once. ELASTIC uses the Elastic
 * directives. DEFLATE and BROTLI_COMPRESS have one coding each, and use the stock module's values
 * unless an Elastic directive is set.
 */
typedef struct {
    el_record_t record;
    const el_dir_t *dir;
    const el_stock_t *stock;       /* of the record */
    bool is_stock;                 /* decides as the stock module it replaces */
    size_t order_count;
    const el_coding_t *order;      /* enabled codings with an engine, best first */
    int64_t min_size;              /* the least bytes to encode, or EL_MIN_SIZE_AUTO */
    bool min_of_one_brigade;       /* only a body that one brigade holds is too small */
    uint64_t whole_most;           /* the most bytes to encode in one call */

    /* Set by el_policy_read_encoding(). */
    el_range_t range[EL_CODINGS];  /* of the codings' levels */
    int64_t max_time;              /* µs, or EL_NO_MAX_TIME */
    el_etag_mode_t etag;
} el_policy_t;

/* Reads the settings that the decision needs. */
el_policy_t el_policy_of(const request_rec *r, el_record_t record);

/* Reads the rest, for a response that may be encoded. */
void el_policy_read_encoding(el_policy_t *policy);

/* Points `*order` to the record's enabled codings, best first; returns their number. */
size_t el_policy_codings(const el_dir_t *dir, el_record_t record, const el_coding_t **order);

/* In post_config: computes el_policy_ranges. */
void el_policy_configure(const server_rec *main_server);

/*
 * The ranges that the controller uses: the main server's, outside of any section; those of the
 * drop-in records if only these are loaded. Not enabled: no loaded record gives the coding.
 */
extern el_range_t el_policy_ranges[EL_CODINGS];

extern const command_rec el_commands[];
extern const command_rec el_deflate_commands[];
extern const command_rec el_brotli_commands[];

/* Once for each configuration, before all settings: fills the defaults from the tables. */
void el_directives_begin(void);

#endif
