#include "elastic/cgroup.h"

#include "elastic/load.h"

#include "suites.h"

#include <stdlib.h>
#include <string.h>

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
    const char *guards;
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

START_TEST(a_process_has_a_folder)
{
    char *cgroup = exact(folders[_i].cgroup), *mountinfo = exact(folders[_i].mountinfo);
    char folder[EL_CGROUP_PATH] = "";
    size_t base = el_cgroup_folder((el_cgroup_text_t){cgroup, strlen(folders[_i].cgroup)},
                                   (el_cgroup_text_t){mountinfo, strlen(folders[_i].mountinfo)},
                                   folders[_i].controller, folder, sizeof(folder));
    bool found = base > 0;

    free(cgroup);
    free(mountinfo);
    ck_assert_msg(found == (folders[_i].folder != NULL), "%s", folders[_i].guards);
    if (found) {
        ck_assert_str_eq(folder, folders[_i].folder);
        ck_assert_uint_eq(base, folders[_i].base);
    }
}
END_TEST

START_TEST(a_folder_too_long_is_none)
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
END_TEST

START_TEST(parents_end_at_the_mount_point)
{
    char folder[] = "/sys/fs/cgroup/a/b";

    ck_assert(el_cgroup_parent(folder, 14));
    ck_assert_str_eq(folder, "/sys/fs/cgroup/a");
    ck_assert(el_cgroup_parent(folder, 14));
    ck_assert_str_eq(folder, "/sys/fs/cgroup");
    ck_assert(!el_cgroup_parent(folder, 14));
    ck_assert_str_eq(folder, "/sys/fs/cgroup");
}
END_TEST

static const struct {
    const char *text;
    double cpus; /* below 0: refused */
} maxima[] = {
    {"max 100000\n", 0},      {"50000 100000\n", 0.5}, {"150000 100000", 1.5}, {"max\n", -1},
    {"", -1},                 {"50000\n", -1},         {"50000 0\n", -1},      {"0 100000\n", -1},
    {"-1 100000\n", -1},      {"5x 100000\n", -1},     {"maximum 100000\n", -1},
    {"50000 x\n", -1},        {"50000 100000x\n", -1}, {"99999999999999999999 100000\n", -1},
};

START_TEST(version_2_has_a_limit_or_none)
{
    const char *text = maxima[_i].text;
    char *copy = exact(text);
    double cpus = -1;
    bool good = el_cgroup_max(copy, strlen(text), &cpus);

    free(copy);
    ck_assert_msg(good == (maxima[_i].cpus >= 0), "%s", text);
    ck_assert_msg(cpus == maxima[_i].cpus, "%s: %f", text, cpus);
}
END_TEST

static const struct {
    const char *quota, *period;
    double cpus;
} quotas[] = {
    {"-1\n", "100000\n", 0}, {"-1\n", "", 0},         {"40000\n", "100000\n", 0.4},
    {"200000", "100000", 2}, {"40000\n", "0\n", -1},  {"40000\n", "", -1},
    {"", "100000\n", -1},    {"0\n", "100000\n", -1}, {"x\n", "100000\n", -1},
};

START_TEST(version_1_has_a_limit_or_none)
{
    char *quota = exact(quotas[_i].quota), *period = exact(quotas[_i].period);
    double cpus = -1;
    bool good = el_cgroup_quota(quota, strlen(quotas[_i].quota), period,
                                strlen(quotas[_i].period), &cpus);

    free(quota);
    free(period);
    ck_assert(good == (quotas[_i].cpus >= 0));
    ck_assert_double_eq(cpus, quotas[_i].cpus);
}
END_TEST

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

START_TEST(cpu_stat_has_the_time_used)
{
    char *copy = exact(stats[_i].text);
    uint64_t usec = 0;
    bool good = el_cgroup_stat(copy, strlen(stats[_i].text), &usec);

    free(copy);
    ck_assert_msg(good == stats[_i].good && usec == stats[_i].usec, "%s", stats[_i].text);
}
END_TEST

START_TEST(cpuacct_has_the_time_used)
{
    uint64_t usec = 7;

    ck_assert(el_cgroup_usage("11185708632915\n", 15, &usec));
    ck_assert_uint_eq(usec, UINT64_C(11185708632));
    ck_assert(!el_cgroup_usage("", 0, &usec));
    ck_assert(!el_cgroup_usage("x\n", 2, &usec));
    ck_assert(!el_cgroup_usage("-5\n", 3, &usec));
    ck_assert_uint_eq(usec, UINT64_C(11185708632));
}
END_TEST

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

START_TEST(a_list_names_cpus)
{
    char *copy = exact(lists[_i].text);
    el_cpuset_t cpus = {{0}};
    bool good = el_cgroup_cpus(copy, strlen(lists[_i].text), &cpus);

    free(copy);
    ck_assert_msg(good == (lists[_i].count > 0), "%s", lists[_i].text);
    ck_assert_msg(el_cpuset_count(&cpus) == lists[_i].count, "%s: %u", lists[_i].text,
                  el_cpuset_count(&cpus));
    ck_assert_msg(cpus.bits[0] == lists[_i].first, "%s", lists[_i].text);
}
END_TEST

Suite *cgroup_suite(void)
{
    TCase *tc = tcase_create("cgroup");

    tcase_add_loop_test(tc, a_process_has_a_folder, 0, ROWS(folders));
    tcase_add_test(tc, a_folder_too_long_is_none);
    tcase_add_test(tc, parents_end_at_the_mount_point);
    tcase_add_loop_test(tc, version_2_has_a_limit_or_none, 0, ROWS(maxima));
    tcase_add_loop_test(tc, version_1_has_a_limit_or_none, 0, ROWS(quotas));
    tcase_add_loop_test(tc, cpu_stat_has_the_time_used, 0, ROWS(stats));
    tcase_add_test(tc, cpuacct_has_the_time_used);
    tcase_add_loop_test(tc, a_list_names_cpus, 0, ROWS(lists));
    return suite_of("cgroup", tc);
}
