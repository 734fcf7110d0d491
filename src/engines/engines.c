/*
 * The tables of engines and of decoders. A new one takes its file and a row here; an engine of a
 * coding that has another also takes its levels in plan.c.
 */
#include "engines/engines.h"

#include "engines/brotli.h"
#include "engines/unbrotli.h"
#include "engines/zlib.h"
#ifdef ELASTIC_WITH_ISAL
#include "engines/isal.h"
#endif
#ifdef ELASTIC_WITH_LIBDEFLATE
#include "engines/libdeflate.h"
#endif
#ifdef ELASTIC_WITH_ZSTD
#include "engines/zstd.h"
#endif

#include <stdio.h>

/* Of a coding's engines the first streams every level. */
static const el_engine_t *const engines[] = {
    &el_engine_zlib,
#ifdef ELASTIC_WITH_ISAL
    &el_engine_isal,
#endif
#ifdef ELASTIC_WITH_LIBDEFLATE
    &el_engine_libdeflate,
#endif
    &el_engine_brotli,
#ifdef ELASTIC_WITH_ZSTD
    &el_engine_zstd,
#endif
};

#define ENGINES (sizeof(engines) / sizeof(engines[0]))

/* Those of the codings that need a dictionary, of libraries that have an engine above. */
static const el_engine_t *const differences[EL_ALL_CODINGS] = {
#ifdef ELASTIC_WITH_DCB
    [EL_DCB] = &el_engine_dcb,
#endif
#ifdef ELASTIC_WITH_ZSTD
    [EL_DCZ] = &el_engine_dcz,
#endif
};

const el_engine_t *el_engine_for(el_coding_t coding)
{
    for (size_t i = 0; i < ENGINES; i++) {
        if (engines[i]->coding == coding) {
            return engines[i];
        }
    }
    return el_coding_is_difference(coding) ? differences[coding] : NULL;
}

const el_engine_t *el_engine_at(size_t number)
{
    return number < ENGINES ? engines[number] : NULL;
}

int el_engine_top(el_coding_t coding)
{
    int top = EL_ENGINE_NONE;

    for (size_t i = 0; i < ENGINES; i++) {
        if (engines[i]->coding == coding && engines[i]->level_max > top) {
            top = engines[i]->level_max;
        }
    }
    return top;
}

el_cost_t el_engine_cost(const el_plan_t *plan)
{
    const el_engine_t *engine = plan->engine;

    return engine->costs[plan->setup.level - engine->level_min]
                        [el_cost_class(plan->setup.size_hint)];
}

size_t el_engine_bound(size_t nbytes)
{
    /*
     * Where nothing can be saved each library stores: 5 bytes for each block of deflate, of which
     * the smallest has 4 KB (zlib with the least memory); brotli and zstd need less. Beyond that,
     * headers, trailers, and an empty block at the end.
     */
    return nbytes + nbytes / 512 + 128;
}

el_step_t el_engine_encode(el_context_t *context, el_span_t *span)
{
    const el_engine_t *engine = context->engine;

    return engine->encode ? engine->encode(context, span) : engine->step(context, EL_FINISH, span);
}

const char *el_engine_list(char *text, size_t size)
{
    size_t used = 0;

    if (size > 0) {
        *text = '\0';
    }
    for (size_t i = 0; i < ENGINES && used < size; i++) {
        int wrote = snprintf(text + used, size - used, "%s%s %s", i ? ", " : "", engines[i]->name,
                             engines[i]->version());

        used += wrote > 0 ? (size_t)wrote : size;
    }
    return text;
}

static const el_decoder_t *const decoders[] = {
    &el_decoder_zlib,
    &el_decoder_brotli,
#ifdef ELASTIC_WITH_ZSTD
    &el_decoder_zstd,
#endif
};

const el_decoder_t *el_decoder_for(el_coding_t coding)
{
    for (size_t i = 0; i < sizeof(decoders) / sizeof(decoders[0]); i++) {
        if (decoders[i]->coding == coding) {
            return decoders[i];
        }
    }
    return NULL;
}
