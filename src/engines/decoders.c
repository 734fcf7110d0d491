/* The table of decoders: adding one is its file and a row here. */
#include "decoders.h"

static const el_decoder_t *const decoders[] = {
    &el_decoder_gunzip,
    &el_decoder_unbrotli,
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
