/* zstd by libzstd. */
#ifndef ELASTIC_ENGINES_ZSTD_H
#define ELASTIC_ENGINES_ZSTD_H

#include "elastic/decoder.h"
#include "elastic/engine.h"

extern const el_engine_t el_engine_zstd;
extern const el_engine_t el_engine_dcz;
extern const el_decoder_t el_decoder_zstd;

#endif
