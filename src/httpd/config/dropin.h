/*
 * The three module records of this shared object: elastic_module, and the drop-in replacements
 * deflate_module and brotli_module. Any of them may be loaded, in any combination, beside the stock
 * modules or without them. Each owns the output filter of its name. Also the settings that the
 * directives of mod_deflate and mod_brotli set.
 *
 * Written while httpd reads its configuration, read-only afterwards; any thread.
 */
#ifndef ELASTIC_CONFIG_DROPIN_H
#define ELASTIC_CONFIG_DROPIN_H

#include "httpd/config/glue.h"

#include "elastic/etag.h"
#include "elastic/http.h"

typedef enum { EL_RECORD_ELASTIC, EL_RECORD_DEFLATE, EL_RECORD_BROTLI, EL_RECORDS } el_record_t;

typedef struct {
    const char *module; /* the name that <IfModule> compares */
    const char *filter; /* the output filter that compresses */
    el_coding_t coding; /* its only one, or EL_IDENTITY: those of ElasticCodings */
} el_record_info_t;

extern const el_record_info_t el_record_infos[EL_RECORDS];

/* The records that LoadModule lines have named; NULL for the others. mod_elastic.c writes it. */
extern const module *el_records_loaded[EL_RECORDS];

static inline bool el_record_loaded(el_record_t record)
{
    return el_records_loaded[record] != NULL;
}

/*
 * Any loaded record: its place in r->request_config holds what all of them keep of a request. Hooks
 * run only if one is loaded.
 */
static inline const module *el_record_of_requests(void)
{
    int i = 0;

    while (!el_records_loaded[i]) {
        i++;
    }
    return el_records_loaded[i];
}

/* The record's settings in `configs`, of a server or a directory; NULL if it is not loaded. */
static inline void *el_record_settings(el_record_t record, const ap_conf_vector_t *configs)
{
    const module *loaded = el_records_loaded[record];

    return loaded ? ap_get_module_config(configs, loaded) : NULL;
}

/* The longest enumeration of settings has this many. */
#define EL_VALUES_MAX 15

/*
 * Settings that are one number each. An enumeration of their owner says which number is which, and
 * its unit. A number that no directive has set is its default. The first member of each settings
 * structure, so that one function sets them all.
 */
typedef struct {
    uint32_t set;  /* bit i: a directive has set value i */
    unsigned slot; /* of a server: its number among those that shared/stats.c counts */
    int64_t value[EL_VALUES_MAX];
} el_values_t;

static inline bool el_value_is_set(const el_values_t *values, unsigned i)
{
    return values->set & 1u << i;
}

static inline void el_value_set(el_values_t *values, unsigned i, int64_t value)
{
    values->value[i] = value;
    values->set |= 1u << i;
}

/* Takes the numbers that are set in the inner settings, one by one. */
static inline void el_values_merge(el_values_t *to, const el_values_t *from)
{
    for (unsigned i = 0; from->set >> i; i++) {
        if (el_value_is_set(from, i)) {
            el_value_set(to, i, from->value[i]);
        }
    }
}

/* The numbers of a server, for each of the two drop-in records. */
enum {
    EL_STOCK_LEVEL,       /* the ceiling: DeflateCompressionLevel, BrotliCompressionQuality */
    EL_STOCK_WINDOW_BITS, /* log2 of bytes, 0: the library's; DeflateWindowSize, Brotli…Window */
    EL_STOCK_MEM_LEVEL,   /* 0: zlib's; DeflateMemLevel */
    EL_STOCK_BLOCK_BITS,  /* log2 of bytes, 0: the library's; BrotliCompressionMaxInputBlock */
    EL_STOCK_BUFFER_SIZE, /* DeflateBufferSize; without effect */
    EL_STOCK_ETAG         /* el_etag_mode_t: DeflateAlterETag, BrotliAlterETag */
};

/* The numbers of a directory, of deflate_module. */
enum {
    EL_LIMIT_SIZE,  /* bytes of a decoded request body; 0: as LimitRequestBody says */
    EL_LIMIT_RATIO, /* decoded bytes for each encoded one */
    EL_LIMIT_BURST  /* how often in a row the ratio may be exceeded */
};

/* The contents of the notes that the …FilterNote directives name. */
typedef enum { EL_NOTE_INPUT, EL_NOTE_OUTPUT, EL_NOTE_RATIO, EL_NOTES } el_note_t;

typedef struct {
    el_values_t values;
    const char *note[EL_NOTES]; /* NULL: not set */
} el_stock_t;

/* The settings without any directive; el_directives_begin() fills them. */
extern el_stock_t el_stock_defaults;
extern el_values_t el_limits_defaults;

void *el_stock_create(apr_pool_t *pool, server_rec *server);
void *el_stock_merge(apr_pool_t *pool, void *base, void *add);

/* The settings of a record; the defaults if it is not loaded, and for EL_RECORD_ELASTIC. */
const el_stock_t *el_stock_of(const server_rec *server, el_record_t record);

/* Limits of each body that this module decodes. */
typedef struct {
    uint64_t size; /* bytes; 0: any */
    uint64_t ratio;
    uint64_t burst;
    bool is_request; /* a request body, whose decoders have a bound in any case (budget.h) */
} el_limits_t;

void *el_limits_create(apr_pool_t *pool, char *path);
void *el_limits_merge(apr_pool_t *pool, void *base, void *add);

/*
 * The limits of a request's body, with LimitRequestBody as `size` if that is 0. deflate_module need
 * not be loaded.
 */
el_limits_t el_limits_of(const request_rec *r);

/* Lowers `size` to LimitRequestBody, for a decoded body that is written to the disk. */
void el_limits_spool(el_limits_t *limits, const request_rec *r);

#endif
