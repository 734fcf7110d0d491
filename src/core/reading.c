#include "elastic/reading.h"

#include <stdio.h>

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

static bool is_limited(const el_machine_facts_t *facts)
{
    return facts->cgroups > 0 && facts->limit > 0
           && (facts->cpus == 0 || facts->limit < facts->cpus - LIMIT_SLACK);
}

el_load_signals_t el_load_signals(el_load_kind_t kind, const el_machine_facts_t *facts)
{
    bool limited = is_limited(facts);
    double cpus = limited && kind != EL_LOAD_STAT ? facts->limit : facts->cpus;

    return (el_load_signals_t){
        .cgroup = kind == EL_LOAD_CGROUP ? facts->cgroups > 0 && cpus > 0
                                         : kind == EL_LOAD_AUTO && limited,
        .cpus = cpus,
        .tick_usec = facts->tick_usec,
    };
}

/* Why not the group. */
static const char *reason(el_load_kind_t kind, const el_machine_facts_t *facts)
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
        snprintf(text, size, "stat (%s)", reason(kind, facts));
    } else if (is_limited(facts)) {
        snprintf(text, size, "cgroup (v%u, limit of %.2f CPUs)", facts->cgroups, facts->limit);
    } else {
        snprintf(text, size, "cgroup (v%u, as configured; no limit, so of %u CPUs)",
                 facts->cgroups, facts->cpus);
    }
}

static double elapsed(const el_reading_t *before, const el_reading_t *after)
{
    return after->at_usec > before->at_usec ? (double)(after->at_usec - before->at_usec) : 0;
}

double el_reading_seconds(const el_reading_t *before, const el_reading_t *after)
{
    return before->at_usec > 0 ? elapsed(before, after) / 1e6 : 0;
}

double el_reading_capacity(const el_load_signals_t *signals, const el_reading_t *before,
                           const el_reading_t *after)
{
    return before->at_usec > 0 ? elapsed(before, after) * signals->cpus : 0;
}

static bool by_stat(const el_load_signals_t *signals, const el_cpuset_t *mask,
                    const el_reading_t *before, const el_reading_t *after, double *busy)
{
    double ticks = signals->tick_usec > 0 && before->at_usec > 0
                       ? elapsed(before, after) / signals->tick_usec : 0;

    return before->has_stat && after->has_stat
           && el_load_busy(&before->stat, &after->stat, mask, ticks, busy);
}

static bool by_cgroup(const el_load_signals_t *signals, const el_reading_t *before,
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

    if (!(signals->cgroup ? by_cgroup(signals, before, after, &load)
                          : by_stat(signals, mask, before, after, &load))) {
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
