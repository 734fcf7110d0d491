#include "choice.h"

#include "shared.h"

static uint32_t now_sec(void)
{
    return (uint32_t)(el_shared_now() / APR_USEC_PER_SEC);
}

/* Adds a coding's setups to the ladder, all but the level as `setup`; the number of rungs after. */
static size_t add_levels(el_rung_t *rungs, size_t count, el_coding_t coding, el_range_t range,
                         bool whole, el_setup_t setup)
{
    unsigned size_class = el_cost_class(setup.size_hint);
    uint32_t now = now_sec();

    for (int level = range.min; level <= range.max; level++) {
        el_plan_t plan;

        setup.level = level;
        plan = el_engine_plan(coding, &setup, whole);
        rungs[count++] = (el_rung_t){
            .coding = coding,
            .level = level,
            .cost = el_cost_expect(&el_shared.state->costs, coding, level, size_class,
                                   el_engine_cost(&plan), now),
        };
    }
    return count;
}

/* How many codings the client likes as much as `first`, which is one of them. */
static size_t count_equals(const el_facts_t *facts, el_coding_t first)
{
    size_t count = 0;

    for (size_t i = 0; i < facts->order_count; i++) {
        count += facts->accept.q[facts->order[i]] == facts->accept.q[first];
    }
    return count;
}

/* The rungs of all codings that the client likes as much as `first`. */
static size_t collect(const request_rec *r, const el_facts_t *facts, el_coding_t first, bool whole,
                      uint64_t length, el_rung_t *rungs)
{
    const el_dir_t *dir = el_dir_of(r);
    size_t count = 0;

    for (size_t i = 0; i < facts->order_count; i++) {
        el_coding_t coding = facts->order[i];

        if (facts->accept.q[coding] == facts->accept.q[first]) {
            count = add_levels(rungs, count, coding, el_dir_range(dir, coding), whole,
                               (el_setup_t){.size_hint = length});
        }
    }
    return count;
}

bool el_choice_moves(const request_rec *r, el_record_t record, el_coding_t coding)
{
    el_range_t range = el_policy_range(r, record, coding);

    return el_shared.control.mode != EL_CONTROL_OFF && range.min < range.max;
}

/* Whether the server's order decides, and not a ladder. */
static bool order_decides(const request_rec *r, el_record_t record, const el_facts_t *facts,
                          el_coding_t first)
{
    return el_policy_is_stock(record) || !el_choice_moves(r, record, first)
           || facts->accept.q[first] == 0 || count_equals(facts, first) < 2;
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
    size_t count = add_levels(rungs, 0, coding, (el_range_t){min, setup->level}, whole, *setup);

    return el_ladder_within(rungs, &rungs[count - 1], most)->level;
}

el_setup_t el_choice_make(const request_rec *r, el_record_t record, const el_facts_t *facts,
                          bool whole, uint64_t length, el_decision_t *decision)
{
    el_rung_t rungs[EL_RUNGS_MAX];
    const el_rung_t *rung = NULL;
    uint32_t most = allowance(r, facts);
    el_setup_t setup;

    if (!order_decides(r, record, facts, decision->coding)) {
        unsigned top, position = el_shared_next_position(&top);
        size_t count = el_ladder_build(
            rungs, collect(r, facts, decision->coding, whole, length, rungs));

        rung = count ? el_ladder_rung(rungs, count, position, top,
                                      el_cost_slowness(&el_shared.state->costs, now_sec()))
                     : NULL;
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

bool el_choice_curve(const server_rec *main_server, uint64_t length, unsigned top, double *cost,
                     double *ratio)
{
    const el_dir_t *global = el_dir_global(main_server);
    el_range_t ranges[EL_CODINGS];
    el_coding_t order[EL_CODINGS];
    el_rung_t rungs[EL_RUNGS_MAX];
    size_t codings = el_dir_codings(global, order), count = 0, taking_part = 0;
    el_range_t only = {0, 0};

    el_policy_ranges(main_server, ranges);
    for (size_t i = 0; i < codings; i++) {
        /* Without a record that encodes it, a coding takes no part. */
        if (ranges[order[i]].max > 0) {
            count = add_levels(rungs, count, order[i], ranges[order[i]], true,
                               (el_setup_t){.size_hint = length});
            only = ranges[order[i]];
            taking_part++;
        }
    }
    count = taking_part == 1 ? count : el_ladder_build(rungs, count);
    if (count == 0 || top >= EL_COST_LEVELS) {
        return false;
    }
    for (unsigned p = 0; p <= top; p++) {
        /* One coding goes by its levels, without a ladder. */
        const el_rung_t *rung =
            taking_part == 1
                ? &rungs[el_ladder_level(only, p, top) - only.min]
                : el_ladder_rung(rungs, count, p, top,
                                 el_cost_slowness(&el_shared.state->costs, now_sec()));

        cost[p] = rung->cost.nsec / 1000.;
        ratio[p] = rung->cost.size / 10000.;
    }
    return true;
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
    el_cost_learn(&el_shared.state->costs, plan->engine->coding, level,
                  el_cost_class(setup->size_hint), el_engine_cost(plan),
                  (el_cost_t){nsec > UINT32_MAX ? UINT32_MAX : (uint32_t)nsec,
                              size > UINT32_MAX ? UINT32_MAX : (uint32_t)size},
                  now_sec());
}
