/* gzip by libdeflate: whole bodies. */
#ifndef ELASTIC_ENGINES_LIBDEFLATE_H
#define ELASTIC_ENGINES_LIBDEFLATE_H

#include "elastic/engine.h"

extern const el_engine_t el_engine_libdeflate;

#endif
