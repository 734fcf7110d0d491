#define _GNU_SOURCE /* for mkdtemp() and nftw() */

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

static void set_up(void)
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

static void tear_down(void)
{
    nftw(root, forget, 16, FTW_DEPTH | FTW_PHYS);
}

CASE(machine, .set_up = set_up, .tear_down = tear_down);

/* Writes a file below the fixture's root, and makes its folders. */
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

static void join_group(const char *group, const char *mounts)
{
    write_file("proc/self/cgroup", group);
    write_file("proc/self/mountinfo", mounts);
}

static void look(el_load_kind_t kind)
{
    el_machine_open(&machine, root, NULL, kind, SECOND);
}

static bool reads(uint64_t now, el_reading_t *reading)
{
    const char *path;

    return el_machine_read(&machine, now, reading, &path);
}

#define MOUNT_V2 "29 22 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
#define MOUNTS_V1                                                                                  \
    "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"                                  \
    "33 31 0:30 / /sys/fs/cgroup/cpuacct rw - cgroup cgroup rw,cpuacct\n"                          \
    "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
#define V1_LIMITS                                                                                  \
    {"sys/fs/cgroup/cpu/pod/web/cpu.cfs_quota_us", "-1\n"},                                        \
    {"sys/fs/cgroup/cpu/pod/web/cpu.cfs_period_us", "100000\n"},                                   \
    {"sys/fs/cgroup/cpu/pod/cpu.cfs_quota_us", "40000\n"},                                         \
    {"sys/fs/cgroup/cpu/pod/cpu.cfs_period_us", "100000\n"},                                       \
    {"sys/fs/cgroup/unified/cpu.stat", "usage_usec 5\n"}
#define GROUP "sys/fs/cgroup/web/"
#define STAT "cpu  100 0 0 100 0 0 0 0\n"

/* A test against httpd has more machines. */
static const struct {
    const char *label, *cgroup, *mounts;
    struct {
        const char *name, *text;
    } files[10], later; /* changed half a second later */
    const char *text;
    double load;
} machines[] = {
    /* The usage of the limited group, with its children. */
    {"the least limit of nested groups", "0::/pod/web/one\n", MOUNT_V2,
     {{"sys/fs/cgroup/pod/web/one/cpu.max", "60000 100000\n"},
      {"sys/fs/cgroup/pod/web/one/cpu.stat", "usage_usec 7\n"},
      {"sys/fs/cgroup/pod/web/cpu.max", "max 100000\n"},
      {"sys/fs/cgroup/pod/web/cpu.stat", "usage_usec 8\n"},
      {"sys/fs/cgroup/pod/cpu.max", "20000 100000\n"},
      {"sys/fs/cgroup/pod/cpu.stat", "usage_usec 2000000\n"}},
     {"sys/fs/cgroup/pod/cpu.stat", "usage_usec 2030000\n"},
     "cgroup (v2, limit of 0.20 CPUs)", 0.3},
    {"version 1", "2:cpuacct:/pod/web\n1:cpu:/pod/web\n0::/\n", MOUNTS_V1,
     {V1_LIMITS, {"sys/fs/cgroup/cpuacct/pod/web/cpuacct.usage", "1\n"},
      {"sys/fs/cgroup/cpuacct/pod/cpuacct.usage", "2000000000\n"}},
     {"sys/fs/cgroup/cpuacct/pod/cpuacct.usage", "2080000000\n"},
     "cgroup (v1, limit of 0.40 CPUs)", 0.4},
    {"the time of version 1 is that of another group", "2:cpuacct:/other\n1:cpu:/pod/web\n0::/\n",
     MOUNTS_V1, {V1_LIMITS, {"sys/fs/cgroup/cpuacct/other/cpuacct.usage", "1000000000\n"}},
     {"sys/fs/cgroup/cpuacct/other/cpuacct.usage", "1040000000\n"},
     "cgroup (v1, limit of 0.40 CPUs)", 0.2},
};
EACH(machine, a_machine_has_its_load, machines)
{
    double busy = -1;

    join_group(row->cgroup, row->mounts);
    for (int i = 0; row->files[i].name; i++) {
        write_file(row->files[i].name, row->files[i].text);
    }
    look(EL_LOAD_AUTO);
    named_str_eq(row->label, machine.signals_text, row->text);
    ck_assert(reads(SECOND, &one));
    write_file(row->later.name, row->later.text);
    ck_assert(reads(SECOND + SECOND / 2, &two));
    ck_assert(two.has_stat == !machine.signals.cgroup);
    ck_assert(el_reading_busy(&machine.signals, NULL, &one, &two, &busy));
    ck_assert_double_eq_tol(busy, row->load, 1e-9);
}

/* A set of CPUs that this process cannot use does not restrict the mask. */
TEST(machine, a_cpuset_narrows_the_mask)
{
    static const char *const none[] = {"1023\n", "nonsense\n"};
    el_cpuset_t all;
    unsigned first = 0;
    char text[32];

    look(EL_LOAD_AUTO);
    all = machine.mask;
    while ((all.bits[first / 64] >> (first % 64) & 1) == 0) {
        first++;
    }
    join_group("0::/web\n", MOUNT_V2);
    snprintf(text, sizeof(text), "%u\n", first);
    write_file(GROUP "cpuset.cpus.effective", text);
    look(EL_LOAD_AUTO);
    ck_assert_uint_eq(machine.facts.cpus, 1);
    for (int i = 0; i < ROWS(none); i++) {
        write_file(GROUP "cpuset.cpus.effective", none[i]);
        look(EL_LOAD_AUTO);
        ck_assert_mem_eq(&machine.mask, &all, sizeof(all));
    }
}

TEST(machine, a_limit_that_changes_is_noticed)
{
    join_group("0::/web\n", MOUNT_V2);
    write_file(GROUP "cpu.max", "20000 100000\n");
    write_file(GROUP "cpu.stat", "usage_usec 1000000\n");
    look(EL_LOAD_AUTO);
    write_file(GROUP "cpu.max", "30000 100000\n");
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

    write_file("proc/stat", STAT);
    look(EL_LOAD_AUTO);
    snprintf(expected, sizeof(expected), "%s/proc/stat", root);
    unlink(expected);
    ck_assert(!el_machine_read(&machine, SECOND, &one, &path));
    ck_assert_int_eq(errno, ENOENT);
    ck_assert_str_eq(path, expected);
    ck_assert(!one.has_stat);
    write_file("proc/stat", "nonsense\n");
    ck_assert(!reads(SECOND, &one));
    ck_assert_int_eq(errno, 0);
    el_machine_open(&machine, root, "/does/not/exist", EL_LOAD_STAT, SECOND);
    ck_assert(!el_machine_read(&machine, SECOND, &one, &path));
    ck_assert_str_eq(path, "/does/not/exist");
}

TEST(machine, kept_files_outlive_their_names)
{
    write_file("proc/stat", STAT);
    look(EL_LOAD_AUTO);
    el_machine_keep(&machine);
    tear_down();
    ck_assert(reads(SECOND, &one) && !el_machine_refresh(&machine, 100 * SECOND));
    el_machine_close(&machine);
    ck_assert(!reads(SECOND, &one));
}

TEST(machine, this_machine_can_be_read)
{
    for (el_load_kind_t kind = 0; kind < EL_LOAD_KINDS; kind++) {
        el_machine_open(&machine, "", NULL, kind, SECOND);
        ck_assert_msg(reads(SECOND, &one), "%s", machine.signals_text);
        ck_assert(machine.facts.cpus > 0 && (one.has_stat || one.has_usage));
        ck_assert_double_ge(machine.signals.tick_usec, 100);
    }
}

/* Decided by the file system of the file, not by its name. */
TEST(machine, only_files_of_the_kernel_keep_the_clocks_time)
{
    write_file("proc/stat", STAT);
    look(EL_LOAD_STAT);
    ck_assert_double_eq(machine.signals.tick_usec, 0);
    ck_assert(reads(SECOND, &one) && one.at_usec == SECOND);
    el_machine_open(&machine, root, "/proc/stat", EL_LOAD_STAT, SECOND);
    ck_assert_double_gt(machine.signals.tick_usec, 0);
    ck_assert(reads(SECOND, &one) && one.at_usec > SECOND);
}
