#include "httpd/state/costs.h"

#include "httpd/state/shared.h"

#include "elastic/mediatype.h"
#include "elastic/ratio.h"
#include "elastic/warmth.h"
#include "engines/costs.h"
#include "engines/engines.h"
#include "engines/plan.h"
#include "host/clock.h"

/* mod_deflate's default; el_costs_zlib begins at level 1. */
#define STOCK_LEVEL 6

static el_cost_key_t key_of(el_coding_t coding, int level, const el_setup_t *setup)
{
    return (el_cost_key_t){coding, level, el_cost_class(setup->size_hint)};
}

el_cost_t el_costs_expect(el_coding_t coding, const el_setup_t *setup, bool whole)
{
    el_plan_t plan = el_engine_plan(coding, setup, whole);

    return el_cost_expect(el_shared.costs, key_of(coding, setup->level, setup),
                          el_engine_cost(&plan), el_clock_sec());
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
    static el_warmth_t warmth;
    const el_setup_t *setup = &plan->setup;
    el_coding_t coding = plan->engine->coding;

    /* An empty body has no cost per KB. */
    if (measured->in == 0 || !el_costs_are_kept(setup)) {
        return;
    }
    if (!el_warmth_is_usual(&warmth, coding, level, measured->fresh)) {
        return;
    }
    el_cost_update(el_shared.costs, key_of(coding, level, setup),
                   el_engine_cost(plan),
                   (el_cost_t){.nsec = per(measured->cpu_nsec, 1024, measured->in),
                               .size = per(measured->out, 10000, measured->in)},
                   el_clock_sec());
}

bool el_ratios_poor(const char *content_type)
{
    return el_ratio_poor(el_shared.ratios, el_mediatype_hash(content_type),
                         el_clock_sec());
}

void el_ratios_update(const char *content_type, el_coding_t coding, uint64_t in, uint64_t out)
{
    if (!el_coding_is_difference(coding)) {
        el_ratio_update(el_shared.ratios, el_mediatype_hash(content_type), in, out,
                        el_clock_sec());
    }
}
