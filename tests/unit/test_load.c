#include "elastic/load.h"
#include "suites.h"

CASE(load);

/* Static: 24 KB each. */
static el_load_sample_t before, after;

static bool parse(const char *text, el_load_sample_t *sample)
{
    return el_load_parse(text, strlen(text), sample);
}

/* From the four columns of Linux 2.4 on. Busy: user, nice, system, irq, softirq, steal. */
static const struct {
    const char *text;
    uint64_t busy, idle, iowait;
} rows[] = {
    {"cpu0 10 8 12 40\n", 30, 40, 0}, {"cpu0 10 8 12 40 7\n", 30, 40, 7},
    {"cpu0 10 5 12 40 7 3\n", 30, 40, 7}, {"cpu0 10 4 11 40 7 3 2\n", 30, 40, 7},
    {"cpu0 8 4 9 40 7 3 2 4\n", 30, 40, 7}, {"cpu0 8 4 9 40 7 3 2 4 8\n", 30, 40, 7},
    {"cpu0 8 4 9 40 7 3 2 4 8 4\n", 30, 40, 7}, {"cpu0 8 4 9 40 7 3 2 4 8 4 99 99\n", 30, 40, 7},
    {"cpu0 8 4 9 40 7 3 2 4 x\n", 30, 40, 7}, {"cpu0 \t10  8\t12   40 \n", 30, 40, 0},
    {"cpu0 10 8 12 18446744073709551615\n", 30, UINT64_MAX, 0},
    {"cpu0 18446744073709551614 0 1 40\n", UINT64_MAX, 40, 0},
    {"cpu0 8 4 9 40 7 3 2 4 ", 30, 40, 7}, {"cpu0 8 4 9 40 7 3 2 4 8", 30, 40, 7},
};
EACH(load, a_row_gives_ticks, rows)
{
    named_assert(row->text, parse(row->text, &after));
    named_assert(row->text, after.cpu[0].busy == row->busy);
    named_assert(row->text, after.cpu[0].idle == row->idle);
    named_eq(row->text, after.cpu[0].iowait, row->iowait);
    ck_assert(after.count == 1 && !after.summed);
}

/* Too few numbers, invalid ones, sums above 64 bits, other labels, and possibly cut numbers. */
static const char *const refused[] = {
    "cpu0 10 8 12\n", "cpu0\n", "cpu0 \n", "cpu0 10 8 12 -40\n", "cpu0 10 8 12 40.5\n",
    "cpu0 10 8 idle 40\n", "cpu0 10 8 12 40 x\n", "cpu0 0x10 8 12 40\n",
    "cpu0 10 8 12 18446744073709551616\n",
    "cpu0 10 8 12 9999999999999999999999999999999999999999999999999999999999999999999999999999\n",
    "cpu0 18446744073709551615 1 0 40\n", "cpu0 18446744073709551615 0 1 40\n",
    "cpu0 18446744073709551615 0 0 40 0 1\n", "cpu0 18446744073709551615 0 0 40 0 0 1\n",
    "cpu0 18446744073709551615 0 0 40 0 0 0 1\n", "cpu0x 10 8 12 40\n", "cpuidle 10 8 12 40\n",
    "CPU0 10 8 12 40\n", " cpu0 10 8 12 40\n", "cpu0 10 8 12 40", "cpu0 10 8 12 40 ",
    "cpu0 8 4 9 40 7 3 2 4",
};
EACH(load, a_row_is_refused, refused)
{
    memset(&after, 0xff, sizeof(after));
    named_assert(*row, !parse(*row, &after));
    ck_assert(after.count == 0 && !after.summed && after.cpu[0].busy == 0);
    ck_assert_uint_eq(after.cpu[EL_LOAD_CPUS - 1].busy, 0);
}

static const struct {
    const char *text;
    bool summed;
    unsigned count; /* 0: refused */
    uint64_t first_busy; /* of cpu[0] */
} texts[] = {
    {"", false, 0, 0}, {"\n", false, 0, 0}, {"processes 10 8 12 40\nbtime 5\n", false, 0, 0},
    {"cpu 9 9 9 9\ncpu0 1 1 1 1\ncpu1 2 2 2 2\n", false, 2, 3},
    {"cpu 9 9 9 9\nintr 5\n", true, 1, 27}, {"cpu  8 4 9 40 7 3 2 4 8 4\n", true, 1, 30},
    {"cpu 0 0 0 0\n", true, 1, 0}, {"intr 5\ncpu 9 9 9 9\n", true, 1, 27},
    {"cpu x\ncpu 1 1 1 1\ncpu 9 9 9 9\n", true, 1, 3}, {"cpu 9 9 9 9\ncpu0 1 1 x 1\n", false, 0, 0},
    {"cpu 9 9 9 9\ncpu0 1 1", false, 0, 0}, {"cpu 9 9 9 9\ncpu0", false, 0, 0},
    {"cpu0 1 1 1 1\ncpu3 2 2 2 2\n", false, 4, 3}, {"cpu3 2 2 2 2\ncpu0 1 1 1 1\n", false, 4, 3},
    {"cpu1 1 1 x 1\ncpu0 1 1 1 1\n", false, 1, 3}, {"cpu1023 1 1 1 1\n", false, 1024, 0},
    {"cpu1024 1 1 1 1\n", false, 0, 0}, {"cpu18446744073709551616 1 1 1 1\n", false, 0, 0},
    {"cpu4294967296 1 1 1 1\n", false, 0, 0}, {"cpu0 1 1 1 1 intr\n", false, 0, 0},
};
EACH(load, a_text_gives_rows, texts)
{
    named_eq(row->text, parse(row->text, &after), row->count > 0);
    named_eq(row->text, after.summed, row->summed);
    named_eq(row->text, after.count, row->count);
    named_eq(row->text, after.cpu[0].busy, row->first_busy);
}

#define NINES "cpu0 9 9 9 9 9 9 9 9 9 9\n"

static const struct {
    const char *label, *before, *after;
    double busy; /* below 0: undetermined */
} shares[] = {
    /* each busy column; iowait is idle; guest time is part of user and nice */
    ROW(NINES, "cpu0 10 9 9 12 9 9 9 9 9 9\n", 0.25),
    ROW(NINES, "cpu0 9 10 9 12 9 9 9 9 9 9\n", 0.25),
    ROW(NINES, "cpu0 9 9 10 12 9 9 9 9 9 9\n", 0.25),
    ROW(NINES, "cpu0 9 9 9 12 9 10 9 9 9 9\n", 0.25),
    ROW(NINES, "cpu0 9 9 9 12 9 9 10 9 9 9\n", 0.25),
    ROW(NINES, "cpu0 9 9 9 12 9 9 9 10 9 9\n", 0.25),
    ROW(NINES, "cpu0 10 9 9 10 11 9 9 9 9 9\n", 0.25),
    ROW(NINES, "cpu0 10 9 9 12 9 9 9 9 10 9\n", 0.25),
    ROW(NINES, "cpu0 9 10 9 12 9 9 9 9 9 10\n", 0.25), ROW("cpu0 1 0 0 1\n", "cpu0 5 0 0 1\n", 1.0),
    ROW("cpu0 1 0 0 1\n", "cpu0 1 0 0 5\n", 0.0),
    /* no tick, and counters that fell */
    ROW("cpu0 1 2 3 4\n", "cpu0 1 2 3 4\n", -1), ROW("cpu0 9 9 9 9\n", "cpu0 1 1 1 1\n", -1),
    ROW("cpu0 0 0 0 10 50\n", "cpu0 1 0 0 13 40\n", 0.25),
    ROW("cpu0 0 0 0 10 50\n", "cpu0 1 0 0 9 53\n", 0.25),
    ROW("cpu0 9 0 0 10\n", "cpu0 8 0 0 13\n", 0.0),
    /* several CPUs, also coming and going */
    ROW("cpu0 1 0 0 1\ncpu1 1 0 0 1\n", "cpu0 4 0 0 1\ncpu1 1 0 0 2\n", 0.75),
    ROW("cpu0 1 0 0 1\n", "cpu0 2 0 0 4\ncpu1 99 0 0 1\n", 0.25),
    ROW("cpu0 1 0 0 1\ncpu1 99 0 0 1\n", "cpu0 2 0 0 4\n", 0.25),
    ROW("cpu0 1 0 0 1\ncpu2 1 0 0 1\n", "cpu0 2 0 0 4\ncpu1 99 0 0 99\ncpu2 1 0 0 1\n", 0.25),
    ROW("cpu0 1 0 0 1\ncpu1 99 0 0 99\ncpu2 1 0 0 1\n", "cpu0 2 0 0 4\ncpu2 1 0 0 1\n", 0.25),
    ROW("cpu0 0 0 0 0 1\n", "cpu0 1 0 0 0 4\n", 0.25),
    ROW("cpu0 0 0 0 0\n", "cpu0 1 0 0 3\n", 0.25), ROW("cpu0 1 0 0 1\n", "cpu1 5 0 0 5\n", -1),
    ROW("", "cpu0 5 0 0 5\n", -1), ROW("cpu0 1 0 0 1\n", "", -1),
    /* the `cpu` row is no CPU */
    ROW("cpu 1 0 0 1\n", "cpu 2 0 0 4\n", 0.25),
    ROW("cpu 1 0 0 1\n", "cpu 9 9 9 9\ncpu0 2 0 0 4\n", -1),
    ROW("cpu 9 9 9 9\ncpu0 1 0 0 1\n", "cpu 2 0 0 4\n", -1),
    ROW("cpu0 0 0 0 1\ncpu1 0 0 0 1\n",
        "cpu0 18446744073709551615 0 0 1\ncpu1 18446744073709551615 0 0 1\n", 1.0),
};
EACH(load, two_samples_give_a_share, shares)
{
    double busy = -1;

    parse(row->before, &before);
    parse(row->after, &after);
    row_eq(el_load_busy(&before, &after, NULL, 0, &busy), row->busy >= 0);
    row_assert(busy > row->busy - 1e-9 && busy < row->busy + 1e-9);
}

/* CPU 0 is busy, 1 is idle, and so are 64 and 65 (the mask's second word). */
static const struct {
    el_cpuset_t mask;
    double busy;
} masks[] = {
    {{{0}}, -1}, {{{1}}, 1}, {{{2}}, 0}, {{{3}}, 0.5}, {{{0, 1}}, 0.5},
    {{{0, UINT64_C(1) << 63}}, -1},
};
EACH(load, only_cpus_in_the_mask_count, masks)
{
    double busy = -1;

    parse("cpu0 1 0 0 1\ncpu1 1 0 0 1\ncpu64 1 0 0 1\ncpu65 1 0 0 1\n", &before);
    parse("cpu0 5 0 0 1\ncpu1 1 0 0 5\ncpu64 3 0 0 3\ncpu65 1 0 0 5\n", &after);
    ck_assert(el_load_busy(&before, &after, &row->mask, 0, &busy) == (row->busy >= 0));
    ck_assert_double_eq(busy, row->busy);
}

/* Shares by the clock, of CPUs 0 and 1. */
static const struct {
    const char *label, *before, *after;
    double ticks, busy;
} clocked[] = {
    {"work that no tick met", "cpu0 7 0 0 9\n", "cpu0 7 0 0 79\n", 100, 0.30},
    {"work that every tick met", "cpu0 7 0 0 9\n", "cpu0 67 0 0 79\n", 100, 0.30},
    {"iowait is idle", "cpu0 7 0 0 9 9\n", "cpu0 12 0 0 49 39\n", 100, 0.30},
    {"iowait that became idle", "cpu0 7 0 0 9 39\n", "cpu0 12 0 0 99 19\n", 100, 0.30},
    {"no idle tick", "cpu0 7 0 0 9\n", "cpu0 87 0 0 9\n", 100, 1},
    {"few ticks, all of them idle", "cpu0 7 0 0 9\n", "cpu0 7 0 0 10\n", 100, 0.99},
    {"two CPUs", "cpu0 0 0 0 0\ncpu1 0 0 0 0\n", "cpu0 0 0 0 100\ncpu1 10 0 0 40\n", 100, 0.30},
    {"only those of the mask", "cpu0 0 0 0 0\ncpu2 0 0 0 0\n", "cpu0 0 0 0 70\ncpu2 90 0 0 9\n",
     100, 0.30},
    {"two ticks too many", "cpu0 0 0 0 0\n", "cpu0 0 0 0 102\n", 100, 0},
    {"more idle than there was time", "cpu0 0 0 0 0\n", "cpu0 10 0 0 103\n", 100, 10.0 / 113},
    {"as many ticks as may be", "cpu0 0 0 0 0\n", "cpu0 154 0 0 50\n", 100, 0.5},
    {"more ticks than may be", "cpu0 0 0 0 0\n", "cpu0 155 0 0 50\n", 100, 155.0 / 205},
    {"a CPU that began anew", "cpu0 0 0 0 900\ncpu1 0 0 0 0\n", "cpu0 30 0 0 3\ncpu1 30 0 0 60\n",
     100, 0.5},
    {"a tick of rounding is none", "cpu0 0 0 0 9 9\n", "cpu0 90 0 0 8 9\n", 100, 1},
    {"no clock", "cpu0 0 0 0 0\n", "cpu0 5 0 0 70\n", 0, 5.0 / 75},
    {"a sum of an unknown number of CPUs", "cpu 0 0 0 0\n", "cpu 5 0 0 70\n", 100, 5.0 / 75},
};
EACH(load, the_clock_shows_work_that_no_tick_met, clocked)
{
    el_cpuset_t mask = {{3}};
    double busy = -1;

    ck_assert(parse(row->before, &before) && parse(row->after, &after));
    ck_assert(el_load_busy(&before, &after, &mask, row->ticks, &busy));
    row_assert(busy > row->busy - 1e-9 && busy < row->busy + 1e-9);
}

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
    ck_assert_str_eq(el_load_words[EL_LOAD_CGROUP], "cgroup");
}

static el_reading_t first, last;

/* Half a second: the group used `usage` µs, and the CPU was half busy. */
static void interval(uint64_t usage)
{
    memset(&first, 0, sizeof(first));
    first.has_stat = first.has_usage = true;
    first.at_usec = 1000000;
    first.usage_usec = 7000000;
    first.stat.count = 1;
    first.stat.present.bits[0] = 1;
    last = first;
    last.at_usec += 500000;
    last.usage_usec += usage;
    last.stat.cpu[0] = (el_cpu_ticks_t){25, 25, 0};
}

static double busy_by(const el_load_signals_t *signals)
{
    double busy = -1;

    return el_reading_busy(signals, NULL, &first, &last, &busy) ? busy : -1;
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

/* A burst above the limit counts as 1, usage that fell as 0. */
EACH(load_signals, two_readings_give_a_load, loads)
{
    interval(row->usage);
    ck_assert_double_eq_tol(busy_by(row->signals), row->busy, 1e-9);
}

/* 45 ticks were counted, and 50 passed. */
TEST(load_signals, the_clock_counts_where_the_ticks_are_the_kernels)
{
    el_machine_facts_t facts = {.cpus = 1, .tick_usec = 10000};
    el_load_signals_t signals = el_load_signals(EL_LOAD_STAT, &facts);

    interval(0);
    last.stat.cpu[0] = (el_cpu_ticks_t){5, 35, 5};
    ck_assert_double_eq_tol(busy_by(&signals), 0.2, 1e-9);
    signals.tick_usec = 0;
    ck_assert_double_eq_tol(busy_by(&signals), 5.0 / 45, 1e-9);
    signals.tick_usec = 10000;
    first.at_usec = 0;
    ck_assert_double_eq_tol(busy_by(&signals), 5.0 / 45, 1e-9);
}

TEST(load_signals, what_is_missing_is_not_made_up)
{
    el_cpuset_t others = {{2}};
    double busy = -1;

    interval(100000);
    ck_assert(!el_reading_busy(&by_stat, &others, &first, &last, &busy));
    ck_assert_double_eq(busy, -1);
    last.has_stat = false;
    ck_assert(busy_by(&by_stat) < 0 && busy_by(&by_cgroup) >= 0);
    first.has_usage = false;
    ck_assert(busy_by(&by_cgroup) < 0);
    interval(100000);
    last.at_usec = first.at_usec;
    ck_assert(busy_by(&by_cgroup) < 0);
    interval(100000);
    first.at_usec = 0;
    ck_assert(busy_by(&by_cgroup) < 0);
}

TEST(load_signals, an_interval_has_a_capacity)
{
    interval(0);
    ck_assert_double_eq(el_reading_usec(&first, &last) * by_stat.cpus, 500000);
    ck_assert_double_eq(el_reading_usec(&first, &last) * by_cgroup.cpus, 200000);
    first.at_usec = 0;
    ck_assert_double_eq(el_reading_usec(&first, &last) * by_stat.cpus, 0);
    first.at_usec = last.at_usec + 1;
    ck_assert_double_eq(el_reading_usec(&first, &last) * by_stat.cpus, 0);
}

CASE(cgroup);

#define V1                                                                                         \
    "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"                                   \
    "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n"         \
    "34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
#define V2 "29 22 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
#define BLANKS "29 22 0:26 / /my\\040groups rw - cgroup2 cgroup2 rw\n"
#define ESCAPES "29 22 0:26 / /m\\0409\\400\\0x1\\00z rw - cgroup2 cgroup2 rw\n"
#define DOCKER "9 8 0:1 /docker/4f /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n"
#define V1_CPU "/sys/fs/cgroup/cpu,cpuacct"

static const struct {
    const char *cgroup, *mountinfo, *controller;
    const char *folder; /* NULL: none */
    size_t base;
} folders[] = {
    {"0::/web.slice/apache2.service\n", V2, NULL, "/sys/fs/cgroup/web.slice/apache2.service", 14},
    {"0::/\n", V2, NULL, "/sys/fs/cgroup", 14},
    {"0::/a", V2, NULL, "/sys/fs/cgroup/a", 14},
    {"0::/a:b\n", V2, NULL, "/sys/fs/cgroup/a:b", 14},
    {"0::/a..b\n", V2, NULL, "/sys/fs/cgroup/a..b", 14},
    {"0\n0::/a\n", V2, NULL, "/sys/fs/cgroup/a", 14},
    {"0::/a\n", BLANKS, NULL, "/my groups/a", 10},
    {"0::/a\n", ESCAPES, NULL, "/m 9\\400\\0x1\\00z/a", 16},
    {"0::/a\n", "29 22 0:26 / /m\\000 rw - cgroup2 cgroup2 rw\n", NULL, NULL, 0},
    /* version 1, alone and beside version 2 */
    {"4:cpuset:/x\n3:cpu,cpuacct:/web\n", V1, "cpu", V1_CPU "/web", 26},
    {"3:cpu,cpuacct:/web\n", V1, "cpuacct", V1_CPU "/web", 26},
    {"4:cpuset:/x\n", V1, "cpu", NULL, 0},
    {"3:cpu:/web\n0::/all\n", V1 V2, "cpu", V1_CPU "/web", 26},
    {"3:cpu:/web\n0::/all\n", V1 V2, NULL, "/sys/fs/cgroup/all", 14},
    {"1:name=systemd:/x\n", V2, NULL, NULL, 0},
    /* in a container, whose group is the root; other groups are outside of its namespace */
    {"3:cpu:/docker/4f\n", DOCKER, "cpu", "/sys/fs/cgroup/cpu", 18},
    {"3:cpu:/docker/4f/web\n", DOCKER, "cpu", "/sys/fs/cgroup/cpu/web", 18},
    {"3:cpu:/docker/4fe\n", DOCKER, "cpu", "/sys/fs/cgroup/cpu", 18},
    {"3:cpu:/docker/5f\n", DOCKER, "cpu", "/sys/fs/cgroup/cpu", 18},
    {"3:cpu:/d\n", DOCKER, "cpu", "/sys/fs/cgroup/cpu", 18},
    {"0::/../../other\n", V2, NULL, "/sys/fs/cgroup", 14},
    /* no mount, no dash, a cut line, and no group */
    {"0::/a\n", "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n", NULL, NULL, 0},
    {"0::/a\n", "29 22 0:26 / /sys/fs/cgroup rw cgroup2 rw\n", NULL, NULL, 0},
    {"0::/a\n", "29 22 0:26 / /sys/fs/cgroup rw - cgroup2", NULL, NULL, 0},
    {"0::/a\n", "29 22 0:26 /", NULL, NULL, 0}, {"0::/a\n", "29 22 0:26", NULL, NULL, 0},
    {"0::/a\n", "29 22 0:26 / /sys rw -", NULL, NULL, 0},
    {"", V2, NULL, NULL, 0},
    {"0::\n", V2, NULL, NULL, 0},
    {"", "", "cpu", NULL, 0},
};

static el_cgroup_text_t exact(const char *text)
{
    return (el_cgroup_text_t){copy_of(text, strlen(text)), strlen(text)};
}

EACH(cgroup, a_process_has_a_folder, folders)
{
    char folder[EL_CGROUP_PATH] = "";
    size_t base = el_cgroup_folder(exact(row->cgroup), exact(row->mountinfo), row->controller,
                                   folder, sizeof(folder));

    named_eq(row->cgroup, base, row->base);
    if (base > 0) {
        named_str_eq(row->cgroup, folder, row->folder);
    }
}

TEST(cgroup, a_folder_too_long_is_none)
{
    char folder[64];

    for (size_t size = 1; size < 32; size++) {
        size_t base = el_cgroup_folder(exact("0::/abc\n"), exact(V2), NULL, folder, size);

        ck_assert((base > 0) == (size > strlen("/sys/fs/cgroup/abc")));
    }
}

/* Below 0: refused. */
static const struct {
    const char *text;
    double cpus;
} maxima[] = {
    {"max 100000\n", 0}, {"50000 100000\n", 0.5}, {"150000 100000", 1.5}, {"max\n", -1}, {"", -1},
    {"50000\n", -1}, {"50000 0\n", -1}, {"0 100000\n", -1}, {"-1 100000\n", -1},
    {"5x 100000\n", -1}, {"maximum 100000\n", -1}, {"50000 x\n", -1}, {"50000 100000x\n", -1},
    {"99999999999999999999 100000\n", -1},
};
EACH(cgroup, version_2_has_a_limit_or_none, maxima)
{
    const char *copy = exact(row->text).at;
    double cpus = -1;

    named_eq(row->text, el_cgroup_max(copy, strlen(row->text), &cpus), row->cpus >= 0);
    named_assert(row->text, cpus == row->cpus);
}

static const struct {
    const char *quota, *period;
    double cpus;
} quotas[] = {
    {"-1\n", "100000\n", 0}, {"-1\n", "", 0}, {"40000\n", "100000\n", 0.4}, {"200000", "100000", 2},
    {"40000\n", "0\n", -1}, {"40000\n", "", -1}, {"", "100000\n", -1}, {"0\n", "100000\n", -1},
    {"x\n", "100000\n", -1},
};
EACH(cgroup, version_1_has_a_limit_or_none, quotas)
{
    size_t len = strlen(row->quota), period_len = strlen(row->period);
    const char *quota = exact(row->quota).at, *period = exact(row->period).at;
    double cpus = -1;

    named_eq(row->quota, el_cgroup_quota(quota, len, period, period_len, &cpus), row->cpus >= 0);
    named_assert(row->quota, cpus == row->cpus);
}

/* 0: refused. */
static const struct {
    const char *text;
    uint64_t usec;
} stats[] = {
    {"usage_usec 123\nuser_usec 100\nsystem_usec 23\nnr_periods 0\n", 123},
    {"user_usec 100\nusage_usec 123", 123}, {"user_usec 100\n", 0}, {"usage_usec \n", 0},
    {"usage_usec x\n", 0}, {"usage_usec 12x\n", 0}, {"xusage_usec 12\n", 0}, {"", 0},
};
EACH(cgroup, cpu_stat_has_the_time_used, stats)
{
    const char *copy = exact(row->text).at;
    uint64_t usec = 0;

    named_eq(row->text, el_cgroup_usage(2, copy, strlen(row->text), &usec), row->usec > 0);
    named_eq(row->text, usec, row->usec);
}

TEST(cgroup, cpuacct_has_the_time_used)
{
    uint64_t usec = 7;

    ck_assert(el_cgroup_usage(1, "11185708632915\n", 15, &usec));
    ck_assert(!el_cgroup_usage(1, "", 0, &usec) && !el_cgroup_usage(1, "x\n", 2, &usec));
    ck_assert(!el_cgroup_usage(1, "-5\n", 3, &usec));
    ck_assert_uint_eq(usec, UINT64_C(11185708632));
}

/* 0: refused. */
static const struct {
    const char *text;
    unsigned count;
    uint64_t first;
} lists[] = {
    {"0-3\n", 4, 0xf}, {"0\n", 1, 1}, {"1,3,5-6\n", 4, 0x6a}, {"0-3", 4, 0xf}, {"0,0,0\n", 1, 1},
    {"\n", 0, 0}, {"", 0, 0}, {"0-\n", 0, 0}, {"3-1\n", 0, 0}, {"0,\n", 0, 0}, {"0,", 0, 0},
    {"0x\n", 0, 0}, {"0x", 0, 0}, {"0-3,x\n", 0, 0}, {"0-99999999\n", 1024, UINT64_MAX},
    {"7", 1, 0x80}, {"0-x\n", 0, 0}, {"63-64\n", 2, UINT64_C(1) << 63},
    {"0-18446744073709551615\n", 1024, UINT64_MAX},
};
EACH(cgroup, a_list_names_cpus, lists)
{
    const char *copy = exact(row->text).at;
    el_cpuset_t cpus = {{0}};

    named_eq(row->text, el_cgroup_cpus(copy, strlen(row->text), &cpus), row->count > 0);
    named_eq(row->text, el_cpuset_count(&cpus), row->count);
    named_eq(row->text, cpus.bits[0], row->first);
}
