/* br by libbrotlienc. */
#ifndef ELASTIC_ENGINES_BROTLI_H
#define ELASTIC_ENGINES_BROTLI_H

#include "elastic/engine.h"

extern const el_engine_t el_engine_brotli;
extern const el_engine_t el_engine_dcb; /* with ELASTIC_WITH_DCB */

#endif
