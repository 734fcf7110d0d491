#include "elastic/cgroup.h"

#include "text.h"

#include <string.h>

/* A part of a text: a line, or a field of one. */
typedef struct {
    const char *at;
    const char *end;
} part_t;

static size_t cgroup_length(part_t part)
{
    return (size_t)(part.end - part.at);
}

static bool cgroup_is_text(part_t part, const char *text)
{
    size_t len = strlen(text);

    return cgroup_length(part) == len && memcmp(part.at, text, len) == 0;
}

/* Takes what comes before `separator`, or all that is left; false where nothing is. */
static bool cgroup_take(part_t *rest, char separator, part_t *part)
{
    const char *found;

    if (rest->at == NULL) {
        return false;
    }
    found = memchr(rest->at, separator, cgroup_length(*rest));
    part->at = rest->at;
    part->end = found != NULL ? found : rest->end;
    rest->at = found != NULL ? found + 1 : NULL;
    return true;
}

/* Whether the list `names`, separated by commas, has `name`. */
static bool cgroup_lists(part_t names, const char *name)
{
    part_t one;

    while (cgroup_take(&names, ',', &one)) {
        if (cgroup_is_text(one, name)) {
            return true;
        }
    }
    return false;
}

/* The path of the group: `4:cpu,cpuacct:/path`, or `0::/path` in version 2. */
static bool cgroup_find_group(part_t text, const char *controller, part_t *path)
{
    part_t line, number, names;

    while (cgroup_take(&text, '\n', &line)) {
        if (!cgroup_take(&line, ':', &number) || !cgroup_take(&line, ':', &names) || line.at == NULL
            || line.at == line.end || *line.at != '/') {
            continue;
        }
        if (controller != NULL ? cgroup_lists(names, controller)
                               : cgroup_is_text(number, "0") && cgroup_length(names) == 0) {
            *path = line;
            return true;
        }
    }
    return false;
}

/* A mount: its root in the hierarchy, and where it is. */
typedef struct {
    part_t root;
    part_t point;
} mount_t;

/* `31 23 0:28 /root /point options [optional …] - type source superoptions` (proc(5)). */
static bool cgroup_read_mount(part_t line, const char *controller, mount_t *mount)
{
    part_t field, type, source, options;

    for (int i = 0; i < 3; i++) {
        if (!cgroup_take(&line, ' ', &field)) {
            return false;
        }
    }
    if (!cgroup_take(&line, ' ', &mount->root) || !cgroup_take(&line, ' ', &mount->point)) {
        return false;
    }
    do {
        if (!cgroup_take(&line, ' ', &field)) {
            return false;
        }
    } while (!cgroup_is_text(field, "-"));
    if (!cgroup_take(&line, ' ', &type) || !cgroup_take(&line, ' ', &source)
        || !cgroup_take(&line, ' ', &options)) {
        return false;
    }
    return controller != NULL ? cgroup_is_text(type, "cgroup") && cgroup_lists(options, controller)
                              : cgroup_is_text(type, "cgroup2");
}

static bool cgroup_find_mount(part_t text, const char *controller, mount_t *mount)
{
    part_t line;

    while (cgroup_take(&text, '\n', &line)) {
        if (cgroup_read_mount(line, controller, mount)) {
            return true;
        }
    }
    return false;
}

static bool cgroup_is_octal(char c)
{
    return c >= '0' && c <= '7';
}

/* Copies; in mountinfo blanks and backslashes are written as `\040`. False where it is too long. */
static bool cgroup_append(char *to, size_t size, size_t *len, part_t part, bool escaped)
{
    while (part.at < part.end) {
        char c = *part.at++;

        if (escaped && c == '\\' && part.end - part.at >= 3 && part.at[0] <= '3'
            && cgroup_is_octal(part.at[0]) && cgroup_is_octal(part.at[1])
            && cgroup_is_octal(part.at[2])) {
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

/* What of `path` is below `root`; nothing where it is not, or leads out by `..`. */
static part_t cgroup_below(part_t path, part_t root)
{
    part_t none = {path.end, path.end};
    part_t rest, name;

    if (cgroup_length(root) > 1) {
        if (cgroup_length(path) < cgroup_length(root)
            || memcmp(path.at, root.at, cgroup_length(root)) != 0) {
            return none;
        }
        path.at += cgroup_length(root);
        if (path.at < path.end && *path.at != '/') {
            return none;
        }
    }
    for (rest = path; cgroup_take(&rest, '/', &name);) {
        if (cgroup_is_text(name, "..")) {
            return none;
        }
    }
    return cgroup_length(path) > 1 ? path : none;
}

static part_t cgroup_all_of(el_cgroup_text_t text)
{
    return (part_t){text.at, text.at + text.len};
}

size_t el_cgroup_folder(el_cgroup_text_t cgroup, el_cgroup_text_t mountinfo,
                        const char *controller, char *folder, size_t size)
{
    part_t path;
    mount_t mount;
    size_t len = 0, base;

    if (!cgroup_find_group(cgroup_all_of(cgroup), controller, &path)
        || !cgroup_find_mount(cgroup_all_of(mountinfo), controller, &mount)
        || !cgroup_append(folder, size, &len, mount.point, true)) {
        return 0;
    }
    base = len;
    return cgroup_append(folder, size, &len, cgroup_below(path, mount.root), false) ? base : 0;
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

/* A number, then what may follow it in a file of one number: a newline. */
static bool cgroup_only_number(const char *text, size_t len, uint64_t *number)
{
    const char *at = text;
    uint64_t got;

    if (!el_text_number(&at, text + len, &got) || (at < text + len && *at != '\n')) {
        return false;
    }
    *number = got;
    return true;
}

static bool cgroup_share(uint64_t quota, uint64_t period, double *cpus)
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

    if (!cgroup_take(&rest, ' ', &quota) || rest.at == NULL
        || !cgroup_only_number(rest.at, cgroup_length(rest), &period)) {
        return false;
    }
    if (cgroup_is_text(quota, "max")) {
        *cpus = 0;
        return true;
    }
    at = quota.at;
    return el_text_number(&at, quota.end, &allowed) && at == quota.end
           && cgroup_share(allowed, period, cpus);
}

bool el_cgroup_quota(const char *quota, size_t quota_len, const char *period, size_t period_len,
                     double *cpus)
{
    uint64_t allowed, length_usec;

    if (quota_len > 0 && quota[0] == '-') {
        *cpus = 0;
        return true;
    }
    return cgroup_only_number(quota, quota_len, &allowed)
           && cgroup_only_number(period, period_len, &length_usec)
           && cgroup_share(allowed, length_usec, cpus);
}

bool el_cgroup_stat(const char *text, size_t len, uint64_t *usec)
{
    static const char key[] = "usage_usec ";
    const size_t key_len = sizeof(key) - 1;
    part_t rest = {text, text + len}, line;

    while (cgroup_take(&rest, '\n', &line)) {
        if (cgroup_length(line) > key_len && memcmp(line.at, key, key_len) == 0) {
            return cgroup_only_number(line.at + key_len, cgroup_length(line) - key_len, usec);
        }
    }
    return false;
}

bool el_cgroup_usage(const char *text, size_t len, uint64_t *usec)
{
    uint64_t nsec;

    if (!cgroup_only_number(text, len, &nsec)) {
        return false;
    }
    *usec = nsec / 1000;
    return true;
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
