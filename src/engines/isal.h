/* gzip by ISA-L: whole bodies and streams of low levels. */
#ifndef ELASTIC_ENGINES_ISAL_H
#define ELASTIC_ENGINES_ISAL_H

#include "elastic/engine.h"

extern const el_engine_t el_engine_isal;

#endif
