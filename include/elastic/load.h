/*
 * CPU load: the text of /proc/stat -> counters; which signal counts; two readings of it -> the busy
 * share.
 *
 * Pure; any thread; no allocation. A sample, and a reading, is 24 KB: it belongs in shared memory
 * or static storage.
 */
#ifndef ELASTIC_LOAD_H
#define ELASTIC_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * By /proc/stat, busy is everything but idle and iowait. Steal counts as busy (the hypervisor ran
 * somebody else: the time is gone). Guest time is contained in user and nice already and is not
 * counted twice (proc(5)).
 *
 * A kernel that counts by timer ticks charges the whole tick to what it finds running at its end: a
 * hundred ticks give a share to 5 points, and work that always ends before the next tick is not
 * counted at all. A tickless kernel counts exactly how long a CPU was idle; on any other, ticks are
 * as good for idle as for busy. So the share is what was not idle of the time that passed by the
 * clock, where that is known.
 */

/*
 * Rows kept of one sample: the CPUs of the largest machines httpd is run on today. More are
 * ignored.
 */
#define EL_LOAD_CPUS 1024

/* Which CPUs count: bit `n % 64` of word `n / 64` is CPU n. */
typedef struct {
    uint64_t bits[EL_LOAD_CPUS / 64];
} el_cpuset_t;

/* One CPU's clock ticks since boot. */
typedef struct {
    uint64_t busy;
    uint64_t idle;
    uint64_t iowait;
} el_cpu_ticks_t;

typedef struct {
    bool summed; /* the text had no cpuN row: cpu[0] holds the `cpu` row, which is the sum of all */
    unsigned count; /* cpu[] is filled up to here */
    el_cpuset_t present; /* the CPUs that have a row */
    el_cpu_ticks_t cpu[EL_LOAD_CPUS]; /* indexed by CPU number, or only [0] where summed */
} el_load_sample_t;

/*
 * Reads the `len` bytes at `text` into `sample`. False if no usable row was found, and `sample`
 * is then empty: text that is empty, truncated within its first rows, or something else.
 *
 * Rows need user, nice, system and idle (Linux 2.4 had no more); iowait, irq, softirq and steal are
 * 0 if absent; anything further is ignored. A row that the end of the text cuts within these
 * columns is not taken: half a row would look like a CPU whose counters fell.
 */
bool el_load_parse(const char *text, size_t len, el_load_sample_t *sample);

/*
 * The busy share, 0 … 1, between `before` and `after`, of the CPUs in `mask` (NULL: all) that are
 * in both samples; a CPU that came or went in between does not count.
 *
 * `ticks` passed by the clock, for each CPU; 0: not known. Then the share is of the ticks counted, as
 * it is if they do not fit the clock, if a CPU was taken away and given back, and of a `cpu` row,
 * which does not give the number of CPUs. A counter that ran backward counts as unmoved.
 *
 * False, and `busy` untouched, if no tick was counted or the samples have no CPU in common.
 */
bool el_load_busy(const el_load_sample_t *before, const el_load_sample_t *after,
                  const el_cpuset_t *mask, double ticks, double *busy);

/*
 * There are two signals. `stat`: the busy share of the CPUs that are ours, by /proc/stat. `cgroup`:
 * the CPU time that our control group used, as a share of what it may use; in a container with a
 * limit, the limit is its 100 percent, whatever the machine's idle CPUs say.
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

/* The word for `kind`, static. */
extern const char *const el_load_words[EL_LOAD_KINDS];

/* Facts of the machine. */
typedef struct {
    unsigned cpus;     /* that we may run on, by affinity and cpuset; 0: not known */
    unsigned cgroups;  /* the version of the hierarchy that has the CPU time used; 0: none has */
    double limit;      /* CPUs' worth of time that the group may use; 0: it has no limit */
    double tick_usec;  /* of /proc/stat, if that is the running kernel's own; 0: it may not be */
} el_machine_facts_t;

/* Which signal counts. */
typedef struct {
    bool cgroup; /* the group's; otherwise /proc/stat */
    double cpus; /* CPUs' worth of time that are our 100 percent; 0: not known */
    double tick_usec; /* of /proc/stat, if the clock gives how many passed; 0: it does not */
} el_load_signals_t;

/*
 * The signal for `kind` on a machine with these facts. `auto` is the control group if it has a
 * limit below the CPUs that there are, otherwise /proc/stat. What was asked for and is not there is
 * replaced by /proc/stat.
 */
el_load_signals_t el_load_signals(el_load_kind_t kind, const el_machine_facts_t *facts);

/*
 * Says in `text`, of `size` bytes, what was chosen and why: `cgroup (v2, limit of 0.50 CPUs)`.
 * It is cut if it does not fit.
 */
void el_load_signals_text(el_load_kind_t kind, const el_machine_facts_t *facts, char *text,
                       size_t size);

typedef struct {
    bool has_stat;
    bool has_usage;
    uint64_t at_usec;    /* of the monotonic clock, when what counts was read */
    uint64_t usage_usec; /* CPU time that the group has used */
    el_load_sample_t stat;
} el_reading_t;

/*
 * The load, 0 … 1, between two readings, by the same signal: of the CPUs in `mask` (NULL: all)
 * where /proc/stat counts. More time used than there is (a group's burst) is 1. False, and `busy`
 * untouched, if the readings have no such signal or no time passed between them.
 */
bool el_reading_busy(const el_load_signals_t *signals, const el_cpuset_t *mask,
                     const el_reading_t *before, const el_reading_t *after, double *busy);

/* The time between two readings, µs; 0 if it is not known. */
double el_reading_usec(const el_reading_t *before, const el_reading_t *after);

/* How many CPUs are in `set`. */
unsigned el_cpuset_count(const el_cpuset_t *set);

/*
 * Control groups: the text of the kernel's files -> where a process's group is, how much CPU time
 * it may use and has used. Both hierarchies: version 1, one for each controller, and version 2.
 *
 * Pure; any thread; no allocation. Texts need no terminating zero.
 */

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
 * end; 0 if there is no such hierarchy, or the path is too long.
 *
 * A group that is not below what is mounted (another namespace's path, or one with `..`) gives the
 * mount point itself: which is a container's own group.
 */
size_t el_cgroup_folder(el_cgroup_text_t cgroup, el_cgroup_text_t mountinfo,
                        const char *controller, char *folder, size_t size);

/* Cuts the last part off `folder`; false if it is the mount point, `base` long, already. */
bool el_cgroup_parent(char *folder, size_t base);

/*
 * cpu.max of version 2: `max 100000`, or quota and period. `cpus` gets quota ÷ period, the CPUs'
 * worth of time that the group may use; 0: no limit. False if the text is neither.
 */
bool el_cgroup_max(const char *text, size_t len, double *cpus);

/* cpu.cfs_quota_us (-1 for no limit) and cpu.cfs_period_us of version 1: likewise. */
bool el_cgroup_quota(const char *quota, size_t quota_len, const char *period, size_t period_len,
                     double *cpus);

/*
 * The CPU time used, µs: cpu.stat of `version` 2, or cpuacct.usage, nanoseconds, of version 1.
 * False if the text has none.
 */
bool el_cgroup_usage(unsigned version, const char *text, size_t len, uint64_t *usec);

/* A list of CPUs such as `0-3,8`, of cpuset.cpus.effective and its like. False if it is none. */
bool el_cgroup_cpus(const char *text, size_t len, el_cpuset_t *cpus);

#endif
