/*
 * Learning the costs of setups, in a model of a site. Responses arrive at random, and each takes
 * the setup that a constant price affords by the expected costs. One in 16 is measured, and one in
 * 64 tries another setup. The real costs differ from the table and change.
 */
#include "elastic/ladder.h"
#include "sim.h"

/* Pages of 64 KB, and their size class. */
#define KBYTES 64
#define LENGTH 3

#define MEASURED_EVERY 16
#define TRIED_EVERY 64

/* Variation between bodies, as powers of two. One measurement in fifty is an outlier. */
#define TIME_NOISE 0.2
#define SIZE_NOISE 0.3
#define OUTLIER 3.

#define START 1000.

static const el_rung_t table[] = {
    {EL_GZIP, 1, {1372, 2646}}, {EL_GZIP, 2, {1488, 2611}}, {EL_GZIP, 3, {2085, 2476}},
    {EL_GZIP, 4, {6788, 2285}}, {EL_GZIP, 5, {8649, 2243}}, {EL_GZIP, 6, {10740, 2211}},
    {EL_GZIP, 7, {15848, 2198}}, {EL_GZIP, 8, {27774, 2182}}, {EL_GZIP, 9, {33557, 2181}},
    {EL_BR, 0, {1787, 2661}}, {EL_BR, 1, {2917, 2538}}, {EL_BR, 2, {5695, 2362}},
    {EL_BR, 3, {6891, 2314}}, {EL_BR, 4, {10869, 2227}}, {EL_BR, 5, {15970, 2065}},
    {EL_ZSTD, 1, {2270, 2468}}, {EL_ZSTD, 3, {2846, 2327}}, {EL_ZSTD, 5, {6046, 2220}},
    {EL_ZSTD, 6, {8571, 2160}}, {EL_ZSTD, 9, {13823, 2109}},
};
#define SETUPS ROWS(table)

typedef struct {
    double rate;  /* responses a second */
    double price; /* of a saved byte, ns */
    size_t setups; /* how many of the table are used */
    uint64_t seed;

    /* The real setups. */
    el_rung_t real[SETUPS];

    /* The learned state. */
    el_costs_t costs;
    el_rung_t ladder[SETUPS];
    size_t count;
    const el_rung_t *used;
    double now, built;
    unsigned responses;

    double changes; /* of the chosen setup */
} site_t;

static uint32_t times(uint32_t value, double factor)
{
    return (uint32_t)(value * factor);
}

/* Sets real costs: about `slow` times the table's time and `large` times its size. */
static void become(site_t *site, double slow, double large)
{
    for (size_t i = 0; i < SETUPS; i++) {
        site->real[i] = table[i];
        site->real[i].cost.nsec =
            times(table[i].cost.nsec, slow * exp2(0.2 * sim_normal(&site->seed)));
        site->real[i].cost.size =
            times(table[i].cost.size, large * exp2(0.01 * sim_normal(&site->seed)));
    }
}

static el_cost_key_t key_of(const el_rung_t *rung)
{
    return (el_cost_key_t){rung->coding, rung->level, LENGTH};
}

/* A setup's index in the table. */
static size_t number_of(const el_rung_t *rung)
{
    size_t i = 0;

    while (table[i].coding != rung->coding || table[i].level != rung->level) {
        i++;
    }
    return i;
}

static el_cost_t expected(const site_t *site, size_t i)
{
    return el_cost_expect(&site->costs, key_of(&table[i]), table[i].cost, (uint32_t)site->now);
}

/* Encodes a body with a setup, and learns from it. */
static void measure(site_t *site, size_t i)
{
    double slow = exp2(TIME_NOISE * sim_normal(&site->seed)
                       + (sim_even(&site->seed) < 0.02 ? OUTLIER : 0));
    el_cost_t took = {
        times(site->real[i].cost.nsec, slow),
        times(site->real[i].cost.size, exp2(SIZE_NOISE * sim_normal(&site->seed))),
    };

    el_cost_update(&site->costs, key_of(&table[i]), table[i].cost, took, (uint32_t)site->now);
}

static void build(site_t *site)
{
    for (site->count = 0; site->count < site->setups; site->count++) {
        site->ladder[site->count] = table[site->count];
        site->ladder[site->count].cost = expected(site, site->count);
    }
    site->count = el_ladder_build(site->ladder, site->count);
    site->built = floor(site->now);
}

/* A setup to measure instead of `used`; `used` if there is none. */
static size_t trial(site_t *site, size_t used)
{
    el_rung_t rungs[SETUPS];
    uint32_t ages[SETUPS];
    const el_rung_t *tried;

    for (size_t i = 0; i < site->setups; i++) {
        rungs[i] = table[i];
        rungs[i].cost = expected(site, i);
        ages[i] = i == used ? 0 : el_cost_age(&site->costs, key_of(&table[i]), (uint32_t)site->now);
    }
    tried = el_ladder_trial(rungs, ages, site->setups, rungs[used].cost, site->price);
    return tried ? number_of(tried) : used;
}

/* Serves responses for `seconds`. */
static void run(site_t *site, double seconds)
{
    double end = site->now + seconds;

    while ((site->now -= log(sim_even(&site->seed)) / site->rate) < end) {
        size_t last = site->used ? number_of(site->used) : SETUPS, i;

        if (floor(site->now) != site->built) {
            build(site);
        }
        site->used = el_ladder_rung(site->ladder, site->count, site->price);
        i = number_of(site->used);
        site->changes += i != last;
        if (++site->responses % TRIED_EVERY == 0) {
            measure(site, trial(site, i));
        } else if (site->responses % MEASURED_EVERY == 0) {
            measure(site, i);
        }
    }
    site->now = end;
}

/* Cost of a KB with a setup: CPU time, and bytes at the price. */
static double burden(const site_t *site, size_t i)
{
    return site->real[i].cost.nsec + 1024. * site->real[i].cost.size / 10000 * site->price;
}

/* Cost of the chosen setup divided by that of the best one. */
static double regret(const site_t *site)
{
    double best = INFINITY;

    for (size_t i = 0; i < site->setups; i++) {
        best = fmin(best, burden(site, i));
    }
    return burden(site, number_of(site->used)) / best;
}

/* {responses a second, price, setups} */
static const struct {
    double rate, price;
    size_t setups;
} sites[] = {
    {10, 200, 9}, {10, 1600, SETUPS}, {100, 60, 9}, {100, 200, 9}, {100, 1600, 9},
    {100, 60, SETUPS}, {100, 200, SETUPS}, {100, 1600, SETUPS}, {400, 400, SETUPS},
};

static site_t site;

CASE(learning);

static void begin(int row)
{
    memset((void *)&site, 0, sizeof(site));
    site.rate = sites[row].rate;
    site.price = sites[row].price;
    site.setups = sites[row].setups;
    site.seed = 42 + (uint64_t)row;
    site.now = START;
    become(&site, 1.3, 0.9);
}

EACH(learning, what_is_chosen_is_near_the_best_and_stays, sites)
{
    begin((int)(row - sites));
    run(&site, 600);
    site.changes = 0;
    run(&site, 1200);
    ck_assert_msg(regret(&site) < 1.04, "%.3f", regret(&site));
    ck_assert_msg(site.changes <= 100, "%.0f changes in 20 minutes", site.changes);
}

/* The machine becomes slower or faster, the costs of setups shift, and the content changes. */
static const struct {
    double slow, large;
} changes[] = {{2.6, 0.9}, {0.65, 0.9}, {1.3, 1.8}, {1.3, 0.45}, {3, 0.45}};

EACH(learning, a_change_is_followed_within_30_seconds, sites)
{
    for (int c = 0; c < ROWS(changes); c++) {
        el_cost_t got, real;
        size_t i;

        begin((int)(row - sites));
        run(&site, 400);
        become(&site, changes[c].slow, changes[c].large);
        run(&site, 30);
        i = number_of(site.used);
        got = expected(&site, i);
        real = site.real[i].cost;
        ck_assert_msg(fabs(log2((double)got.nsec / real.nsec)) < 0.35, "change %d: %u ns of %u", c,
                      got.nsec, real.nsec);
        ck_assert_msg(fabs(log2((double)got.size / real.size)) < 0.35, "change %d: %u of %u", c,
                      got.size, real.size);
        ck_assert_msg(regret(&site) < 1.3, "change %d: %.3f after 30 s", c, regret(&site));
        /* Every setup was measured again by then. */
        run(&site, 600);
        ck_assert_msg(regret(&site) < 1.1, "change %d: %.3f in the end", c, regret(&site));
    }
}
