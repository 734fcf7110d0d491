#define _GNU_SOURCE
/* The numbers of a file, and when they are certain to change. */
#include "elastic/entry.h"
#include "host/machine.h"
#include "suites.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOW_SEC 1000000
#define NOW_USEC (NOW_SEC * INT64_C(1000000))

static const struct {
    const char *label;
    int64_t modified_sec, modified_nsec, changed_sec, changed_nsec;
    bool settled;
} times[] = {
    {"just 40 seconds ago", NOW_SEC - 41, 999999999, NOW_SEC - 41, 999999999, true},
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
    el_file_id_t one, other, later;
    int file = open_file("abc"), second = open_file("abd");

    futimens(file, times_of_both);
    futimens(second, times_of_both);
    ck_assert(el_file_stat(file, &one) && el_file_stat(second, &other));
    ck_assert(one.size == 3 && one.modified_sec == 1000 && one.modified_nsec == 5);
    ck_assert(one.device == other.device && one.inode != other.inode);
    ck_assert(one.changed_sec > 1000 && one.changed_nsec != 5);
    ck_assert(el_file_stat(file, &later));
    ck_assert_mem_eq(&one, &later, sizeof(one));
    /* Repeat until the file system's clock has ticked. */
    do {
        ck_assert_int_eq(pwrite(file, "x", 1, 0), 1);
        futimens(file, times_of_both);
        ck_assert(el_file_stat(file, &later));
    } while (later.changed_sec == one.changed_sec && later.changed_nsec == one.changed_nsec);
    ck_assert(later.size == one.size && later.modified_sec == one.modified_sec);
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
