#include "elastic/load.h"

#include "text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The columns of /proc/stat that count, in the kernel's order (proc(5)). */
enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL, COLUMNS };

/* Linux 2.4 wrote no more. */
#define COLUMNS_NEEDED (IDLE + 1)

/* A line of the text, without its newline. */
typedef struct {
    const char *at;
    const char *end;
    bool whole; /* the newline was there: nothing is cut off */
} row_t;

static void load_skip_blanks(row_t *row)
{
    el_text_skip_space(&row->at, row->end);
}

static bool load_add(uint64_t *sum, uint64_t number)
{
    if (number > UINT64_MAX - *sum) {
        return false;
    }
    *sum += number;
    return true;
}

/*
 * Reads the columns behind the label. False where the row is not usable: too few columns, a
 * number that is none, or a row that was cut within the columns that count. Half a row would look
 * like a CPU whose counters fell, and rose again with the next sample.
 */
static bool load_read_ticks(row_t *row, el_cpu_ticks_t *ticks)
{
    uint64_t column[COLUMNS] = {0};
    unsigned count = 0;
    el_cpu_ticks_t t;

    for (load_skip_blanks(row); row->at < row->end && count < COLUMNS; load_skip_blanks(row)) {
        if (!el_text_number(&row->at, row->end, &column[count])) {
            return false;
        }
        if (row->at == row->end ? !row->whole : !el_text_is_space(*row->at)) {
            return false;
        }
        count++;
    }
    if (count < COLUMNS_NEEDED || (count < COLUMNS && !row->whole)) {
        return false;
    }
    t.busy = column[USER];
    t.idle = column[IDLE];
    t.iowait = column[IOWAIT];
    if (!load_add(&t.busy, column[NICE]) || !load_add(&t.busy, column[SYSTEM])
        || !load_add(&t.busy, column[IRQ])
        || !load_add(&t.busy, column[SOFTIRQ]) || !load_add(&t.busy, column[STEAL])) {
        return false;
    }
    *ticks = t;
    return true;
}

/* What the rows read so far had. */
typedef struct {
    bool numbered; /* a cpuN row, be it usable or not */
    bool total;    /* a usable `cpu` row */
    el_cpu_ticks_t all;
} seen_t;

static void load_read_row(row_t *row, el_load_sample_t *sample, seen_t *seen)
{
    uint64_t number = 0;
    el_cpu_ticks_t ticks;

    if (row->end - row->at < 4 || memcmp(row->at, "cpu", 3) != 0) {
        return;
    }
    row->at += 3;
    if (el_text_is_space(*row->at)) {
        if (!seen->total) {
            seen->total = load_read_ticks(row, &seen->all);
        }
        return;
    }
    if (!el_text_is_digit(*row->at)) {
        return;
    }
    seen->numbered = true;
    if (!el_text_number(&row->at, row->end, &number) || number >= EL_LOAD_CPUS
        || row->at == row->end || !el_text_is_space(*row->at) || !load_read_ticks(row, &ticks)) {
        return;
    }
    sample->cpu[number] = ticks;
    sample->present.bits[number / 64] |= UINT64_C(1) << (number % 64);
    if (sample->count <= number) {
        sample->count = (unsigned)number + 1;
    }
}

bool el_load_parse(const char *text, size_t len, el_load_sample_t *sample)
{
    const char *at = text;
    const char *end = text + len;
    seen_t seen = {0};

    memset(sample, 0, sizeof(*sample));
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        row_t row = {at, newline != NULL ? newline : end, newline != NULL};

        at = newline != NULL ? newline + 1 : end;
        load_read_row(&row, sample, &seen);
    }
    if (seen.total && !seen.numbered) {
        sample->summed = true;
        sample->count = 1;
        sample->cpu[0] = seen.all;
    }
    return sample->count > 0;
}

static bool load_is_in(const el_cpuset_t *set, unsigned cpu)
{
    return (set->bits[cpu / 64] >> (cpu % 64) & 1) != 0;
}

/* Whether a row counts: it is in both samples and in the mask. The `cpu` row is for all. */
static bool load_counts(const el_load_sample_t *before, const el_load_sample_t *after,
                        const el_cpuset_t *mask, unsigned cpu)
{
    return after->summed
           || (load_is_in(&before->present, cpu) && load_is_in(&after->present, cpu)
               && (mask == NULL || load_is_in(mask, cpu)));
}

/* A sum over many CPUs can pass 64 bits where the text is nonsense; a double loses precision. */
static double load_moved(uint64_t before, uint64_t after)
{
    return after > before ? (double)(after - before) : 0.0;
}

/* Ticks of rounding that idle and iowait may show between them. */
#define ROUNDING 2

/*
 * The ticks that a CPU rested. The two counters together: where a task that waits is woken by
 * another CPU, a tickless kernel takes what it waited from iowait and gives it to idle.
 */
static double load_rest_of(const el_cpu_ticks_t *before, const el_cpu_ticks_t *after)
{
    return (double)after->idle - (double)before->idle
           + ((double)after->iowait - (double)before->iowait);
}

/*
 * Whether what CPUs rested, and what was counted of them in all, fits `passed` ticks: what was made
 * up, or is not of this machine, need not.
 */
static bool load_fits(double rested, double counted, double passed, unsigned cpus)
{
    return rested <= passed + ROUNDING * cpus && counted <= 2 * (passed + ROUNDING * cpus);
}

bool el_load_busy(const el_load_sample_t *before, const el_load_sample_t *after,
                  const el_cpuset_t *mask, double ticks, double *busy)
{
    unsigned count = before->count < after->count ? before->count : after->count;
    unsigned cpus = 0;
    bool clocked = ticks > 0 && !after->summed;
    double worked = 0, rested = 0, exact = 0, passed;

    if (before->summed != after->summed) {
        return false;
    }
    for (unsigned i = 0; i < count; i++) {
        const el_cpu_ticks_t *b = &before->cpu[i];
        const el_cpu_ticks_t *a = &after->cpu[i];

        if (!load_counts(before, after, mask, i)) {
            continue;
        }
        cpus++;
        exact += load_rest_of(b, a);
        /* A CPU that was taken away and given back begins anew. */
        clocked = clocked && load_rest_of(b, a) >= -ROUNDING;
        worked += load_moved(b->busy, a->busy);
        rested += load_moved(b->idle, a->idle) + load_moved(b->iowait, a->iowait);
    }
    if (worked + rested <= 0) {
        return false;
    }
    passed = ticks * cpus;
    if (clocked && load_fits(exact, worked + exact, passed, cpus)) {
        *busy = fmin(1, fmax(0, 1 - exact / passed));
    } else {
        *busy = worked / (worked + rested);
    }
    return true;
}

/* A limit this near to the CPUs that there are is none: /proc/stat resolves more. */
#define LIMIT_SLACK 0.01

const char *el_load_kind_word(el_load_kind_t kind)
{
    static const char *const words[] = {
#define X(id, word) word,
        EL_LOADS(X)
#undef X
    };

    return words[kind];
}

static bool load_is_limited(const el_machine_facts_t *facts)
{
    return facts->cgroups > 0 && facts->limit > 0
           && (facts->cpus == 0 || facts->limit < facts->cpus - LIMIT_SLACK);
}

el_load_signals_t el_load_signals(el_load_kind_t kind, const el_machine_facts_t *facts)
{
    bool limited = load_is_limited(facts);
    double cpus = limited && kind != EL_LOAD_STAT ? facts->limit : facts->cpus;

    return (el_load_signals_t){
        .cgroup = kind == EL_LOAD_CGROUP ? facts->cgroups > 0 && cpus > 0
                                         : kind == EL_LOAD_AUTO && limited,
        .cpus = cpus,
        .tick_usec = facts->tick_usec,
    };
}

/* Why not the group. */
static const char *load_reason(el_load_kind_t kind, const el_machine_facts_t *facts)
{
    return kind == EL_LOAD_STAT     ? "as configured"
           : kind == EL_LOAD_CGROUP ? "no control group has its CPU time"
           : facts->cgroups == 0    ? "no control group"
           : facts->limit > 0       ? "the control group's limit is no less than the CPUs"
                                    : "the control group has no limit";
}

void el_load_signals_text(el_load_kind_t kind, const el_machine_facts_t *facts, char *text,
                       size_t size)
{
    el_load_signals_t signals = el_load_signals(kind, facts);

    if (!signals.cgroup) {
        snprintf(text, size, "stat (%s)", load_reason(kind, facts));
    } else if (load_is_limited(facts)) {
        snprintf(text, size, "cgroup (v%u, limit of %.2f CPUs)", facts->cgroups, facts->limit);
    } else {
        snprintf(text, size, "cgroup (v%u, as configured; no limit, so of %u CPUs)",
                 facts->cgroups, facts->cpus);
    }
}

static double load_elapsed(const el_reading_t *before, const el_reading_t *after)
{
    return after->at_usec > before->at_usec ? (double)(after->at_usec - before->at_usec) : 0;
}

double el_reading_seconds(const el_reading_t *before, const el_reading_t *after)
{
    return before->at_usec > 0 ? load_elapsed(before, after) / 1e6 : 0;
}

double el_reading_capacity(const el_load_signals_t *signals, const el_reading_t *before,
                           const el_reading_t *after)
{
    return before->at_usec > 0 ? load_elapsed(before, after) * signals->cpus : 0;
}

static bool load_by_stat(const el_load_signals_t *signals, const el_cpuset_t *mask,
                         const el_reading_t *before, const el_reading_t *after, double *busy)
{
    double ticks = signals->tick_usec > 0 && before->at_usec > 0
                       ? load_elapsed(before, after) / signals->tick_usec : 0;

    return before->has_stat && after->has_stat
           && el_load_busy(&before->stat, &after->stat, mask, ticks, busy);
}

static bool load_by_cgroup(const el_load_signals_t *signals, const el_reading_t *before,
                           const el_reading_t *after, double *busy)
{
    double capacity = el_reading_capacity(signals, before, after);

    if (!before->has_usage || !after->has_usage || capacity <= 0) {
        return false;
    }
    *busy = after->usage_usec > before->usage_usec
                ? (double)(after->usage_usec - before->usage_usec) / capacity : 0;
    return true;
}

bool el_reading_busy(const el_load_signals_t *signals, const el_cpuset_t *mask,
                     const el_reading_t *before, const el_reading_t *after, double *busy)
{
    double load;

    if (!(signals->cgroup ? load_by_cgroup(signals, before, after, &load)
                          : load_by_stat(signals, mask, before, after, &load))) {
        return false;
    }
    *busy = load > 1 ? 1 : load;
    return true;
}

unsigned el_cpuset_count(const el_cpuset_t *set)
{
    unsigned count = 0;

    for (unsigned cpu = 0; cpu < EL_LOAD_CPUS; cpu++) {
        count += (unsigned)(set->bits[cpu / 64] >> (cpu % 64) & 1);
    }
    return count;
}
