#include "elastic/price.h"

#include "fuzz.h"

#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_string(data, size);
    el_goal_t goal = {.kind = EL_GOAL_CPU, .per_core_hour = -1, .per_gbyte = -1};

    if (el_goal_parse(text, size, &goal)) {
        if (goal.kind != EL_GOAL_CPU) {
            double worth = el_goal_worth(&goal);
            MUST(worth >= 0 && isfinite(worth));
        }
        switch (goal.kind) {
        case EL_GOAL_TIME:
            MUST(goal.rate > 0 && isfinite(goal.rate));
            MUST(goal.least > 0 && goal.least <= goal.most);
            break;
        case EL_GOAL_COST:
            MUST(goal.per_core_hour >= 0 && goal.per_gbyte >= 0);
            MUST(goal.per_core_hour + goal.per_gbyte > 0 && isfinite(goal.per_core_hour));
            break;
        default:
            MUST(goal.kind == EL_GOAL_CPU);
            break;
        }
    } else {
        MUST(goal.per_core_hour == -1 && goal.per_gbyte == -1);
    }
    free(text);
    return 0;
}
