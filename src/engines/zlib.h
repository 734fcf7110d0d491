/* gzip by zlib: the engine and the decoder. */
#ifndef ELASTIC_ENGINES_ZLIB_H
#define ELASTIC_ENGINES_ZLIB_H

#include "elastic/decoder.h"
#include "elastic/engine.h"

extern const el_engine_t el_engine_zlib;
extern const el_decoder_t el_decoder_zlib;

#endif
