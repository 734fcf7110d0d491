#include "httpd/response/choice.h"

#include "httpd/control/client_mix.h"
#include "httpd/state/shared.h"

double el_choice_slowness(void)
{
    return el_cost_slowness(el_shared.costs, el_shared_sec());
}

size_t el_choice_levels(el_rung_t *rungs, size_t count, el_coding_t coding, el_range_t range,
                        bool whole, el_setup_t setup)
{
    unsigned size_class = el_cost_class(setup.size_hint);
    uint32_t now = el_shared_sec();

    for (int level = range.min; level <= range.max; level++) {
        el_plan_t plan;

        setup.level = level;
        plan = el_engine_plan(coding, &setup, whole);
        rungs[count++] = (el_rung_t){
            .coding = coding,
            .level = level,
            .cost = el_cost_expect(el_shared.costs, coding, level, size_class,
                                   el_engine_cost(&plan), now),
        };
    }
    return count;
}

/* The codings that the client likes as much as `first`, which is one of them. */
static unsigned equals_of(const el_facts_t *facts, el_coding_t first)
{
    unsigned set = 0;

    for (size_t i = 0; i < facts->order_count; i++) {
        if (facts->accept.q[facts->order[i]] == facts->accept.q[first]) {
            set |= EL_AUDIENCE_BIT(facts->order[i]);
        }
    }
    return set;
}

bool el_choice_moves(const request_rec *r, el_record_t record, el_coding_t coding)
{
    el_range_t range = el_policy_range(r, record, coding);

    return el_shared.control.mode != EL_CONTROL_OFF && range.min < range.max;
}

/* The codings that the ladder has to choose between; only `first` where the order decides. */
static unsigned choices_of(const request_rec *r, el_record_t record, const el_facts_t *facts,
                           el_coding_t first)
{
    return el_policy_is_stock(record) || !el_choice_moves(r, record, first)
                   || facts->accept.q[first] == 0
               ? EL_AUDIENCE_BIT(first)
               : equals_of(facts, first);
}

/* The rungs of the codings in `set`. */
static size_t collect(const request_rec *r, const el_facts_t *facts, unsigned set, bool whole,
                      uint64_t length, el_rung_t *rungs)
{
    const el_dir_t *dir = el_dir_of(r);
    size_t count = 0;

    for (size_t i = 0; i < facts->order_count; i++) {
        el_coding_t coding = facts->order[i];

        if (set & EL_AUDIENCE_BIT(coding)) {
            count = el_choice_levels(rungs, count, coding, el_dir_range(dir, coding), whole,
                                     (el_setup_t){.size_hint = length});
        }
    }
    return count;
}

/*
 * What a setup may cost by ElasticMaxTime. A body whose length is not known counts as a large page,
 * or as what was seen of it where that is more.
 */
static uint32_t allowance(const request_rec *r, const el_facts_t *facts)
{
    apr_interval_time_t most = el_dir_of(r)->max_time;
    bool judged = facts->size_known || facts->size > EL_COST_UNKNOWN_LENGTH;

    return most == EL_NO_MAX_TIME
               ? UINT32_MAX
               : el_cost_allowance((uint64_t)most, judged ? facts->size : EL_COST_UNKNOWN_LENGTH);
}

/* The highest of a coding's levels, from `setup`'s down, that costs no more than `most`. */
static int level_within(el_coding_t coding, int min, bool whole, const el_setup_t *setup,
                        uint32_t most)
{
    el_rung_t rungs[EL_COST_LEVELS];
    size_t count =
        el_choice_levels(rungs, 0, coding, el_range_of(min, setup->level), whole, *setup);

    return el_ladder_within(rungs, &rungs[count - 1], most)->level;
}

el_setup_t el_choice_make(const request_rec *r, el_record_t record, const el_facts_t *facts,
                          bool whole, uint64_t length, el_decision_t *decision)
{
    el_rung_t rungs[EL_RUNGS_MAX];
    const el_rung_t *rung = NULL;
    uint32_t most = allowance(r, facts);
    unsigned set = choices_of(r, record, facts, decision->coding);
    el_setup_t setup;

    el_audience_count(set);
    if (set != EL_AUDIENCE_BIT(decision->coding)) {
        unsigned top, position = el_shared_next_position(&top);
        size_t count = el_ladder_build(rungs, collect(r, facts, set, whole, length, rungs));

        rung = count ? el_ladder_rung(rungs, count, position, top, el_choice_slowness()) : NULL;
    }
    if (rung) {
        rung = el_ladder_within(rungs, rung, most);
        decision->coding = rung->coding;
    }
    setup = el_policy_setup(r, record, decision->coding);
    setup.size_hint = length;
    if (rung) {
        setup.level = rung->level;
    } else if (most != UINT32_MAX && el_choice_moves(r, record, decision->coding)) {
        setup.level = level_within(decision->coding,
                                   el_policy_range(r, record, decision->coding).min, whole, &setup,
                                   most);
    }
    return setup;
}

void el_choice_learn(const el_plan_t *plan, int level, uint64_t in, uint64_t out, uint64_t cpu_nsec)
{
    const el_setup_t *setup = &plan->setup;
    uint64_t nsec, size;

    /* An empty body tells nothing, and one with a window of its own only of those like it. */
    if (in == 0 || setup->window_bits || setup->mem_level || setup->block_bits) {
        return;
    }
    nsec = (uint64_t)((double)cpu_nsec * 1024 / (double)in);
    size = (uint64_t)((double)out * 10000 / (double)in);
    el_cost_update(el_shared.costs, plan->engine->coding, level,
                   el_cost_class(setup->size_hint), el_engine_cost(plan),
                   (el_cost_t){nsec > UINT32_MAX ? UINT32_MAX : (uint32_t)nsec,
                               size > UINT32_MAX ? UINT32_MAX : (uint32_t)size},
                   el_shared_sec());
}
