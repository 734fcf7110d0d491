/*
 * The request's chain of output filters: which compressors, decoders and other filters are in it.
 * Names of filters are compared without regard to case, as httpd does.
 */
#ifndef ELASTIC_RESPONSE_CHAIN_H
#define ELASTIC_RESPONSE_CHAIN_H

#include "httpd/config/dropin.h"

#include "util_filter.h"

/* What a filter of the chain is; the compressors are numbered as their records. */
typedef enum {
    EL_ROLE_ELASTIC = EL_RECORD_ELASTIC, /* a compressor of this name, ours or a stock one */
    EL_ROLE_DEFLATE = EL_RECORD_DEFLATE,
    EL_ROLE_BROTLI = EL_RECORD_BROTLI,
    EL_ROLE_INFLATE,
    EL_ROLES_NAMED, /* one past those that are registered under a name */
    EL_ROLE_HARNESS = EL_ROLES_NAMED, /* made by FilterDeclare: it may run one of ours, or any */
    EL_ROLE_OTHER
} el_role_t;

/* A set of roles has a bit for each. */
#define EL_ROLE_BIT(role) (1u << (unsigned)(role))

/* In post_config: finds httpd's records of the filters by their names. */
void el_chain_configure(void);

/*
 * In check_config: warns about directives of the configuration (not of .htaccess) that name a
 * filter of this module which is not loaded, or let another one get compressed bytes. `pool` is for
 * the call.
 */
void el_chain_check(const server_rec *server, apr_pool_t *pool);

/* The compressors that are this module's: a set. */
unsigned el_chain_ours(void);

/* The roles of the content filters from `f` on, which may be NULL: a set. */
unsigned el_chain_roles(ap_filter_t *f);

/* The compressors of other modules among `roles`. */
unsigned el_chain_stock(unsigned roles);

/* Whether AddOutputFilterByType put `f` there: the operator has named the type with it. */
bool el_chain_by_type(const ap_filter_t *f);

/* What a walk along a request's content filters finds. */
typedef struct {
    unsigned roles; /* a set */
    unsigned char place[EL_RECORDS]; /* of each compressor of ours, from 1; 0: not there */
    bool harnessed; /* a filter is run by a harness of mod_filter, AddOutputFilterByType's too */
} el_chain_t;

/* With `clear`, compressors are removed from the chain, and not found. */
el_chain_t el_chain_look(request_rec *r, bool clear);

/*
 * Whether every harness of mod_filter among the request's content filters is one that
 * AddOutputFilterByType made for a compressor.
 */
bool el_chain_harnesses_compress(const request_rec *r);

/* Adds the filter ELASTIC at the end of the content filters. */
void el_chain_add_elastic(request_rec *r);

/*
 * The names, from `pool`, of the filters from `f` on that may change the body: of all content
 * filters but the compressors and those that are known to touch the header only or to copy. NULL
 * where there is none.
 */
const char *el_chain_foreign(apr_pool_t *pool, ap_filter_t *f);

#endif
