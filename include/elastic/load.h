/*
 * CPU load: the text of /proc/stat -> counters; two samples of counters -> the busy share.
 *
 * Busy is everything but idle and iowait. Steal counts as busy (the hypervisor ran somebody else:
 * the time is gone). Guest time is contained in user and nice already and is not counted twice
 * (proc(5)).
 *
 * A kernel that counts by timer ticks charges the whole tick to what it finds running at its end: a
 * hundred ticks give a share to 5 points, and work that always ends before the next tick is not
 * counted at all. A tickless kernel counts exactly how long a CPU was idle; on any other, ticks are
 * as good for idle as for busy. So the share is what was not idle of the time that passed by the clock, where
 * that is known.
 *
 * Pure; any thread; no allocation. A sample is 24 KB: it belongs in shared memory or static
 * storage.
 */
#ifndef ELASTIC_LOAD_H
#define ELASTIC_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
 * Reads the `len` bytes at `text` into `sample`. False where no usable row was found, and `sample`
 * is then empty: text that is empty, truncated within its first rows, or something else.
 *
 * Rows need user, nice, system and idle (Linux 2.4 had no more); iowait, irq, softirq and steal are
 * 0 where absent; anything further is ignored. A row that the end of the text cuts within these
 * columns is not taken: half a row would look like a CPU whose counters fell.
 */
bool el_load_parse(const char *text, size_t len, el_load_sample_t *sample);

/*
 * The busy share, 0 … 1, between `before` and `after`, of the CPUs in `mask` (NULL: all) that are
 * in both samples; a CPU that came or went in between does not count.
 *
 * `ticks` is how many passed by the clock, for each CPU; 0 where that is not known, and the share
 * is then of the ticks counted, where a counter that ran backward (iowait does on a tickless
 * kernel) counts as unmoved. So it is where the ticks do not fit the clock, where a CPU's rest ran
 * backward (it was taken away and given back), and of a `cpu` row, which does not say of how many
 * CPUs there are.
 *
 * False, and `busy` untouched, where no tick was counted or the samples have no CPU in common.
 */
bool el_load_busy(const el_load_sample_t *before, const el_load_sample_t *after,
                  const el_cpuset_t *mask, double ticks, double *busy);

#endif
