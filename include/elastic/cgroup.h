/*
 * Control groups: the text of the kernel's files -> where a process's group is, how much CPU time
 * it may use and has used. Both hierarchies: version 1, one for each controller, and version 2.
 *
 * Pure; any thread; no allocation. Texts need no terminating zero.
 */
#ifndef ELASTIC_CGROUP_H
#define ELASTIC_CGROUP_H

#include "elastic/load.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The longest path that is followed, with its zero; the kernel's own limit. */
#define EL_CGROUP_PATH 4096

/* The text of a file. */
typedef struct {
    const char *at;
    size_t len;
} el_cgroup_text_t;

/*
 * Writes the folder of this process's group into the `size` bytes at `folder`, by the texts of
 * /proc/self/cgroup and /proc/self/mountinfo: the mount point of the hierarchy, then the group
 * below what is mounted there. `controller` is that of a version 1 hierarchy (`cpu`), or NULL for
 * version 2. Returns the length of the mount point, at which folders of this process's ancestors
 * end; 0 where there is no such hierarchy, or the path is too long.
 *
 * A group that is not below what is mounted (another namespace's path, or one with `..`) gives the
 * mount point itself: which is a container's own group.
 */
size_t el_cgroup_folder(el_cgroup_text_t cgroup, el_cgroup_text_t mountinfo,
                        const char *controller, char *folder, size_t size);

/* Cuts the last part off `folder`; false where it is the mount point, `base` long, already. */
bool el_cgroup_parent(char *folder, size_t base);

/*
 * cpu.max of version 2: `max 100000`, or quota and period. `cpus` gets quota ÷ period, the CPUs'
 * worth of time that the group may use; 0 where it has no limit. False where it is neither.
 */
bool el_cgroup_max(const char *text, size_t len, double *cpus);

/* cpu.cfs_quota_us (-1 for no limit) and cpu.cfs_period_us of version 1: likewise. */
bool el_cgroup_quota(const char *quota, size_t quota_len, const char *period, size_t period_len,
                     double *cpus);

/* cpu.stat of version 2: the CPU time used, µs. */
bool el_cgroup_stat(const char *text, size_t len, uint64_t *usec);

/* cpuacct.usage of version 1: nanoseconds, given back in µs. */
bool el_cgroup_usage(const char *text, size_t len, uint64_t *usec);

/* A list of CPUs such as `0-3,8`, of cpuset.cpus.effective and its like. False where it is none. */
bool el_cgroup_cpus(const char *text, size_t len, el_cpuset_t *cpus);

#endif
