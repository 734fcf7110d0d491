/*
 * Which engine serves a level. Levels are the ones that users know from zlib, brotli and zstd;
 * where several libraries make the same coding, the tables below say which of them makes as few
 * bytes as the level promises for the least CPU.
 */
#include "engines.h"

#define GZIP_LEVELS 12

/* The format's whole window (RFC 1951 §2), and what zlib takes where nobody asks. */
#define WINDOW_BITS_FULL 15
#define MEM_LEVEL_DEFAULT 8

/*
 * The level of an engine that serves gzip's level (row, from 1) for a whole body of a class of
 * lengths (column; see cost.h), or −1. It is the cheapest whose bytes do not exceed zlib's at that
 * level by more than a hundredth. scripts/measure-setups measures it; its last figures are in
 * docs/internals/engines.md.
 */
typedef int8_t levels_t[GZIP_LEVELS][EL_SIZE_CLASSES];

#ifdef ELASTIC_WITH_ISAL
static const levels_t isal_levels = {
    {1, 1, 1, 1, 1},      {2, 2, 2, 2, 2},      {3, 3, 3, 3, 3},      {-1, -1, -1, -1, -1},
    {-1, -1, -1, -1, -1}, {-1, -1, -1, -1, -1}, {-1, -1, -1, -1, -1}, {-1, -1, -1, -1, -1},
    {-1, -1, -1, -1, -1}, {-1, -1, -1, -1, -1}, {-1, -1, -1, -1, -1}, {-1, -1, -1, -1, -1},
};

/* The same for streams; their memory is no more than zlib's. */
static const int8_t isal_stream[GZIP_LEVELS] = {1, 2, 3, -1, -1, -1, -1, -1, -1, -1, -1, -1};
#endif

#ifdef ELASTIC_WITH_LIBDEFLATE
/* For the smallest bodies zlib's fitted context beats tables of 200 KB and more. */
static const levels_t libdeflate_levels = {
    {-1, 1, 1, 1, 1}, {-1, 1, 1, 1, 1},     {-1, 1, 1, 1, 1},     {-1, 3, 4, 3, 3},
    {-1, 5, 5, 5, 5}, {-1, 5, 5, 6, 6},     {-1, 6, 6, 7, 7},     {-1, 7, 7, 7, 7},
    {-1, 8, 8, 8, 8}, {10, 10, 10, 10, 10}, {11, 11, 11, 11, 11}, {12, 12, 12, 12, 12},
};
#endif

static el_plan_t plan_with(const el_engine_t *engine, const el_setup_t *wanted, int level)
{
    el_plan_t plan = {.engine = engine, .setup = *wanted};

    plan.setup.level = level;
    return plan;
}

/* Who serves gzip, the cheapest first. */
static const struct {
    const el_engine_t *engine;
    const levels_t *whole; /* NULL: every level, as far as the library goes */
    const int8_t *stream;  /* NULL: the same */
} servers[] = {
#ifdef ELASTIC_WITH_ISAL
    {&el_engine_isal, &isal_levels, isal_stream},
#endif
#ifdef ELASTIC_WITH_LIBDEFLATE
    {&el_engine_libdeflate, &libdeflate_levels, NULL},
#endif
    {&el_engine_zlib, NULL, NULL},
};

/* The level of a server for `wanted`, or −1. */
static int level_of(size_t server, const el_setup_t *wanted, bool whole)
{
    const el_engine_t *engine = servers[server].engine;
    int level = wanted->level;

    if (!servers[server].whole) {
        return level > engine->level_max ? engine->level_max : level;
    }
    /*
     * A smaller window, or less memory, that the user chose is zlib's; the others have none to
     * choose. zlib's own default is no such wish.
     */
    if ((wanted->window_bits && wanted->window_bits < WINDOW_BITS_FULL)
        || (wanted->mem_level && wanted->mem_level < MEM_LEVEL_DEFAULT) || level > GZIP_LEVELS) {
        return -1;
    }
    if (whole) {
        return (*servers[server].whole)[level - 1][el_cost_class(wanted->size_hint)];
    }
    return servers[server].stream ? servers[server].stream[level - 1] : -1;
}

static el_plan_t plan_gzip(const el_setup_t *wanted, bool whole)
{
    size_t server = 0;
    int level;

    /* The last one never refuses. */
    while ((level = level_of(server, wanted, whole)) < 0) {
        server++;
    }
    return plan_with(servers[server].engine, wanted, level);
}

el_plan_t el_engine_plan(el_coding_t coding, const el_setup_t *wanted, bool whole)
{
    return coding == EL_GZIP ? plan_gzip(wanted, whole)
                             : plan_with(el_engine_for(coding), wanted, wanted->level);
}
