/*
 * The settings of elastic_module, per directory and per server (settings.c); the policy that
 * follows from the settings of a record for one response (settings.c); and the tables of directives
 * (directives.c), whose rows have the defaults: a setting that no directive has set holds its
 * default.
 *
 * Read-only once the configuration was read; any thread.
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

/* ElasticBypass Off, in millionths: no share is above it. */
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
    EL_DIR_WHOLE_BODY,    /* bytes: up to this size, a complete body is encoded in one call */
    EL_DIR_MAX_TIME,      /* µs, or EL_NO_MAX_TIME */
    EL_DIR_ETAG,          /* el_etag_mode_t */
    EL_DIR_PADDING,       /* bytes at most; 0: none */
    EL_DIR_CACHE,         /* bool: ElasticCache */
    EL_DIR_EXPLAIN,       /* bool */
    EL_DIR_VALUES
};
_Static_assert(EL_DIR_VALUES <= EL_VALUES_MAX, "el_values_t holds them all");

/* The numbers of a server. All but the MTU and the scope are read from the main server only. */
enum {
    EL_SERVER_MTU,        /* bytes */
    EL_SERVER_LOW,        /* ElasticCPU's thresholds, millionths of the CPU */
    EL_SERVER_HIGH,
    EL_SERVER_BYPASS,     /* millionths, or EL_NO_BYPASS_PPM */
    EL_SERVER_CONTROL,    /* el_control_mode_t, or EL_CONTROL_EXTERNAL */
    EL_SERVER_INTERVAL,   /* µs */
    EL_SERVER_LOAD,       /* el_load_kind_t; not set: EL_LOAD_STAT if there is an ElasticProcStat */
    EL_SERVER_POOL_MEMORY, /* bytes of idle encoders, of all processes together */
    EL_SERVER_MAX_MEMORY, /* bytes, or EL_NO_MAX_MEMORY; not set: see mod_elastic.c */
    EL_SERVER_CACHE_SHARED, /* bool: ElasticCacheScope all */
    EL_SERVER_CACHE_MAX_SIZE, /* bytes of an encoding */
    EL_SERVER_IDLE,       /* ElasticIdle, millionths of the CPU */
    EL_SERVER_IDLE_TOP,   /* bool: beyond ElasticLevel's maximum */
    EL_SERVER_VHOSTS,     /* names that have counts of their own */
    EL_SERVER_VALUES
};
_Static_assert(EL_SERVER_VALUES <= EL_VALUES_MAX, "el_values_t holds them all");

/* One rule of ElasticTypes. */
typedef struct {
    el_mediatype_t pattern;
    bool listed; /* false for -type */
} el_type_rule_t;

/* ElasticPrecompressedRoot, and where it was set. */
typedef struct {
    const char *folder;
    const char *section;      /* the folder of the <Directory> around it; NULL: elsewhere */
    const server_rec *server; /* in whose configuration it stands */
} el_precompressed_root_t;

/* ElasticDictionary; all NULL: Off. */
typedef struct {
    const char *match; /* el_dictionary_pattern_fault() has none */
    const char *dest;  /* words between spaces; "": any */
    const char *id;    /* "": none */
} el_dictionary_rule_t;

/*
 * ElasticDictionaryFile. dictionary/site.c reads the file, and writes the fields below `hosts`. If
 * it cannot, `bytes` is NULL, and the directive has no effect.
 */
typedef struct {
    const char *path;
    bool in_section; /* in a <Directory>, <Location> or the like */
    el_dictionary_rule_t rule;
    const apr_array_header_t *hosts; /* of const char *, "name" or "name:port"; NULL: any */
    bool tried;
    const char *bytes;
    size_t nbytes;
    const char *small; /* the same in br, of a file beside it; NULL: there is none */
    size_t small_nbytes;
    const char *type; /* the media type */
    uint8_t hash[EL_DICTIONARY_HASH];
    const char *url; /* its path on each host */
} el_dictionary_file_t;

typedef struct {
    el_values_t values;
    bool range_set[EL_CODINGS];
    el_range_t range[EL_CODINGS]; /* within the levels of this build's engines */
    bool codings_set;
    size_t codings_count;
    el_coding_t codings[EL_CODINGS]; /* enabled, best first; only those that have an engine */
    bool types_replace;        /* the default types do not count */
    apr_array_header_t *types; /* of el_type_rule_t; the last that matches counts; NULL: none */
    const el_precompressed_root_t *precompressed_root; /* NULL: not set */
    const el_dictionary_rule_t *dictionary;  /* NULL: not set */
    const char *dictionary_link; /* ElasticDictionaryLink; NULL: not set; "": Off */
    /*
     * Of el_dictionary_file_t *; documents name the last one that is for the host. NULL in it is
     * Off: those before it do not count. NULL: not set.
     */
    apr_array_header_t *dictionary_files;
} el_dir_t;

/* ElasticCacheStore. */
typedef struct {
    const char *provider;  /* one of httpd's socache providers */
    const char *arguments; /* for it */
    uint64_t nbytes;       /* of its memory, if it is this machine's */
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
    const char *goal;      /* ElasticGoal, which el_goal_parse() takes; NULL: not set */
    const el_cache_store_t *cache_store;
    const char *cache_key; /* ElasticCacheKey; NULL: not set */
    const el_dictionary_store_t *dictionary_store; /* NULL: not set */
    /* Of el_dictionary_rule_t *: each ElasticDictionary of this server; NULL: none. */
    apr_array_header_t *dictionary_rules;
    /*
     * Of el_dictionary_file_t *: each file in force anywhere; NULL: none. `off`: of the outer
     * server's only those in sections.
     */
    apr_array_header_t *dictionary_files;
    bool dictionary_files_off;
} el_server_t;

/*
 * True if ElasticInflate, ElasticPrecompressed and ElasticCache are On anywhere. While they are
 * not, no request pays for them. A .htaccess file may set them at any time, in any thread.
 */
extern atomic_bool el_settings_inflate, el_settings_precompressed, el_settings_cache;

/* The settings without any directive; el_directives_begin() fills them. */
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

/* ElasticDictionaryFile Off, outside of sections: forgets those before. */
void el_server_dictionary_files_off(el_server_t *server, apr_pool_t *pool);

/*
 * True if ElasticTypes has the type of a response; NULL for a response without one. If it is not
 * set, or only adds and takes: `any` type, or those of the default list.
 */
bool el_dir_type_listed(const el_dir_t *dir, const char *content_type, bool any);

/* Which responses here become dictionaries; NULL: none. */
const el_dictionary_rule_t *el_dir_dictionary(const el_dir_t *dir);

/* The URL of the dictionary that documents here name; NULL: none. */
const char *el_dir_dictionary_link(const el_dir_t *dir);

/* `wanted` within the levels of this build's engine of `coding`; not enabled without one. */
el_range_t el_range_built_in(el_coding_t coding, el_range_t wanted);

/*
 * The settings in force for one response of a record's filter, computed once. ELASTIC follows the
 * Elastic directives. DEFLATE and BROTLI_COMPRESS have one coding each, and unless an Elastic
 * directive says otherwise, the values of the module that they replace.
 */
typedef struct {
    el_record_t record;
    const el_dir_t *dir;
    const el_stock_t *stock;       /* of the record */
    bool is_stock;                 /* the filter decides as the stock module that it replaces */
    size_t order_count;
    const el_coding_t *order;      /* the codings enabled, best first, that have an engine */
    int64_t min_size;              /* bytes below which no body is encoded, or EL_MIN_SIZE_AUTO */
    bool min_of_one_brigade;       /* only a body that comes whole, in one brigade, is too small */
    uint64_t whole_most;           /* bytes up to which a complete body is encoded in one call */

    /* Filled by el_policy_read_encoding(). */
    el_range_t range[EL_CODINGS];  /* the bounds of the codings' levels */
    int64_t max_time;              /* µs, or EL_NO_MAX_TIME */
    el_etag_mode_t etag;
} el_policy_t;

/* Everything that the decision needs. */
el_policy_t el_policy_of(const request_rec *r, el_record_t record);

/* Adds the rest, for a response that may be encoded. */
void el_policy_read_encoding(el_policy_t *policy);

/* The enabled codings of a record, best first; returns how many. */
size_t el_policy_codings(const el_dir_t *dir, el_record_t record, const el_coding_t **order);

/* In post_config, once for each configuration: computes el_policy_ranges. */
void el_policy_configure(const server_rec *main_server);

/*
 * The ranges that the controller moves in: the main server's for each coding, outside of any
 * section; those of the drop-in records if only these are loaded. Not enabled: no loaded record
 * encodes it.
 */
extern el_range_t el_policy_ranges[EL_CODINGS];

/* The directives of the three records. */
extern const command_rec el_commands[];
extern const command_rec el_deflate_commands[];
extern const command_rec el_brotli_commands[];

/*
 * Once for each configuration, before httpd creates the first settings: fills the defaults above
 * and in dropin.h from the tables.
 */
void el_directives_begin(void);

#endif
