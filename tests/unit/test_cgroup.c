#include "elastic/load.h"
#include "suites.h"

CASE(cgroup);

#define V1                                                                                         \
    "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"                                   \
    "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n"         \
    "34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
#define V2 "29 22 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
#define BLANKS "29 22 0:26 / /my\\040groups rw - cgroup2 cgroup2 rw\n"
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
    {"0::/../../other\n", V2, NULL, "/sys/fs/cgroup", 14},
    /* no mount, no dash, a cut line, and no group */
    {"0::/a\n", "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n", NULL, NULL, 0},
    {"0::/a\n", "29 22 0:26 / /sys/fs/cgroup rw cgroup2 rw\n", NULL, NULL, 0},
    {"0::/a\n", "29 22 0:26 / /sys/fs/cgroup rw - cgroup2", NULL, NULL, 0},
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
    {"63-64\n", 2, UINT64_C(1) << 63}, {"0-18446744073709551615\n", 1024, UINT64_MAX},
};
EACH(cgroup, a_list_names_cpus, lists)
{
    const char *copy = exact(row->text).at;
    el_cpuset_t cpus = {{0}};

    named_eq(row->text, el_cgroup_cpus(copy, strlen(row->text), &cpus), row->count > 0);
    named_eq(row->text, el_cpuset_count(&cpus), row->count);
    named_eq(row->text, cpus.bits[0], row->first);
}
