/*
 * The costs that were measured for setups and dictionaries, in the shared block, and the ladders of
 * setups that are built from them. A ladder orders the setups of all codings that a client takes.
 * Any thread.
 *
 * The expected size of a dictionary-compressed body is that of its base coding, times the share
 * that the dictionary left of this page; if that is unknown, of all pages that the dictionary is
 * for; otherwise of pages in general. The size of this page without a dictionary is learned, too.
 */
#ifndef ELASTIC_SHARED_COSTS_H
#define ELASTIC_SHARED_COSTS_H

#include "httpd/config/glue.h"
#include "httpd/shared/shared.h"

#include "elastic/cost.h"
#include "elastic/engine.h"
#include "elastic/ladder.h"

/* The expected cost of `coding` with `setup`, for a body of about setup->size_hint bytes. */
el_cost_t el_costs_expect(el_coding_t coding, const el_setup_t *setup, bool whole);

/* False if the engine's window or memory is configured: such setups are not measured. */
bool el_costs_are_kept(const el_setup_t *setup);

/* The measurement of one encoded body. */
typedef struct {
    uint64_t in; /* bytes */
    uint64_t out;
    uint64_t cpu_nsec;
    bool fresh; /* the context was new */
} el_measured_t;

/* Notes the cost of an encoded body. `level` is the chosen one; the plan has the engine's. */
void el_costs_update(const el_plan_t *plan, int level, const el_measured_t *measured);

/* Notes the size of a page that has dictionaries, whether it was encoded with one or without. */
void el_shares_update(const el_plan_t *plan, int level, uint64_t in, uint64_t out);

#define EL_CODING_BIT(coding) (1u << (unsigned)(coding))

/*
 * The key of a ladder. Each process keeps a ladder for each set of codings and size class, and
 * rebuilds it when the clock's second has changed: costs are at most a second old.
 */
typedef struct {
    unsigned set;            /* of EL_CODING_BIT()s, one or more, of codings that have a range */
    const el_range_t *range; /* of each coding: EL_CODINGS entries */
    bool whole;              /* the body goes through the engine in one call */
    uint64_t length;         /* of the body in bytes; 0: unknown */
} el_ladder_key_t;

/*
 * Chooses a setup by `effort` on the key's ladder that takes at most `most` ns of CPU time for each
 * KB, or the cheapest. If ranges of the key say `stock`, it makes no more bytes than the setups of
 * an httpd without this module.
 */
el_rung_t el_ladders_choose(const el_ladder_key_t *key, el_effort_t effort, uint32_t most);

/* The price of a saved byte on this ladder, ns of CPU time; INFINITY: only bytes count. */
double el_ladders_price(const el_ladder_key_t *key, el_effort_t effort);

/*
 * The level to use when `level` of the key's single coding is wanted: the next that the bound
 * allows, or the highest that it allows.
 */
int el_ladders_level(const el_ladder_key_t *key, el_coding_t coding, int level);

/*
 * Finds another of the key's setups to measure instead of `*rung`, the one in use: see
 * el_ladder_trial(). It costs at most `most` ns for each KB. Returns false if there is none.
 */
bool el_ladders_try(const el_ladder_key_t *key, double price, uint32_t most, el_rung_t *rung);

#endif
