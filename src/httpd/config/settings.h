/*
 * Directives: what the configuration says, per server and per directory.
 *
 * Read-only after the configuration was read, so any thread may read it. Fields that were not set
 * hold their defaults once the accessors below have resolved them; callers use only these.
 */
#ifndef ELASTIC_SETTINGS_H
#define ELASTIC_SETTINGS_H

#include "httpd/base/glue.h"

#include "elastic/engine.h"

#include "elastic/control.h"
#include "elastic/etag.h"
#include "elastic/ladder.h"
#include "elastic/mediatype.h"
#include "elastic/reading.h"

#include <stdatomic.h>

/* ElasticMinSize auto. */
#define EL_MIN_SIZE_AUTO UINT64_MAX

/* ElasticMTU auto: Ethernet's (IEEE 802.3), and so nearly every path's. */
#define EL_DEFAULT_MTU 1500

/* ElasticBypass Off: no share is above it. */
#define EL_NO_BYPASS 2.0

/*
 * ElasticWholeBody: a page is below it; larger bodies are streamed, which keeps the memory of a
 * response bounded.
 */
#define EL_DEFAULT_WHOLE_BODY (1024 * 1024)

/* ElasticMaxTime Off. */
#define EL_NO_MAX_TIME 0

/* ElasticPoolMemory: 64 MB, a hundred and sixty of zlib's contexts at their largest. */
#define EL_DEFAULT_POOL_MEMORY (64 * 1024 * 1024)

/* One rule of ElasticTypes. */
typedef struct {
    el_mediatype_t pattern;
    bool listed; /* false for -type */
} el_type_rule_t;

/* Per directory; `_set` bits say which fields a merge takes. */
typedef struct {
    bool enabled, enabled_set;
    bool precompressed, precompressed_set;
    bool inflate, inflate_set;
    bool codings_set, min_size_set, whole_body_set, max_time_set, etag_set, types_replace;
    bool range_set[EL_CODINGS];
    el_range_t range[EL_CODINGS];
    el_coding_t codings[EL_CODINGS];
    size_t codings_count;
    uint64_t min_size;
    uint64_t whole_body;
    apr_interval_time_t max_time; /* or EL_NO_MAX_TIME */
    el_etag_mode_t etag;
    apr_array_header_t *types; /* of el_type_rule_t; the last that matches counts; NULL: none */
} el_dir_t;

/* Per server; all but `mtu` is read from the main server only. */
typedef struct {
    size_t mtu; /* bytes; 0: not set */
    bool cpu_set, bypass_set, mode_set, load_set, pool_memory_set;
    bool external; /* the position comes from a file, and `mode` holds without one */
    double low, high;
    double bypass;                /* above 1: off */
    el_control_mode_t mode;
    apr_interval_time_t interval; /* 0: not set */
    const char *proc_stat;        /* NULL: not set */
    const char *position;         /* the file of `external`; NULL: not set */
    el_load_kind_t load;
    el_goal_t goal;
    uint64_t pool_memory;         /* bytes */
} el_server_t;

extern const command_rec el_commands[];

/* Whether a tag is kept or removed anywhere: then it does not tell a dynamic coding. */
extern bool el_settings_untagged;

/*
 * Whether ElasticInflate and ElasticPrecompressed are On anywhere: while they are not, no request
 * pays for them. A .htaccess file may set them at any time, in any thread.
 */
extern atomic_bool el_settings_inflate, el_settings_precompressed;

/* In pre_config, before any directive is read. */
void el_settings_prepare(void);

void *el_dir_create(apr_pool_t *pool, char *path);
void *el_dir_merge(apr_pool_t *pool, void *base, void *add);
void *el_server_create(apr_pool_t *pool, server_rec *server);
void *el_server_merge(apr_pool_t *pool, void *base, void *add);

/* The settings of a request; all unset where elastic_module is not loaded. */
const el_dir_t *el_dir_of(const request_rec *r);

/* The directory settings that stand in the main server, outside of any section. */
const el_dir_t *el_dir_global(const server_rec *main_server);
const el_server_t *el_server_of(const server_rec *server);

/* Whether Elastic is On here; `named` is true where the configuration names the filter itself. */
static inline bool el_dir_enabled(const el_dir_t *dir, bool named)
{
    return dir->enabled_set ? dir->enabled : named;
}

/*
 * Whether ElasticTypes has the type of a response; NULL for a response without one. Where it is not
 * set, or only adds and takes: `any` type, or those of the default list.
 */
bool el_dir_type_listed(const el_dir_t *dir, const char *content_type, bool any);

/* The codings enabled, best first, that have an engine; returns how many. */
size_t el_dir_codings(const el_dir_t *dir, el_coding_t *order);

/* The bounds of a coding's levels, within what its engine has; {0, 0} without an engine. */
el_range_t el_dir_range(const el_dir_t *dir, el_coding_t coding);

/* All ranges, for the ladder; `ranges` has EL_CODINGS entries. */
void el_dir_ranges(const el_dir_t *dir, el_range_t *ranges);

/* Bytes up to which a complete body is encoded in one call. */
uint64_t el_dir_whole_body(const el_dir_t *dir);

/* Bytes of kept encoder contexts, of all processes together. */
uint64_t el_server_pool_memory(const el_server_t *server);

/* ElasticMTU in bytes. */
size_t el_server_mtu(const el_server_t *server);

/* The controller's settings; `top` comes from the ranges that it moves between. */
el_control_config_t el_server_control(const el_server_t *server, const el_range_t *ranges);
apr_interval_time_t el_server_interval(const el_server_t *server);

/* What is read in place of /proc/stat; NULL where nothing is. */
const char *el_server_proc_stat(const el_server_t *server);

/* ElasticLoad. */
el_load_kind_t el_server_load(const el_server_t *server);

/* The position file that is followed; NULL where ElasticControl is not external. */
const char *el_server_position(const el_server_t *server, apr_pool_t *pool);

#endif
