/*
 * The goal `time` in a queue: at every load, rate and number of CPUs it must come near the best
 * fixed setup for that load, which no one can know beforehand.
 */
#include "queue.h"
#include "sim.h"

#define ROWS(table) ((int)(sizeof(table) / sizeof((table)[0])))

#include <math.h>
#include <string.h>

/* gzip's setups for pages of 120 KB; tests make their costs steeper or flatter. */
static const el_rung_t setups[] = {
    {EL_GZIP, 1, {1372, 2646}}, {EL_GZIP, 2, {1488, 2611}}, {EL_GZIP, 3, {2085, 2476}},
    {EL_GZIP, 4, {6788, 2285}}, {EL_GZIP, 6, {10740, 2211}}, {EL_GZIP, 8, {27774, 2182}},
};
#define SETUPS ROWS(setups)

static el_rung_t rungs[SETUPS];

/* Builds the setups in order of cost, with costs raised to the power `steep`. */
static size_t ladder(double steep)
{
    memcpy(rungs, setups, sizeof(setups));
    for (size_t i = 0; i < SETUPS; i++) {
        rungs[i].cost.nsec = (uint32_t)(1372 * pow(setups[i].cost.nsec / 1372., steep));
    }
    return el_ladder_build(rungs, SETUPS);
}

static queue_t queue_new(size_t count)
{
    return (queue_t){
        .cpus = 1, .rate = 5e6, .kbytes = 120, .making = 0.004, .base = 0.4, .seconds = 300,
        .interval = 0.5, .rungs = rungs, .count = count, .fixed = -1, .seed = 1,
    };
}

/* The fixed setup with the least mean time. */
static queue_result_t best_fixed(queue_t queue)
{
    queue_result_t best = {.mean = INFINITY};

    for (queue.fixed = 0; queue.fixed < (int)queue.count; queue.fixed++) {
        queue_result_t one = queue_run(&queue);

        best = one.mean < best.mean ? one : best;
    }
    return best;
}

static const struct {
    unsigned cpus;
    double mbit, steep, noise;
} machines[] = {
    {1, 5, 1, 0},   {1, 20, 1, 0},    {1, 100, 1, 0},  {1, 5, 1, 0.08}, {1, 20, 1, 0.08},
    {2, 5, 1, 0.04}, {4, 20, 1, 0.04}, {16, 5, 1, 0.02}, {64, 5, 1, 0.01}, {1, 5, 1.3, 0.04},
    {1, 20, 0.7, 0.04},
};

START_TEST(it_is_near_the_best_of_the_fixed_setups)
{
    queue_t queue = queue_new(ladder(machines[_i].steep));

    queue.cpus = machines[_i].cpus;
    queue.rate = machines[_i].mbit * 1e6;
    queue.noise = machines[_i].noise;
    queue.seconds = queue.cpus > 4 ? 600. / queue.cpus + 20 : 300;
    for (queue.base = 0.1; queue.base < 0.85; queue.base += 0.175) {
        queue_result_t best = best_fixed(queue), got = queue_run(&queue);

        ck_assert_msg(got.mean < 1.03 * best.mean, "%u CPUs at %.1f, mean %.1f ms, best %.1f",
                      queue.cpus, queue.base, 1e3 * got.mean, 1e3 * best.mean);
        ck_assert_msg(got.p95 < 1.05 * best.p95, "%u CPUs at %.1f, p95 %.1f ms, best %.1f",
                      queue.cpus, queue.base, 1e3 * got.p95, 1e3 * best.p95);
    }
}
END_TEST

/* On a host of two CPUs a constant load wavers by eight points, for seconds. */
static const struct {
    unsigned cpus;
    double mbit, noise, lasting;
} hosts[] = {
    {1, 5, 0, 0},  {1, 5, 0.08, 0},  {1, 5, 0.08, 3},  {1, 20, 0.08, 3},
    {2, 5, 0.08, 0}, {2, 5, 0.08, 3}, {2, 20, 0.08, 3}, {4, 5, 0.08, 0}, {4, 5, 0.05, 3},
};

START_TEST(at_a_steady_load_it_is_steady)
{
    queue_t queue = queue_new(ladder(1));
    double unsteady = 0;

    queue.cpus = hosts[_i].cpus;
    queue.rate = hosts[_i].mbit * 1e6;
    queue.noise = hosts[_i].noise;
    queue.lasting = hosts[_i].lasting;
    queue.seconds = 900;
    for (queue.base = 0.1; queue.base < 0.85; queue.base += 0.1) {
        unsteady += queue_run(&queue).unsteady / 8;
    }
    /* After a jump, real or noise, the load is the mean of few samples for some seconds. */
    ck_assert_msg(unsteady <= 0.08, "%u CPUs, %g Mbit/s, noise %g for %g s: %.3f", queue.cpus,
                  hosts[_i].mbit, queue.noise, queue.lasting, unsteady);
}
END_TEST

/* A flood that the server cannot carry, and one that it just carries at the cheapest setup. */
static const double floods[] = {10, 4.5};

START_TEST(a_flood_is_met_at_the_floor_and_left_behind)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        queue_t queue = queue_new(ladder(1));
        queue_result_t got, floor;

        queue.seed = seed;
        queue.base = 0.15;
        queue.flood = floods[_i];
        /* Any time within an interval. */
        queue.flood_at = 60 + (double)seed / 40;
        queue.flood_end = queue.flood_at + 5;
        queue.seconds = 110;
        got = queue_run(&queue);
        queue.fixed = 0;
        floor = queue_run(&queue);
        if (_i == 0) {
            /* One slot to notice it, and one to measure it. */
            ck_assert_double_le(got.floored, 0.25);
        }
        ck_assert_double_le(got.calm, floor.calm + 2);
    }
}
END_TEST

START_TEST(work_that_nobody_waits_for_leaves_it_at_the_floor)
{
    queue_t queue = queue_new(ladder(1));

    queue.others = 1;
    ck_assert_double_eq_tol(queue_run(&queue).bytes, 120 * 1024 * .2646, 1);
}
END_TEST

START_TEST(without_load_the_wire_decides)
{
    queue_t queue = queue_new(ladder(1));

    queue.base = 0.02;
    ck_assert_double_eq_tol(queue_run(&queue).bytes, 120 * 1024 * .2211, 50);
    queue.rate = 100e6;
    ck_assert_double_eq_tol(queue_run(&queue).bytes, 120 * 1024 * .2476, 50);
}
END_TEST

TCase *sim_price(void)
{
    TCase *tc = tcase_create("price");

    tcase_add_loop_test(tc, it_is_near_the_best_of_the_fixed_setups, 0, ROWS(machines));
    tcase_add_loop_test(tc, at_a_steady_load_it_is_steady, 0, ROWS(hosts));
    tcase_add_loop_test(tc, a_flood_is_met_at_the_floor_and_left_behind, 0, ROWS(floods));
    tcase_add_test(tc, work_that_nobody_waits_for_leaves_it_at_the_floor);
    tcase_add_test(tc, without_load_the_wire_decides);
    return tc;
}
