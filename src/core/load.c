#include "elastic/load.h"

#include "bytes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The columns of /proc/stat that count, in the kernel's order (proc(5)). */
enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL, COLUMNS };

/* Linux 2.4 has no more columns. */
#define COLUMNS_NEEDED (IDLE + 1)

/* A line of the text, without its newline. */
typedef struct {
    const char *at;
    const char *end;
    bool whole; /* it had a newline, so nothing is cut off */
} row_t;

static bool load_add(uint64_t *sum, uint64_t number)
{
    if (number > UINT64_MAX - *sum) {
        return false;
    }
    *sum += number;
    return true;
}

/*
 * Reads the columns after the label. False if there are too few, one is not a number, or the row
 * was cut within those that count.
 */
static bool load_read_ticks(row_t *row, el_cpu_ticks_t *ticks)
{
    uint64_t column[COLUMNS] = {0};
    unsigned count = 0;
    el_cpu_ticks_t t;

    while (el_text_skip_space(&row->at, row->end), row->at < row->end && count < COLUMNS) {
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

typedef struct {
    bool numbered; /* a cpuN row, usable or not */
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

/* A double: a sum of nonsense over many CPUs may exceed 64 bits. */
static double load_moved(uint64_t before, uint64_t after)
{
    return after > before ? (double)(after - before) : 0.0;
}

/* Ticks by which rounding may make idle and iowait fall or exceed the clock. */
#define ROUNDING 2

bool el_load_busy(const el_load_sample_t *before, const el_load_sample_t *after,
                  const el_cpuset_t *mask, double ticks, double *busy)
{
    unsigned count = before->count < after->count ? before->count : after->count;
    unsigned cpus = 0;
    bool clocked = ticks > 0 && !after->summed;
    double worked = 0, rested = 0, exact = 0, rest, passed, slack;

    if (before->summed != after->summed) {
        return false;
    }
    for (unsigned i = 0; i < count; i++) {
        const el_cpu_ticks_t *b = &before->cpu[i];
        const el_cpu_ticks_t *a = &after->cpu[i];

        /* The `cpu` row is in no set. */
        if (!after->summed
            && !(load_is_in(&before->present, i) && load_is_in(&after->present, i)
                 && (mask == NULL || load_is_in(mask, i)))) {
            continue;
        }
        /*
         * Added up first: when another CPU wakes a waiting task, a tickless kernel moves waiting
         * time from iowait to idle.
         */
        rest = (double)a->idle - (double)b->idle + ((double)a->iowait - (double)b->iowait);
        cpus++;
        exact += rest;
        /* Counters of a CPU that was taken away and given back begin anew. */
        clocked = clocked && rest >= -ROUNDING;
        worked += load_moved(b->busy, a->busy);
        rested += load_moved(b->idle, a->idle) + load_moved(b->iowait, a->iowait);
    }
    if (worked + rested <= 0) {
        return false;
    }
    /* Counters that are not this kernel's own may not fit the clock. */
    passed = ticks * cpus;
    slack = passed + ROUNDING * cpus;
    if (clocked && exact <= slack && worked + exact <= 2 * slack) {
        *busy = fmin(1, fmax(0, 1 - exact / passed));
    } else {
        *busy = worked / (worked + rested);
    }
    return true;
}

/* A limit this near to the number of CPUs counts as none: /proc/stat resolves more. */
#define LIMIT_SLACK 0.01

const char *const el_load_words[EL_LOAD_KINDS] = {
#define X(id, word) word,
    EL_LOADS(X)
#undef X
};

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

void el_load_signals_text(el_load_kind_t kind, const el_machine_facts_t *facts, char *text,
                          size_t size)
{
    el_load_signals_t signals = el_load_signals(kind, facts);

    if (!signals.cgroup) {
        const char *reason =
            kind == EL_LOAD_STAT     ? "as configured"
            : kind == EL_LOAD_CGROUP ? "no control group has its CPU time"
            : facts->cgroups == 0    ? "no control group"
            : facts->limit > 0       ? "the control group's limit is no less than the CPUs"
                                     : "the control group has no limit";

        snprintf(text, size, "stat (%s)", reason);
    } else if (load_is_limited(facts)) {
        snprintf(text, size, "cgroup (v%u, limit of %.2f CPUs)", facts->cgroups, facts->limit);
    } else {
        snprintf(text, size, "cgroup (v%u, as configured; no limit, so of %u CPUs)",
                 facts->cgroups, facts->cpus);
    }
}

double el_reading_usec(const el_reading_t *before, const el_reading_t *after)
{
    return before->at_usec > 0 && after->at_usec > before->at_usec
               ? (double)(after->at_usec - before->at_usec) : 0;
}

bool el_reading_busy(const el_load_signals_t *signals, const el_cpuset_t *mask,
                     const el_reading_t *before, const el_reading_t *after, double *busy)
{
    double elapsed = el_reading_usec(before, after), capacity = elapsed * signals->cpus, load;

    if (!signals->cgroup) {
        double ticks = signals->tick_usec > 0 ? elapsed / signals->tick_usec : 0;

        return before->has_stat && after->has_stat
               && el_load_busy(&before->stat, &after->stat, mask, ticks, busy);
    }
    if (!before->has_usage || !after->has_usage || capacity <= 0) {
        return false;
    }
    load = after->usage_usec > before->usage_usec
               ? (double)(after->usage_usec - before->usage_usec) / capacity : 0;
    *busy = fmin(1, load);
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

/* A line, or a field of one. */
typedef struct {
    const char *at;
    const char *end;
} part_t;

static size_t load_length(part_t part)
{
    return (size_t)(part.end - part.at);
}

static bool load_is_text(part_t part, const char *text)
{
    size_t len = strlen(text);

    return load_length(part) == len && memcmp(part.at, text, len) == 0;
}

/* Takes the text before `separator`, or all that is left. False if nothing is left. */
static bool load_take(part_t *rest, char separator, part_t *part)
{
    const char *found;

    if (rest->at == NULL) {
        return false;
    }
    found = memchr(rest->at, separator, load_length(*rest));
    part->at = rest->at;
    part->end = found != NULL ? found : rest->end;
    rest->at = found != NULL ? found + 1 : NULL;
    return true;
}

/* True if the comma-separated list `names` contains `name`. */
static bool load_lists(part_t names, const char *name)
{
    part_t one;

    while (load_take(&names, ',', &one)) {
        if (load_is_text(one, name)) {
            return true;
        }
    }
    return false;
}

/* Finds the group's path: `4:cpu,cpuacct:/path`, or `0::/path` in version 2. */
static bool load_find_group(part_t text, const char *controller, part_t *path)
{
    part_t line, number, names;

    while (load_take(&text, '\n', &line)) {
        if (!load_take(&line, ':', &number) || !load_take(&line, ':', &names) || line.at == NULL
            || line.at == line.end || *line.at != '/') {
            continue;
        }
        if (controller != NULL ? load_lists(names, controller)
                               : load_is_text(number, "0") && load_length(names) == 0) {
            *path = line;
            return true;
        }
    }
    return false;
}

/* A mount: its root in the hierarchy, and its mount point. */
typedef struct {
    part_t root;
    part_t point;
} mount_t;

/* Parses `31 23 0:28 /root /point options [optional …] - type source superoptions` (proc(5)). */
static bool load_read_mount(part_t line, const char *controller, mount_t *mount)
{
    part_t field, type, source, options;

    for (int i = 0; i < 3; i++) {
        if (!load_take(&line, ' ', &field)) {
            return false;
        }
    }
    if (!load_take(&line, ' ', &mount->root) || !load_take(&line, ' ', &mount->point)) {
        return false;
    }
    do {
        if (!load_take(&line, ' ', &field)) {
            return false;
        }
    } while (!load_is_text(field, "-"));
    if (!load_take(&line, ' ', &type) || !load_take(&line, ' ', &source)
        || !load_take(&line, ' ', &options)) {
        return false;
    }
    return controller != NULL ? load_is_text(type, "cgroup") && load_lists(options, controller)
                              : load_is_text(type, "cgroup2");
}

static bool load_is_octal(char c)
{
    return c >= '0' && c <= '7';
}

/* Appends `part`. mountinfo writes blanks and backslashes as `\040`. False if it is too long. */
static bool load_append(char *to, size_t size, size_t *len, part_t part, bool escaped)
{
    while (part.at < part.end) {
        char c = *part.at++;

        if (escaped && c == '\\' && part.end - part.at >= 3 && part.at[0] <= '3'
            && load_is_octal(part.at[0]) && load_is_octal(part.at[1])
            && load_is_octal(part.at[2])) {
            c = (char)((part.at[0] - '0') * 64 + (part.at[1] - '0') * 8 + (part.at[2] - '0'));
            part.at += 3;
        }
        if (c == '\0' || *len + 1 >= size) {
            return false;
        }
        to[(*len)++] = c;
    }
    to[*len] = '\0';
    return true;
}

/* The part of `path` below `root`; empty if it is not below, or has `..`. */
static part_t load_below(part_t path, part_t root)
{
    part_t none = {path.end, path.end};
    part_t rest, name;

    if (load_length(root) > 1) {
        if (load_length(path) < load_length(root)
            || memcmp(path.at, root.at, load_length(root)) != 0) {
            return none;
        }
        path.at += load_length(root);
        if (path.at < path.end && *path.at != '/') {
            return none;
        }
    }
    for (rest = path; load_take(&rest, '/', &name);) {
        if (load_is_text(name, "..")) {
            return none;
        }
    }
    return load_length(path) > 1 ? path : none;
}

size_t el_cgroup_folder(el_cgroup_text_t cgroup, el_cgroup_text_t mountinfo,
                        const char *controller, char *folder, size_t size)
{
    part_t groups = {cgroup.at, cgroup.at + cgroup.len}, path;
    part_t mounts = {mountinfo.at, mountinfo.at + mountinfo.len}, line;
    mount_t mount;
    size_t len = 0, base;
    bool mounted = false;

    if (!load_find_group(groups, controller, &path)) {
        return 0;
    }
    while (!mounted && load_take(&mounts, '\n', &line)) {
        mounted = load_read_mount(line, controller, &mount);
    }
    if (!mounted || !load_append(folder, size, &len, mount.point, true)) {
        return 0;
    }
    base = len;
    return load_append(folder, size, &len, load_below(path, mount.root), false) ? base : 0;
}

bool el_cgroup_parent(char *folder, size_t base)
{
    char *slash = strrchr(folder, '/');

    if (strlen(folder) <= base || slash == NULL || (size_t)(slash - folder) < base) {
        return false;
    }
    *slash = '\0';
    return true;
}

/* Reads a number at the end of the text, or before a newline. */
static bool load_only_number(const char *text, size_t len, uint64_t *number)
{
    const char *at = text;
    uint64_t got;

    if (!el_text_number(&at, text + len, &got) || (at < text + len && *at != '\n')) {
        return false;
    }
    *number = got;
    return true;
}

static bool load_share(uint64_t quota, uint64_t period, double *cpus)
{
    if (quota == 0 || period == 0) {
        return false;
    }
    *cpus = (double)quota / (double)period;
    return true;
}

bool el_cgroup_max(const char *text, size_t len, double *cpus)
{
    part_t rest = {text, text + len};
    part_t quota;
    uint64_t allowed, period;
    const char *at;

    if (!load_take(&rest, ' ', &quota) || rest.at == NULL
        || !load_only_number(rest.at, load_length(rest), &period)) {
        return false;
    }
    if (load_is_text(quota, "max")) {
        *cpus = 0;
        return true;
    }
    at = quota.at;
    return el_text_number(&at, quota.end, &allowed) && at == quota.end
           && load_share(allowed, period, cpus);
}

bool el_cgroup_quota(const char *quota, size_t quota_len, const char *period, size_t period_len,
                     double *cpus)
{
    uint64_t allowed, length_usec;

    if (quota_len > 0 && quota[0] == '-') {
        *cpus = 0;
        return true;
    }
    return load_only_number(quota, quota_len, &allowed)
           && load_only_number(period, period_len, &length_usec)
           && load_share(allowed, length_usec, cpus);
}

bool el_cgroup_usage(unsigned version, const char *text, size_t len, uint64_t *usec)
{
    static const char key[] = "usage_usec ";
    const size_t key_len = sizeof(key) - 1;
    part_t rest = {text, text + len}, line;
    uint64_t nsec;

    if (version == 1) {
        if (!load_only_number(text, len, &nsec)) {
            return false;
        }
        *usec = nsec / 1000;
        return true;
    }
    while (load_take(&rest, '\n', &line)) {
        if (load_length(line) > key_len && memcmp(line.at, key, key_len) == 0) {
            return load_only_number(line.at + key_len, load_length(line) - key_len, usec);
        }
    }
    return false;
}

bool el_cgroup_cpus(const char *text, size_t len, el_cpuset_t *cpus)
{
    const char *at = text;
    const char *end = text + len;
    el_cpuset_t got = {{0}};
    uint64_t first, last;

    do {
        if (!el_text_number(&at, end, &first)) {
            return false;
        }
        last = first;
        if (at < end && *at == '-') {
            at++;
            if (!el_text_number(&at, end, &last) || last < first) {
                return false;
            }
        }
        for (uint64_t cpu = first; cpu <= last && cpu < EL_LOAD_CPUS; cpu++) {
            got.bits[cpu / 64] |= UINT64_C(1) << (cpu % 64);
        }
    } while (at < end && *at == ',' && ++at < end);
    if (at < end ? *at != '\n' : at[-1] == ',') {
        return false;
    }
    *cpus = got;
    return true;
}
