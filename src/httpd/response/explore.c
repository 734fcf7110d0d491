#include "httpd/response/explore.h"

#include "httpd/body/encoder.h"
#include "httpd/control/ladders.h"
#include "httpd/state/shared.h"

#include "elastic/ladder.h"
#include "engines/engines.h"

#include <stdatomic.h>

/* To look for a setup takes ten microseconds: one body in so many is enough. */
#define EVERY 64

/* A new context is used twice: its first body does not take a usual time. */
#define TIMES 2

/* Whether a setup is looked for with this body; `turn` counts how often one was. */
static bool is_looked_for(uint32_t *turn)
{
    static _Atomic uint32_t bodies;
    uint32_t number = atomic_fetch_add_explicit(&bodies, 1, memory_order_relaxed) + 1;

    *turn = number / EVERY;
    return number % EVERY == 0;
}

el_exploration_t el_exploration_plan(const el_policy_t *policy, const el_choice_t *choice,
                                     uint64_t nbytes)
{
    el_exploration_t exploration = {.coding = EL_IDENTITY, .setup = choice->setup};
    el_ladder_key_t key = {
        .set = choice->set, .range = policy->range, .whole = true, .length = nbytes,
    };
    double kbytes = (double)nbytes / 1024;
    uint32_t turn, used;
    el_rung_t rung;

    if (!choice->by_costs || !el_costs_are_kept(&choice->setup) || !is_looked_for(&turn)) {
        return exploration;
    }
    used = el_costs_expect(choice->coding, &choice->setup, true).nsec;
    if (el_ladders_rare(&key, used, &rung)
        && el_explore_is_due(turn, EVERY * kbytes * used, TIMES * kbytes * rung.cost.nsec)) {
        exploration.coding = rung.coding;
        exploration.setup.level = rung.level;
    }
    return exploration;
}

void el_exploration_run(const el_exploration_t *exploration, const char *data, size_t nbytes)
{
    el_plan_t plan = el_engine_plan(exploration->coding, &exploration->setup, true);
    el_measured_t measured = {.fresh = true};
    uint64_t nsec = 0;

    for (int i = 0; i < TIMES && measured.fresh; i++) {
        measured = el_encoder_try(&plan, data, nbytes);
        nsec += measured.cpu_nsec;
    }
    if (measured.out > 0) {
        el_costs_update(&plan, exploration->setup.level, &measured);
    }
    el_shared_count(EL_COUNT_EXPLORED, 1);
    el_shared_count(EL_COUNT_EXPLORED_NSEC, nsec);
}
