#define _GNU_SOURCE /* for mkdtemp(), nftw() and CPU sets */

/* /proc, control groups, TCP's numbers, files and their numbers, and the position file. */
#include "elastic/entry.h"
#include "failing.h"
#include "suites.h"

#include <fcntl.h>
#include <ftw.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static ssize_t written = -1; /* by a pwrite() that fails */

#define sched_getaffinity(...) FAILS(-1, sched_getaffinity(__VA_ARGS__))
#define fcntl(...) FAILS(-1, fcntl(__VA_ARGS__))
#define fstat(...) FAILS(-1, fstat(__VA_ARGS__))
#define ftruncate(...) FAILS(-1, ftruncate(__VA_ARGS__))
#define pread(...) FAILS(-1, pread(__VA_ARGS__))
#define pwrite(...) FAILS(written, pwrite(__VA_ARGS__))
#define realpath(...) FAILS(NULL, realpath(__VA_ARGS__))
#include "host/machine.c"

#define SECOND UINT64_C(1000000)

static char root[64];
static el_machine_t machine;
static el_reading_t one, two;

static void set_up(void)
{
    strcpy(root, "/tmp/elastic-machine-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(root));
}

static int forget(const char *path, const struct stat *info, int kind, struct FTW *ftw)
{
    (void)info;
    (void)kind;
    (void)ftw;
    return remove(path);
}

static void tear_down(void)
{
    nftw(root, forget, 16, FTW_DEPTH | FTW_PHYS);
}

CASE(machine, .set_up = set_up, .tear_down = tear_down);

/* Writes a file below the fixture's root, and makes its folders. */
static void write_file(const char *name, const char *text)
{
    char path[512];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", root, name);
    for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    file = fopen(path, "w");
    ck_assert_msg(file != NULL, "%s: %s", path, strerror(errno));
    fputs(text, file);
    fclose(file);
}

static void join_group(const char *group, const char *mounts)
{
    write_file("proc/self/cgroup", group);
    write_file("proc/self/mountinfo", mounts);
}

static void look(el_load_kind_t kind)
{
    el_machine_open(&machine, root, NULL, kind, SECOND);
}

static bool reads(uint64_t now, el_reading_t *reading)
{
    const char *path;

    return el_machine_read(&machine, now, reading, &path);
}

#define MOUNT_V2 "29 22 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
#define MOUNTS_V1                                                                                  \
    "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"                                  \
    "33 31 0:30 / /sys/fs/cgroup/cpuacct rw - cgroup cgroup rw,cpuacct\n"                          \
    "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
#define V1_LIMITS                                                                                  \
    {"sys/fs/cgroup/cpu/pod/web/cpu.cfs_quota_us", "-1\n"},                                        \
    {"sys/fs/cgroup/cpu/pod/web/cpu.cfs_period_us", "100000\n"},                                   \
    {"sys/fs/cgroup/cpu/pod/cpu.cfs_quota_us", "40000\n"},                                         \
    {"sys/fs/cgroup/cpu/pod/cpu.cfs_period_us", "100000\n"},                                       \
    {"sys/fs/cgroup/unified/cpu.stat", "usage_usec 5\n"}
#define GROUP "sys/fs/cgroup/web/"
#define STAT "cpu  100 0 0 100 0 0 0 0\n"

/* A test against httpd has more machines. */
static const struct {
    const char *label, *cgroup, *mounts;
    struct {
        const char *name, *text;
    } files[10], later; /* changed half a second later */
    const char *text;
    double load;
} machines[] = {
    /* The usage of the limited group, with its children. */
    {"the least limit of nested groups", "0::/pod/web/one\n", MOUNT_V2,
     {{"sys/fs/cgroup/pod/web/one/cpu.max", "60000 100000\n"},
      {"sys/fs/cgroup/pod/web/one/cpu.stat", "usage_usec 7\n"},
      {"sys/fs/cgroup/pod/web/cpu.max", "max 100000\n"},
      {"sys/fs/cgroup/pod/web/cpu.stat", "usage_usec 8\n"},
      {"sys/fs/cgroup/pod/cpu.max", "20000 100000\n"},
      {"sys/fs/cgroup/pod/cpu.stat", "usage_usec 2000000\n"},
      {"sys/fs/cgroup/cpu.max", "90000 100000\n"}},
     {"sys/fs/cgroup/pod/cpu.stat", "usage_usec 2030000\n"},
     "cgroup (v2, limit of 0.20 CPUs)", 0.3},
    {"version 1", "2:cpuacct:/pod/web\n1:cpu:/pod/web\n0::/\n", MOUNTS_V1,
     {V1_LIMITS, {"sys/fs/cgroup/cpuacct/pod/web/cpuacct.usage", "1\n"},
      {"sys/fs/cgroup/cpuacct/pod/cpuacct.usage", "2000000000\n"}},
     {"sys/fs/cgroup/cpuacct/pod/cpuacct.usage", "2080000000\n"},
     "cgroup (v1, limit of 0.40 CPUs)", 0.4},
    {"the time of version 1 is that of another group", "2:cpuacct:/other\n1:cpu:/pod/web\n0::/\n",
     MOUNTS_V1, {V1_LIMITS, {"sys/fs/cgroup/cpuacct/other/cpuacct.usage", "1000000000\n"}},
     {"sys/fs/cgroup/cpuacct/other/cpuacct.usage", "1040000000\n"},
     "cgroup (v1, limit of 0.40 CPUs)", 0.2},
};
EACH(machine, a_machine_has_its_load, machines)
{
    double busy = -1;

    join_group(row->cgroup, row->mounts);
    for (int i = 0; row->files[i].name; i++) {
        write_file(row->files[i].name, row->files[i].text);
    }
    look(EL_LOAD_AUTO);
    named_str_eq(row->label, machine.signals_text, row->text);
    ck_assert(reads(SECOND, &one));
    write_file(row->later.name, row->later.text);
    ck_assert(reads(SECOND + SECOND / 2, &two));
    ck_assert(two.has_stat == !machine.signals.cgroup);
    ck_assert(el_reading_busy(&machine.signals, NULL, &one, &two, &busy));
    ck_assert_double_eq_tol(busy, row->load, 1e-9);
}

/* A set of CPUs that this process cannot use does not restrict the mask. */
TEST(machine, a_cpuset_narrows_the_mask)
{
    static const char *const none[] = {"1023\n", "nonsense\n"};
    el_cpuset_t all;
    unsigned first = 0;
    char text[32];

    look(EL_LOAD_AUTO);
    all = machine.mask;
    while ((all.bits[first / 64] >> (first % 64) & 1) == 0) {
        first++;
    }
    join_group("0::/web\n", MOUNT_V2);
    snprintf(text, sizeof(text), "%u\n", first);
    write_file(GROUP "cpuset.cpus.effective", text);
    look(EL_LOAD_AUTO);
    ck_assert_uint_eq(machine.facts.cpus, 1);
    for (int i = 0; i < ROWS(none); i++) {
        write_file(GROUP "cpuset.cpus.effective", none[i]);
        look(EL_LOAD_AUTO);
        ck_assert_mem_eq(&machine.mask, &all, sizeof(all));
    }
}

TEST(machine, a_limit_that_changes_is_noticed)
{
    join_group("0::/web\n", MOUNT_V2);
    write_file(GROUP "cpu.max", "20000 100000\n");
    write_file(GROUP "cpu.stat", "usage_usec 1000000\n");
    look(EL_LOAD_AUTO);
    write_file(GROUP "cpu.max", "30000 100000\n");
    ck_assert(!el_machine_refresh(&machine, 5 * SECOND));
    ck_assert_double_eq(machine.signals.cpus, 0.2);
    ck_assert(el_machine_refresh(&machine, 11 * SECOND));
    ck_assert_double_eq(machine.signals.cpus, 0.3);
    ck_assert(!el_machine_refresh(&machine, 30 * SECOND));
}

TEST(machine, what_cannot_be_read_is_named)
{
    const char *path = NULL;
    char expected[128];

    write_file("proc/stat", STAT);
    look(EL_LOAD_AUTO);
    snprintf(expected, sizeof(expected), "%s/proc/stat", root);
    unlink(expected);
    ck_assert(!el_machine_read(&machine, SECOND, &one, &path));
    ck_assert_int_eq(errno, ENOENT);
    ck_assert_str_eq(path, expected);
    ck_assert(!one.has_stat);
    write_file("proc/stat", "nonsense\n");
    ck_assert(!reads(SECOND, &one));
    ck_assert_int_eq(errno, 0);
    el_machine_open(&machine, root, "/does/not/exist", EL_LOAD_STAT, SECOND);
    ck_assert(!el_machine_read(&machine, SECOND, &one, &path));
    ck_assert_str_eq(path, "/does/not/exist");

    join_group("0::/web\n", MOUNT_V2);
    write_file(GROUP "cpu.max", "20000 100000\n");
    write_file(GROUP "cpu.stat", "nonsense\n");
    look(EL_LOAD_AUTO);
    ck_assert(!reads(SECOND, &one) && errno == 0);
    write_file(GROUP "cpu.stat", "");
    ck_assert(!reads(SECOND, &one) && !one.has_usage);
}

/* Of a long root some paths fit, and others do not. */
TEST(machine, a_path_too_long_is_none)
{
    for (size_t len = EL_CGROUP_PATH - 40; len < EL_CGROUP_PATH + 2; len++) {
        el_machine_open(&machine, repeat("/x", len), NULL, EL_LOAD_AUTO, SECOND);
        ck_assert(machine.facts.cgroups == 0 && !reads(SECOND, &one));
    }
}

TEST(machine, a_call_that_fails_is_noticed)
{
    write_file("proc/stat", STAT);
    join_group("0::/web\n", MOUNT_V2);
    while (fail_next()) {
        bool good;

        look(EL_LOAD_AUTO);
        ck_assert(machine.masked || (has_failed && machine.facts.cpus == 0));
        good = reads(SECOND, &one);
        fail_at = 0;
        ck_assert(good || (has_failed && errno == EIO));
    }
}

TEST(machine, kept_files_outlive_their_names)
{
    write_file("proc/stat", STAT);
    look(EL_LOAD_AUTO);
    el_machine_keep(&machine);
    tear_down();
    ck_assert(reads(SECOND, &one) && !el_machine_refresh(&machine, 100 * SECOND));
    el_machine_close(&machine);
    el_machine_close(&machine);
    ck_assert(!reads(SECOND, &one));
}

TEST(machine, this_machine_can_be_read)
{
    for (el_load_kind_t kind = 0; kind < EL_LOAD_KINDS; kind++) {
        el_machine_open(&machine, "", NULL, kind, SECOND);
        ck_assert_msg(reads(SECOND, &one), "%s", machine.signals_text);
        ck_assert(machine.facts.cpus > 0 && (one.has_stat || one.has_usage));
        ck_assert_double_ge(machine.signals.tick_usec, 100);
    }
}

/* Decided by the file system of the file, not by its name. */
TEST(machine, only_files_of_the_kernel_keep_the_clocks_time)
{
    write_file("proc/stat", STAT);
    look(EL_LOAD_STAT);
    ck_assert_double_eq(machine.signals.tick_usec, 0);
    ck_assert(reads(SECOND, &one) && one.at_usec == SECOND);
    el_machine_open(&machine, root, "/proc/stat", EL_LOAD_STAT, SECOND);
    ck_assert_double_gt(machine.signals.tick_usec, 0);
    ck_assert(reads(SECOND, &one) && one.at_usec > SECOND);
}

static const struct {
    const char *path, *folder; /* below the fixture's root, unless they begin with a slash */
    bool within;
} paths[] = {
    {"web/a/file", "web", true}, {"web/a/file", "web/a", true}, {"web/a/file", "/", true},
    {"link", "web", true}, {"web/a/file", "link", false}, {"web/a/file", "we", false},
    {"web", "web", false}, {"web/a/../../other", "web", false}, {"web/none", "web", false},
    {"web/a/file", "none", false},
};
EACH(machine, a_path_is_within_a_folder, paths)
{
    char path[512], folder[512], link[128];

    write_file("web/a/file", "");
    write_file("we/x", "");
    write_file("other", "");
    snprintf(link, sizeof(link), "%s/link", root);
    ck_assert_int_eq(symlink("web/a/file", link), 0);
    snprintf(path, sizeof(path), "%s/%s", root, row->path);
    snprintf(folder, sizeof(folder), "%s/%s", row->folder[0] == '/' ? "" : root,
             row->folder[0] == '/' ? "" : row->folder);
    named_eq(row->path, el_path_within(path, folder), row->within);
    while (row->within && fail_next()) {
        ck_assert(ended(el_path_within(path, folder)));
    }
}

/* The position file. */

static char position_path[128];
static el_position_file_t writer, rival;
static const el_position_t position = {.control = {3, 8, false, 0}, .updated_usec = SECOND,
                                       .interval_msec = 500};

static void set_up_position(void)
{
    set_up();
    snprintf(position_path, sizeof(position_path), "%s/position", root);
    writer.fd = rival.fd = -1;
}

static void tear_down_position(void)
{
    el_position_file_close(&writer);
    el_position_file_close(&rival);
    tear_down();
}

CASE(position_file, .set_up = set_up_position, .tear_down = tear_down_position);

static void begin(void)
{
    ck_assert_int_eq(el_position_file_open(&writer, position_path), EL_POSITION_FILE_OPEN);
    ck_assert(el_position_file_write(&writer, &position));
}

static el_position_verdict_t verdict(int kept)
{
    el_position_t got;

    errno = -1;
    return el_position_file_read(position_path, kept, SECOND, &got);
}

TEST(position_file, its_writer_is_the_only_one_while_it_lives)
{
    int kept;

    begin();
    ck_assert_int_eq(el_position_file_open(&rival, position_path), EL_POSITION_FILE_TAKEN);
    kept = open(position_path, O_RDONLY);
    ck_assert(verdict(-1) == EL_POSITION_GOOD && verdict(kept) == EL_POSITION_GOOD);
    el_position_file_close(&writer);
    ck_assert(verdict(-1) == EL_POSITION_STOPPED && verdict(kept) == EL_POSITION_STOPPED);
    close(kept);
}

/* What is made at the path after the writer has begun, and errno where it writes again. */
static const struct {
    const char *label, *text; /* NULL: a folder */
    bool taken;               /* by another writer */
    int error;
} replaced[] = {
    {"nothing", "", false, 0},
    {"another position", "0123", false, 0},
    {"that of another writer", "", true, EBUSY},
    {"a longer file", MOUNTS_V1, false, EEXIST},
    {"a folder", NULL, false, EISDIR},
};
EACH(position_file, one_that_was_replaced_is_opened_again, replaced)
{
    begin();
    unlink(position_path);
    if (row->taken) {
        ck_assert_int_eq(el_position_file_open(&rival, position_path), EL_POSITION_FILE_OPEN);
    } else if (!row->text) {
        ck_assert_int_eq(mkdir(position_path, 0700), 0);
    } else if (row->text[0] != '\0') {
        write_file("position", row->text);
    }
    for (int again = 0; again < 2; again++) {
        row_eq(el_position_file_write(&writer, &position), row->error == 0);
        row_assert(row->error == 0 ? verdict(-1) == EL_POSITION_GOOD : errno == row->error);
    }
}

/* Contents of a file that is no position; NULL: none, "/": a folder. */
static const struct {
    const char *label, *text;
    el_position_verdict_t verdict;
    int error; /* of reading */
    el_position_file_result_t opened;
} no_positions[] = {
    {"none", NULL, EL_POSITION_SHORT, ENOENT, EL_POSITION_FILE_OPEN},
    {"an empty file", "", EL_POSITION_SHORT, 0, EL_POSITION_FILE_OPEN},
    {"a folder", "/", EL_POSITION_FOREIGN, 0, EL_POSITION_FILE_ERROR},
    {"a text", MOUNTS_V1, EL_POSITION_FOREIGN, 0, EL_POSITION_FILE_REFUSED},
};
EACH(position_file, another_file_is_left_alone, no_positions)
{
    if (row->text && row->text[0] == '/') {
        mkdir(position_path, 0700);
    } else if (row->text) {
        write_file("position", row->text);
    }
    row_eq(verdict(-1), row->verdict);
    row_eq(errno, row->error);
    row_eq(el_position_file_open(&writer, position_path), row->opened);
}

TEST(position_file, a_damaged_one_is_read_twice)
{
    int fd;

    begin();
    fd = open(position_path, O_WRONLY);
    ck_assert_int_eq(pwrite(fd, "x", 1, 20), 1);
    ck_assert_int_eq(verdict(-1), EL_POSITION_DAMAGED);
    close(fd);
}

TEST(position_file, no_call_that_fails_is_overlooked)
{
    while (fail_next()) {
        ck_assert(ended(el_position_file_open(&writer, position_path) == EL_POSITION_FILE_OPEN));
        el_position_file_close(&writer);
    }
    for (written = -1; written < 2; written += 2) {
        begin();
        while (fail_next()) {
            bool good = el_position_file_write(&writer, &position);

            fail_at = 0;
            /* fstat() may fail: the file is opened again. */
            ck_assert(good || (has_failed && (errno == EIO || (written > 0 && errno == ENOSPC))));
        }
        el_position_file_close(&writer);
    }
    begin();
    while (fail_next()) {
        el_position_verdict_t found = verdict(-1);

        fail_at = 0;
        /* If the lock cannot be tested, the age counts. */
        ck_assert(found == EL_POSITION_GOOD || (found == EL_POSITION_SHORT && has_failed));
    }
}

/* The numbers of a file, and when they are certain to change. */

#define NOW_SEC 1000000
#define NOW_USEC (NOW_SEC * INT64_C(1000000))

static const struct {
    const char *label;
    int64_t modified_sec, modified_nsec, changed_sec, changed_nsec;
    bool settled;
} times[] = {
    {"just 40 seconds ago", NOW_SEC - 41, 999999999, NOW_SEC - 41, 999999999, true},
    {"just that", NOW_SEC - 40, 999, NOW_SEC - 40, 999, true},
    {"modified when time began", 0, 5, NOW_SEC - 900, 7, true},
    {"changed a moment later", NOW_SEC - 41, 1, NOW_SEC - 40, 1000, false},
    {"modified a moment later", NOW_SEC - 40, 1000, NOW_SEC - 41, 1, false},
    {"modified at a whole second", NOW_SEC - 1000, 0, NOW_SEC - 900, 7, true},
    {"changed at a whole second", NOW_SEC - 1000, 5, NOW_SEC - 900, 0, false},
    {"modified in the future", NOW_SEC + 1000, 5, NOW_SEC - 900, 7, false},
    {"modified at no time", INT64_MAX, 5, NOW_SEC - 900, 7, false},
    {"changed before 1970", NOW_SEC - 1000, 5, -5, 7, false},
};

CASE(files);

EACH(files, a_change_will_show_where_the_last_one_is_some_time_ago, times)
{
    el_file_id_t id = {.modified_sec = row->modified_sec, .changed_sec = row->changed_sec,
                       .modified_nsec = (uint32_t)row->modified_nsec,
                       .changed_nsec = (uint32_t)row->changed_nsec};

    row_eq(el_file_id_settled(&id, NOW_USEC), row->settled);
}

/* Creates a file without a name. */
static int open_file(const char *content)
{
    char path[] = "/tmp/elastic-file-id-XXXXXX";
    int fd = mkstemp(path);

    ck_assert_int_eq(write(fd, content, strlen(content)), (int)strlen(content));
    unlink(path);
    return fd;
}

/* Files of the same size and modification time differ, and `touch -d` cannot hide a change. */
TEST(files, the_numbers_of_files_are_their_own)
{
    static const struct timespec times_of_both[] = {{1000, 5}, {1000, 5}};
    el_file_id_t mine, other, later;
    int file = open_file("abc"), second = open_file("abd");

    futimens(file, times_of_both);
    futimens(second, times_of_both);
    ck_assert(el_file_stat(file, &mine) && el_file_stat(second, &other));
    ck_assert(mine.size == 3 && mine.modified_sec == 1000 && mine.modified_nsec == 5);
    ck_assert(mine.device == other.device && mine.inode != other.inode);
    ck_assert(mine.changed_sec > 1000 && mine.changed_nsec != 5);
    ck_assert(el_file_stat(file, &later));
    ck_assert_mem_eq(&mine, &later, sizeof(mine));
    /* Repeat until the file system's clock has ticked. */
    do {
        ck_assert_int_eq(pwrite(file, "x", 1, 0), 1);
        futimens(file, times_of_both);
        ck_assert(el_file_stat(file, &later));
    } while (later.changed_sec == mine.changed_sec && later.changed_nsec == mine.changed_nsec);
    ck_assert(later.size == mine.size && later.modified_sec == mine.modified_sec);
    close(file);
    close(second);
}

TEST(files, one_that_lies_in_memory_only_is_known)
{
    int memory = memfd_create("file", 0), other = open("/proc/self/stat", O_RDONLY);

    ck_assert(memory >= 0 && el_file_is_in_memory(memory));
    ck_assert(other >= 0 && !el_file_is_in_memory(other));
    close(other);
    close(memory);
    ck_assert(el_file_is_in_memory(memory)); /* closed: unknown */
}

TEST(files, what_is_no_regular_file_has_no_numbers)
{
    el_file_id_t id;
    int ends[2], folder = open("/", O_RDONLY);

    ck_assert_int_eq(pipe(ends), 0);
    ck_assert(!el_file_stat(ends[0], &id) && !el_file_stat(folder, &id) && !el_file_stat(-1, &id));
    close(ends[0]);
    close(ends[1]);
    close(folder);
}

/* The kernel's TCP numbers, in structures of any length. */

CASE(tcp_info);

#ifdef ELASTIC_WITH_TCP_RATE

#define RATE_AT offsetof(struct tcp_info, tcpi_delivery_rate)
#define WHOLE sizeof(struct tcp_info)

static const struct {
    const char *label;
    size_t len;
    uint64_t bytes; /* a second */
    bool limited, good;
} answers[] = {
    {"all of it", WHOLE, 125000, false, true},
    {"limited by the application", WHOLE, 125000, true, true},
    {"no longer than the rate", RATE_AT + 8, 125000, false, true},
    {"ends within the rate", RATE_AT + 7, 125000, false, false},
    {"nothing", 0, 125000, false, false},
    {"nothing was sent yet", WHOLE, 0, false, false},
    {"more than a double holds exactly", WHOLE, UINT64_MAX, false, true},
};
EACH(tcp_info, an_answer_is_read_as_far_as_it_goes, answers)
{
    struct tcp_info info = {.tcpi_delivery_rate = row->bytes,
                            .tcpi_delivery_rate_app_limited = row->limited};
    el_tcp_rate_t rate = {-1, false};

    row_eq(el_tcp_rate_of(&info, row->len, &rate), row->good);
    row_assert(rate.rate == (row->good ? 8. * (double)row->bytes : -1));
    row_eq(rate.limited, (row->good && row->limited));
}
#endif

/* Sockets without TCP or without a peer. */
TEST(tcp_info, what_is_no_connection_has_no_rate)
{
    int ends[2], others[] = {socket(AF_INET, SOCK_STREAM, 0), socket(AF_INET, SOCK_DGRAM, 0), -1};
    el_tcp_rate_t rate;

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    ck_assert_int_eq(write(ends[0], "a", 1), 1);
    ck_assert(!el_tcp_rate(ends[0], &rate));
    for (int i = 0; i < ROWS(others); i++) {
        ck_assert(!el_tcp_rate(others[i], &rate));
        close(others[i]);
    }
    close(ends[0]);
    close(ends[1]);
}
