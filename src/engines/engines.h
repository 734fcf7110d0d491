/* The engines and decoders of this build, and what their files share; for src/engines only. */
#ifndef ELASTIC_ENGINES_H
#define ELASTIC_ENGINES_H

#include "elastic/decoder.h"
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

extern const el_decoder_t el_decoder_zlib;
extern const el_decoder_t el_decoder_brotli;

/* What the levels cost; costs.c is made by scripts/measure-setups. */
extern const el_cost_t el_costs_zlib[][EL_SIZE_CLASSES];
extern const el_cost_t el_costs_isal[][EL_SIZE_CLASSES];
extern const el_cost_t el_costs_libdeflate[][EL_SIZE_CLASSES];
extern const el_cost_t el_costs_brotli[][EL_SIZE_CLASSES];
extern const el_cost_t el_costs_zstd[][EL_SIZE_CLASSES];

/*
 * The class of a body's length, for engines whose memory grows with it: 0 where it is unknown,
 * otherwise 1 for up to 4 KB and one more for each factor of four, 6 and more only above 1 MB.
 */
static inline unsigned el_memory_class(uint64_t nbytes)
{
    unsigned memory_class = 0;

    for (uint64_t top = 4096; nbytes > 0; top *= 4) {
        memory_class++;
        if (nbytes <= top || memory_class == 6) {
            break;
        }
    }
    return memory_class;
}

/* Moves a span on, by what a library took of its input and wrote to its output. */
static inline void el_span_advance(el_span_t *span, size_t in_nbytes, size_t out_nbytes)
{
    span->in += in_nbytes;
    span->in_nbytes -= in_nbytes;
    span->out += out_nbytes;
    span->out_nbytes_avail -= out_nbytes;
}

#endif
