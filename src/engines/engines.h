/* The engines that this build knows; only src/engines includes this. */
#ifndef ELASTIC_ENGINES_H
#define ELASTIC_ENGINES_H

#include "elastic/engine.h"

extern const el_engine_t el_engine_zlib;
extern const el_engine_t el_engine_brotli;

#endif
