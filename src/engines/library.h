/* What the files around a compression library share. */
#ifndef ELASTIC_ENGINES_LIBRARY_H
#define ELASTIC_ENGINES_LIBRARY_H

#include "elastic/engine.h"

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
