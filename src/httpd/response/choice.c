#include "httpd/response/choice.h"

#include "httpd/shared/costs.h"
#include "httpd/shared/shared.h"

#include "engines/engines.h"

#include <math.h>

/*
 * Nanoseconds of CPU time that sending a byte takes at least on the machine of the built-in costs, in
 * httpd and the kernel: by TLS it was 1.4 to 1.9. A difference that costs no more than to send what it
 * saves is light.
 */
#define SENDING 1.

/* The body's length in bytes where it is known, otherwise 0. */
static uint64_t length_of(const el_facts_t *facts)
{
    return facts->moment.size_known ? facts->moment.size : 0;
}

/*
 * The codings that the ladder has to choose between: those that the client likes as much as
 * `first`; only `first` where the server's order decides.
 */
static unsigned choices_of(const el_policy_t *policy, const el_demand_t *demand, el_coding_t first)
{
    unsigned set = EL_CODING_BIT(first);

    if (policy->is_stock || !el_shared_moves(policy->range[first])
        || demand->accept.q[first] == 0) {
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
 * What a setup may cost by ElasticMaxTime, nsec for each KB. A body whose length is not known
 * counts as a large page, or as what was seen of it where that is more.
 */
static uint32_t allowance(const el_policy_t *policy, const el_moment_t *moment)
{
    bool judged = moment->size_known || moment->size > EL_COST_UNKNOWN_LENGTH;

    return policy->max_time == EL_NO_MAX_TIME
               ? UINT32_MAX
               : el_cost_allowance((uint64_t)policy->max_time,
                                   judged ? moment->size : EL_COST_UNKNOWN_LENGTH);
}

/* The highest level, from the setup's down to `min`, that costs no more than `most`. */
static int level_within(const el_choice_t *choice, int min, bool whole, uint32_t most)
{
    el_setup_t setup = choice->setup;

    while (most != UINT32_MAX && setup.level > min
           && el_costs_expect(choice->coding, &setup, whole).nsec > most) {
        setup.level--;
    }
    return setup.level;
}

/* Whether any of the codings in `set` may make no more bytes than an httpd without this module. */
static bool is_bounded(const el_range_t *range, unsigned set)
{
    bool bounded = false;

    for (unsigned i = EL_IDENTITY + 1; i < EL_CODINGS; i++) {
        bounded = bounded || ((set & EL_CODING_BIT(i)) && range[i].stock);
    }
    return bounded;
}

static el_ladder_key_t key_of(const el_policy_t *policy, const el_facts_t *facts, unsigned set,
                              bool whole)
{
    return (el_ladder_key_t){
        .set = set, .range = policy->range, .whole = whole, .length = length_of(facts),
    };
}

/* What one response goes by, at its client's rate. */
static el_turn_t turn_of(const el_facts_t *facts)
{
    el_turn_t turn = el_shared_turn();

    if (facts->moment.rate > 0) {
        turn.price *= el_shared.config.control.goal.rate / facts->moment.rate;
    }
    return turn;
}

static el_choice_t choose_setup(const el_policy_t *policy, const el_facts_t *facts,
                                el_coding_t coding, bool whole, el_turn_t turn)
{
    unsigned set = choices_of(policy, &facts->demand, coding);
    el_ladder_key_t key = key_of(policy, facts, set, whole);
    el_range_t range = policy->range[coding];
    bool on_ladder = set != EL_CODING_BIT(coding) || (turn.price >= 0 && el_shared_moves(range));
    el_choice_t choice = {
        .coding = coding,
        .set = set,
        .by_costs = on_ladder,
        .bounded = is_bounded(policy->range, set),
        .setup =
            {
                .window_bits = el_stock_number(policy->stock, EL_STOCK_WINDOW_BITS),
                .mem_level = el_stock_number(policy->stock, EL_STOCK_MEM_LEVEL),
                .block_bits = el_stock_number(policy->stock, EL_STOCK_BLOCK_BITS),
                .size_hint = length_of(facts),
            },
    };

    memcpy(choice.setup.shares, facts->demand.shares, sizeof(choice.setup.shares));
    if (on_ladder) {
        el_rung_t rung = el_ladders_choose(&key, turn, allowance(policy, &facts->moment));

        choice.coding = rung.coding;
        choice.setup.level = rung.level;
        return choice;
    }
    choice.setup.level = el_shared_level(range, turn);
    if (el_shared_moves(range)) {
        choice.setup.level = level_within(&choice, range.min, whole,
                                          allowance(policy, &facts->moment));
        choice.setup.level = el_ladders_level(&key, coding, choice.setup.level);
    }
    return choice;
}

/*
 * The bounds of a difference's levels: those of its coding without a dictionary, as far as its engine
 * has them.
 */
static el_range_t difference_range(const el_policy_t *policy, el_coding_t coding)
{
    const el_engine_t *engine = el_engine_for(coding);
    el_coding_t plain = el_coding_info(coding)->plain;
    const el_coding_info_t *info = el_coding_info(plain);
    el_range_t range = policy->range[plain].enabled
                           ? policy->range[plain]
                           : el_range_of(info->default_min, info->default_max);

    range.min = range.min > engine->level_min ? range.min : engine->level_min;
    range.max = range.max < engine->level_max ? range.max : engine->level_max;
    range.max = range.max > engine->level_min ? range.max : engine->level_min;
    range.min = el_shared_moves(range) && range.min < range.max ? range.min : range.max;
    return range;
}

/* What a KB of the body costs by a setup, its bytes at `price`; where that is INFINITY, its bytes. */
static double value_of(el_cost_t cost, double price)
{
    return isinf(price) ? cost.size : cost.nsec + price * cost.size / 10000 * 1024;
}

/* What a byte is worth here. Where levels do not move, bytes alone count. */
static double price_for(const el_policy_t *policy, const el_facts_t *facts, bool whole,
                        el_turn_t turn)
{
    el_ladder_key_t key = key_of(policy, facts, 0, whole);

    for (size_t i = 0; i < facts->demand.order_count; i++) {
        el_coding_t coding = facts->demand.order[i];

        if (!policy->is_stock && el_shared_moves(policy->range[coding])) {
            key.set |= EL_CODING_BIT(coding);
        }
    }
    if (turn.price >= 0) {
        return turn.price;
    }
    return key.set ? el_ladders_price(&key, turn) : INFINITY;
}

/* A setup of a difference, and what it is expected to cost. */
typedef struct {
    el_setup_t setup;
    el_cost_t cost;
} difference_t;

/*
 * The level of a difference that is worth most at `price`, of every second one: each needs a dictionary
 * of its own, and neighbours differ by little.
 */
static difference_t best_difference(const el_policy_t *policy, const el_facts_t *facts,
                                    el_coding_t coding, double price)
{
    el_range_t range = difference_range(policy, coding);
    uint32_t most = allowance(policy, &facts->moment);
    difference_t best = {.setup.level = -1};

    for (int level = range.min; level <= range.max;
         level = level + 2 > range.max && level < range.max ? range.max : level + 2) {
        difference_t one = {.setup = {.level = level, .size_hint = length_of(facts)}};

        memcpy(one.setup.shares, facts->demand.shares, sizeof(one.setup.shares));
        one.cost = el_costs_expect(coding, &one.setup, true);
        if (best.setup.level < 0
            || (one.cost.nsec <= most && value_of(one.cost, price) < value_of(best.cost, price))) {
            best = one;
        }
    }
    return best;
}

/* The coding without a dictionary that the client likes as much as the difference, or EL_IDENTITY. */
static el_coding_t rival_of(const el_demand_t *demand)
{
    const uint16_t *q = demand->accept.q;
    el_coding_t coding = el_accept_choose(&demand->accept, demand->order, demand->order_count);

    return coding != EL_IDENTITY && q[coding] >= q[demand->difference] ? coding : EL_IDENTITY;
}

/*
 * The difference, or the coding without a dictionary that the client likes as well, whichever is worth
 * more. In a bypass a difference is light, or none at all.
 */
el_choice_t el_choice_make(const el_policy_t *policy, const el_facts_t *facts, el_coding_t coding,
                           bool whole)
{
    el_turn_t turn = turn_of(facts);
    el_coding_t rival = el_coding_is_difference(coding) ? rival_of(&facts->demand) : coding;
    el_choice_t ordinary = {.coding = EL_IDENTITY};
    difference_t best;
    double price;
    el_cost_t cost;

    if (rival != EL_IDENTITY) {
        ordinary = choose_setup(policy, facts, rival, whole, turn);
    }
    if (rival == coding || (rival != EL_IDENTITY && facts->moment.bypass && !facts->moment.light)) {
        return ordinary;
    }
    price = facts->moment.bypass ? 0 : price_for(policy, facts, whole, turn);
    best = best_difference(policy, facts, coding, price);
    if (rival != EL_IDENTITY && !facts->moment.bypass) {
        cost = el_costs_expect(ordinary.coding, &ordinary.setup, whole);
        if (value_of(cost, price) < value_of(best.cost, price)
            || (ordinary.bounded && cost.size < best.cost.size)) {
            return ordinary;
        }
    }
    return (el_choice_t){.coding = coding, .setup = best.setup};
}

bool el_choice_beats(const el_policy_t *policy, const el_facts_t *facts, uint64_t nbytes)
{
    double price = price_for(policy, facts, true, turn_of(facts));
    el_cost_t made = {.size = (uint32_t)(nbytes * 10000 / facts->moment.size)};
    el_coding_t coding = facts->demand.difference;

    /* Where something else would be made in the end, what is there already will do. */
    return el_choice_make(policy, facts, coding, true).coding == coding
           && value_of(best_difference(policy, facts, coding, price).cost, price)
                  < value_of(made, price);
}

bool el_choice_is_light(const el_policy_t *policy, const el_facts_t *facts)
{
    el_policy_t read = *policy;
    difference_t best;

    el_policy_read_encoding(&read);
    best = best_difference(&read, facts, facts->demand.difference, 0);
    return best.cost.size < 10000
           && best.cost.nsec <= SENDING * el_costs_slowness() * (10000 - best.cost.size) / 10000
                                    * 1024;
}
