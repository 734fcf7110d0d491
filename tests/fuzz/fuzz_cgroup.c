
#include "elastic/load.h"

#include "fuzz.h"

static char folder[EL_CGROUP_PATH];

static void check_folder(const char *one, size_t one_size, const char *two, size_t two_size,
                         const char *controller, size_t room)
{
    size_t base = el_cgroup_folder((el_cgroup_text_t){one, one_size},
                                   (el_cgroup_text_t){two, two_size}, controller, folder, room);
    size_t len;

    if (base == 0) {
        return;
    }
    len = strlen(folder);
    MUST(len < room && base <= len);
    MUST(base == len || folder[base] == '/');
    MUST(strstr(folder + base, "/../") == NULL);
    while (el_cgroup_parent(folder, base)) {
        MUST(strlen(folder) < len && strlen(folder) >= base);
        len = strlen(folder);
    }
}

static void check_numbers(const char *text, size_t size)
{
    double cpus = -1;
    uint64_t usec;
    el_cpuset_t set;

    MUST(!el_cgroup_max(text, size, &cpus) || cpus >= 0);
    MUST(!el_cgroup_quota(text, size, text, size, &cpus) || cpus >= 0);
    MUST(!el_cgroup_cpus(text, size, &set) || el_cpuset_count(&set) <= EL_LOAD_CPUS);
    el_cgroup_usage(2, text, size, &usec);
    el_cgroup_usage(1, text, size, &usec);
}

/* The input is two texts around a zero byte: a file of groups and one of mounts. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_string(data, size);
    size_t first = strlen(text);
    const char *second = first < size ? text + first + 1 : text;
    size_t second_size = first < size ? size - first - 1 : size;

    check_folder(text, first, second, second_size, NULL, sizeof(folder));
    check_folder(text, first, second, second_size, "cpu", sizeof(folder));
    check_folder(text, first, second, second_size, "cpu", 16);
    check_numbers(text, first);
    check_numbers(second, second_size);
    free(text);
    return 0;
}
