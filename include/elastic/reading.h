/*
 * A reading: the signal of the CPU load at one moment, and which one counts.
 *
 * There are two signals. `stat`: the busy share of the CPUs that are ours, by /proc/stat. `cgroup`:
 * the CPU time that our control group used, as a share of what it may use; in a container with a
 * limit, the limit is its 100 percent, whatever the machine's idle CPUs say.
 *
 * Pure; any thread. A reading is 24 KB: it belongs in shared memory or static storage.
 */
#ifndef ELASTIC_READING_H
#define ELASTIC_READING_H

#include "elastic/load.h"

/* X(identifier, word): what ElasticLoad may say. */
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
const char *el_load_kind_word(el_load_kind_t kind);

/* What there is to be read. */
typedef struct {
    unsigned cpus;     /* that we may run on, by affinity and cpuset; 0: not known */
    unsigned cgroups;  /* the version of the hierarchy that has the CPU time used; 0: none has */
    double limit;      /* CPUs' worth of time that the group may use; 0: it has no limit */
    double tick_usec;  /* of /proc/stat, where that is the running kernel's own; 0: it may not be */
} el_machine_facts_t;

/* Which signal counts. */
typedef struct {
    bool cgroup; /* the group's; otherwise /proc/stat */
    double cpus; /* CPUs' worth of time that are our 100 percent; 0: not known */
    double tick_usec; /* of /proc/stat, where the clock gives how many passed; 0: it does not */
} el_load_signals_t;

/*
 * The signal for `kind` on a machine with these facts. `auto` is the control group where it has a
 * limit below the CPUs that there are, otherwise /proc/stat. What was asked for and is not there is
 * replaced by /proc/stat.
 */
el_load_signals_t el_load_signals(el_load_kind_t kind, const el_machine_facts_t *facts);

/*
 * Says in `text`, of `size` bytes, what was chosen and why: `cgroup (v2, limit of 0.50 CPUs)`.
 * It is cut where it does not fit.
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
 * The load, 0 … 1, between two readings, by the same signal: of the CPUs in `mask` (NULL: all) where
 * /proc/stat counts. More time used than there is (a group's burst) is 1. False, and `busy`
 * untouched, where the readings have no such signal or no time passed between them.
 */
bool el_reading_busy(const el_load_signals_t *signals, const el_cpuset_t *mask,
                     const el_reading_t *before, const el_reading_t *after, double *busy);

/* The time between two readings; 0 where it is not known. */
double el_reading_seconds(const el_reading_t *before, const el_reading_t *after);

/* The CPU time, µs, that was ours to use between two readings; 0 where it is not known. */
double el_reading_capacity(const el_load_signals_t *signals, const el_reading_t *before,
                           const el_reading_t *after);

/* How many CPUs are in `set`. */
unsigned el_cpuset_count(const el_cpuset_t *set);

#endif
