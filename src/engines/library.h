/* Shared by the files that wrap a compression library: engines, costs and helpers. */
#ifndef ELASTIC_ENGINES_LIBRARY_H
#define ELASTIC_ENGINES_LIBRARY_H

#include "elastic/engine.h"

#include <string.h>

/* Engines and decoders, each in the file of its library. A build may lack some of them. */
extern const el_engine_t el_engine_zlib, el_engine_isal, el_engine_libdeflate;
extern const el_engine_t el_engine_brotli, el_engine_zstd;
extern const el_engine_t el_engine_dcb, el_engine_dcz;
extern const el_decoder_t el_decoder_zlib, el_decoder_brotli, el_decoder_zstd;

/* Costs by level, from the lowest, and size class. scripts/measure-setups makes costs.c. */
extern const el_cost_t el_costs_zlib[][EL_SIZE_CLASSES];
extern const el_cost_t el_costs_isal[][EL_SIZE_CLASSES];
extern const el_cost_t el_costs_libdeflate[][EL_SIZE_CLASSES];
extern const el_cost_t el_costs_brotli[][EL_SIZE_CLASSES];
extern const el_cost_t el_costs_zstd[][EL_SIZE_CLASSES];

/*
 * A class of lengths, for engines whose memory grows with the body: 0 if unknown, 1 up to 4 KB, one
 * more for each factor of four, 6 above 1 MB.
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

/* Advances a span by the bytes that a library took and wrote. */
static inline void el_span_advance(el_span_t *span, size_t in_nbytes, size_t out_nbytes)
{
    span->in += in_nbytes;
    span->in_nbytes -= in_nbytes;
    span->out += out_nbytes;
    span->out_nbytes_avail -= out_nbytes;
}

/* The head of a dictionary-compressed body, while it is written. */
typedef struct {
    uint8_t bytes[EL_DICTIONARY_HEAD];
    size_t nbytes;
    size_t at; /* bytes written so far */
} el_head_t;

static inline el_head_t el_head_of(el_coding_t coding, const el_setup_t *setup)
{
    el_head_t head = {.at = 0};

    head.nbytes = el_dictionary_head(coding, setup->dictionary->hash, head.bytes);
    return head;
}

/* Writes the rest of the head. False if the output is full before its end. */
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
