/*
 * What is measured of setups and dictionaries, in the shared block: the costs that the choice of a
 * setup goes by. Any thread.
 *
 * A difference costs what its coding costs without a dictionary, times the part that the dictionary
 * leaves: what it left of late of this page, otherwise of all pages that it is for, otherwise of
 * pages in general. It is compared with what this page became of late without one.
 */
#ifndef ELASTIC_STATE_COSTS_H
#define ELASTIC_STATE_COSTS_H

#include "httpd/base/glue.h"

#include "elastic/cost.h"
#include "elastic/engine.h"

/* What the setup of `coding` is expected to take and to give, for a body by `setup`'s size_hint. */
el_cost_t el_costs_expect(el_coding_t coding, const el_setup_t *setup, bool whole);

/* Seconds since the setup itself was measured last; UINT32_MAX where it was not. */
uint32_t el_costs_age(el_coding_t coding, const el_setup_t *setup);

/* How many times as long this machine takes as the built-in costs say. */
double el_costs_slowness(void);

/* Whether costs are kept of such a setup: not where the engine's window or memory is configured. */
bool el_costs_are_kept(const el_setup_t *setup);

/* What an encoder did with one body. */
typedef struct {
    uint64_t in; /* bytes */
    uint64_t out;
    uint64_t cpu_nsec;
    bool fresh; /* with a new context */
} el_measured_t;

/*
 * What mod_deflate at level 6, its default, is expected to do with a body of `in` bytes, of which
 * `coding` at `level` has made `out`: by zlib's built-in costs and what was measured here.
 */
el_measured_t el_costs_stock(el_coding_t coding, int level, uint64_t in, uint64_t out);

/* Takes what a response has cost; `level` is the user's. */
void el_costs_update(const el_plan_t *plan, int level, const el_measured_t *measured);

/*
 * Takes what became of a page where there are dictionaries, with one or without; `level` is the
 * user's.
 */
void el_shares_update(const el_plan_t *plan, int level, uint64_t in, uint64_t out);

#endif
