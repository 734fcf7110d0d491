/*
 * The registry of the three module records that this shared object exports: elastic_module, and
 * deflate_module and brotli_module in place of mod_deflate's and mod_brotli's. Any of them may be
 * loaded, in any combination, beside stock modules or without. Each owns the output filter of its
 * name.
 *
 * Written while httpd reads its configuration, read-only afterwards; any thread.
 */
#ifndef ELASTIC_BASE_RECORDS_H
#define ELASTIC_BASE_RECORDS_H

#include "httpd/base/glue.h"

#include "elastic/http.h"

typedef enum { EL_RECORD_ELASTIC, EL_RECORD_DEFLATE, EL_RECORD_BROTLI, EL_RECORDS } el_record_t;

typedef struct {
    const char *module; /* the name that <IfModule> compares */
    const char *filter; /* the output filter that compresses */
    el_coding_t coding; /* its only one, or EL_IDENTITY: those of ElasticCodings */
} el_record_info_t;

const el_record_info_t *el_record_info(el_record_t record);

/*
 * The module structure of a record; before el_record_load(). Its index is needed even where it is
 * not loaded, see el_records_lend().
 */
void el_record_bind(el_record_t record, module *bound);

/* In the record's register_hooks: it is loaded, until `pconf` is cleared. */
void el_record_load(el_record_t record, apr_pool_t *pconf);

/* The records that LoadModule lines have named; NULL for the others. */
extern const module *el_records_loaded[EL_RECORDS];

/* Whether a LoadModule line has named the record. */
static inline bool el_record_loaded(el_record_t record)
{
    return el_records_loaded[record] != NULL;
}

/*
 * The record's settings among `configs` (of a server or a directory), or NULL where it is not
 * loaded: it has no settings then.
 */
static inline void *el_record_settings(el_record_t record, const ap_conf_vector_t *configs)
{
    const module *loaded = el_records_loaded[record];

    return loaded ? ap_get_module_config(configs, loaded) : NULL;
}

/*
 * A loaded record, whose place in r->request_config holds what all of them keep of a request. Hooks
 * run only where there is one.
 */
static inline const module *el_record_of_requests(void)
{
    int i = 0;

    while (!el_records_loaded[i]) {
        i++;
    }
    return el_records_loaded[i];
}

/*
 * In pre_config. A stock module that was loaded after this shared object finds our exported record
 * in place of its own symbol, because httpd loads modules with global symbols. Our record, which is
 * not loaded then, gets the stock one's index for as long as this configuration lives, so that the
 * stock module reads its own settings through it.
 */
void el_records_lend(apr_pool_t *pconf);

/* In post_config: logs which module registered DEFLATE and BROTLI_COMPRESS. */
void el_records_report(server_rec *main_server);

#endif
