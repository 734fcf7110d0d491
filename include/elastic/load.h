/*
 * CPU load: the text of /proc/stat -> counters; the choice of a signal; two readings -> the busy
 * share.
 *
 * Pure; any thread; no allocation. Samples and readings have 24 KB: keep them in shared memory or
 * static storage.
 */
#ifndef ELASTIC_LOAD_H
#define ELASTIC_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * By /proc/stat, everything but idle and iowait is busy. Steal counts as busy, because the time is
 * gone. Guest time is part of user and nice (proc(5)) and is not added again.
 *
 * A kernel that counts by timer ticks charges a whole tick to the task that runs at its end: a
 * hundred ticks resolve 5 points, and work that always ends before the next tick is not counted. A
 * tickless kernel counts idle time exactly; on others, ticks are as good for idle time as for busy
 * time. So if the elapsed time is known, the share is computed from the time that was not idle.
 */

/* CPUs in one sample: as many as the largest machines that run httpd have. More are ignored. */
#define EL_LOAD_CPUS 1024

/* A set of CPUs: bit `n % 64` of word `n / 64` is CPU n. */
typedef struct {
    uint64_t bits[EL_LOAD_CPUS / 64];
} el_cpuset_t;

/* One CPU's ticks since boot. */
typedef struct {
    uint64_t busy;
    uint64_t idle;
    uint64_t iowait;
} el_cpu_ticks_t;

typedef struct {
    bool summed; /* no cpuN row: cpu[0] has the `cpu` row, the sum of all CPUs */
    unsigned count; /* entries of cpu[] up to the last CPU */
    el_cpuset_t present; /* the CPUs that had a row */
    el_cpu_ticks_t cpu[EL_LOAD_CPUS]; /* by CPU number; only [0] if summed */
} el_load_sample_t;

/*
 * Parses the `len` bytes at `text` into `sample`. False, and an empty sample, if there is no usable
 * row.
 *
 * Rows need user, nice, system and idle (Linux 2.4 had no more); iowait, irq, softirq and steal are
 * 0 if absent; further columns are ignored. A row that the end of the text cuts within these
 * columns is dropped: half a row would look like a CPU whose counters fell.
 */
bool el_load_parse(const char *text, size_t len, el_load_sample_t *sample);

/*
 * The busy share, 0 … 1, between `before` and `after`, of the CPUs in `mask` (NULL: all) that are
 * in both samples.
 *
 * `ticks` is the elapsed time in ticks of each CPU; 0: unknown. If it is unknown or does not fit
 * the counters, if a CPU was taken away and given back, or for a `cpu` row, which does not give the
 * number of CPUs, the share is computed from busy and idle ticks. A counter that ran backward
 * counts as unchanged.
 *
 * False, and `busy` unchanged, if no tick was counted or the samples have no CPU in common.
 */
bool el_load_busy(const el_load_sample_t *before, const el_load_sample_t *after,
                  const el_cpuset_t *mask, double ticks, double *busy);

/*
 * There are two signals. `stat`: the busy share of our CPUs by /proc/stat. `cgroup`: the CPU time
 * that our control group used, as a share of what it may use. In a container with a limit, the
 * limit is 100 percent, however idle the machine is.
 */

/* X(identifier, word of ElasticLoad) */
#define EL_LOADS(X)                                                                                \
    X(AUTO, "auto")                                                                                \
    X(STAT, "stat")                                                                                \
    X(CGROUP, "cgroup")

typedef enum {
#define X(id, word) EL_LOAD_##id,
    EL_LOADS(X)
#undef X
    EL_LOAD_KINDS
} el_load_kind_t;

/* The words of ElasticLoad. */
extern const char *const el_load_words[EL_LOAD_KINDS];

typedef struct {
    unsigned cpus;     /* CPUs that we may run on, by affinity and cpuset; 0: unknown */
    unsigned cgroups;  /* version of the hierarchy with the CPU time used; 0: none */
    double limit;      /* CPUs that the group may use; may be a fraction; 0: no limit */
    double tick_usec;  /* length of a tick if /proc/stat is the kernel's own; 0: unsure */
} el_machine_facts_t;

/* The signal that counts. */
typedef struct {
    bool cgroup; /* the group's CPU time; otherwise /proc/stat */
    double cpus; /* CPUs that are our 100 percent; may be a fraction; 0: unknown */
    double tick_usec; /* see el_machine_facts_t */
} el_load_signals_t;

/*
 * The signal for `kind` on this machine. `auto` takes the control group if its limit is below the
 * number of CPUs, otherwise /proc/stat. /proc/stat replaces a signal that is not available.
 */
el_load_signals_t el_load_signals(el_load_kind_t kind, const el_machine_facts_t *facts);

/* Describes the choice in `text`, cut to `size` bytes: `cgroup (v2, limit of 0.50 CPUs)`. */
void el_load_signals_text(el_load_kind_t kind, const el_machine_facts_t *facts, char *text,
                          size_t size);

typedef struct {
    bool has_stat;
    bool has_usage;
    uint64_t at_usec;    /* time of the reading, monotonic clock */
    uint64_t usage_usec; /* CPU time that the group has used */
    el_load_sample_t stat;
} el_reading_t;

/*
 * The load, 0 … 1, between two readings; `mask` (NULL: all) selects the CPUs of /proc/stat. More
 * time used than allowed (a group's burst) is 1. False, and `busy` unchanged, if the readings lack
 * the signal or no time passed between them.
 */
bool el_reading_busy(const el_load_signals_t *signals, const el_cpuset_t *mask,
                     const el_reading_t *before, const el_reading_t *after, double *busy);

/* The time between two readings in µs; 0: unknown. */
double el_reading_usec(const el_reading_t *before, const el_reading_t *after);

/* The number of CPUs in `set`. */
unsigned el_cpuset_count(const el_cpuset_t *set);

/*
 * Control groups: the text of the kernel's files -> the folder of the process's group, and the CPU
 * time that it may use and has used. Both hierarchies: version 1, one for each controller, and
 * version 2.
 *
 * Pure; any thread; no allocation. Texts need no NUL.
 */

/* The kernel's own limit of a path, with the NUL. */
#define EL_CGROUP_PATH 4096

/* The text of a file. */
typedef struct {
    const char *at;
    size_t len;
} el_cgroup_text_t;

/*
 * Writes the folder of this process's group to `folder`, which has `size` bytes, from the texts of
 * /proc/self/cgroup and /proc/self/mountinfo: the mount point, then the group's path below the
 * mounted root. `controller` names a version 1 hierarchy (`cpu`); NULL: version 2. Returns the
 * length of the mount point, for el_cgroup_parent(); 0 if there is no such hierarchy or the path is
 * too long.
 *
 * If the group is not below the mounted root (a path of another namespace, or one with `..`), the
 * folder is the mount point: a container's own group.
 */
size_t el_cgroup_folder(el_cgroup_text_t cgroup, el_cgroup_text_t mountinfo,
                        const char *controller, char *folder, size_t size);

/* Cuts off the last part of `folder`. False if it is the mount point, of length `base`. */
bool el_cgroup_parent(char *folder, size_t base);

/*
 * Parses cpu.max of version 2: `max 100000`, or quota and period. `cpus` becomes quota ÷ period,
 * the CPUs that the group may use; 0: no limit. False for other text.
 */
bool el_cgroup_max(const char *text, size_t len, double *cpus);

/* Parses cpu.cfs_quota_us (-1: no limit) and cpu.cfs_period_us of version 1 likewise. */
bool el_cgroup_quota(const char *quota, size_t quota_len, const char *period, size_t period_len,
                     double *cpus);

/*
 * Parses the CPU time used, µs, from cpu.stat of version 2, or from cpuacct.usage, in ns, of
 * version 1. False if the text has none.
 */
bool el_cgroup_usage(unsigned version, const char *text, size_t len, uint64_t *usec);

/* Parses a list of CPUs such as `0-3,8` (cpuset.cpus.effective). False for other text. */
bool el_cgroup_cpus(const char *text, size_t len, el_cpuset_t *cpus);

#endif
