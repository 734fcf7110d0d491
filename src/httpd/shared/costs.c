#include "httpd/shared/costs.h"

#include "elastic/ladder.h"
#include "elastic/dictionary.h"
#include "engines/engines.h"
#include "host/process.h"

#include <stdatomic.h>

/* The whole of a size or share: both are in ten-thousandths. */
#define WHOLE 10000

static el_cost_key_t costs_key_of(el_coding_t coding, int level, const el_setup_t *setup)
{
    return (el_cost_key_t){coding, level, el_cost_class(setup->size_hint)};
}

/* The expected cost of the site's bodies of this length, in a coding without a dictionary. */
static el_cost_t costs_site(el_coding_t coding, const el_setup_t *setup, bool whole)
{
    el_plan_t plan = el_engine_plan(coding, setup, whole);

    return el_cost_expect(&el_shared.block->costs, costs_key_of(coding, setup->level, setup),
                          el_cost_in_server(el_engine_cost(&plan), setup->size_hint),
                          el_clock_sec());
}

/*
 * The assumed share of a page that an unknown dictionary leaves, in ten-thousandths: an edited page
 * leaves almost nothing, another page of the site two thirds.
 */
#define PART_UNKNOWN 3000

/*
 * Bounds the share of a page, in the base coding's size, that a dictionary-compressed body may
 * have; beyond it the page must have changed.
 */
#define OWN_MOST (10 * WHOLE)

/* One body stands for its page; a rule needs several, because the first may be unlike others. */
#define BODIES_OF_RULE 8

/*
 * Shares are stored divided by this: a stored ratio goes up to two, and a page may compress ten
 * times worse than another.
 */
#define SHARE_UNIT 5

static uint32_t costs_share_of(const el_setup_t *setup, int share, uint32_t least,
                               uint32_t otherwise)
{
    uint32_t mean = el_ratio_mean(&el_shared.block->shares, setup->shares[share], least,
                                  el_clock_sec());

    return mean ? mean * SHARE_UNIT : otherwise;
}

static void costs_add_share(const el_setup_t *setup, int share, uint64_t in, uint64_t out)
{
    el_ratio_update(&el_shared.block->shares, setup->shares[share], in, out / SHARE_UNIT,
                    el_clock_sec());
}

/* The size of this page without a dictionary, relative to the site's bodies. */
static uint32_t costs_plain_share(const el_setup_t *setup)
{
    return costs_share_of(setup, EL_SHARE_PLAIN, 1, WHOLE);
}

/*
 * The cost before any measurement, from the engine's table. For a coding with a dictionary it is
 * scaled by the shares measured for the page.
 */
static el_cost_t costs_known(const el_plan_t *plan, int level, const el_setup_t *setup)
{
    el_coding_t coding = plan->engine->coding;
    el_cost_t known = el_cost_in_server(el_engine_cost(plan), setup->size_hint);
    el_setup_t plain = *setup;
    uint64_t fit, left, own;

    if (!el_coding_needs_dictionary(coding)) {
        return known;
    }
    plain.level = level;
    fit = costs_plain_share(setup);
    left = costs_share_of(setup, EL_SHARE_RULE, BODIES_OF_RULE, PART_UNKNOWN);
    left = costs_share_of(setup, EL_SHARE_PAGE, 1, (uint32_t)(left * fit / WHOLE));
    own = left * WHOLE / fit;
    known.size = (uint32_t)(costs_site(el_coding_info(coding)->base, &plain, true).size * fit
                            / WHOLE);
    return el_cost_differ(known, (uint32_t)(own < OWN_MOST ? own : OWN_MOST));
}

el_cost_t el_costs_expect(el_coding_t coding, const el_setup_t *setup, bool whole)
{
    el_plan_t plan = el_engine_plan(coding, setup, whole);
    el_cost_t cost = el_cost_expect(&el_shared.block->costs,
                                    costs_key_of(coding, setup->level, setup),
                                    costs_known(&plan, setup->level, setup), el_clock_sec());

    if (!el_coding_needs_dictionary(coding)) {
        cost.size = (uint32_t)((uint64_t)cost.size * costs_plain_share(setup) / WHOLE);
    }
    return cost;
}

bool el_costs_are_kept(const el_setup_t *setup)
{
    return !setup->window_bits && !setup->mem_level && !setup->block_bits;
}

static uint32_t costs_per(uint64_t value, uint64_t unit, uint64_t in)
{
    double scaled = (double)value * (double)unit / (double)in;

    return scaled < UINT32_MAX ? (uint32_t)scaled : UINT32_MAX;
}

void el_costs_update(const el_plan_t *plan, int level, const el_measured_t *measured)
{
    const el_setup_t *setup = &plan->setup;
    el_coding_t coding = plan->engine->coding;

    /*
     * An empty body has no cost per KB. A new context makes its first body take up to twelve times
     * as long; that is rare where contexts are kept, and counts as any outlier.
     */
    if (measured->in == 0 || !el_costs_are_kept(setup)) {
        return;
    }
    el_cost_update(&el_shared.block->costs, costs_key_of(coding, level, setup),
                   costs_known(plan, level, setup),
                   (el_cost_t){.nsec = costs_per(measured->cpu_nsec, 1024, measured->in),
                               .size = costs_per(measured->out, 10000, measured->in)},
                   el_clock_sec());
}

void el_shares_update(const el_plan_t *plan, int level, uint64_t in, uint64_t out)
{
    el_coding_t coding = plan->engine->coding;
    bool differs = el_coding_needs_dictionary(coding);
    el_setup_t setup = plan->setup;
    uint64_t size;

    if (!setup.shares[EL_SHARE_PLAIN]) {
        return;
    }
    setup.level = level;
    size = costs_site(el_coding_info(coding)->base, &setup, true).size;
    if (size == 0) {
        return;
    }
    out = out * WHOLE / size;
    costs_add_share(&setup, differs ? EL_SHARE_PAGE : EL_SHARE_PLAIN, in, out);
    if (differs) {
        costs_add_share(&setup, EL_SHARE_RULE, in, out * WHOLE / costs_plain_share(&setup));
    }
}

/* --- ladders */

/* A ladder, and the key that it was built for. The thread that set `busy` may use the setups. */
typedef struct {
    atomic_flag busy;
    _Atomic uint32_t built;   /* at this second of the monotonic clock; 0: never */
    _Atomic uint64_t bounds; /* of the levels: see costs_bounds_of() */
    size_t count;
    el_rung_t rungs[EL_RUNGS_MAX];
} slot_t;

/* The number of sets of codings. */
#define SETS (1u << EL_CODINGS)

/* Directories with this many different bounds of levels keep their ladders at the same time. */
#define WAYS 4

/* By body kind (stream, whole), set of codings and size class. Unused slots take no memory. */
static slot_t slots[2][SETS][EL_SIZE_CLASSES][WAYS];

/*
 * Lists all setups of the key's codings, by coding and level, and returns their number. Of two
 * setups with equal costs the first counts, so the coding with the lower number wins.
 */
static size_t costs_collect(const el_ladder_key_t *key, el_rung_t *rungs)
{
    el_setup_t setup = {.size_hint = key->length};
    size_t count = 0;

    for (unsigned i = EL_IDENTITY + 1; i < EL_CODINGS; i++) {
        el_coding_t coding = (el_coding_t)i;
        bool in_set = key->set & EL_CODING_BIT(coding);

        for (int level = key->range[i].min; in_set && level <= key->range[i].max; level++) {
            setup.level = level;
            rungs[count++] = (el_rung_t){coding, level,
                                         el_costs_expect(coding, &setup, key->whole)};
        }
    }
    return count;
}

/*
 * Finds the setup whose bytes no response of this key may exceed: for each coding with a `stock`
 * range the setup of an httpd without this module, and of these the one with the fewest bytes.
 * Returns false if no range says `stock`.
 */
static bool costs_read_bound(const el_ladder_key_t *key, el_rung_t *most)
{
    el_setup_t setup = {.size_hint = key->length};
    bool found = false;

    for (unsigned i = EL_IDENTITY + 1; i < EL_CODINGS; i++) {
        el_coding_t stock = el_coding_info((el_coding_t)i)->stock;
        el_rung_t rung = {.coding = stock, .level = el_coding_info(stock)->stock_level};

        if (!(key->set & EL_CODING_BIT(i)) || !key->range[i].stock) {
            continue;
        }
        setup.level = rung.level;
        rung.cost = el_costs_expect(stock, &setup, key->whole);
        if (!found || rung.cost.size < most->cost.size) {
            *most = rung;
        }
        found = true;
    }
    return found;
}

/* Lists those of the key's setups that the bound allows, in the same order; at least one. */
static size_t costs_collect_allowed(const el_ladder_key_t *key, el_rung_t *rungs)
{
    size_t count = costs_collect(key, rungs);
    el_rung_t most;

    return costs_read_bound(key, &most) ? el_ladder_bound(rungs, count, most) : count;
}

/* Packs the bounds of the key's codings into one number, 11 bits each; a level takes five. */
static uint64_t costs_bounds_of(const el_ladder_key_t *key)
{
    uint64_t bounds = 0;

    _Static_assert(EL_COST_LEVELS <= 32 && EL_CODINGS * 11 <= 64, "bounds fit");
    for (unsigned i = EL_IDENTITY + 1; i < EL_CODINGS; i++) {
        const el_range_t *range = &key->range[i];

        bounds = bounds << 11
                 | (key->set & EL_CODING_BIT(i)
                        ? (uint64_t)range->min << 6 | (uint64_t)range->max << 1 | range->stock
                        : 0);
    }
    return bounds;
}

/* Returns the slot that has the key's ladder, else the one that was built longest ago. */
static slot_t *costs_slot_of(const el_ladder_key_t *key, uint64_t bounds)
{
    slot_t *ways = slots[key->whole][key->set % SETS][el_cost_class(key->length)], *oldest = ways;

    for (int i = 0; i < WAYS; i++) {
        if (atomic_load_explicit(&ways[i].bounds, memory_order_relaxed) == bounds) {
            return &ways[i];
        }
        if (atomic_load_explicit(&ways[i].built, memory_order_relaxed)
            < atomic_load_explicit(&oldest->built, memory_order_relaxed)) {
            oldest = &ways[i];
        }
    }
    return oldest;
}

/* Builds the key's ladder from this second's costs, unless the slot has it. The caller holds it. */
static void costs_bring_up_to_date(slot_t *slot, const el_ladder_key_t *key, uint64_t bounds)
{
    uint32_t now = el_clock_sec();

    if (slot->built != now || slot->bounds != bounds) {
        slot->built = now;
        slot->bounds = bounds;
        slot->count = el_ladder_build(slot->rungs, costs_collect_allowed(key, slot->rungs));
    }
}

static double costs_price_of(const el_rung_t *rungs, size_t count, el_effort_t effort)
{
    return effort.price >= 0
               ? effort.price
               : el_ladder_price(rungs, count, effort.position, effort.top,
                                 el_cost_slowness(&el_shared.block->costs, el_clock_sec()));
}

static el_rung_t costs_choose(const el_rung_t *rungs, size_t count, double price, uint32_t most)
{
    return *el_ladder_within(rungs, el_ladder_rung(rungs, count, price), most);
}

/* Returns the setup, and in `*price` the price by which it was chosen. */
static el_rung_t costs_look_up(const el_ladder_key_t *key, el_effort_t effort, uint32_t most,
                               double *price)
{
    uint64_t bounds = costs_bounds_of(key);
    slot_t *slot = costs_slot_of(key, bounds);
    el_rung_t rungs[EL_RUNGS_MAX], chosen;

    /* Does not wait for a slot that another thread uses. */
    if (atomic_flag_test_and_set_explicit(&slot->busy, memory_order_acquire)) {
        size_t count = el_ladder_build(rungs, costs_collect_allowed(key, rungs));

        *price = costs_price_of(rungs, count, effort);
        return costs_choose(rungs, count, *price, most);
    }
    costs_bring_up_to_date(slot, key, bounds);
    *price = costs_price_of(slot->rungs, slot->count, effort);
    chosen = costs_choose(slot->rungs, slot->count, *price, most);
    atomic_flag_clear_explicit(&slot->busy, memory_order_release);
    return chosen;
}

el_rung_t el_ladders_choose(const el_ladder_key_t *key, el_effort_t effort, uint32_t most)
{
    double price;

    return costs_look_up(key, effort, most, &price);
}

double el_ladders_price(const el_ladder_key_t *key, el_effort_t effort)
{
    double price;

    costs_look_up(key, effort, UINT32_MAX, &price);
    return price;
}

int el_ladders_level(const el_ladder_key_t *key, el_coding_t coding, int level)
{
    el_rung_t rungs[EL_RUNGS_MAX];
    size_t count, at = 0;

    /* If the bound is of the same coding, all levels from its own on are allowed. */
    if (!key->range[coding].stock || el_coding_info(coding)->stock == coding) {
        return level;
    }
    count = costs_collect_allowed(key, rungs);
    while (at + 1 < count && rungs[at].level < level) {
        at++;
    }
    return rungs[at].level;
}

bool el_ladders_try(const el_ladder_key_t *key, double price, uint32_t most, el_rung_t *rung)
{
    el_setup_t setup = {.size_hint = key->length};
    el_rung_t rungs[EL_RUNGS_MAX];
    uint32_t ages[EL_RUNGS_MAX];
    size_t count = costs_collect_allowed(key, rungs);
    const el_rung_t *found;

    for (size_t i = 0; i < count; i++) {
        setup.level = rungs[i].level;
        ages[i] = rungs[i].cost.nsec > most
                      ? 0
                      : el_cost_age(&el_shared.block->costs,
                                    costs_key_of(rungs[i].coding, setup.level, &setup),
                                    el_clock_sec());
        if (rungs[i].coding == rung->coding && rungs[i].level == rung->level) {
            ages[i] = 0;
            rung->cost = rungs[i].cost;
        }
    }
    found = el_ladder_trial(rungs, ages, count, rung->cost, price);
    if (found) {
        *rung = *found;
    }
    return found;
}
