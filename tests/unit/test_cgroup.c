#include "elastic/cgroup.h"

#include "elastic/load.h"

#include "suites.h"

/* A copy of exactly its size, so that reading on would be noticed. */
static char *exact(const char *text)
{
    size_t len = strlen(text);
    char *copy = malloc(len > 0 ? len : 1);

    ck_assert_ptr_nonnull(copy);
    memcpy(copy, text, len);
    return copy;
}

#define MOUNTS_V1                                                                                  \
    "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"                                   \
    "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n"         \
    "34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
#define MOUNTS_V2 "29 22 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"

static const struct {
    const char *label;
    const char *cgroup, *mountinfo, *controller;
    const char *folder; /* NULL: none */
    size_t base;
} folders[] = {
    {"version 2", "0::/system.slice/apache2.service\n", MOUNTS_V2, NULL,
     "/sys/fs/cgroup/system.slice/apache2.service", 14},
    {"version 2, the root group", "0::/\n", MOUNTS_V2, NULL, "/sys/fs/cgroup", 14},
    {"version 2, no newline at the end", "0::/a", MOUNTS_V2, NULL, "/sys/fs/cgroup/a", 14},
    {"version 1", "4:cpuset:/x\n3:cpu,cpuacct:/web\n", MOUNTS_V1, "cpu",
     "/sys/fs/cgroup/cpu,cpuacct/web", 26},
    {"version 1, the second of two", "3:cpu,cpuacct:/web\n", MOUNTS_V1, "cpuacct",
     "/sys/fs/cgroup/cpu,cpuacct/web", 26},
    {"a name that only begins alike", "4:cpuset:/x\n", MOUNTS_V1, "cpu", NULL, 0},
    {"both: version 1", "3:cpu:/web\n0::/all\n", MOUNTS_V1 MOUNTS_V2, "cpu",
     "/sys/fs/cgroup/cpu,cpuacct/web", 26},
    {"both: version 2", "3:cpu:/web\n0::/all\n", MOUNTS_V1 MOUNTS_V2, NULL, "/sys/fs/cgroup/all",
     14},
    {"a version 1 group by name is not version 2", "1:name=systemd:/x\n", MOUNTS_V2, NULL, NULL, 0},
    {"a path with colons", "0::/a:b\n", MOUNTS_V2, NULL, "/sys/fs/cgroup/a:b", 14},
    {"a container sees its group as the root", "3:cpu:/docker/4f\n",
     "9 8 0:1 /docker/4f /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n", "cpu",
     "/sys/fs/cgroup/cpu", 18},
    {"a group within the container", "3:cpu:/docker/4f/web\n",
     "9 8 0:1 /docker/4f /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n", "cpu",
     "/sys/fs/cgroup/cpu/web", 18},
    {"a group of another container", "3:cpu:/docker/4fe\n",
     "9 8 0:1 /docker/4f /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n", "cpu",
     "/sys/fs/cgroup/cpu", 18},
    {"outside of the namespace", "0::/../../other\n", MOUNTS_V2, NULL, "/sys/fs/cgroup", 14},
    {"dots in a name", "0::/a..b\n", MOUNTS_V2, NULL, "/sys/fs/cgroup/a..b", 14},
    {"blanks in the mount point", "0::/a\n",
     "29 22 0:26 / /my\\040groups rw - cgroup2 cgroup2 rw\n", NULL, "/my groups/a", 10},
    {"no mount", "0::/a\n", "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n", NULL, NULL, 0},
    {"a mount without the dash", "0::/a\n", "29 22 0:26 / /sys/fs/cgroup rw cgroup2 rw\n", NULL,
     NULL, 0},
    {"a mount that is cut", "0::/a\n", "29 22 0:26 / /sys/fs/cgroup rw - cgroup2", NULL, NULL, 0},
    {"no group", "", MOUNTS_V2, NULL, NULL, 0},
    {"a line without a path", "0::\n", MOUNTS_V2, NULL, NULL, 0},
    {"a line without colons", "0\n0::/a\n", MOUNTS_V2, NULL, "/sys/fs/cgroup/a", 14},
    {"nothing at all", "", "", "cpu", NULL, 0},
};

CASE(cgroup);

EACH(cgroup, a_process_has_a_folder, folders)
{
    char *cgroup = exact(row->cgroup), *mountinfo = exact(row->mountinfo);
    char folder[EL_CGROUP_PATH] = "";
    size_t base = el_cgroup_folder((el_cgroup_text_t){cgroup, strlen(row->cgroup)},
                                   (el_cgroup_text_t){mountinfo, strlen(row->mountinfo)},
                                   row->controller, folder, sizeof(folder));
    bool found = base > 0;

    free(cgroup);
    free(mountinfo);
    row_eq(found, (row->folder != NULL));
    if (found) {
        ck_assert_str_eq(folder, row->folder);
        ck_assert_uint_eq(base, row->base);
    }
}

TEST(cgroup, a_folder_too_long_is_none)
{
    static const char group[] = "0::/abc\n";
    char folder[64];

    for (size_t size = 1; size < 32; size++) {
        bool fits = size > strlen("/sys/fs/cgroup/abc");

        ck_assert((el_cgroup_folder((el_cgroup_text_t){group, sizeof(group) - 1},
                                    (el_cgroup_text_t){MOUNTS_V2, sizeof(MOUNTS_V2) - 1}, NULL,
                                    folder, size) > 0) == fits);
    }
}

TEST(cgroup, parents_end_at_the_mount_point)
{
    char folder[] = "/sys/fs/cgroup/a/b";

    ck_assert(el_cgroup_parent(folder, 14));
    ck_assert_str_eq(folder, "/sys/fs/cgroup/a");
    ck_assert(el_cgroup_parent(folder, 14));
    ck_assert_str_eq(folder, "/sys/fs/cgroup");
    ck_assert(!el_cgroup_parent(folder, 14));
    ck_assert_str_eq(folder, "/sys/fs/cgroup");
}

static const struct {
    const char *text;
    double cpus; /* below 0: refused */
} maxima[] = {
    {"max 100000\n", 0},      {"50000 100000\n", 0.5}, {"150000 100000", 1.5}, {"max\n", -1},
    {"", -1},                 {"50000\n", -1},         {"50000 0\n", -1},      {"0 100000\n", -1},
    {"-1 100000\n", -1},      {"5x 100000\n", -1},     {"maximum 100000\n", -1},
    {"50000 x\n", -1},        {"50000 100000x\n", -1}, {"99999999999999999999 100000\n", -1},
};

EACH(cgroup, version_2_has_a_limit_or_none, maxima)
{
    const char *text = row->text;
    char *copy = exact(text);
    double cpus = -1;
    bool good = el_cgroup_max(copy, strlen(text), &cpus);

    free(copy);
    ck_assert_msg(good == (row->cpus >= 0), "%s", text);
    ck_assert_msg(cpus == row->cpus, "%s: %f", text, cpus);
}

static const struct {
    const char *quota, *period;
    double cpus;
} quotas[] = {
    {"-1\n", "100000\n", 0}, {"-1\n", "", 0},         {"40000\n", "100000\n", 0.4},
    {"200000", "100000", 2}, {"40000\n", "0\n", -1},  {"40000\n", "", -1},
    {"", "100000\n", -1},    {"0\n", "100000\n", -1}, {"x\n", "100000\n", -1},
};

EACH(cgroup, version_1_has_a_limit_or_none, quotas)
{
    char *quota = exact(row->quota), *period = exact(row->period);
    double cpus = -1;
    bool good = el_cgroup_quota(quota, strlen(row->quota), period,
                                strlen(row->period), &cpus);

    free(quota);
    free(period);
    ck_assert(good == (row->cpus >= 0));
    ck_assert_double_eq(cpus, row->cpus);
}

static const struct {
    const char *text;
    bool good;
    uint64_t usec;
} stats[] = {
    {"usage_usec 123\nuser_usec 100\nsystem_usec 23\nnr_periods 0\n", true, 123},
    {"user_usec 100\nusage_usec 123", true, 123},
    {"user_usec 100\n", false, 0},
    {"usage_usec \n", false, 0},
    {"usage_usec x\n", false, 0},
    {"usage_usec 12x\n", false, 0},
    {"xusage_usec 12\n", false, 0},
    {"", false, 0},
};

EACH(cgroup, cpu_stat_has_the_time_used, stats)
{
    char *copy = exact(row->text);
    uint64_t usec = 0;
    bool good = el_cgroup_stat(copy, strlen(row->text), &usec);

    free(copy);
    ck_assert_msg(good == row->good && usec == row->usec, "%s", row->text);
}

TEST(cgroup, cpuacct_has_the_time_used)
{
    uint64_t usec = 7;

    ck_assert(el_cgroup_usage("11185708632915\n", 15, &usec));
    ck_assert_uint_eq(usec, UINT64_C(11185708632));
    ck_assert(!el_cgroup_usage("", 0, &usec));
    ck_assert(!el_cgroup_usage("x\n", 2, &usec));
    ck_assert(!el_cgroup_usage("-5\n", 3, &usec));
    ck_assert_uint_eq(usec, UINT64_C(11185708632));
}

static const struct {
    const char *text;
    unsigned count; /* 0: refused */
    uint64_t first;
} lists[] = {
    {"0-3\n", 4, 0xf},     {"0\n", 1, 1},     {"1,3,5-6\n", 4, 0x6a}, {"0-3", 4, 0xf},
    {"0,0,0\n", 1, 1},     {"\n", 0, 0},      {"", 0, 0},             {"0-\n", 0, 0},
    {"3-1\n", 0, 0},       {"0,\n", 0, 0},    {"0,", 0, 0},           {"0x\n", 0, 0},
    {"0x", 0, 0},          {"0-3,x\n", 0, 0}, {"0-99999999\n", 1024, UINT64_MAX},
    {"63-64\n", 2, UINT64_C(1) << 63},        {"0-18446744073709551615\n", 1024, UINT64_MAX},
};

EACH(cgroup, a_list_names_cpus, lists)
{
    char *copy = exact(row->text);
    el_cpuset_t cpus = {{0}};
    bool good = el_cgroup_cpus(copy, strlen(row->text), &cpus);

    free(copy);
    ck_assert_msg(good == (row->count > 0), "%s", row->text);
    ck_assert_msg(el_cpuset_count(&cpus) == row->count, "%s: %u", row->text,
                  el_cpuset_count(&cpus));
    ck_assert_msg(cpus.bits[0] == row->first, "%s", row->text);
}
