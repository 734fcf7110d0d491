/*
 * The settings of elastic_module: what its directives set, per directory and per server, their
 * merge and their defaults.
 *
 * Read-only once the configuration was read; any thread. Callers use the functions below, which
 * put the default in place of what was not set.
 */
#ifndef ELASTIC_CONFIG_SETTINGS_H
#define ELASTIC_CONFIG_SETTINGS_H

#include "httpd/base/glue.h"
#include "httpd/base/records.h"
#include "httpd/config/values.h"

#include "elastic/coding.h"
#include "elastic/control.h"
#include "elastic/ladder.h"
#include "elastic/load.h"
#include "elastic/mediatype.h"
#include "elastic/price.h"

#include <stdatomic.h>

/* ElasticMinSize auto. */
#define EL_MIN_SIZE_AUTO INT64_C(-1)

/* ElasticMTU auto: Ethernet's (IEEE 802.3), and so nearly every path's. */
#define EL_DEFAULT_MTU 1500

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
    EL_DIR_WHOLE_BODY,    /* bytes */
    EL_DIR_MAX_TIME,      /* µs, or EL_NO_MAX_TIME */
    EL_DIR_ETAG,          /* el_etag_mode_t */
    EL_DIR_PADDING,       /* bytes */
    EL_DIR_CACHE,         /* bool: ElasticCache */
    EL_DIR_EXPLAIN,       /* bool */
    EL_DIR_VALUES
};
_Static_assert(EL_DIR_VALUES <= EL_VALUES_MAX, "el_values_t holds them all");

/* The numbers of a server; all but the MTU and the scope are read from the main server only. */
enum {
    EL_SERVER_MTU,        /* bytes */
    EL_SERVER_LOW,        /* ElasticCPU's thresholds, millionths of the CPU */
    EL_SERVER_HIGH,
    EL_SERVER_BYPASS,     /* millionths, or EL_NO_BYPASS_PPM */
    EL_SERVER_CONTROL,    /* el_control_mode_t, or EL_CONTROL_EXTERNAL */
    EL_SERVER_INTERVAL,   /* µs */
    EL_SERVER_LOAD,       /* el_load_kind_t */
    EL_SERVER_POOL_MEMORY, /* bytes */
    EL_SERVER_MAX_MEMORY, /* bytes, or EL_NO_MAX_MEMORY */
    EL_SERVER_CACHE_SHARED, /* bool: ElasticCacheScope all */
    EL_SERVER_CACHE_MAX_SIZE, /* bytes */
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
    const char *section;      /* the folder of the <Directory> that it stands in; NULL: elsewhere */
    const server_rec *server; /* whose configuration it stands in */
} el_precompressed_root_t;

/* ElasticDictionary; all NULL: Off. */
typedef struct {
    const char *match; /* el_dictionary_pattern_fault() has none */
    const char *dest;  /* words between spaces; "": any */
    const char *id;    /* "": none */
} el_dictionary_rule_t;

/*
 * ElasticDictionaryFile. What stands below `hosts` is known once dictionary/site.c has read the
 * file; where it could not, `bytes` is NULL, and the directive has no effect.
 */
typedef struct {
    const char *path;
    bool in_section; /* it stands in a <Directory>, <Location> or the like */
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
    el_range_t range[EL_CODINGS]; /* within what this build's engines have */
    bool codings_set;
    size_t codings_count; /* those that have an engine */
    el_coding_t codings[EL_CODINGS];
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
    uint64_t nbytes;       /* of its memory, where it is this machine's */
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
    const el_cache_store_t *cache_store; /* NULL: not set */
    const char *cache_key; /* ElasticCacheKey; NULL: not set */
    const el_dictionary_store_t *dictionary_store; /* NULL: not set */
    /*
     * Of el_dictionary_rule_t *: each ElasticDictionary of this server's configuration; NULL: none.
     */
    apr_array_header_t *dictionary_rules;
    /*
     * Of el_dictionary_file_t *: each of them that is in force anywhere; NULL: none. `off`: of the
     * outer server's only those in sections.
     */
    apr_array_header_t *dictionary_files;
    bool dictionary_files_off;
} el_server_t;

/*
 * Whether ElasticInflate, ElasticPrecompressed and ElasticCache are On anywhere: while they are
 * not, no request pays for them. A .htaccess file may set them at any time, in any thread.
 */
extern atomic_bool el_settings_inflate, el_settings_precompressed, el_settings_cache;

/* In pre_config, before any directive is read. */
void el_settings_prepare(void);

void *el_dir_create(apr_pool_t *pool, char *path);
void *el_dir_merge(apr_pool_t *pool, void *base, void *add);
void *el_server_create(apr_pool_t *pool, server_rec *server);
void *el_server_merge(apr_pool_t *pool, void *base, void *add);

/* Of a directory; all unset where elastic_module is not loaded. */
extern const el_dir_t el_dir_unset;

/* Those of a request. */
static inline const el_dir_t *el_dir_of(const request_rec *r)
{
    const el_dir_t *found = el_record_settings(EL_RECORD_ELASTIC, r->per_dir_config);

    return found ? found : &el_dir_unset;
}

const el_server_t *el_server_of(const server_rec *server);

/* ElasticDictionaryFile Off, outside of sections: forgets those before. */
void el_server_dictionary_files_off(el_server_t *server, apr_pool_t *pool);

/* The same, for a directive to write; elastic_module is loaded then. */
el_server_t *el_server_config(const server_rec *server);

/* Whether Elastic is On here; `named` is true where the configuration names the filter itself. */
static inline bool el_dir_enabled(const el_dir_t *dir, bool named)
{
    return el_value(&dir->values, EL_DIR_ENABLED, named);
}

static inline bool el_dir_precompressed(const el_dir_t *dir)
{
    return el_value(&dir->values, EL_DIR_PRECOMPRESSED, false);
}

static inline bool el_dir_inflates(const el_dir_t *dir)
{
    return el_value(&dir->values, EL_DIR_INFLATE, false);
}

static inline bool el_dir_caches(const el_dir_t *dir)
{
    return el_value(&dir->values, EL_DIR_CACHE, false);
}

static inline bool el_dir_explains(const el_dir_t *dir)
{
    return el_value(&dir->values, EL_DIR_EXPLAIN, false);
}

/* The most bytes of padding that a response gets. */
static inline size_t el_dir_padding(const el_dir_t *dir)
{
    return (size_t)el_value(&dir->values, EL_DIR_PADDING, 0);
}

/*
 * Whether ElasticTypes has the type of a response; NULL for a response without one. Where it is not
 * set, or only adds and takes: `any` type, or those of the default list.
 */
bool el_dir_type_listed(const el_dir_t *dir, const char *content_type, bool any);

/* The codings enabled, best first, that have an engine. */
const el_coding_t *el_dir_codings(const el_dir_t *dir, size_t *count);

/* `wanted` within what this build's engine of `coding` has; not enabled without one. */
el_range_t el_range_built_in(el_coding_t coding, el_range_t wanted);

/* The bounds of a coding's levels, within what its engine has; not enabled without one. */
el_range_t el_dir_range(const el_dir_t *dir, el_coding_t coding);

/* Bytes up to which a complete body is encoded in one call. */
uint64_t el_dir_whole_body(const el_dir_t *dir);

/* Which responses here become dictionaries; NULL: none. */
const el_dictionary_rule_t *el_dir_dictionary(const el_dir_t *dir);

/* The dictionary that documents here name; NULL: none. */
const char *el_dir_dictionary_link(const el_dir_t *dir);

/* Bytes of kept encoder contexts, of all processes together. */
uint64_t el_server_pool_memory(const el_server_t *server);
size_t el_server_vhosts(const el_server_t *server);

/*
 * Bytes that bodies in flight may hold, in all processes together; or EL_NO_MAX_MEMORY. Where no
 * directive says, `*only_requests` is true: it is what decoded request bodies alone may hold, on a
 * server that handles `workers` requests at a time.
 */
int64_t el_server_max_memory(const el_server_t *server, unsigned workers, bool *only_requests);

/* Whether virtual hosts share the encodings that are kept. */
bool el_server_cache_shared(const el_server_t *server);

/* Bytes of the largest encoding that is kept. */
size_t el_server_cache_max_size(const el_server_t *server);

/* Where encodings are kept. */
el_cache_store_t el_server_cache_store(const el_server_t *server);

/*
 * The share (0 … 1) of the CPU that improving kept encodings may use; `top`: up to the coding's
 * highest level, whatever ElasticLevel's maximum.
 */
double el_server_idle(const el_server_t *server, bool *top);

/* ElasticMTU in bytes. */
size_t el_server_mtu(const el_server_t *server);

/*
 * ElasticGoal: where it is not set, that pages come soonest; but the CPU's thresholds where
 * ElasticControl says how they are to be followed.
 */
const char *el_server_goal(const el_server_t *server);

/* The controller's settings; its positions run 0 … `top`. */
el_control_config_t el_server_control(const el_server_t *server, unsigned top);
apr_interval_time_t el_server_interval(const el_server_t *server);

/* ElasticLoad. */
el_load_kind_t el_server_load(const el_server_t *server);

/* The position file that is followed; NULL where ElasticControl is not external. */
const char *el_server_position(const el_server_t *server, apr_pool_t *pool);

#endif
