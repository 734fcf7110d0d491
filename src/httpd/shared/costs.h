/*
 * What is measured of setups and dictionaries, in the shared block: the costs that the choice of a
 * setup goes by. And the ladders of setups that are built from them, which clients of several
 * codings are served from. Any thread.
 *
 * A dictionary-compressed body costs what its coding costs without a dictionary, times the part
 * that the dictionary leaves: what it left of this page, otherwise of all pages that it is
 * for, otherwise of pages in general. It is compared with what this page became without
 * one.
 */
#ifndef ELASTIC_SHARED_COSTS_H
#define ELASTIC_SHARED_COSTS_H

#include "httpd/config/glue.h"
#include "httpd/shared/shared.h"

#include "elastic/cost.h"
#include "elastic/engine.h"
#include "elastic/ladder.h"

/* What the setup of `coding` is expected to take and to give, for a body by `setup`'s size_hint. */
el_cost_t el_costs_expect(el_coding_t coding, const el_setup_t *setup, bool whole);

/* Whether costs are kept of such a setup: not where the engine's window or memory is configured. */
bool el_costs_are_kept(const el_setup_t *setup);

/* What an encoder did with one body. */
typedef struct {
    uint64_t in; /* bytes */
    uint64_t out;
    uint64_t cpu_nsec;
    bool fresh; /* with a new context */
} el_measured_t;

/* Takes what a response has cost; `level` is the user's. */
void el_costs_update(const el_plan_t *plan, int level, const el_measured_t *measured);

/*
 * Takes what became of a page where there are dictionaries, with one or without; `level` is the
 * user's.
 */
void el_shares_update(const el_plan_t *plan, int level, uint64_t in, uint64_t out);

/* A set of codings has this bit for each. */
#define EL_CODING_BIT(coding) (1u << (unsigned)(coding))

/*
 * What a ladder is made of. It is kept in the process, one for each set of codings and size class,
 * and built anew when the clock's second has changed since: costs are at most that old.
 */
typedef struct {
    unsigned set;            /* of EL_CODING_BIT()s, one or more, of codings that have a range */
    const el_range_t *range; /* of each coding: EL_CODINGS entries */
    bool whole;              /* the body goes through the engine in one call */
    uint64_t length;         /* of the body in bytes; 0: unknown */
} el_ladder_key_t;

/*
 * The setup for `turn`: of the cheapest order of all setups of the key's codings; and of those that
 * are no dearer than `most` nsec for each KB, where one below is not. Where ranges of the key say
 * `stock`, of the setups that make no more bytes than those of an httpd without this module would.
 */
el_rung_t el_ladders_choose(const el_ladder_key_t *key, el_effort_t effort, uint32_t most);

/*
 * What `turn` pays for a saved byte there, in nanoseconds of CPU time; INFINITY: bytes alone count.
 */
double el_ladders_price(const el_ladder_key_t *key, el_effort_t effort);

/*
 * The level of the key's one coding that is used where `level` is asked for: the next above where
 * that would make too many bytes; or the highest below, if none above makes as few.
 */
int el_ladders_level(const el_ladder_key_t *key, el_coding_t coding, int level);

/*
 * Another of the key's setups than `*rung`, that in use, which is to be measured: see
 * el_ladder_trial(). None that is dearer than `most` nsec for each KB. False where there is none.
 */
bool el_ladders_try(const el_ladder_key_t *key, double price, uint32_t most, el_rung_t *rung);

#endif
