/*
 * The three module records of this shared object: elastic_module and the drop-in replacements
 * deflate_module and brotli_module. Any combination may be loaded, with or without the stock
 * modules. Each owns the output filter of its name. Also how directives set numbers of their
 * settings, and those of mod_deflate's and mod_brotli's directives.
 *
 * Written while httpd reads its configuration, read-only afterwards; any thread.
 */
#ifndef ELASTIC_CONFIG_DROPIN_H
#define ELASTIC_CONFIG_DROPIN_H

#include "httpd/config/glue.h"

#include "elastic/etag.h"
#include "elastic/http.h"

#include <stdatomic.h>

typedef enum { EL_RECORD_ELASTIC, EL_RECORD_DEFLATE, EL_RECORD_BROTLI, EL_RECORDS } el_record_t;

typedef struct {
    const char *module; /* as in <IfModule> */
    const char *filter; /* the compressing output filter */
    el_coding_t coding; /* its only coding; EL_IDENTITY: those of ElasticCodings */
} el_record_info_t;

extern const el_record_info_t el_record_infos[EL_RECORDS];

/* The records named by LoadModule; NULL for the others. mod_elastic.c sets them. */
extern const module *el_records_loaded[EL_RECORDS];

static inline bool el_record_loaded(el_record_t record)
{
    return el_records_loaded[record] != NULL;
}

/*
 * Any loaded record: its entry in r->request_config holds the request's data of all records. Hooks
 * only run if a record is loaded.
 */
static inline const module *el_record_of_requests(void)
{
    int i = 0;

    while (!el_records_loaded[i]) {
        i++;
    }
    return el_records_loaded[i];
}

/* The record's settings in `configs`, of a server or directory; NULL if it is not loaded. */
static inline void *el_record_settings(el_record_t record, const ap_conf_vector_t *configs)
{
    const module *loaded = el_records_loaded[record];

    return loaded ? ap_get_module_config(configs, loaded) : NULL;
}

/* The size of the longest enumeration of settings. */
#define EL_VALUES_MAX 15

/*
 * Settings that are numbers. The owner's enumeration gives each number's meaning and unit. A number
 * that no directive set has its default. Must be the first member of each settings structure, so
 * that one function can set them all.
 */
typedef struct {
    uint32_t set;  /* bit i: a directive has set value i */
    unsigned slot; /* of a server: its slot in the statistics (shared/stats.c) */
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

/* Takes those numbers over that are set in the inner settings. */
static inline void el_values_merge(el_values_t *to, const el_values_t *from)
{
    for (unsigned i = 0; from->set >> i; i++) {
        if (el_value_is_set(from, i)) {
            el_value_set(to, i, from->value[i]);
        }
    }
}

/* CPU shares are stored in millionths. */
#define EL_PPM_PER_PERCENT 10000

/* The unit of a directive's number. */
typedef enum {
    EL_UNIT_NONE,   /* only words are allowed */
    EL_UNIT_ONE,    /* digits */
    EL_UNIT_BYTES,  /* digits, with K, M or G (powers of 1024) or without */
    EL_UNIT_TIME,   /* digits, with ms, s or nothing (seconds); stored in µs */
    EL_UNIT_PERCENT /* 0 … 100; stored in millionths */
} el_argument_unit_t;

/* An allowed word and its value; a list ends with a NULL name. */
typedef struct {
    const char *name;
    int64_t value;
} el_argument_word_t;

/* A directive with one argument, and the place of its value. The `cmd_data` of its row. */
typedef struct {
    el_record_t record;     /* whose settings */
    bool server;            /* in the server's settings, else in the directory's */
    bool global;            /* refused within <VirtualHost> */
    unsigned value;         /* index in el_values_t */
    el_argument_unit_t unit;
    int64_t min, max;       /* of the number */
    int64_t unset;          /* the default */
    const el_argument_word_t *words; /* or NULL */
    atomic_bool *is_on;     /* set to true if the value is On; or NULL */
    void (*adjust)(cmd_parms *cmd, int64_t *value); /* may change the value or advise; or NULL */
} el_argument_t;

/* The row of a directive that takes one argument. */
#define EL_ARGUMENT(name, where, help, ...)                                                        \
    AP_INIT_RAW_ARGS(name, el_argument_set, ((void *)&(const el_argument_t){__VA_ARGS__}), where,  \
                     help)

/* The handler of every row of EL_ARGUMENT. */
const char *el_argument_set(cmd_parms *cmd, void *config, const char *args);

/* Splits a directive's arguments into words (const char *) without quotes. */
apr_array_header_t *el_argument_words(const cmd_parms *cmd, const char *args);

static inline const char *el_argument_word(const apr_array_header_t *words, int i)
{
    return APR_ARRAY_IDX(words, i, const char *);
}

/* Returns the only word of the arguments; NULL if there is not exactly one. */
const char *el_argument_only_word(const cmd_parms *cmd, const char *args);

/* Reads a whole number min … max of digits. If false, `value` is unchanged. */
bool el_argument_number(const char *text, int64_t min, int64_t max, int64_t *value);

/* Reads a percentage 0 … 100, possibly with a fraction, as millionths. */
bool el_argument_percentage(const char *text, int64_t *ppm);

/* Reads an allowed word or number; if false, `value` is unchanged. `given` may be NULL. */
bool el_argument_read(const cmd_parms *cmd, const el_argument_t *argument, const char *given,
                      int64_t *value);

/* The error that configtest shows: the directive, its argument, and its help text. */
const char *el_argument_refuse(const cmd_parms *cmd, const char *given);

/* Warns about a directive once; not in .htaccess, which httpd reads for each request. */
void el_argument_advise(cmd_parms *cmd, const char *text);

/* The numbers of a server, for each drop-in record. */
enum {
    EL_STOCK_LEVEL,       /* the ceiling: DeflateCompressionLevel, BrotliCompressionQuality */
    EL_STOCK_WINDOW_BITS, /* log2 of bytes, 0: the library's; DeflateWindowSize, Brotli…Window */
    EL_STOCK_MEM_LEVEL,   /* 0: zlib's; DeflateMemLevel */
    EL_STOCK_BLOCK_BITS,  /* log2 of bytes, 0: the library's; BrotliCompressionMaxInputBlock */
    EL_STOCK_BUFFER_SIZE, /* DeflateBufferSize; without effect */
    EL_STOCK_ETAG         /* el_etag_mode_t: DeflateAlterETag, BrotliAlterETag */
};

/* The numbers of a directory for deflate_module. */
enum {
    EL_LIMIT_SIZE,  /* bytes of a decoded request body; 0: LimitRequestBody's */
    EL_LIMIT_RATIO, /* the most decoded bytes for each encoded byte */
    EL_LIMIT_BURST  /* how often in a row the ratio may be exceeded */
};

/* The values of the notes that the …FilterNote directives name. */
typedef enum { EL_NOTE_INPUT, EL_NOTE_OUTPUT, EL_NOTE_RATIO, EL_NOTES } el_note_t;

typedef struct {
    el_values_t values;
    const char *note[EL_NOTES]; /* NULL: not set */
} el_stock_t;

/* The settings without any directive, filled by el_directives_begin(). */
extern el_stock_t el_stock_defaults;
extern el_values_t el_limits_defaults;

void *el_stock_create(apr_pool_t *pool, server_rec *server);
void *el_stock_merge(apr_pool_t *pool, void *base, void *add);

/* The record's settings; the defaults if it is not loaded, and for EL_RECORD_ELASTIC. */
const el_stock_t *el_stock_of(const server_rec *server, el_record_t record);

/* The limits for a body that this module decodes. */
typedef struct {
    uint64_t size; /* bytes; 0: unlimited */
    uint64_t ratio;
    uint64_t burst;
    bool is_request; /* a request body: decoder memory is always bounded (engines/memory.h) */
} el_limits_t;

void *el_limits_create(apr_pool_t *pool, char *path);
void *el_limits_merge(apr_pool_t *pool, void *base, void *add);

/* The limits for a request body, also without deflate_module; size 0 is LimitRequestBody. */
el_limits_t el_limits_of(const request_rec *r);

/* Lowers `size` to LimitRequestBody, for a decoded body that is written to disk. */
void el_limits_spool(el_limits_t *limits, const request_rec *r);

#endif
