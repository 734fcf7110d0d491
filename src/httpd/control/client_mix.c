#include "httpd/control/client_mix.h"

#include "httpd/response/choice.h"
#include "httpd/state/shared.h"

/* What the main server's settings say of codings. */
typedef struct {
    el_range_t range[EL_CODINGS];
    el_coding_t order[EL_CODINGS];
    size_t codings;
    unsigned top;
    uint64_t length;
} site_t;

void el_audience_count(unsigned set)
{
    el_shared_count((el_counter_t)(EL_COUNT_CODING_SET + set), 1);
}

static site_t site_of(const server_rec *main_server, uint64_t length, unsigned top)
{
    site_t site = {.length = length, .top = top};
    el_coding_t listed[EL_CODINGS];
    size_t count = el_dir_codings(el_dir_global(main_server), listed);

    el_policy_ranges(main_server, site.range);
    for (size_t i = 0; i < count; i++) {
        /* Without a record that encodes it, a coding takes no part. */
        if (site.range[listed[i]].enabled) {
            site.order[site.codings++] = listed[i];
        }
    }
    return site;
}

/* The setups of the codings in `set`; their number, and how many codings these are. */
static size_t rungs_of(const site_t *site, unsigned set, el_rung_t *rungs, size_t *codings,
                       el_range_t *only)
{
    size_t count = 0;

    *codings = 0;
    for (size_t i = 0; i < site->codings; i++) {
        el_coding_t coding = site->order[i];

        if (set & EL_AUDIENCE_BIT(coding)) {
            count = el_choice_levels(rungs, count, coding, site->range[coding], true,
                                     (el_setup_t){.size_hint = site->length});
            *only = site->range[coding];
            ++*codings;
        }
    }
    return *codings > 1 ? el_ladder_build(rungs, count) : count;
}

/* Adds the curve of clients that choose from `set`, `weight` times; false where they get none. */
static bool add_curve(const site_t *site, unsigned set, double weight, double *cost, double *ratio)
{
    el_rung_t rungs[EL_RUNGS_MAX];
    el_range_t only = {0};
    size_t codings;
    size_t count = rungs_of(site, set, rungs, &codings, &only);

    if (count == 0) {
        return false;
    }
    for (unsigned p = 0; p <= site->top; p++) {
        /* One coding goes by its levels, without a ladder. */
        const el_rung_t *rung =
            codings == 1 ? &rungs[el_ladder_level(only, p, site->top) - only.min]
                         : el_ladder_rung(rungs, count, p, site->top, el_choice_slowness());

        cost[p] += weight * rung->cost.nsec / 1000;
        ratio[p] += weight * rung->cost.size / 10000;
    }
    return true;
}

bool el_audience_curve(const server_rec *main_server, uint64_t length, unsigned top, double *cost,
                       double *ratio)
{
    site_t site = site_of(main_server, length, top);
    double total = 0;

    if (top >= EL_COST_LEVELS) {
        return false;
    }
    for (unsigned p = 0; p <= top; p++) {
        cost[p] = ratio[p] = 0;
    }
    for (unsigned set = 0; set < EL_CODING_SETS; set++) {
        el_counter_t counter = (el_counter_t)(EL_COUNT_CODING_SET + set);
        double responses = (double)el_counters_total(el_shared.counters, counter);

        if (responses > 0 && add_curve(&site, set, responses, cost, ratio)) {
            total += responses;
        }
    }
    if (total <= 0) {
        total = 1;
        if (!add_curve(&site, EL_CODING_SETS - 1, total, cost, ratio)) {
            return false;
        }
    }
    for (unsigned p = 0; p <= top; p++) {
        cost[p] /= total;
        ratio[p] /= total;
    }
    return true;
}
