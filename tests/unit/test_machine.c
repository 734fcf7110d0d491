/* mkdtemp() and nftw(), which C11 alone does not show. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "host/machine.h"

#include "suites.h"

#include <errno.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECOND UINT64_C(1000000)

static char root[64];
static el_machine_t machine;
static el_reading_t one, two;

static void setup(void)
{
    strcpy(root, "/tmp/elastic-machine-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(root));
}

static int forget(const char *path, const struct stat *info, int kind, struct FTW *ftw)
{
    (void)info;
    (void)kind;
    (void)ftw;
    return remove(path);
}

static void teardown(void)
{
    nftw(root, forget, 16, FTW_DEPTH | FTW_PHYS);
}

/* A file of the fixture, with the folders above it. */
static void write_file(const char *name, const char *text)
{
    char path[512];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", root, name);
    for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    file = fopen(path, "w");
    ck_assert_msg(file != NULL, "%s: %s", path, strerror(errno));
    fputs(text, file);
    fclose(file);
}

static void stat_of(unsigned busy, unsigned idle)
{
    char text[256];

    snprintf(text, sizeof(text), "cpu  %u 0 0 %u 0 0 0 0\n", busy, idle);
    write_file("proc/stat", text);
}

#define MOUNT_V2 "29 22 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
#define MOUNT_CPU "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
#define MOUNT_ACCT "33 31 0:30 / /sys/fs/cgroup/cpuacct rw - cgroup cgroup rw,cpuacct\n"
#define MOUNT_UNIFIED "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"

static void look(el_load_kind_t kind)
{
    el_machine_open(&machine, root, NULL, kind, SECOND);
}

/* The load between now and half a second later, when `change` has been made. */
static double load_over(void (*change)(void))
{
    const char *path = NULL;
    double busy = -1;

    ck_assert(el_machine_read(&machine, SECOND, &one, &path));
    change();
    ck_assert(el_machine_read(&machine, SECOND + SECOND / 2, &two, &path));
    ck_assert(el_reading_busy(&machine.signals, NULL, &one, &two, &busy));
    return busy;
}

static void stat_moves(void)
{
    stat_of(130, 170);
}

CASE(machine, .set_up = setup, .tear_down = teardown);

TEST(machine, without_groups_it_is_proc_stat)
{
    stat_of(100, 100);
    look(EL_LOAD_AUTO);
    ck_assert_str_eq(machine.signals_text, "stat (no control group)");
    ck_assert_double_eq(load_over(stat_moves), 0.3);
    look(EL_LOAD_CGROUP);
    ck_assert_str_eq(machine.signals_text, "stat (no control group has its CPU time)");
}

static void usage_v2(void)
{
    write_file("sys/fs/cgroup/web/cpu.stat", "usage_usec 1050000\nuser_usec 5\n");
}

TEST(machine, a_limit_of_version_2_counts)
{
    write_file("proc/self/cgroup", "0::/web\n");
    write_file("proc/self/mountinfo", MOUNT_V2);
    write_file("sys/fs/cgroup/web/cpu.max", "20000 100000\n");
    write_file("sys/fs/cgroup/web/cpu.stat", "usage_usec 1000000\n");
    look(EL_LOAD_AUTO);
    ck_assert_str_eq(machine.signals_text, "cgroup (v2, limit of 0.20 CPUs)");
    /* 50 of the 100 ms that half a second has. */
    ck_assert_double_eq_tol(load_over(usage_v2), 0.5, 1e-9);
    ck_assert(!two.has_stat);
}

TEST(machine, no_limit_of_version_2_does_not)
{
    stat_of(100, 100);
    write_file("proc/self/cgroup", "0::/web\n");
    write_file("proc/self/mountinfo", MOUNT_V2);
    write_file("sys/fs/cgroup/web/cpu.max", "max 100000\n");
    write_file("sys/fs/cgroup/web/cpu.stat", "usage_usec 1000000\n");
    look(EL_LOAD_AUTO);
    ck_assert_str_eq(machine.signals_text, "stat (the control group has no limit)");
    ck_assert_double_eq(load_over(stat_moves), 0.3);
    look(EL_LOAD_CGROUP);
    ck_assert(machine.signals.cgroup);
    ck_assert_uint_eq((unsigned)machine.signals.cpus, machine.facts.cpus);
}

static void usage_above(void)
{
    write_file("sys/fs/cgroup/pod/cpu.stat", "usage_usec 2030000\n");
}

TEST(machine, the_least_limit_of_nested_groups_counts)
{
    write_file("proc/self/cgroup", "0::/pod/web/one\n");
    write_file("proc/self/mountinfo", MOUNT_V2);
    write_file("sys/fs/cgroup/pod/web/one/cpu.max", "60000 100000\n");
    write_file("sys/fs/cgroup/pod/web/one/cpu.stat", "usage_usec 7\n");
    write_file("sys/fs/cgroup/pod/web/cpu.max", "max 100000\n");
    write_file("sys/fs/cgroup/pod/web/cpu.stat", "usage_usec 8\n");
    write_file("sys/fs/cgroup/pod/cpu.max", "20000 100000\n");
    write_file("sys/fs/cgroup/pod/cpu.stat", "usage_usec 2000000\n");
    look(EL_LOAD_AUTO);
    ck_assert_str_eq(machine.signals_text, "cgroup (v2, limit of 0.20 CPUs)");
    /* What the limited group used, with all that is in it. */
    ck_assert_double_eq_tol(load_over(usage_above), 0.3, 1e-9);
}

static void usage_v1(void)
{
    write_file("sys/fs/cgroup/cpuacct/pod/cpuacct.usage", "2080000000\n");
}

static void version_1(void)
{
    write_file("proc/self/cgroup", "2:cpuacct:/pod/web\n1:cpu:/pod/web\n0::/\n");
    write_file("proc/self/mountinfo", MOUNT_CPU MOUNT_ACCT MOUNT_UNIFIED);
    write_file("sys/fs/cgroup/cpu/pod/web/cpu.cfs_quota_us", "-1\n");
    write_file("sys/fs/cgroup/cpu/pod/web/cpu.cfs_period_us", "100000\n");
    write_file("sys/fs/cgroup/cpu/pod/cpu.cfs_quota_us", "40000\n");
    write_file("sys/fs/cgroup/cpu/pod/cpu.cfs_period_us", "100000\n");
    write_file("sys/fs/cgroup/cpuacct/pod/web/cpuacct.usage", "1\n");
    write_file("sys/fs/cgroup/cpuacct/pod/cpuacct.usage", "2000000000\n");
    write_file("sys/fs/cgroup/unified/cpu.stat", "usage_usec 5\n");
}

TEST(machine, a_limit_of_version_1_counts)
{
    version_1();
    look(EL_LOAD_AUTO);
    ck_assert_str_eq(machine.signals_text, "cgroup (v1, limit of 0.40 CPUs)");
    ck_assert_double_eq_tol(load_over(usage_v1), 0.4, 1e-9);
}

static void usage_of_another(void)
{
    write_file("sys/fs/cgroup/cpuacct/other/group/cpuacct.usage", "1040000000\n");
}

/* Version 1 may have a process in groups of different names: the time is of the one that counts it. */
TEST(machine, the_time_of_version_1_may_be_of_another_group)
{
    version_1();
    write_file("proc/self/cgroup", "2:cpuacct:/other/group\n1:cpu:/pod/web\n0::/\n");
    write_file("sys/fs/cgroup/cpuacct/other/group/cpuacct.usage", "1000000000\n");
    look(EL_LOAD_AUTO);
    ck_assert_str_eq(machine.signals_text, "cgroup (v1, limit of 0.40 CPUs)");
    ck_assert_double_eq_tol(load_over(usage_of_another), 0.2, 1e-9);
}

TEST(machine, a_cpuset_narrows_the_mask)
{
    el_cpuset_t all;
    unsigned first = 0;
    char text[32];

    look(EL_LOAD_AUTO);
    all = machine.mask;
    while ((all.bits[first / 64] >> (first % 64) & 1) == 0) {
        first++;
    }
    write_file("proc/self/cgroup", "0::/web\n");
    write_file("proc/self/mountinfo", MOUNT_V2);
    snprintf(text, sizeof(text), "%u\n", first);
    write_file("sys/fs/cgroup/web/cpuset.cpus.effective", text);
    look(EL_LOAD_AUTO);
    ck_assert_uint_eq(machine.facts.cpus, 1);
    /* CPUs that this process cannot run on are no narrower mask. */
    write_file("sys/fs/cgroup/web/cpuset.cpus.effective", "1023\n");
    look(EL_LOAD_AUTO);
    ck_assert_mem_eq(&machine.mask, &all, sizeof(all));
    write_file("sys/fs/cgroup/web/cpuset.cpus.effective", "nonsense\n");
    look(EL_LOAD_AUTO);
    ck_assert_mem_eq(&machine.mask, &all, sizeof(all));
}

TEST(machine, a_limit_that_changes_is_noticed)
{
    write_file("proc/self/cgroup", "0::/web\n");
    write_file("proc/self/mountinfo", MOUNT_V2);
    write_file("sys/fs/cgroup/web/cpu.max", "20000 100000\n");
    write_file("sys/fs/cgroup/web/cpu.stat", "usage_usec 1000000\n");
    look(EL_LOAD_AUTO);
    write_file("sys/fs/cgroup/web/cpu.max", "30000 100000\n");
    ck_assert(!el_machine_refresh(&machine, 5 * SECOND));
    ck_assert_double_eq(machine.signals.cpus, 0.2);
    ck_assert(el_machine_refresh(&machine, 11 * SECOND));
    ck_assert_double_eq(machine.signals.cpus, 0.3);
    ck_assert(!el_machine_refresh(&machine, 30 * SECOND));
}

TEST(machine, what_cannot_be_read_is_named)
{
    const char *path = NULL;
    char expected[128];

    stat_of(100, 100);
    look(EL_LOAD_AUTO);
    snprintf(expected, sizeof(expected), "%s/proc/stat", root);
    unlink(expected);
    ck_assert(!el_machine_read(&machine, SECOND, &one, &path));
    ck_assert_str_eq(path, expected);
    ck_assert_int_eq(errno, ENOENT);
    ck_assert(!one.has_stat);
    write_file("proc/stat", "nonsense\n");
    ck_assert(!el_machine_read(&machine, SECOND, &one, &path));
    ck_assert_int_eq(errno, 0);
    el_machine_open(&machine, root, "/does/not/exist", EL_LOAD_STAT, SECOND);
    ck_assert(!el_machine_read(&machine, SECOND, &one, &path));
    ck_assert_str_eq(path, "/does/not/exist");
}

TEST(machine, kept_files_outlive_their_names)
{
    const char *path = NULL;
    char name[128];

    stat_of(100, 100);
    look(EL_LOAD_AUTO);
    el_machine_keep(&machine);
    snprintf(name, sizeof(name), "%s/proc/stat", root);
    unlink(name);
    ck_assert(el_machine_read(&machine, SECOND, &one, &path));
    ck_assert(!el_machine_refresh(&machine, 100 * SECOND));
    el_machine_close(&machine);
    ck_assert(!el_machine_read(&machine, SECOND, &one, &path));
}

TEST(machine, this_machine_can_be_read)
{
    const char *path = NULL;

    for (int kind = 0; kind < EL_LOAD_KINDS; kind++) {
        el_machine_open(&machine, "", NULL, (el_load_kind_t)kind, SECOND);
        ck_assert_msg(el_machine_read(&machine, SECOND, &one, &path), "%s",
                      machine.signals_text);
        ck_assert_uint_gt(machine.facts.cpus, 0);
        ck_assert(one.has_stat || one.has_usage);
        ck_assert_double_ge(machine.signals.tick_usec, 100);
    }
}

TEST(machine, only_files_of_the_kernel_keep_the_clocks_time)
{
    const char *path = NULL;

    stat_of(100, 100);
    look(EL_LOAD_STAT);
    ck_assert_double_eq(machine.signals.tick_usec, 0);
    ck_assert(el_machine_read(&machine, SECOND, &one, &path));
    ck_assert_uint_eq(one.at_usec, SECOND);
    /* By the path of the running kernel's, in whatever way it was named. */
    el_machine_open(&machine, root, "/proc/stat", EL_LOAD_STAT, SECOND);
    ck_assert_double_gt(machine.signals.tick_usec, 0);
    ck_assert(el_machine_read(&machine, SECOND, &one, &path));
    ck_assert_uint_gt(one.at_usec, SECOND);
}
