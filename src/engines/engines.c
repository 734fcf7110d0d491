/* The table of engines: adding one is its file and a row here. */
#include "engines.h"

static const el_engine_t *const engines[] = {
    &el_engine_zlib,
    &el_engine_brotli,
};

const el_engine_t *el_engine_for(el_coding_t coding)
{
    for (size_t i = 0; i < sizeof(engines) / sizeof(engines[0]); i++) {
        if (engines[i]->coding == coding) {
            return engines[i];
        }
    }
    return NULL;
}
