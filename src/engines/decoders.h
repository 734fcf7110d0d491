/* The decoders that this build knows; only src/engines includes this. */
#ifndef ELASTIC_DECODERS_H
#define ELASTIC_DECODERS_H

#include "elastic/decoder.h"

extern const el_decoder_t el_decoder_gunzip;
extern const el_decoder_t el_decoder_unbrotli;

#endif
