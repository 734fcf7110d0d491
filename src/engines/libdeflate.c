/* gzip by libdeflate (RFC 1952), whole bodies only: all access to it goes through this file. */
#include "engines/library.h"

#include "engines/budget.h"

#include <libdeflate.h>

#define LEVEL_MIN 1
#define LEVEL_MAX 12

typedef struct {
    el_context_t base;
    struct libdeflate_compressor *compressor;
} libdeflate_context_t;

/* A compressor's level cannot be changed. */
static uint32_t libdeflate_key(const el_setup_t *setup)
{
    return (uint32_t)setup->level;
}

/*
 * The library has no function for it. These are what bodies of up to half a megabyte touch of the
 * memory that 1.14 asks malloc() for, rounded up: level 1 has one table, the levels to 9 hash
 * chains, those above binary trees and a graph. The chains' 656 KB are for blocks of more matches
 * than text ever has.
 */
#define TABLE_NBYTES (200 * 1024)
#define CHAINS_NBYTES (440 * 1024)
#define TREES_NBYTES (8800 * 1024)

static size_t compressor_nbytes(int level)
{
    return level < 2 ? TABLE_NBYTES : level < 10 ? CHAINS_NBYTES : TREES_NBYTES;
}

static el_context_t *libdeflate_create(const el_setup_t *setup)
{
    libdeflate_context_t *context = el_context_allocate(sizeof(*context));

    if (!context) {
        return NULL;
    }
    if (el_budget_take(&context->base.account, compressor_nbytes(setup->level))) {
        context->compressor = libdeflate_alloc_compressor(setup->level);
    }
    if (!context->compressor) {
        el_context_deallocate(&context->base);
        return NULL;
    }
    return &context->base;
}

/* A compressor keeps nothing from one call to the next. */
static bool libdeflate_reset(el_context_t *base, const el_setup_t *setup)
{
    (void)base;
    (void)setup;
    return true;
}

static el_step_t libdeflate_encode(el_context_t *base, el_span_t *span)
{
    libdeflate_context_t *context = (libdeflate_context_t *)base;
    size_t nbytes = libdeflate_gzip_compress(context->compressor, span->in, span->in_nbytes,
                                             span->out, span->out_nbytes_avail);

    if (nbytes == 0) {
        return EL_STEP_MORE;
    }
    el_span_advance(span, span->in_nbytes, nbytes);
    return EL_STEP_OK;
}

static void libdeflate_free(el_context_t *base)
{
    libdeflate_free_compressor(((libdeflate_context_t *)base)->compressor);
    el_context_deallocate(base);
}

/* The library has its version in its header only. */
static const char *libdeflate_version(void)
{
    return LIBDEFLATE_VERSION_STRING;
}

const el_engine_t el_engine_libdeflate = {
    .name = "libdeflate",
    .coding = EL_GZIP,
    .level_min = LEVEL_MIN,
    .level_max = LEVEL_MAX,
    .costs = el_costs_libdeflate,
    .version = libdeflate_version,
    .key = libdeflate_key,
    .create = libdeflate_create,
    .reset = libdeflate_reset,
    .encode = libdeflate_encode,
    .free = libdeflate_free,
};
