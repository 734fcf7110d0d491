/* Shared by the files around a compression library: their engines, costs and helpers. */
#ifndef ELASTIC_ENGINES_LIBRARY_H
#define ELASTIC_ENGINES_LIBRARY_H

#include "elastic/engine.h"

#include <string.h>

/* The engines and decoders, each in the file of its library: of those that this build has. */
extern const el_engine_t el_engine_zlib, el_engine_isal, el_engine_libdeflate;
extern const el_engine_t el_engine_brotli, el_engine_zstd;
extern const el_engine_t el_engine_dcb, el_engine_dcz;
extern const el_decoder_t el_decoder_zlib, el_decoder_brotli, el_decoder_zstd;

/*
 * The costs of each level of each engine, from its lowest level on, by size class. costs.c is made
 * by scripts/measure-setups.
 */
extern const el_cost_t el_costs_zlib[][EL_SIZE_CLASSES];
extern const el_cost_t el_costs_isal[][EL_SIZE_CLASSES];
extern const el_cost_t el_costs_libdeflate[][EL_SIZE_CLASSES];
extern const el_cost_t el_costs_brotli[][EL_SIZE_CLASSES];
extern const el_cost_t el_costs_zstd[][EL_SIZE_CLASSES];

/*
 * The class of a body's length, for engines whose memory grows with it: 0 if it is unknown,
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

/* The head of a dictionary-compressed body on its way to the output. */
typedef struct {
    uint8_t bytes[EL_DICTIONARY_HEAD];
    size_t nbytes;
    size_t at; /* written so far */
} el_head_t;

/* The head for `coding` and the setup's dictionary. */
static inline el_head_t el_head_of(el_coding_t coding, const el_setup_t *setup)
{
    el_head_t head = {.at = 0};

    head.nbytes = el_dictionary_head(coding, setup->dictionary->hash, head.bytes);
    return head;
}

/* Writes what is left of it. False if the output is too small: then it is full. */
static inline bool el_head_put(el_head_t *head, el_span_t *span)
{
    size_t left = head->nbytes - head->at;
    size_t nbytes = left < span->out_nbytes_avail ? left : span->out_nbytes_avail;

    if (nbytes > 0) {
        memcpy(span->out, head->bytes + head->at, nbytes);
        head->at += nbytes;
        el_span_advance(span, 0, nbytes);
    }
    return nbytes == left;
}

#endif
