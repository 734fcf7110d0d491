#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* for CPU sets and locks of open file descriptions */
#endif

#include "host/machine.h"

#include "host/process.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#ifdef ELASTIC_WITH_TCP_RATE
/* The kernel's header: glibc's struct tcp_info ends before the rates. They cannot be mixed. */
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#endif

/* Non-blocking: a path that names a FIFO must not block the thread. */
#define OPEN_FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

/* Kinds of file systems in statfs(). musl does not bring the kernel's header with their names. */
#define PROCFS 0x9fa0
#define TMPFS 0x01021994
#define RAMFS 0x858458f6

#define LOOK_AGAIN_USEC UINT64_C(10000000)

/* Reads up to `size` bytes from the beginning. 0 on failure, with errno set. */
static size_t machine_read_from(int fd, char *text, size_t size)
{
    size_t len = 0;
    ssize_t got = 0;

    errno = 0;
    while (len < size && (got = pread(fd, text + len, size - len, (off_t)len)) > 0) {
        len += (size_t)got;
    }
    return got < 0 ? 0 : len;
}

static size_t machine_read_path(const char *path, char *text, size_t size)
{
    int fd = open(path, OPEN_FLAGS);
    size_t len;
    int saved;

    if (fd < 0) {
        return 0;
    }
    len = machine_read_from(fd, text, size);
    saved = errno;
    close(fd);
    errno = saved;
    return len;
}

/* Writes `folder`/`name` to `path`. False if it is too long. */
static bool machine_join(char *path, const char *folder, const char *name)
{
    int len = snprintf(path, EL_CGROUP_PATH, "%s/%s", folder, name);

    return len > 0 && len < EL_CGROUP_PATH;
}

/* Reads a file of a folder into machine->small. */
static size_t machine_read_in(el_machine_t *machine, const char *folder, const char *name)
{
    char path[EL_CGROUP_PATH];

    return machine_join(path, folder, name) ? machine_read_path(path, machine->small,
                                                                sizeof(machine->small)) : 0;
}

_Static_assert(EL_LOAD_CPUS <= 8 * sizeof(cpu_set_t), "every CPU has its bit");

/* Sets the mask to the CPUs of this process's affinity. */
static void machine_read_affinity(el_machine_t *machine)
{
    cpu_set_t set;

    machine->masked = sched_getaffinity(0, sizeof(set), &set) == 0;
    memset(&machine->mask, 0, sizeof(machine->mask));
    for (size_t cpu = 0; machine->masked && cpu < EL_LOAD_CPUS; cpu++) {
        if (CPU_ISSET(cpu, &set)) {
            machine->mask.bits[cpu / 64] |= UINT64_C(1) << (cpu % 64);
        }
    }
}

/* Restricts the mask to the group's cpuset, unless no CPU would be left. */
static void machine_narrow_mask(el_machine_t *machine, const char *folder, const char *name)
{
    size_t len = machine_read_in(machine, folder, name);
    el_cpuset_t cpus, both;

    if (!machine->masked || len == 0 || !el_cgroup_cpus(machine->small, len, &cpus)) {
        return;
    }
    for (size_t i = 0; i < EL_LOAD_CPUS / 64; i++) {
        both.bits[i] = cpus.bits[i] & machine->mask.bits[i];
    }
    if (el_cpuset_count(&both) > 0) {
        machine->mask = both;
    }
}

/* The folder of a control group, with `root` as a prefix. */
typedef struct {
    char path[EL_CGROUP_PATH];
    size_t base; /* length of the mount point */
} folder_t;

static bool machine_find_folder(el_machine_t *machine, const char *controller, folder_t *folder)
{
    size_t prefix = strlen(machine->root);
    char path[EL_CGROUP_PATH];
    size_t cgroup, mountinfo, base;

    if (prefix >= sizeof(folder->path) || !machine_join(path, machine->root, "proc/self/cgroup")) {
        return false;
    }
    cgroup = machine_read_path(path, machine->small, sizeof(machine->small));
    if (!machine_join(path, machine->root, "proc/self/mountinfo")) {
        return false;
    }
    mountinfo = machine_read_path(path, machine->text, sizeof(machine->text));
    memcpy(folder->path, machine->root, prefix);
    base = el_cgroup_folder((el_cgroup_text_t){machine->small, cgroup},
                            (el_cgroup_text_t){machine->text, mountinfo}, controller,
                            folder->path + prefix, sizeof(folder->path) - prefix);
    folder->base = prefix + base;
    return base > 0;
}

/*
 * Finds the smallest limit of the group and of its ancestors. `folder` becomes the group that has
 * it: all processes in that group share the limit.
 */
static void machine_find_limit(el_machine_t *machine, unsigned version, folder_t *folder)
{
    const char *name = version == 2 ? "cpu.max" : "cpu.cfs_quota_us";
    folder_t at = *folder;
    char quota[64];

    machine->facts.limit = 0;
    do {
        size_t len = machine_read_in(machine, at.path, name);
        size_t quota_len = len < sizeof(quota) ? len : sizeof(quota);
        double cpus = 0;

        if (len > 0 && version == 2) {
            el_cgroup_max(machine->small, len, &cpus);
        } else if (len > 0) {
            memcpy(quota, machine->small, quota_len);
            len = machine_read_in(machine, at.path, "cpu.cfs_period_us");
            el_cgroup_quota(quota, quota_len, machine->small, len, &cpus);
        }
        if (cpus > 0 && (machine->facts.limit == 0 || cpus < machine->facts.limit)) {
            machine->facts.limit = cpus;
            *folder = at;
        }
    } while (el_cgroup_parent(at.path, at.base));
}

/* Stores the path of a file to read the signal from. False if the file is missing. */
static bool machine_offer(el_machine_t *machine, el_machine_file_t file, const char *folder,
                          const char *name)
{
    if (folder[0] == '\0' || !machine_join(machine->path[file], folder, name)
        || access(machine->path[file], R_OK) != 0) {
        machine->path[file][0] = '\0';
        return false;
    }
    return true;
}

static void machine_look_at_version_1(el_machine_t *machine)
{
    folder_t own, limiting, folder;

    if (!machine_find_folder(machine, "cpu", &own)) {
        return;
    }
    limiting = own;
    machine_find_limit(machine, 1, &limiting);
    /* The CPU time used is in another hierarchy: take the folder of the same name there. */
    if (!machine_find_folder(machine, "cpuacct", &folder)) {
        folder.path[0] = '\0';
    } else if (strcmp(own.path + own.base, folder.path + folder.base) == 0) {
        folder.path[folder.base + strlen(limiting.path) - limiting.base] = '\0';
    }
    if (machine_offer(machine, EL_MACHINE_USAGE, folder.path, "cpuacct.usage")) {
        machine->facts.cgroups = 1;
    }
    if (machine_find_folder(machine, "cpuset", &folder)) {
        machine_narrow_mask(machine, folder.path, "cpuset.effective_cpus");
    }
}

static void machine_look_at_version_2(el_machine_t *machine)
{
    folder_t own, limiting;

    if (!machine_find_folder(machine, NULL, &own)) {
        return;
    }
    machine_narrow_mask(machine, own.path, "cpuset.cpus.effective");
    /* If version 1 has the controller, this hierarchy has no limits. */
    if (machine->facts.cgroups == 0) {
        limiting = own;
        machine_find_limit(machine, 2, &limiting);
        if (machine_offer(machine, EL_MACHINE_USAGE, limiting.path, "cpu.stat")) {
            machine->facts.cgroups = 2;
        }
    }
}

static void machine_look(el_machine_t *machine, uint64_t now_usec)
{
    struct statfs system;

    memset(&machine->facts, 0, sizeof(machine->facts));
    memset(machine->path, 0, sizeof(machine->path));
    machine->looked_usec = now_usec;
    machine_read_affinity(machine);
    machine_look_at_version_1(machine);
    machine_look_at_version_2(machine);
    if (machine->facts.cgroups == 0) {
        machine->facts.limit = 0;
    }
    snprintf(machine->path[EL_MACHINE_STAT], EL_CGROUP_PATH, "%s%s",
             machine->proc_stat != NULL ? machine->proc_stat : machine->root,
             machine->proc_stat != NULL ? "" : "/proc/stat");
    /* A container's host may replace /proc/stat by a file that does not follow the clock. */
    if (statfs(machine->path[EL_MACHINE_STAT], &system) == 0 && system.f_type == PROCFS) {
        machine->facts.tick_usec = 1e6 / (double)sysconf(_SC_CLK_TCK);
    }
    machine->facts.cpus = machine->masked ? el_cpuset_count(&machine->mask) : 0;
    machine->signals = el_load_signals(machine->kind, &machine->facts);
    el_load_signals_text(machine->kind, &machine->facts, machine->signals_text,
                         sizeof(machine->signals_text));
}

void el_machine_open(el_machine_t *machine, const char *root, const char *proc_stat,
                     el_load_kind_t kind, uint64_t now_usec)
{
    machine->root = root;
    machine->proc_stat = proc_stat;
    machine->kind = kind;
    machine->kept = -1;
    machine_look(machine, now_usec);
}

/* The file of the chosen signal. */
static const char *machine_path_of(const el_machine_t *machine)
{
    return machine->path[machine->signals.cgroup ? EL_MACHINE_USAGE : EL_MACHINE_STAT];
}

void el_machine_keep(el_machine_t *machine)
{
    machine->kept = open(machine_path_of(machine), OPEN_FLAGS);
}

void el_machine_close(el_machine_t *machine)
{
    if (machine->kept >= 0) {
        close(machine->kept);
        machine->kept = -1;
    }
}

bool el_machine_refresh(el_machine_t *machine, uint64_t now_usec)
{
    char before[EL_MACHINE_SIGNALS];

    if (now_usec - machine->looked_usec < LOOK_AGAIN_USEC || machine->kept >= 0) {
        return false;
    }
    memcpy(before, machine->signals_text, sizeof(before));
    machine_look(machine, now_usec);
    return strcmp(before, machine->signals_text) != 0;
}

bool el_machine_read(el_machine_t *machine, uint64_t now_usec, el_reading_t *reading,
                     const char **path)
{
    bool by_kernel = !machine->signals.cgroup && machine->signals.tick_usec > 0;
    bool good;
    size_t len;

    *path = machine_path_of(machine);
    reading->has_stat = reading->has_usage = false;
    reading->at_usec = by_kernel ? el_clock_usec() : now_usec; /* later than now_usec */
    len = machine->kept >= 0 ? machine_read_from(machine->kept, machine->text,
                                                 sizeof(machine->text))
                             : machine_read_path(*path, machine->text, sizeof(machine->text));
    if (!machine->signals.cgroup) {
        good = reading->has_stat = len > 0 && el_load_parse(machine->text, len, &reading->stat);
    } else {
        good = reading->has_usage =
            len > 0
            && el_cgroup_usage(machine->facts.cgroups, machine->text, len, &reading->usage_usec);
    }
    /* 0 if the text was read but not understood. */
    errno = !good && len > 0 ? 0 : errno;
    return good;
}

bool el_tcp_rate_of(const void *info, size_t len, el_tcp_rate_t *rate)
{
#ifdef ELASTIC_WITH_TCP_RATE
    const struct tcp_info *known = info;

    if (len >= offsetof(struct tcp_info, tcpi_delivery_rate) + sizeof(known->tcpi_delivery_rate)
        && known->tcpi_delivery_rate > 0) {
        rate->rate = 8. * (double)known->tcpi_delivery_rate; /* the kernel's is in bytes a second */
        rate->limited = known->tcpi_delivery_rate_app_limited;
        return true;
    }
#endif
    (void)info;
    (void)len;
    (void)rate;
    return false;
}

bool el_tcp_rate(int fd, el_tcp_rate_t *rate)
{
#ifdef ELASTIC_WITH_TCP_RATE
    struct tcp_info info = {0};
    socklen_t len = sizeof(info);

    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) == 0
           && el_tcp_rate_of(&info, len, rate);
#else
    (void)fd;
    (void)rate;
    return false;
#endif
}

bool el_path_within(const char *path, const char *folder)
{
    char *real_path = realpath(path, NULL);
    char *real_folder = realpath(folder, NULL);
    bool within = false;

    if (real_path && real_folder) {
        size_t len = strlen(real_folder);

        /* Only the root folder ends in a slash. */
        len -= len == 1;
        within = strncmp(real_path, real_folder, len) == 0 && real_path[len] == '/';
    }
    free(real_path);
    free(real_folder);
    return within;
}

bool el_file_stat(int descriptor, el_file_id_t *id)
{
    struct stat file;

    if (fstat(descriptor, &file) != 0 || !S_ISREG(file.st_mode)) {
        return false;
    }
    *id = (el_file_id_t){
        .device = (uint64_t)file.st_dev,
        .inode = (uint64_t)file.st_ino,
        .size = (uint64_t)file.st_size,
        .modified_sec = (int64_t)file.st_mtim.tv_sec,
        .changed_sec = (int64_t)file.st_ctim.tv_sec,
        .modified_nsec = (uint32_t)file.st_mtim.tv_nsec,
        .changed_nsec = (uint32_t)file.st_ctim.tv_nsec,
    };
    return true;
}

bool el_file_is_in_memory(int descriptor)
{
    struct statfs system;

    return fstatfs(descriptor, &system) != 0 || system.f_type == TMPFS || system.f_type == RAMFS;
}

#define WRITE_FLAGS (O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW)

/*
 * The writer's lock on the whole file. An open file description's lock: closing other descriptors
 * of the file does not release it, and readers can test it without taking it.
 */
static int machine_lock(int fd, int command, struct flock *all)
{
    *all = (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(fd, command, all);
}

static el_position_verdict_t machine_decode(int fd, uint64_t now_usec, el_position_t *position)
{
    el_position_verdict_t verdict;
    uint8_t bytes[EL_POSITION_SIZE];
    struct flock found;
    struct stat info;
    ssize_t got;

    if (fstat(fd, &info) != 0) {
        return EL_POSITION_SHORT;
    }
    if (!S_ISREG(info.st_mode)) {
        errno = 0;
        return EL_POSITION_FOREIGN;
    }
    got = pread(fd, bytes, sizeof(bytes), 0);
    if (got < 0) {
        return EL_POSITION_SHORT;
    }
    verdict = el_position_decode(bytes, (size_t)got, now_usec, position);
    /* If the lock cannot be tested, the position's age decides. */
    if (verdict == EL_POSITION_GOOD && position->locked
        && machine_lock(fd, F_OFD_GETLK, &found) == 0
        && found.l_type == F_UNLCK) {
        verdict = EL_POSITION_STOPPED;
    }
    errno = 0;
    return verdict;
}

el_position_verdict_t el_position_file_read(const char *path, int kept, uint64_t now_usec,
                                            el_position_t *position)
{
    int fd = kept >= 0 ? kept : open(path, OPEN_FLAGS), saved;
    el_position_verdict_t verdict = fd >= 0 ? machine_decode(fd, now_usec,
                                                           position) : EL_POSITION_SHORT;

    /* Again: the first read may have met a write in progress. */
    if (verdict == EL_POSITION_DAMAGED) {
        verdict = machine_decode(fd, now_usec, position);
    }
    if (kept < 0 && fd >= 0) {
        saved = errno;
        close(fd);
        errno = saved;
    }
    return verdict;
}

el_position_file_result_t el_position_file_open(el_position_file_t *file, const char *path)
{
    el_position_file_result_t result = EL_POSITION_FILE_OPEN;
    struct stat info;
    struct flock wanted;
    int saved;

    file->path = path;
    file->fd = open(path, WRITE_FLAGS, 0644);
    if (file->fd < 0) {
        return EL_POSITION_FILE_ERROR;
    }
    if (fstat(file->fd, &info) != 0) {
        result = EL_POSITION_FILE_ERROR;
    } else if (!S_ISREG(info.st_mode) || info.st_size > EL_POSITION_SIZE) {
        /* A longer file is not a position file: someone else's path was given. */
        result = EL_POSITION_FILE_REFUSED;
    } else if (machine_lock(file->fd, F_OFD_SETLK, &wanted) != 0) {
        result = errno == EAGAIN || errno == EACCES ? EL_POSITION_FILE_TAKEN
                                                    : EL_POSITION_FILE_ERROR;
    }
    if (result != EL_POSITION_FILE_OPEN) {
        saved = errno;
        el_position_file_close(file);
        errno = saved;
    }
    return result;
}

bool el_position_file_write(el_position_file_t *file, const el_position_t *position)
{
    el_position_t locked = *position;
    uint8_t bytes[EL_POSITION_SIZE];
    struct stat named, opened;
    ssize_t put;

    locked.locked = true;
    /* The file may have been replaced or removed. */
    if (file->fd < 0 || stat(file->path, &named) != 0 || fstat(file->fd, &opened) != 0
        || named.st_dev != opened.st_dev || named.st_ino != opened.st_ino) {
        const char *path = file->path;

        el_position_file_close(file);
        switch (el_position_file_open(file, path)) {
        case EL_POSITION_FILE_OPEN:
            break;
        case EL_POSITION_FILE_TAKEN:
            errno = EBUSY;
            return false;
        case EL_POSITION_FILE_REFUSED:
            errno = EEXIST;
            return false;
        default:
            return false;
        }
    }
    /* Otherwise appended bytes would make the next elasticd refuse the file. */
    if (ftruncate(file->fd, EL_POSITION_SIZE) != 0) {
        return false;
    }
    el_position_encode(&locked, bytes);
    put = pwrite(file->fd, bytes, sizeof(bytes), 0);
    if (put >= 0 && put < (ssize_t)sizeof(bytes)) {
        errno = ENOSPC;
    }
    return put == (ssize_t)sizeof(bytes);
}

void el_position_file_close(el_position_file_t *file)
{
    if (file->fd >= 0) {
        close(file->fd);
        file->fd = -1;
    }
}
