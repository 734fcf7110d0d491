/*
 * Which engine encodes a level. Levels are the ones that users know from zlib, brotli and zstd.
 * Where several libraries encode the same coding, this file has which of them takes the least CPU
 * without more bytes than the library that the level is named after.
 */
#include "engines/plan.h"

#include "engines/engines.h"
#include "engines/zlib.h"
#ifdef ELASTIC_WITH_ISAL
#include "engines/isal.h"
#endif
#ifdef ELASTIC_WITH_LIBDEFLATE
#include "engines/libdeflate.h"
#endif

/* The format's whole window (RFC 1951 §2), and the memory level that is zlib's default. */
#define WINDOW_BITS_FULL 15
#define MEM_LEVEL_DEFAULT 8

#ifdef ELASTIC_WITH_LIBDEFLATE
#define LIBDEFLATE_LEVELS 12

/*
 * The level of libdeflate for gzip's level (row, from 1) and a whole body of a class of lengths
 * (column; see cost.h), or −1. It is the cheapest whose bytes do not exceed zlib's at that level by
 * more than a hundredth. scripts/measure-setups measures it, docs/internals/engines.md has its last
 * figures. For the smallest bodies zlib's fitted context beats tables of 200 KB and more.
 */
static const int8_t libdeflate_levels[LIBDEFLATE_LEVELS][EL_SIZE_CLASSES] = {
    {-1, 1, 1, 1, 1}, {-1, 1, 1, 1, 1},     {-1, 1, 1, 1, 1},     {-1, 3, 4, 3, 3},
    {-1, 5, 5, 5, 5}, {-1, 5, 5, 6, 6},     {-1, 6, 6, 7, 7},     {-1, 7, 7, 7, 7},
    {-1, 8, 8, 8, 8}, {10, 10, 10, 10, 10}, {11, 11, 11, 11, 11}, {12, 12, 12, 12, 12},
};

static int libdeflate_level(const el_setup_t *wanted, bool whole)
{
    return whole && wanted->level <= LIBDEFLATE_LEVELS
               ? libdeflate_levels[wanted->level - 1][el_cost_class(wanted->size_hint)]
               : -1;
}
#endif

#ifdef ELASTIC_WITH_ISAL
/* Its levels from 1 save as much as zlib's of the same number, whole or as streams. */
static int isal_level(const el_setup_t *wanted, bool whole)
{
    (void)whole;
    return wanted->level <= el_engine_isal.level_max ? wanted->level : -1;
}
#endif

/* The engines of gzip beside zlib, the cheapest first, and their levels for a setup, or −1. */
static const struct {
    const el_engine_t *engine;
    int (*level)(const el_setup_t *wanted, bool whole);
} faster[] = {
#ifdef ELASTIC_WITH_ISAL
    {&el_engine_isal, isal_level},
#endif
#ifdef ELASTIC_WITH_LIBDEFLATE
    {&el_engine_libdeflate, libdeflate_level},
#endif
    {NULL, NULL},
};

static el_plan_t plan_with(const el_engine_t *engine, const el_setup_t *wanted, int level)
{
    el_plan_t plan = {.engine = engine, .setup = *wanted};

    plan.setup.level = level;
    return plan;
}

/*
 * Whether the user chose a smaller window or less memory, which only zlib has. zlib's own default
 * is no such choice.
 */
static bool needs_zlib(const el_setup_t *wanted)
{
    return (wanted->window_bits && wanted->window_bits < WINDOW_BITS_FULL)
           || (wanted->mem_level && wanted->mem_level < MEM_LEVEL_DEFAULT);
}

static el_plan_t plan_gzip(const el_setup_t *wanted, bool whole)
{
    int top = el_engine_zlib.level_max;

    for (size_t i = 0; faster[i].engine && !needs_zlib(wanted); i++) {
        int level = faster[i].level(wanted, whole);

        if (level >= 0) {
            return plan_with(faster[i].engine, wanted, level);
        }
    }
    return plan_with(&el_engine_zlib, wanted, wanted->level < top ? wanted->level : top);
}

el_plan_t el_engine_plan(el_coding_t coding, const el_setup_t *wanted, bool whole)
{
    return coding == EL_GZIP ? plan_gzip(wanted, whole)
                             : plan_with(el_engine_for(coding), wanted, wanted->level);
}
