#include "httpd/response/choose.h"

#include "httpd/shared/costs.h"

#include "elastic/ladder.h"
#include "engines/engines.h"

#include <math.h>
#include <stdatomic.h>

/* One body in this many may try a setup: looking for one takes ten microseconds. */
#define TRY_EVERY 64

/* The body's length in bytes; 0 if unknown. */
static uint64_t choose_length_of(const el_facts_t *facts)
{
    return facts->moment.size_known ? facts->moment.size : 0;
}

/*
 * The set of codings to choose from: those that the client likes as much as `first`. Only `first`
 * if its level is not adaptive; a drop-in filter has only one.
 */
static unsigned choose_choices_of(const el_choose_for_t *body, el_coding_t first)
{
    const el_demand_t *demand = &body->facts->demand;
    unsigned set = EL_CODING_BIT(first);

    if (!el_shared_is_adaptive(body->policy->range[first]) || demand->accept.q[first] == 0) {
        return set;
    }
    for (size_t i = 0; i < demand->order_count; i++) {
        if (demand->accept.q[demand->order[i]] == demand->accept.q[first]) {
            set |= EL_CODING_BIT(demand->order[i]);
        }
    }
    return set;
}

/*
 * The most that a setup may cost by ElasticMaxTime, ns for each KB. A body of unknown length counts
 * as a large page, or as the part seen so far if that is larger.
 */
static uint32_t choose_allowance(const el_policy_t *policy, const el_moment_t *moment)
{
    bool judged = moment->size_known || moment->size > EL_COST_UNKNOWN_LENGTH;

    return policy->max_time == EL_NO_MAX_TIME
               ? UINT32_MAX
               : el_cost_allowance((uint64_t)policy->max_time,
                                   judged ? moment->size : EL_COST_UNKNOWN_LENGTH);
}

/* Lowers the setup's level, not below `min`, until it costs at most `most` ns for each KB. */
static int choose_level_within(const el_choice_t *choice, int min, bool whole, uint32_t most)
{
    el_setup_t setup = choice->setup;

    while (most != UINT32_MAX && setup.level > min
           && el_costs_expect(choice->coding, &setup, whole).nsec > most) {
        setup.level--;
    }
    return setup.level;
}

/* True if any coding in `set` must make no more bytes than an httpd without this module. */
static bool choose_is_bounded(const el_range_t *range, unsigned set)
{
    bool bounded = false;

    for (unsigned i = EL_IDENTITY + 1; i < EL_CODINGS; i++) {
        bounded = bounded || ((set & EL_CODING_BIT(i)) && range[i].stock);
    }
    return bounded;
}

static el_ladder_key_t choose_key_of(const el_choose_for_t *body, unsigned set)
{
    return (el_ladder_key_t){
        .set = set,
        .range = body->policy->range,
        .whole = body->whole,
        .length = choose_length_of(body->facts),
    };
}

/* A setup of `level`, with the fields that are the same for all levels. */
static el_setup_t choose_setup_of(const el_choose_for_t *body, int level)
{
    const el_stock_t *stock = body->policy->stock;
    el_setup_t setup = {
        .level = level,
        .window_bits = (int)stock->values.value[EL_STOCK_WINDOW_BITS],
        .mem_level = (int)stock->values.value[EL_STOCK_MEM_LEVEL],
        .block_bits = (int)stock->values.value[EL_STOCK_BLOCK_BITS],
        .size_hint = choose_length_of(body->facts),
    };

    memcpy(setup.shares, body->facts->demand.shares, sizeof(setup.shares));
    return setup;
}

/* Chooses a setup without a dictionary. */
static el_choice_t choose_ordinary(const el_choose_for_t *body, el_coding_t coding)
{
    const el_policy_t *policy = body->policy;
    unsigned set = choose_choices_of(body, coding);
    el_ladder_key_t key = choose_key_of(body, set);
    el_range_t range = policy->range[coding];
    uint32_t most = choose_allowance(policy, &body->facts->moment);
    bool on_ladder = set != EL_CODING_BIT(coding)
                     || (body->effort.price >= 0 && el_shared_is_adaptive(range));
    el_choice_t choice = {
        .coding = coding,
        .set = set,
        .by_costs = on_ladder,
        .bounded = choose_is_bounded(policy->range, set),
        .setup = choose_setup_of(body, el_shared_level(range, body->effort)),
    };

    if (on_ladder) {
        el_rung_t rung = el_ladders_choose(&key, body->effort, most);

        choice.coding = rung.coding;
        choice.setup.level = rung.level;
    } else if (el_shared_is_adaptive(range)) {
        choice.setup.level = choose_level_within(&choice, range.min, body->whole, most);
        choice.setup.level = el_ladders_level(&key, coding, choice.setup.level);
    }
    return choice;
}

/* The range of levels for a coding with a dictionary: its base coding's, within its engine's. */
static el_range_t choose_range_against(const el_policy_t *policy, el_coding_t coding)
{
    const el_engine_t *engine = el_engine_for(coding);
    el_coding_t plain = el_coding_info(coding)->base;
    const el_coding_info_t *info = el_coding_info(plain);
    el_range_t range = policy->range[plain].enabled
                           ? policy->range[plain]
                           : el_range_of(info->default_min, info->default_max);

    range.min = range.min > engine->level_min ? range.min : engine->level_min;
    range.max = range.max < engine->level_max ? range.max : engine->level_max;
    range.max = range.max > engine->level_min ? range.max : engine->level_min;
    range.min = el_shared_is_adaptive(range) && range.min < range.max ? range.min : range.max;
    return range;
}

/* The worth of a saved byte. */
typedef struct {
    bool bytes_alone; /* pinned levels: the fewest bytes win, whatever the CPU time */
    double price;     /* ns of CPU time for a byte */
} worth_t;

static worth_t choose_worth_for(const el_choose_for_t *body)
{
    const el_demand_t *demand = &body->facts->demand;
    el_ladder_key_t key = choose_key_of(body, 0);
    double price;

    for (size_t i = 0; i < demand->order_count; i++) {
        el_coding_t coding = demand->order[i];

        if (el_shared_is_adaptive(body->policy->range[coding])) {
            key.set |= EL_CODING_BIT(coding);
        }
    }
    if (body->facts->moment.bypass) {
        return (worth_t){.price = 0};
    }
    if (body->effort.price >= 0) {
        return (worth_t){.price = body->effort.price};
    }
    if (key.set == 0) {
        return (worth_t){.bytes_alone = true};
    }
    price = el_ladders_price(&key, body->effort);
    return isinf(price) ? (worth_t){.bytes_alone = true} : (worth_t){.price = price};
}

/* The cost of a KB of the body: its CPU time, plus its encoded bytes at their price. */
static double choose_value_of(el_cost_t cost, worth_t worth)
{
    return worth.bytes_alone ? cost.size : cost.nsec + worth.price * cost.size / 10000 * 1024;
}

/* A setup with a dictionary, and its expected cost. */
typedef struct {
    el_setup_t setup;
    el_cost_t cost;
} against_t;

/*
 * Finds the best level with a dictionary among every second one: each level needs a dictionary
 * prepared for it, and adjacent levels differ little. The lowest if all exceed ElasticMaxTime.
 */
static against_t choose_best_against(const el_choose_for_t *body, worth_t worth)
{
    el_coding_t coding = body->facts->demand.available;
    el_range_t range = choose_range_against(body->policy, coding);
    uint32_t most = choose_allowance(body->policy, &body->facts->moment);
    against_t best = {.setup.level = -1};

    /* Every second level, and the last. */
    for (int level = range.min, next; level <= range.max; level = next) {
        el_setup_t setup = {.level = level, .size_hint = choose_length_of(body->facts)};
        el_cost_t cost;

        next = level < range.max && level + 2 > range.max ? range.max : level + 2;
        memcpy(setup.shares, body->facts->demand.shares, sizeof(setup.shares));
        cost = el_costs_expect(coding, &setup, true);
        if (best.setup.level < 0
            || (cost.nsec <= most
                && choose_value_of(cost, worth) < choose_value_of(best.cost, worth))) {
            best = (against_t){setup, cost};
        }
    }
    return best;
}

/* Chooses between the dictionary and the coding without one that the client likes as well. */
static el_choice_t choose_with_dictionary(const el_choose_for_t *body, el_coding_t coding)
{
    const el_demand_t *demand = &body->facts->demand;
    el_coding_t rival = el_accept_choose(&demand->accept, demand->order, demand->order_count);
    el_choice_t ordinary = {.coding = EL_IDENTITY};
    worth_t worth;
    against_t best;
    el_cost_t cost;

    if (demand->accept.q[rival] < demand->accept.q[demand->available]) {
        rival = EL_IDENTITY;
    }
    if (rival != EL_IDENTITY) {
        ordinary = choose_ordinary(body, rival);
        if (body->facts->moment.bypass) {
            return ordinary;
        }
    }
    worth = choose_worth_for(body);
    best = choose_best_against(body, worth);
    if (rival != EL_IDENTITY) {
        cost = el_costs_expect(ordinary.coding, &ordinary.setup, body->whole);
        if (choose_value_of(cost, worth) < choose_value_of(best.cost, worth)
            || (ordinary.bounded && cost.size < best.cost.size)) {
            return ordinary;
        }
    }
    return (el_choice_t){.coding = coding, .setup = best.setup};
}

el_choice_t el_choose(const el_choose_for_t *body, el_coding_t coding)
{
    return el_coding_needs_dictionary(coding) ? choose_with_dictionary(body, coding)
                                           : choose_ordinary(body, coding);
}

bool el_choose_beats(const el_choose_for_t *body, uint64_t nbytes)
{
    worth_t worth = choose_worth_for(body);
    el_cost_t made = {.size = (uint32_t)(nbytes * 10000 / body->facts->moment.size)};
    el_coding_t coding = body->facts->demand.available;

    /* If the fresh choice would not use the dictionary, the existing encoding is sent. */
    return el_choose(body, coding).coding == coding
           && choose_value_of(choose_best_against(body, worth).cost,
                              worth) < choose_value_of(made, worth);
}

void el_choose_trial(const el_choose_for_t *body, el_choice_t *choice)
{
    static _Atomic uint32_t bodies;
    el_rung_t rung = {.coding = choice->coding, .level = choice->setup.level};
    el_ladder_key_t key = choose_key_of(body, choice->set);

    /* No trials if the body may have no more bytes than the stock modules' would. */
    if (choice->by_costs && !choice->bounded && body->effort.price >= 0
        && el_costs_are_kept(&choice->setup)
        && atomic_fetch_add_explicit(&bodies, 1, memory_order_relaxed) % TRY_EVERY
               == TRY_EVERY - 1
        && el_ladders_try(&key, body->effort.price,
                          choose_allowance(body->policy, &body->facts->moment), &rung)) {
        choice->coding = rung.coding;
        choice->setup.level = rung.level;
        choice->tried = true;
    }
}
