/*
 * What the directives of mod_deflate and mod_brotli say, per server, for the records that stand in
 * their place. Read-only once the configuration was read; any thread.
 */
#ifndef ELASTIC_STOCK_H
#define ELASTIC_STOCK_H

#include "httpd/base/records.h"

#include "elastic/etag.h"

/* What the note of a …FilterNote directive tells. */
typedef enum { EL_NOTE_INPUT, EL_NOTE_OUTPUT, EL_NOTE_RATIO, EL_NOTES } el_note_t;

/* Of one of the two records; 0 and NULL: not set. */
typedef struct {
    bool level_set;
    int level;       /* DeflateCompressionLevel, BrotliCompressionQuality: the ceiling */
    int window_bits; /* DeflateWindowSize, BrotliCompressionWindow: log2 of bytes */
    int mem_level;   /* DeflateMemLevel */
    int block_bits;  /* BrotliCompressionMaxInputBlock: log2 of bytes */
    bool etag_set;
    el_etag_mode_t etag; /* DeflateAlterETag, BrotliAlterETag */
    const char *note[EL_NOTES];
} el_stock_t;

extern const command_rec el_deflate_commands[];
extern const command_rec el_brotli_commands[];

void *el_stock_create(apr_pool_t *pool, server_rec *server);
void *el_stock_merge(apr_pool_t *pool, void *base, void *add);

/* The settings of a record; all unset where it is not loaded. */
const el_stock_t *el_stock_of(const server_rec *server, el_record_t record);

/* The rule for tags: AddSuffix where none is set. */
el_etag_mode_t el_stock_etag(const el_stock_t *stock);

#endif
