/*
 * gzip (RFC 1952) by libraries that are faster than zlib: ISA-L's igzip, and libdeflate, which only
 * encodes whole bodies. All access to both is in this file; either may be missing in a build.
 */
#include "engines/library.h"

#include "engines/memory.h"

#include <limits.h>

#ifdef ELASTIC_WITH_ISAL
#include <isa-l.h>

typedef struct {
    el_context_t base;
    uint8_t *tables; /* of the level, and the symbols of a block; NULL at level 0 */
    uint32_t tables_nbytes;
    struct isal_zstream z;
} isal_context_t;

/* The level, and the size of a block: 16 K, 32 K or 64 K symbols. */
static uint32_t isal_key(const el_setup_t *setup)
{
    unsigned size_class = el_memory_class(setup->size_hint);
    uint32_t symbols = size_class == 0 || size_class > 3 ? 2 : size_class == 3 ? 1 : 0;

    return (uint32_t)setup->level << 8 | symbols;
}

static el_context_t *isal_create(const el_setup_t *setup)
{
    /*
     * A body has at most as many symbols as bytes. Blocks of more than 64 K symbols gain nothing:
     * 64 K is the library's default.
     */
    static const uint32_t nbytes[ISAL_DEF_MAX_LEVEL + 1][3] = {
        {0, 0, 0},
        {ISAL_DEF_LVL1_SMALL, ISAL_DEF_LVL1_MEDIUM, ISAL_DEF_LVL1_LARGE},
        {ISAL_DEF_LVL2_SMALL, ISAL_DEF_LVL2_MEDIUM, ISAL_DEF_LVL2_LARGE},
        {ISAL_DEF_LVL3_SMALL, ISAL_DEF_LVL3_MEDIUM, ISAL_DEF_LVL3_LARGE},
    };
    isal_context_t *context = el_context_allocate(sizeof(*context));
    uint32_t key = isal_key(setup);

    if (!context) {
        return NULL;
    }
    context->tables_nbytes = nbytes[key >> 8][key & 0xff];
    if (context->tables_nbytes) {
        context->tables = el_memory_acquire(&context->base.account, context->tables_nbytes);
        if (!context->tables) {
            el_context_deallocate(&context->base);
            return NULL;
        }
    }
    return &context->base;
}

static bool isal_reset(el_context_t *base, const el_setup_t *setup)
{
    isal_context_t *context = (isal_context_t *)base;

    isal_deflate_init(&context->z);
    context->z.level = (uint32_t)setup->level;
    context->z.level_buf = context->tables;
    context->z.level_buf_size = context->tables_nbytes;
    context->z.gzip_flag = IGZIP_GZIP;
    return true;
}

static uint32_t gzip_fast_piece(size_t nbytes)
{
    return nbytes > INT_MAX ? INT_MAX : (uint32_t)nbytes;
}

static el_step_t isal_step(el_context_t *base, el_op_t op, el_span_t *span)
{
    struct isal_zstream *z = &((isal_context_t *)base)->z;

    for (;;) {
        uint32_t in = gzip_fast_piece(span->in_nbytes);
        uint32_t out = gzip_fast_piece(span->out_nbytes_avail);
        bool last = in == span->in_nbytes;

        /* The library never writes to its input, though it is not const. */
        z->next_in = (uint8_t *)(uintptr_t)span->in;
        z->avail_in = in;
        z->next_out = span->out;
        z->avail_out = out;
        z->flush = last && op == EL_FLUSH ? SYNC_FLUSH : NO_FLUSH;
        z->end_of_stream = last && op == EL_FINISH;
        if (isal_deflate(z) != COMP_OK) {
            return EL_STEP_ERROR;
        }
        el_span_advance(span, in - z->avail_in, out - z->avail_out);

        if (z->internal_state.state == ZSTATE_END) {
            return EL_STEP_OK;
        }
        if (span->out_nbytes_avail == 0) {
            return EL_STEP_MORE;
        }
        if (span->in_nbytes == 0) {
            return op == EL_FINISH ? EL_STEP_ERROR : EL_STEP_OK;
        }
    }
}

/* Stateless: keeps no history, so does not copy the input. */
static el_step_t isal_encode(el_context_t *base, el_span_t *span)
{
    struct isal_zstream *z = &((isal_context_t *)base)->z;
    int rc;

    if (span->in_nbytes > INT_MAX) {
        return isal_step(base, EL_FINISH, span);
    }
    z->next_in = (uint8_t *)(uintptr_t)span->in;
    z->avail_in = (uint32_t)span->in_nbytes;
    z->next_out = span->out;
    z->avail_out = gzip_fast_piece(span->out_nbytes_avail);
    z->flush = NO_FLUSH;
    z->end_of_stream = 1;
    rc = isal_deflate_stateless(z);
    if (rc != COMP_OK) {
        return rc == STATELESS_OVERFLOW ? EL_STEP_MORE : EL_STEP_ERROR;
    }
    el_span_advance(span, span->in_nbytes, z->total_out);
    return EL_STEP_OK;
}

static void isal_free(el_context_t *base)
{
    el_memory_release(&base->account, ((isal_context_t *)base)->tables);
    el_context_deallocate(base);
}

#define STRING(x) #x
#define DOTTED(major, minor, patch) STRING(major) "." STRING(minor) "." STRING(patch)

/* Only the library's header has the version. */
static const char *isal_version(void)
{
    return DOTTED(ISAL_MAJOR_VERSION, ISAL_MINOR_VERSION, ISAL_PATCH_VERSION);
}

const el_engine_t el_engine_isal = {
    .name = "isal",
    .coding = EL_GZIP,
    .level_min = ISAL_DEF_MIN_LEVEL,
    .level_max = ISAL_DEF_MAX_LEVEL,
    .costs = el_costs_isal,
    .version = isal_version,
    .key = isal_key,
    .create = isal_create,
    .reset = isal_reset,
    .step = isal_step,
    .encode = isal_encode,
    .free = isal_free,
};
#endif

#ifdef ELASTIC_WITH_LIBDEFLATE
#include <libdeflate.h>

#define LEVEL_MIN 1
#define LEVEL_MAX 12

typedef struct {
    el_context_t base;
    struct libdeflate_compressor *compressor;
} libdeflate_context_t;

/* The level of a compressor is fixed. */
static uint32_t libdeflate_key(const el_setup_t *setup)
{
    return (uint32_t)setup->level;
}

/*
 * The library does not tell its memory. These are the parts of the memory allocated by 1.14 that
 * bodies of up to half a megabyte touch, rounded up. Level 1 has one table, levels to 9 hash
 * chains, higher ones binary trees and a graph. The chains' allocation is 656 KB, for blocks of
 * more matches than text ever has.
 */
#define TABLE_NBYTES (200 * 1024)
#define CHAINS_NBYTES (440 * 1024)
#define TREES_NBYTES (8800 * 1024)

static el_context_t *libdeflate_create(const el_setup_t *setup)
{
    libdeflate_context_t *context = el_context_allocate(sizeof(*context));
    size_t nbytes = setup->level < 2 ? TABLE_NBYTES : setup->level < 10 ? CHAINS_NBYTES
                                                                       : TREES_NBYTES;

    if (!context) {
        return NULL;
    }
    if (el_budget_take(&context->base.account, nbytes)) {
        context->compressor = libdeflate_alloc_compressor(setup->level);
    }
    if (!context->compressor) {
        el_context_deallocate(&context->base);
        return NULL;
    }
    return &context->base;
}

/* A compressor has no state between calls. */
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

/* Only the library's header has the version. */
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
#endif
