#include "elastic/load.h"
#include "suites.h"

CASE(load_signals);

static const struct {
    el_load_kind_t kind;
    el_machine_facts_t facts; /* CPUs, version of the control group, its limit */
    bool cgroup;
    double cpus;
    const char *text;
} choices[] = {
    {EL_LOAD_AUTO, {2, 0, 0, 0}, false, 2, "stat (no control group)"},
    {EL_LOAD_AUTO, {2, 2, 0, 0}, false, 2, "stat (the control group has no limit)"},
    {EL_LOAD_AUTO, {2, 2, 0.5, 0}, true, 0.5, "cgroup (v2, limit of 0.50 CPUs)"},
    {EL_LOAD_AUTO, {4, 1, 1.5, 0}, true, 1.5, "cgroup (v1, limit of 1.50 CPUs)"},
    {EL_LOAD_AUTO, {2, 2, 2, 0}, false, 2,
     "stat (the control group's limit is no less than the CPUs)"},
    {EL_LOAD_AUTO, {0, 2, 2, 0}, true, 2, "cgroup (v2, limit of 2.00 CPUs)"},
    {EL_LOAD_STAT, {2, 2, 0.5, 0}, false, 2, "stat (as configured)"},
    {EL_LOAD_CGROUP, {2, 2, 0.5, 0}, true, 0.5, "cgroup (v2, limit of 0.50 CPUs)"},
    {EL_LOAD_CGROUP, {2, 1, 0, 0}, true, 2, "cgroup (v1, as configured; no limit, so of 2 CPUs)"},
    {EL_LOAD_CGROUP, {2, 0, 0, 0}, false, 2, "stat (no control group has its CPU time)"},
};

EACH(load_signals, a_machine_has_a_plan, choices)
{
    el_load_signals_t signals = el_load_signals(row->kind, &row->facts);
    char text[128], cut[8];

    named_eq(row->text, signals.cgroup, row->cgroup);
    named_assert(row->text, signals.cpus == row->cpus);
    el_load_signals_text(row->kind, &row->facts, text, sizeof(text));
    ck_assert_str_eq(text, row->text);
    el_load_signals_text(row->kind, &row->facts, cut, sizeof(cut));
    ck_assert_int_eq(strncmp(cut, text, sizeof(cut) - 1), 0);
    ck_assert_str_eq(el_load_kind_word(EL_LOAD_CGROUP), "cgroup");
}

static el_reading_t before, after;

/* An interval of half a second, of which the group used `usage` µs, and the CPU was half busy. */
static void interval(uint64_t usage)
{
    memset(&before, 0, sizeof(before));
    before.has_stat = before.has_usage = true;
    before.at_usec = 1000000;
    before.usage_usec = 7000000;
    before.stat.count = 1;
    before.stat.present.bits[0] = 1;
    after = before;
    after.at_usec += 500000;
    after.usage_usec += usage;
    after.stat.cpu[0] = (el_cpu_ticks_t){25, 25, 0};
}

static double busy_by(const el_load_signals_t *signals)
{
    double busy = -1;

    return el_reading_busy(signals, NULL, &before, &after, &busy) ? busy : -1;
}

static const el_load_signals_t by_stat = {false, 1, 0};
static const el_load_signals_t by_cgroup = {true, 0.4, 0};

static const struct {
    const el_load_signals_t *signals;
    uint64_t usage;
    double busy;
} loads[] = {
    {&by_stat, 100000, 0.5}, {&by_cgroup, 200000, 1}, {&by_cgroup, 100000, 0.5}, {&by_cgroup, 0, 0},
    {&by_cgroup, 300000, 1}, {&by_cgroup, UINT64_C(0) - 5, 0},
};

/* A burst beyond the limit is all of it; usage that ran backward is none. */
EACH(load_signals, two_readings_give_a_load, loads)
{
    interval(row->usage);
    ck_assert_double_eq_tol(busy_by(row->signals), row->busy, 1e-9);
}

/* 45 ticks were counted, of 50 that passed. */
TEST(load_signals, the_clock_counts_where_the_ticks_are_the_kernels)
{
    el_machine_facts_t facts = {.cpus = 1, .tick_usec = 10000};
    el_load_signals_t signals = el_load_signals(EL_LOAD_STAT, &facts);

    interval(0);
    after.stat.cpu[0] = (el_cpu_ticks_t){5, 35, 5};
    ck_assert_double_eq_tol(busy_by(&signals), 0.2, 1e-9);
    signals.tick_usec = 0;
    ck_assert_double_eq_tol(busy_by(&signals), 5.0 / 45, 1e-9);
    signals.tick_usec = 10000;
    before.at_usec = 0;
    ck_assert_double_eq_tol(busy_by(&signals), 5.0 / 45, 1e-9);
}

TEST(load_signals, what_is_missing_is_not_made_up)
{
    el_cpuset_t others = {{2}};
    double busy = -1;

    interval(100000);
    ck_assert(!el_reading_busy(&by_stat, &others, &before, &after, &busy));
    ck_assert_double_eq(busy, -1);
    after.has_stat = false;
    ck_assert(busy_by(&by_stat) < 0 && busy_by(&by_cgroup) >= 0);
    before.has_usage = false;
    ck_assert(busy_by(&by_cgroup) < 0);
    interval(100000);
    after.at_usec = before.at_usec;
    ck_assert(busy_by(&by_cgroup) < 0);
    interval(100000);
    before.at_usec = 0;
    ck_assert(busy_by(&by_cgroup) < 0);
}

TEST(load_signals, an_interval_has_a_capacity)
{
    interval(0);
    ck_assert_double_eq(el_reading_capacity(&by_stat, &before, &after), 500000);
    ck_assert_double_eq(el_reading_capacity(&by_cgroup, &before, &after), 200000);
    before.at_usec = 0;
    ck_assert_double_eq(el_reading_capacity(&by_stat, &before, &after), 0);
    before.at_usec = after.at_usec + 1;
    ck_assert_double_eq(el_reading_capacity(&by_stat, &before, &after), 0);
}
