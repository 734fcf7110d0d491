/* The engines that this build knows; only src/engines includes this. */
#ifndef ELASTIC_ENGINES_H
#define ELASTIC_ENGINES_H

#include "elastic/engine.h"

extern const el_engine_t el_engine_zlib;
extern const el_engine_t el_engine_brotli;
#ifdef ELASTIC_WITH_ISAL
extern const el_engine_t el_engine_isal;
#endif
#ifdef ELASTIC_WITH_LIBDEFLATE
extern const el_engine_t el_engine_libdeflate;
#endif
#ifdef ELASTIC_WITH_ZSTD
extern const el_engine_t el_engine_zstd;
#endif

/*
 * The class of a body's length, for engines whose memory grows with it: 0 where it is unknown,
 * otherwise 1 for up to 4 KB and one more for each factor of four, 6 and more only above 1 MB.
 */
static inline unsigned el_size_class(uint64_t nbytes)
{
    unsigned size_class = 0;

    for (uint64_t top = 4096; nbytes > 0; top *= 4) {
        size_class++;
        if (nbytes <= top || size_class == 6) {
            break;
        }
    }
    return size_class;
}

#endif
