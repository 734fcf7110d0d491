/* Which engine serves a level. Any thread. */
#ifndef ELASTIC_ENGINES_PLAN_H
#define ELASTIC_ENGINES_PLAN_H

#include "elastic/engine.h"

/*
 * The engine that takes the least CPU for `wanted`, whose level is the user's; `whole` where the
 * body will be encoded by one call of el_engine_encode(), with its length as size_hint. The engine
 * makes no more bytes than the library that the level is named after, within 1 %, as measured on
 * documents and scripts. docs/internals/engines.md has the measurement.
 */
el_plan_t el_engine_plan(el_coding_t coding, const el_setup_t *wanted, bool whole);

#endif
