/*
 * The settings of deflate_module and brotli_module: what the directives of mod_deflate and
 * mod_brotli set, per server and, for the limits of decoding, per directory.
 *
 * Read-only once the configuration was read; any thread.
 */
#ifndef ELASTIC_CONFIG_STOCK_H
#define ELASTIC_CONFIG_STOCK_H

#include "httpd/base/records.h"
#include "httpd/config/values.h"

#include "elastic/etag.h"

/* The numbers of a server, of one of the two records. */
enum {
    EL_STOCK_LEVEL,       /* DeflateCompressionLevel, BrotliCompressionQuality: the ceiling */
    EL_STOCK_WINDOW_BITS, /* DeflateWindowSize, BrotliCompressionWindow: log2 of bytes */
    EL_STOCK_MEM_LEVEL,   /* DeflateMemLevel */
    EL_STOCK_BLOCK_BITS,  /* BrotliCompressionMaxInputBlock: log2 of bytes */
    EL_STOCK_BUFFER_SIZE, /* DeflateBufferSize: read, and used for nothing */
    EL_STOCK_ETAG         /* el_etag_mode_t: DeflateAlterETag, BrotliAlterETag */
};

/* The numbers of a directory, of deflate_module. */
enum {
    EL_LIMIT_SIZE,  /* bytes of a decoded request body; 0: as LimitRequestBody has it */
    EL_LIMIT_RATIO, /* decoded bytes for each encoded one */
    EL_LIMIT_BURST  /* how many times in a row the ratio may be found above that */
};

/* What the note of a …FilterNote directive holds. */
typedef enum { EL_NOTE_INPUT, EL_NOTE_OUTPUT, EL_NOTE_RATIO, EL_NOTES } el_note_t;

typedef struct {
    el_values_t values;
    const char *note[EL_NOTES]; /* NULL: not set */
} el_stock_t;

void *el_stock_create(apr_pool_t *pool, server_rec *server);
void *el_stock_merge(apr_pool_t *pool, void *base, void *add);

/* The settings of a record; all unset where it is not loaded, and for EL_RECORD_ELASTIC. */
const el_stock_t *el_stock_of(const server_rec *server, el_record_t record);

/* A number of the above, 0 where it is not set. */
static inline int el_stock_number(const el_stock_t *stock, unsigned value)
{
    return (int)el_value(&stock->values, value, 0);
}

/* The rule for tags: AddSuffix where none is set. */
el_etag_mode_t el_stock_etag(const el_stock_t *stock);

/* What a decoded body may come to: for every body that this module decodes. */
typedef struct {
    uint64_t size; /* bytes; 0: any */
    uint64_t ratio;
    uint64_t burst;
    bool is_request; /* it is a request body, whose decoders have a bound in any case (budget.h) */
} el_limits_t;

void *el_limits_create(apr_pool_t *pool, char *path);
void *el_limits_merge(apr_pool_t *pool, void *base, void *add);

/*
 * The limits in force for a request's body, each with its default where it is not set, and `size`
 * with LimitRequestBody in place of 0. deflate_module need not be loaded.
 */
el_limits_t el_limits_of(const request_rec *r);

/* Lowers `size` to LimitRequestBody, for a decoded body that is written to the disk. */
void el_limits_spool(el_limits_t *limits, const request_rec *r);

/* The tables of Deflate… and Brotli… directives, for the records that replace those modules. */
extern const command_rec el_deflate_commands[];
extern const command_rec el_brotli_commands[];

#endif
