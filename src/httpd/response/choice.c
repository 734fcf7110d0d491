#include "httpd/response/choice.h"

#include "httpd/control/client_mix.h"
#include "httpd/control/ladders.h"
#include "httpd/state/costs.h"
#include "httpd/state/shared.h"

#include "engines/engines.h"

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

static el_rung_t rung_of(const el_policy_t *policy, const el_facts_t *facts,
                         const el_ladder_key_t *key, el_turn_t turn)
{
    if (facts->moment.rate > 0) {
        turn.price *= el_shared.config.control.goal.rate / facts->moment.rate;
    }
    return el_ladders_choose(key, turn, allowance(policy, &facts->moment));
}

static el_choice_t choose_setup(const el_policy_t *policy, const el_facts_t *facts,
                                el_coding_t coding, bool whole)
{
    unsigned set = choices_of(policy, &facts->demand, coding);
    el_ladder_key_t key = key_of(policy, facts, set, whole);
    el_range_t range = policy->range[coding];
    el_turn_t turn = el_shared_turn();
    bool on_ladder = set != EL_CODING_BIT(coding) || (turn.price >= 0 && el_shared_moves(range));
    el_choice_t choice = {
        .coding = coding,
        .set = set,
        .by_costs = on_ladder || (el_shared_by_costs() && el_shared_moves(range)),
        .bounded = is_bounded(policy->range, set),
        .setup =
            {
                .window_bits = el_stock_number(policy->stock, EL_STOCK_WINDOW_BITS),
                .mem_level = el_stock_number(policy->stock, EL_STOCK_MEM_LEVEL),
                .block_bits = el_stock_number(policy->stock, EL_STOCK_BLOCK_BITS),
                .size_hint = length_of(facts),
            },
    };

    el_client_mix_count(set);
    if (on_ladder) {
        el_rung_t rung = rung_of(policy, facts, &key, turn);

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

/* Of a difference no other setup is both cheaper and smaller: neither load nor price choose. */
static el_choice_t choose_difference(const el_facts_t *facts, el_coding_t coding)
{
    return (el_choice_t){
        .coding = coding,
        .setup = {.level = el_engine_for(coding)->level_max, .size_hint = length_of(facts)},
    };
}

el_choice_t el_choice_make(const el_policy_t *policy, const el_facts_t *facts, el_coding_t coding,
                           bool whole)
{
    return el_coding_is_difference(coding) ? choose_difference(facts, coding)
                                           : choose_setup(policy, facts, coding, whole);
}

el_coding_t el_choice_coding(const el_policy_t *policy, const el_facts_t *facts,
                             el_coding_t coding, bool whole)
{
    unsigned set;
    el_ladder_key_t key;

    if (el_coding_is_difference(coding)) {
        return coding;
    }
    set = choices_of(policy, &facts->demand, coding);
    key = key_of(policy, facts, set, whole);
    return set == EL_CODING_BIT(coding) ? coding
                                        : rung_of(policy, facts, &key, el_shared_turn()).coding;
}
