#include "httpd/control/ladders.h"

#include "httpd/state/costs.h"

#include "elastic/explore.h"
#include "host/clock.h"

#include <stdatomic.h>

/* A ladder that was built, and what of. */
typedef struct {
    atomic_flag busy;
    uint32_t built; /* second of the monotonic clock; 0: never */
    el_range_t range[EL_CODINGS];
    size_t count;
    el_rung_t rungs[EL_RUNGS_MAX];
} slot_t;

/* How many sets of codings there are. */
#define SETS (1u << EL_CODINGS)

/* One for each set and size class, of streams and of whole bodies. */
static slot_t slots[2][SETS][EL_SIZE_CLASSES];

/*
 * All setups of the key's codings, in the order of codings and levels; their number. Of two that
 * cost and leave the same the first counts: of the coding with the lower number.
 */
static size_t collect(const el_ladder_key_t *key, el_rung_t *rungs)
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
 * The setup whose bytes no response of this key may exceed: that of an httpd without this module,
 * for each coding that is bounded so; the one with the fewest. False where none is.
 */
static bool read_bound(const el_ladder_key_t *key, el_rung_t *most)
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

/* Those of the key's setups that may be used, in the same order; one at least. */
static size_t collect_allowed(const el_ladder_key_t *key, el_rung_t *rungs)
{
    size_t count = collect(key, rungs);
    el_rung_t most;

    return read_bound(key, &most) ? el_ladder_bound(rungs, count, most) : count;
}

/* Whether a slot holds the key's ladder by the costs of this second. */
static bool is_current(const slot_t *slot, const el_ladder_key_t *key, uint32_t now)
{
    bool same = slot->built == now;

    for (unsigned i = 0; same && i < EL_CODINGS; i++) {
        same = !(key->set & EL_CODING_BIT(i))
               || (slot->range[i].min == key->range[i].min
                   && slot->range[i].max == key->range[i].max
                   && slot->range[i].stock == key->range[i].stock);
    }
    return same;
}

static void build(slot_t *slot, const el_ladder_key_t *key, uint32_t now)
{
    slot->built = now;
    memcpy(slot->range, key->range, sizeof(slot->range));
    slot->count = el_ladder_build(slot->rungs, collect_allowed(key, slot->rungs));
}

static double price_of(const el_rung_t *rungs, size_t count, el_turn_t turn)
{
    return turn.price >= 0 ? turn.price
                           : el_ladder_price(rungs, count, turn.position, turn.top,
                                             el_costs_slowness());
}

static el_rung_t choose(const el_rung_t *rungs, size_t count, double price, uint32_t most)
{
    return *el_ladder_within(rungs, el_ladder_rung(rungs, count, price), most);
}

/* The setup, and the price by which it was chosen. */
static el_rung_t look_up(const el_ladder_key_t *key, el_turn_t turn, uint32_t most, double *price)
{
    slot_t *slot = &slots[key->whole][key->set % SETS][el_cost_class(key->length)];
    uint32_t now = el_clock_sec();
    el_rung_t rungs[EL_RUNGS_MAX], chosen;

    /* A slot that another thread uses is not waited for. */
    if (atomic_flag_test_and_set_explicit(&slot->busy, memory_order_acquire)) {
        size_t count = el_ladder_build(rungs, collect_allowed(key, rungs));

        *price = price_of(rungs, count, turn);
        return choose(rungs, count, *price, most);
    }
    if (!is_current(slot, key, now)) {
        build(slot, key, now);
    }
    *price = price_of(slot->rungs, slot->count, turn);
    chosen = choose(slot->rungs, slot->count, *price, most);
    atomic_flag_clear_explicit(&slot->busy, memory_order_release);
    return chosen;
}

el_rung_t el_ladders_choose(const el_ladder_key_t *key, el_turn_t turn, uint32_t most)
{
    double price;

    return look_up(key, turn, most, &price);
}

double el_ladders_price(const el_ladder_key_t *key, el_turn_t turn)
{
    double price;

    look_up(key, turn, UINT32_MAX, &price);
    return price;
}

int el_ladders_level(const el_ladder_key_t *key, el_coding_t coding, int level)
{
    el_rung_t rungs[EL_RUNGS_MAX];
    size_t count, at = 0;

    /* A coding's own levels rise from that of the bound on. */
    if (!key->range[coding].stock || el_coding_info(coding)->stock == coding) {
        return level;
    }
    count = collect_allowed(key, rungs);
    while (at + 1 < count && rungs[at].level < level) {
        at++;
    }
    return rungs[at].level;
}

bool el_ladders_rare(const el_ladder_key_t *key, uint32_t nsec, el_rung_t *rare)
{
    el_setup_t setup = {.size_hint = key->length};
    el_rung_t rungs[EL_RUNGS_MAX];
    uint32_t ages[EL_RUNGS_MAX];
    size_t count = collect(key, rungs);
    const el_rung_t *found;

    for (size_t i = 0; i < count; i++) {
        setup.level = rungs[i].level;
        ages[i] = el_costs_age(rungs[i].coding, &setup);
    }
    found = el_explore_pick(rungs, ages, count, nsec);
    if (found) {
        *rare = *found;
    }
    return found;
}
