#include "httpd/state/costs.h"

#include "httpd/state/shared.h"

#include "elastic/ratio.h"
#include "engines/engines.h"
#include "engines/library.h"
#include "host/clock.h"

/* mod_deflate's default; el_costs_zlib begins at level 1. */
#define STOCK_LEVEL 6

/* Of sizes and shares. */
#define WHOLE 10000

static el_cost_key_t key_of(el_coding_t coding, int level, const el_setup_t *setup)
{
    return (el_cost_key_t){coding, level, el_cost_class(setup->size_hint)};
}

/* What the site's bodies of that length become, by a coding without a dictionary. */
static el_cost_t site_cost(el_coding_t coding, const el_setup_t *setup, bool whole)
{
    el_plan_t plan = el_engine_plan(coding, setup, whole);

    return el_cost_expect(el_shared.costs, key_of(coding, setup->level, setup),
                          el_engine_cost(&plan), el_clock_sec());
}

/*
 * The part that a dictionary of which nothing is known leaves of a page, in ten-thousandths: between
 * an edited page, of which hardly anything is, and one of a site, of which two thirds are.
 */
#define PART_UNKNOWN 3000

/* Beyond what a difference can leave of a page, unless that is another page by now. */
#define OWN_MOST (10 * WHOLE)

/* A page is known by its last body; pages are known by some, because the first may be unlike others. */
#define BODIES_OF_RULE 8

/* Shares are kept divided by so much: a ratio goes up to two, and a page may be ten times another. */
#define SHARE_UNIT 5

static uint32_t share_of(const el_setup_t *setup, int share, uint32_t least, uint32_t otherwise)
{
    uint32_t mean = el_ratio_mean(el_shared.shares, setup->shares[share], least, el_clock_sec());

    return mean ? mean * SHARE_UNIT : otherwise;
}

static void add_share(const el_setup_t *setup, int share, uint64_t in, uint64_t out)
{
    el_ratio_update(el_shared.shares, setup->shares[share], in, out / SHARE_UNIT, el_clock_sec());
}

/* What the page becomes without a dictionary, of what the site's bodies do. */
static uint32_t plain_share(const el_setup_t *setup)
{
    return share_of(setup, EL_SHARE_PLAIN, 1, WHOLE);
}

/* By the engine's own table; that of a difference is made from what is known of the page. */
static el_cost_t known_cost(const el_plan_t *plan, int level, const el_setup_t *setup)
{
    el_coding_t coding = plan->engine->coding;
    el_cost_t known = el_engine_cost(plan);
    el_setup_t plain = *setup;
    uint64_t fit, left, own;

    if (!el_coding_is_difference(coding)) {
        return known;
    }
    plain.level = level;
    fit = plain_share(setup);
    left = share_of(setup, EL_SHARE_RULE, BODIES_OF_RULE, PART_UNKNOWN);
    left = share_of(setup, EL_SHARE_PAGE, 1, (uint32_t)(left * fit / WHOLE));
    own = left * WHOLE / fit;
    known.size = (uint32_t)(site_cost(el_coding_info(coding)->plain, &plain, true).size * fit
                            / WHOLE);
    return el_cost_differ(known, (uint32_t)(own < OWN_MOST ? own : OWN_MOST));
}

el_cost_t el_costs_expect(el_coding_t coding, const el_setup_t *setup, bool whole)
{
    el_plan_t plan = el_engine_plan(coding, setup, whole);
    el_cost_t cost = el_cost_expect(el_shared.costs, key_of(coding, setup->level, setup),
                                    known_cost(&plan, setup->level, setup), el_clock_sec());

    if (!el_coding_is_difference(coding)) {
        cost.size = (uint32_t)((uint64_t)cost.size * plain_share(setup) / WHOLE);
    }
    return cost;
}

uint32_t el_costs_age(el_coding_t coding, const el_setup_t *setup)
{
    return el_cost_age(el_shared.costs, key_of(coding, setup->level, setup), el_clock_sec());
}

double el_costs_slowness(void)
{
    return el_cost_slowness(el_shared.costs, el_clock_sec());
}

/*
 * The time goes by the machine's speed alone: what was measured of gzip may be of another library. The
 * size goes by what became of this body, because content differs more than codings do.
 */
el_measured_t el_costs_stock(el_coding_t coding, int level, uint64_t in, uint64_t out)
{
    const el_setup_t stock = {.level = STOCK_LEVEL, .size_hint = in};
    const el_setup_t setup = {.level = level, .size_hint = in};
    el_cost_key_t key = key_of(EL_GZIP, STOCK_LEVEL, &stock);
    el_cost_t known = el_costs_zlib[STOCK_LEVEL - 1][key.size_class];
    double size = el_cost_expect(el_shared.costs, key, known, el_clock_sec()).size;
    uint32_t own = el_coding_is_difference(coding) ? 0 : el_costs_expect(coding, &setup, true).size;

    return (el_measured_t){
        .in = in,
        .out = (uint64_t)(own ? (double)out * size / own : (double)in / 10000 * size),
        .cpu_nsec = (uint64_t)((double)in / 1024 * known.nsec * el_costs_slowness()),
    };
}

bool el_costs_are_kept(const el_setup_t *setup)
{
    return !setup->window_bits && !setup->mem_level && !setup->block_bits;
}

static uint32_t per(uint64_t value, uint64_t unit, uint64_t in)
{
    double scaled = (double)value * (double)unit / (double)in;

    return scaled < UINT32_MAX ? (uint32_t)scaled : UINT32_MAX;
}

void el_costs_update(const el_plan_t *plan, int level, const el_measured_t *measured)
{
    const el_setup_t *setup = &plan->setup;
    el_coding_t coding = plan->engine->coding;

    /*
     * An empty body has no cost per KB. The first body of a new context takes up to twelve times as
     * long: where contexts are kept that is seldom, and counts as any outlier.
     */
    if (measured->in == 0 || !el_costs_are_kept(setup)) {
        return;
    }
    el_cost_update(el_shared.costs, key_of(coding, level, setup),
                   known_cost(plan, level, setup),
                   (el_cost_t){.nsec = per(measured->cpu_nsec, 1024, measured->in),
                               .size = per(measured->out, 10000, measured->in)},
                   el_clock_sec());
}

void el_shares_update(const el_plan_t *plan, int level, uint64_t in, uint64_t out)
{
    el_coding_t coding = plan->engine->coding;
    bool differs = el_coding_is_difference(coding);
    el_setup_t setup = plan->setup;
    uint64_t size;

    if (!setup.shares[EL_SHARE_PLAIN]) {
        return;
    }
    setup.level = level;
    size = site_cost(el_coding_info(coding)->plain, &setup, true).size;
    if (size == 0) {
        return;
    }
    out = out * WHOLE / size;
    add_share(&setup, differs ? EL_SHARE_PAGE : EL_SHARE_PLAIN, in, out);
    if (differs) {
        add_share(&setup, EL_SHARE_RULE, in, out * WHOLE / plain_share(&setup));
    }
}
