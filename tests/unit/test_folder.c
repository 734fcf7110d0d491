/* The folder of dictionaries: storing, finding, replacing and removing. */
#define _XOPEN_SOURCE 700 /* for mkdtemp() and utimensat() */

#include "failing.h"
#include "suites.h"

#include <dirent.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <sys/stat.h>
#include <unistd.h>

/* Reads that succeed before one fails; -1: all succeed. */
static int good_reads = -1;

/* A file that is cut while it is read, a full disk, and one whose last error comes late. */
static bool ends_early, disk_is_full, close_fails;

/* The time for the folder; its files' times are real. */
static uint64_t moment;

/* Half of the bytes, as a file system may; and a signal comes each second time. */
static ssize_t part(ssize_t (*call)(int, void *, size_t), int fd, void *bytes, size_t nbytes)
{
    static bool interrupted;

    interrupted = !interrupted;
    errno = interrupted ? EINTR : errno;
    return interrupted ? -1 : call(fd, bytes, (nbytes + 1) / 2);
}

static ssize_t read_some(int fd, void *bytes, size_t nbytes)
{
    if (good_reads == 0) {
        errno = EIO;
        return -1;
    }
    good_reads -= good_reads > 0;
    return ends_early ? 0 : part(read, fd, bytes, nbytes);
}

static ssize_t write_all(int fd, void *bytes, size_t nbytes)
{
    return write(fd, bytes, nbytes);
}

static ssize_t write_some(int fd, const void *bytes, size_t nbytes)
{
    if (disk_is_full) {
        errno = ENOSPC;
        return -1;
    }
    return part(write_all, fd, (void *)(uintptr_t)bytes, nbytes);
}

static int close_it(int fd)
{
    int result = close(fd);

    errno = close_fails ? EDQUOT : errno;
    return close_fails ? -1 : result;
}

#define EVP_Digest(...) FAILS(0, EVP_Digest(__VA_ARGS__))
#define RAND_bytes(...) FAILS(0, RAND_bytes(__VA_ARGS__))
#define fdopendir(...) FAILS(NULL, fdopendir(__VA_ARGS__))
#define fstat(...) FAILS(-1, fstat(__VA_ARGS__))
#define malloc(...) FAILS(NULL, malloc(__VA_ARGS__))
#define openat(...) FAILS(-1, openat(__VA_ARGS__))
#define read read_some
#define realloc(...) FAILS(NULL, realloc(__VA_ARGS__))
#define renameat(...) FAILS(-1, renameat(__VA_ARGS__))
#define write(...) FAILS(-1, write_some(__VA_ARGS__))
#define close close_it
#define time(unused) ((time_t)moment)
#include "httpd/dictionary/folder.c"
#undef read
#undef write
#undef close
#undef time

#define MOST (1024 * 1024)
#define ORIGIN "https://example.org"
#define OTHER "https://example.com"

static char path[] = "/tmp/elastic-folder-XXXXXX";
static el_folder_t folder;

/* The number that the next file gets that is opened: no call may leave one open. */
static int next_fd;

/* The last stored dictionary's hash and name; the last entry found. */
static uint8_t hash[EL_DICTIONARY_HASH];
static char name[65];
static el_dictionary_entry_t found;

static int find_next_fd(void)
{
    int fd = open("/", O_RDONLY);

    close(fd);
    return fd;
}

static void set_up(void)
{
    strcpy(path + strlen(path) - 6, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(path));
    next_fd = find_next_fd();
    ck_assert(el_folder_open(&folder, path, MOST));
    moment = (uint64_t)time(NULL);
}

/* Counts the files whose names have at least `least` characters; calls `visit` for each. */
static int each_file(size_t least, void (*visit)(const char *file))
{
    DIR *dir = opendir(path);
    const struct dirent *file;
    int files = 0;

    while ((file = readdir(dir)) != NULL) {
        if (strcmp(file->d_name, ".") != 0 && strcmp(file->d_name, "..") != 0
            && strlen(file->d_name) >= least) {
            files++;
            if (visit) {
                visit(file->d_name);
            }
        }
    }
    closedir(dir);
    return files;
}

static int count(void)
{
    return each_file(0, NULL);
}

static void remove_file(const char *file)
{
    unlinkat(folder.fd, file, 0);
}

static void tear_down(void)
{
    each_file(0, remove_file);
    el_folder_close(&folder);
    el_folder_close(&folder);
    rmdir(path);
    ck_assert_int_eq(find_next_fd(), next_fd);
}

CASE(folder, .set_up = set_up, .tear_down = tear_down);

/* Stores `nbytes` times the byte `c` as a dictionary for `match`. */
static void put_for(char c, size_t nbytes, const char *origin, const char *match, uint64_t expires)
{
    el_dictionary_entry_t entry = {.path = "/d", .expires = expires};
    char *bytes = repeat((char[]){c, '\0'}, nbytes);

    strcpy(entry.origin, origin);
    strcpy(entry.match, match);
    ck_assert(el_folder_hash(bytes, nbytes, hash));
    ck_assert(el_folder_put(&folder, hash, bytes, nbytes, &entry));
    for (int i = 0; i < EL_DICTIONARY_HASH; i++) {
        sprintf(name + 2 * i, "%02x", hash[i]);
    }
}

static void put(char c, size_t nbytes)
{
    put_for(c, nbytes, ORIGIN, "/*", moment + 1000);
}

static bool is_there(const uint8_t of[EL_DICTIONARY_HASH], bool *damaged)
{
    size_t nbytes;
    uint8_t *bytes = el_folder_read(&folder, of, &nbytes, damaged);

    free(bytes);
    return bytes != NULL;
}

/* True if the last dictionary is there, undamaged. */
static bool is_kept(void)
{
    bool damaged;

    return is_there(hash, &damaged) && !damaged;
}

/* Finds the last dictionary for a request for `target`. */
static el_dictionary_reason_t find(const char *origin, const char *target)
{
    el_dictionary_request_t request = {.origin = origin, .target = target, .now = moment};

    return el_folder_find(&folder, hash, &request, &found);
}

static bool is_found(const char *origin)
{
    return find(origin, "/a") == EL_DICTIONARY_USED;
}

static bool exists(const char *file)
{
    return faccessat(folder.fd, file, F_OK, 0) == 0;
}

/* Overwrites a file. */
static void write_to(const char *file, int flags, const char *text)
{
    int fd = openat(folder.fd, file, O_WRONLY | flags, 0600);

    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

/* Sets the time of the last use to `seconds` ago. */
static void grow_older(const char *file, time_t seconds)
{
    struct timespec at = {.tv_sec = (time_t)moment - seconds};

    ck_assert_int_eq(utimensat(folder.fd, file, (struct timespec[]){at, at}, 0), 0);
}

TEST(folder, a_dictionary_is_kept_under_its_hash)
{
    struct stat info;
    uint8_t *bytes;
    size_t nbytes;
    bool damaged;

    ck_assert(!is_found(ORIGIN) && !is_there(hash, &damaged) && errno == ENOENT && !damaged);
    put('a', 5000);
    ck_assert_int_eq(fstatat(folder.fd, name, &info, 0), 0);
    ck_assert_uint_eq(info.st_mode & 0777, 0600);
    ck_assert_int_eq(count(), 2);
    bytes = el_folder_read(&folder, hash, &nbytes, &damaged);
    ck_assert(bytes && nbytes == 5000 && !damaged && bytes[0] == 'a' && bytes[4999] == 'a');
    free(bytes);
    ck_assert(is_found(ORIGIN));
    ck_assert_str_eq(found.match, "/*");
    ck_assert_uint_eq(found.expires, moment + 1000);
}

static const struct {
    const char *origin, *target, *match; /* NULL: not found */
    el_dictionary_reason_t reason, later;
} questions[] = {
    {ORIGIN, "/one/a", "/one/*", EL_DICTIONARY_USED, EL_DICTIONARY_USED},
    {ORIGIN, "/two/a", "/two/*", EL_DICTIONARY_USED, EL_DICTIONARY_MATCH},
    {ORIGIN, "/three/a", NULL, EL_DICTIONARY_MATCH, EL_DICTIONARY_MATCH},
    {OTHER, "/three/a", "/*", EL_DICTIONARY_USED, EL_DICTIONARY_USED},
    {"http://example.org", "/one/a", NULL, EL_DICTIONARY_UNKNOWN, EL_DICTIONARY_UNKNOWN},
};
EACH(folder, each_origin_and_each_rule_has_its_own, questions)
{
    put_for('a', 100, ORIGIN, "/one/*", moment + 1000);
    put_for('a', 100, ORIGIN, "/two/*", moment + 10);
    put_for('a', 100, OTHER, "/*", moment + 1000);
    ck_assert_int_eq(count(), 3);
    named_eq(row->target, find(row->origin, row->target), row->reason);
    ck_assert_str_eq(found.match, row->match ? row->match : found.match);
    moment += 10;
    named_eq(row->target, find(row->origin, row->target), row->later);
}

/* New contents of the file, which was 100 times `a`. */
static const char *const damages[] = {"", "aaaaa", "bbbbb"};
EACH(folder, what_does_not_hash_to_its_name_is_removed, damages)
{
    bool damaged;

    put('a', 100);
    write_to(name, O_TRUNC, *row);
    ck_assert(!is_there(hash, &damaged) && damaged && !exists(name));
    put('a', 100);
    ck_assert(is_kept());
}

static void grow_old(const char *file)
{
    grow_older(file, 10000);
}

/* Storing fails, or what was stored is there; and others stay. The first call is for random bytes. */
TEST(folder, a_call_that_fails_loses_nothing_else)
{
    el_dictionary_entry_t entry = {.origin = ORIGIN, .path = "/d", .match = "/*",
                                   .expires = moment + 1000};
    bool good, damaged;

    while (fail_next()) {
        long at = fail_at;

        fail_at = 0;
        each_file(0, remove_file);
        put('b', 100);
        each_file(0, grow_old);
        ck_assert(el_folder_hash("a", 1, hash));
        atomic_store(&folder.added, MOST); /* with a sweep */
        fail_at = at;
        good = el_folder_put(&folder, hash, "a", 1, &entry);
        fail_at = 0;
        ck_assert(good ? is_kept() && is_found(ORIGIN) : has_failed);
        ck_assert(!good || at != 1);
        put('b', 100);
        ck_assert_int_eq(each_file(65, NULL), good ? 2 : 1);
    }
    each_file(0, remove_file);
    put('a', 100);
    while (fail_next()) {
        good = is_there(hash, &damaged);
        fail_at = 0;
        ck_assert((good || has_failed) && !damaged && is_kept());
    }
    while (fail_next()) {
        good = find(ORIGIN, "/a") == EL_DICTIONARY_USED;
        ck_assert(ended(good));
    }
    while (fail_next()) {
        ck_assert(ended(el_folder_may_write(&folder, getuid(), 0) || !has_failed));
    }
}

TEST(folder, a_full_disk_leaves_what_was_there)
{
    el_dictionary_entry_t entry = {.origin = ORIGIN, .path = "/d", .match = "/*"};

    disk_is_full = true;
    ck_assert(el_folder_hash("a", 1, hash) && !el_folder_put(&folder, hash, "a", 1, &entry));
    ck_assert_int_eq(errno, ENOSPC);
    disk_is_full = false;
    close_fails = true;
    ck_assert(!el_folder_put(&folder, hash, "a", 1, &entry));
    ck_assert_int_eq(errno, EDQUOT);
    close_fails = false;
    ck_assert_int_eq(count(), 0);
}

/* A large file is read to its end; it is damaged if it is not what its name says, or too large. */
TEST(folder, a_file_has_a_largest_size)
{
    bool damaged;
    int fd;

    put('a', 100);
    fd = openat(folder.fd, name, O_WRONLY);
    ck_assert_int_eq(ftruncate(fd, EL_FOLDER_FILE_MOST), 0);
    good_reads = 0;
    ck_assert(!is_there(hash, &damaged) && !damaged && exists(name));
    good_reads = -1;
    ends_early = true;
    ck_assert(!is_there(hash, &damaged) && !damaged && exists(name));
    ends_early = false;
    ck_assert(!is_there(hash, &damaged) && damaged && !exists(name));
    close(fd);
    put('a', 100);
    fd = openat(folder.fd, name, O_WRONLY);
    ck_assert_int_eq(ftruncate(fd, EL_FOLDER_FILE_MOST + 1), 0);
    close(fd);
    ck_assert(!is_there(hash, &damaged) && damaged && !exists(name));
    /* Nor is there an empty one. */
    ck_assert(el_folder_hash("", 0, hash));
    el_folder_name(hash, name);
    write_to(name, O_CREAT, "");
    ck_assert(!is_there(hash, &damaged) && damaged && !exists(name));
}

/* Another file of the name is replaced, whoever made it. */
TEST(folder, what_is_no_copy_of_it_is_replaced)
{
    char *target = repeat("x", 100);

    put('a', 100);
    write_to(name, O_TRUNC, "aaaaa");
    put('a', 100);
    ck_assert(is_kept());
    unlinkat(folder.fd, name, 0);
    ck_assert_int_eq(symlinkat(target, folder.fd, name), 0);
    put('a', 100);
    ck_assert(is_kept());
}

static const int failures[] = {0, 1, 3};
EACH(folder, what_cannot_be_read_stays, failures)
{
    bool damaged;

    put('a', 100);
    good_reads = *row;
    ck_assert(!is_there(hash, &damaged) && !damaged);
    good_reads = -1;
    ck_assert(is_kept());
}

TEST(folder, a_link_or_a_pipe_is_no_dictionary)
{
    bool damaged;

    put('a', 100);
    ck_assert_int_eq(renameat(folder.fd, name, folder.fd, "copy"), 0);
    ck_assert_int_eq(symlinkat("copy", folder.fd, name), 0);
    ck_assert(!is_kept());
    unlinkat(folder.fd, name, 0);
    ck_assert_int_eq(mkfifoat(folder.fd, name, 0600), 0);
    ck_assert(!is_there(hash, &damaged) && !damaged && exists(name));
}

static void damage(const char *file)
{
    write_to(file, 0, "x");
}

TEST(folder, a_damaged_entry_is_none)
{
    put('a', 100);
    ck_assert_int_eq(each_file(65, damage), 1);
    ck_assert(!is_found(ORIGIN));
    put('a', 100);
    ck_assert(is_found(ORIGIN));
}

TEST(folder, an_entry_is_written_again_where_it_says_more)
{
    put('a', 100);
    put_for('a', 100, ORIGIN, "/*", moment + 1100);
    ck_assert(is_found(ORIGIN) && found.expires == moment + 1000);
    put_for('a', 100, ORIGIN, "/*", moment + 5000);
    ck_assert(is_found(ORIGIN) && found.expires == moment + 5000);
    ck_assert_int_eq(count(), 2);
}

TEST(folder, of_many_rules_those_that_end_first_go)
{
    char text[32];

    for (int i = 0; i < EL_FOLDER_ENTRIES + 2; i++) {
        snprintf(text, sizeof(text), "/%c/*", 'a' + i);
        /* The third and the fifth expire first. */
        put_for('a', 100, ORIGIN, text, moment + (i == 2 || i == 4 ? 100 : 1000 + (uint64_t)i));
    }
    for (int i = 0; i < EL_FOLDER_ENTRIES + 2; i++) {
        snprintf(text, sizeof(text), "/%c/x", 'a' + i);
        ck_assert_msg((find(ORIGIN, text) == EL_DICTIONARY_USED) == (i != 2 && i != 4), "%s", text);
    }
    ck_assert_int_eq(count(), 2);
}

/* Entries in the one file of entries. */
static int entries;

static void count_entries(const char *file)
{
    char text[8 * EL_DICTIONARY_TEXT_MOST];
    int fd = openat(folder.fd, file, O_RDONLY);
    ssize_t nbytes = read(fd, text, sizeof(text) - 1);

    close(fd);
    ck_assert_int_gt(nbytes, 0);
    text[nbytes] = '\0';
    entries = 0;
    for (const char *at = text; (at = strstr(at, "\nexpires ")) != NULL; at++) {
        entries++;
    }
}

TEST(folder, an_expired_entry_is_dropped)
{
    put_for('a', 100, ORIGIN, "/one/*", moment + 10);
    put_for('a', 100, ORIGIN, "/two/*", moment + 11);
    moment += 10;
    put_for('a', 100, ORIGIN, "/three/*", moment + 1000);
    each_file(65, count_entries);
    ck_assert_int_eq(entries, 2);
}

/* A use is noted once an hour. */
static const struct {
    const char *label;
    time_t age;
    bool noted;
} uses[] = {{"after an hour", 3600, false}, {"and a second", 3601, true}};
EACH(folder, a_use_is_noted, uses)
{
    struct stat info;

    put('a', 100);
    grow_older(name, row->age);
    ck_assert(is_found(ORIGIN));
    ck_assert_int_eq(fstatat(folder.fd, name, &info, 0), 0);
    row_eq(info.st_mtime != (time_t)moment - row->age, row->noted);
}

/* Stores a dictionary that takes so many blocks with its entry; age in ns before an old time. */
static void put_blocks(char c, size_t blocks, long age)
{
    struct timespec at = {.tv_sec = (time_t)moment - 5000, .tv_nsec = 1000 - age};

    put(c, (blocks - 1) * 4096);
    ck_assert_int_eq(utimensat(folder.fd, name, (struct timespec[]){at, at}, 0), 0);
}

/* A folder has 256 blocks, and after a sweep 224. */
static const struct {
    const char *label;
    size_t blocks;
    int files;
} fillings[] = {
    {"to its limit", 32, 6},
    {"a block more, and without the oldest it has as much as a sweep leaves", 33, 4},
};
EACH(folder, it_is_filled, fillings)
{
    put_blocks('b', 112, 1);
    put_blocks('a', row->blocks, 2);
    atomic_store(&folder.added, MOST); /* with a sweep */
    put_blocks('c', 112, 0);
    row_eq(count(), row->files);
    row_assert(is_kept());
}

/* Ages in ns of two dictionaries that were used in the same second. */
static const struct {
    const char *label;
    long first, second;
} moments[] = {{"the first goes", 2, 1}, {"the second goes", 1, 2}};
EACH(folder, the_longest_unused_goes_by_nanoseconds, moments)
{
    char first[sizeof(name)];

    put_blocks('a', 112, row->first);
    memcpy(first, name, sizeof(first));
    put_blocks('b', 112, row->second);
    atomic_store(&folder.added, MOST); /* with a sweep */
    put_blocks('c', 112, 0);
    row_eq(exists(first), row->first < row->second);
}

TEST(folder, a_sweep_is_seldom)
{
    put('a', 100);
    write_to(".new-1", O_CREAT, "others");
    grow_older(".new-1", 10000);
    atomic_store(&folder.added, MOST / 8 - 2 * BLOCK - 100);
    put('b', 100);
    ck_assert(exists(".new-1"));
    put('c', 1);
    ck_assert(!exists(".new-1"));
}

TEST(folder, the_longest_unused_make_room)
{
    uint8_t first[EL_DICTIONARY_HASH], second[EL_DICTIONARY_HASH];
    bool damaged;

    put('a', MOST / 2 - 100000);
    memcpy(first, hash, sizeof(first));
    grow_older(name, 20000);
    put('b', MOST / 2 - 100000);
    memcpy(second, hash, sizeof(second));
    grow_older(name, 30000);
    ck_assert(is_found(ORIGIN)); /* notes a use */
    put('c', MOST / 2 - 100000);
    ck_assert(is_kept() && is_found(ORIGIN));
    ck_assert(is_there(second, &damaged) && !is_there(first, &damaged));
    memcpy(hash, first, sizeof(hash));
    ck_assert(!is_found(ORIGIN));
    ck_assert_int_eq(count(), 4);
}

/* More than a sweep lists at first; two by two as old. */
TEST(folder, of_many_the_oldest_go)
{
    char first[sizeof(name)];

    for (int i = 0; i < 150; i++) {
        put('a', 100 + (size_t)i);
        memcpy(first, i == 0 ? name : first, sizeof(first));
        grow_older(name, 100000 - 500 * (i / 2));
    }
    ck_assert(is_kept() && !exists(first));
    /* A sweep is due after each eighth that was added. */
    ck_assert_int_le(count() * 4096, MOST / 8 * 9);
}

#define ZEROS "00000000000000000000000000000000"
#define NAME ZEROS ZEROS

/* Foreign files stay; unfinished files are removed after a while. */
static const struct {
    const char *file;
    time_t age;
    bool stays;
} strangers[] = {
    {".new-1-1", 10000, false}, {".new-1-2", 0, true}, {"notes", 10000, true},
    {NAME ".0123456789abcdef", 10000, false}, {NAME ".0123456789abcde0", 600, true},
    {NAME ".0123456789abcde1", 601, false}, {".new-1-3", 600, true}, {".new-1-4", 601, false},
    {NAME ".txt", 10000, true}, {NAME "-0123456789abcdef", 10000, true},
};

/* Files that are no dictionaries, however old and large they are. */
static const char *const no_dictionaries[] = {NAME "0", ZEROS ZEROS "." ZEROS, "x" ZEROS
    "0000000000000000000000000000000"};
EACH(folder, a_sweep_leaves_other_files, no_dictionaries)
{
    put_blocks('a', 128, 1);
    write_to(*row, O_CREAT, "others");
    grow_older(*row, 20000);
    ck_assert_int_eq(symlinkat("x", folder.fd, NAME), 0);
    put_blocks('b', 128, 0);
    ck_assert_int_eq(count(), 6);
    atomic_store(&folder.added, MOST);
    put('c', 1);
    ck_assert(exists(*row) && count() == 6 && is_kept());
}

TEST(folder, what_others_are_writing_stays)
{
    char ours[64], text[8];
    int fd;

    for (int i = 0; i < ROWS(strangers); i++) {
        write_to(strangers[i].file, O_CREAT, "others");
        grow_older(strangers[i].file, strangers[i].age);
    }
    /* A process in another container may have the same pid and share the folder. */
    snprintf(ours, sizeof(ours), ".new-%ld-0", (long)getpid());
    write_to(ours, O_CREAT, "others");
    put('a', 100);
    ck_assert(is_kept());
    for (int i = 0; i < ROWS(strangers); i++) {
        ck_assert_msg(exists(strangers[i].file) == strangers[i].stays, "%s", strangers[i].file);
    }
    fd = openat(folder.fd, ours, O_RDONLY);
    ck_assert_int_eq(read(fd, text, sizeof(text)), 6);
    close(fd);
}

TEST(folder, what_is_too_large_is_refused)
{
    static char bytes[MOST];
    el_dictionary_entry_t entry = {.origin = ORIGIN, .path = "/d", .match = "/*"};

    ck_assert(!el_folder_put(&folder, hash, bytes, sizeof(bytes), &entry));
    ck_assert_int_eq(errno, EFBIG);
    ck_assert(!el_folder_put(&folder, hash, bytes, 0, &entry));
    ck_assert(!el_folder_put(&folder, hash, bytes, el_folder_file_most(&folder) + 1, &entry));
    ck_assert_int_eq(count(), 0);
    put('a', el_folder_file_most(&folder));
    ck_assert(is_kept() && is_found(ORIGIN));
    each_file(0, remove_file);
    /* The folder is gone. */
    rmdir(path);
    ck_assert(!el_folder_put(&folder, hash, "a", 1, &entry));
    ck_assert_int_eq(errno, ENOENT);
    ck_assert(!el_folder_open(&(el_folder_t){.fd = -1}, path, MOST));
    ck_assert_int_eq(mkdir(path, 0700), 0);
}

/* Write permission of the owner, of the group and of others. */
static const struct {
    mode_t mode;
    bool owner, group, all;
} modes[] = {{0700, true, false, false}, {0770, true, true, false}, {0707, true, false, true},
             {0500, false, false, false}};
EACH(folder, its_mode_says_who_may_write, modes)
{
    struct stat info;

    ck_assert_int_eq(fstat(folder.fd, &info), 0);
    ck_assert_int_eq(fchmod(folder.fd, row->mode), 0);
    ck_assert(el_folder_may_write(&folder, info.st_uid, info.st_gid) == row->owner);
    ck_assert(el_folder_may_write(&folder, info.st_uid + 1, info.st_gid) == row->group);
    ck_assert(el_folder_may_write(&folder, info.st_uid + 1, info.st_gid + 1) == row->all);
    ck_assert_int_eq(fchmod(folder.fd, 0700), 0);
}
