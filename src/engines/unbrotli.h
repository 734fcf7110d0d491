/* br by libbrotlidec: the decoder. */
#ifndef ELASTIC_ENGINES_UNBROTLI_H
#define ELASTIC_ENGINES_UNBROTLI_H

#include "elastic/decoder.h"

extern const el_decoder_t el_decoder_brotli;

#endif
