#include "httpd/control/client_mix.h"

#include "httpd/config/policy.h"
#include "httpd/control/ladders.h"
#include "httpd/state/shared.h"

void el_client_mix_count(unsigned set)
{
    el_shared_count((el_counter_t)(EL_COUNT_CODING_SET + set), 1);
}

/* The codings that the site encodes. */
static unsigned encoded_codings(const el_site_t *site)
{
    unsigned set = 0;

    for (size_t i = 0; i < site->order_count; i++) {
        set |= EL_CODING_BIT(site->order[i]);
    }
    return set;
}

bool el_client_mix_curve(uint64_t now, unsigned top, double *cost)
{
    const el_site_t *site = el_policy_site();
    unsigned all = encoded_codings(site);
    el_ladder_key_t key = {.range = site->range, .whole = true};
    double total = 0;
    el_mix_t mix;

    el_mix_follow_shared(el_shared.mix, el_shared.counters, now, &mix);
    key.length = el_mix_body(&mix);
    if (all == 0 || key.length == 0 || top >= EL_COST_LEVELS) {
        return false;
    }
    for (unsigned p = 0; p <= top; p++) {
        cost[p] = 0;
    }
    for (unsigned set = 0; set < EL_CODING_SETS; set++) {
        double responses = mix.weights.sets[set];

        key.set = set & all;
        if (responses > 0 && key.set != 0) {
            el_ladders_curve(&key, top, responses, cost);
            total += responses;
        }
    }
    if (total <= 0) {
        total = 1;
        key.set = all;
        el_ladders_curve(&key, top, total, cost);
    }
    for (unsigned p = 0; p <= top; p++) {
        cost[p] /= total;
    }
    return true;
}
