/* The folder of dictionaries: what is kept, found, replaced and removed. */
#define _XOPEN_SOURCE 700 /* mkdtemp(), utimensat() */

#include "httpd/dictionary/folder.h"

#include "suites.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MOST (1024 * 1024)
#define ORIGIN "https://example.org"

static char path[] = "/tmp/elastic-folder-XXXXXX";
static el_folder_t folder;
static uint64_t now;

static void set_up(void)
{
    strcpy(path + strlen(path) - 6, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(path));
    ck_assert(el_folder_open(&folder, path, MOST));
    now = (uint64_t)time(NULL);
}

static int count(bool remove)
{
    DIR *dir = opendir(path);
    const struct dirent *file;
    int files = 0;

    while ((file = readdir(dir)) != NULL) {
        if (strcmp(file->d_name, ".") != 0 && strcmp(file->d_name, "..") != 0) {
            files++;
            if (remove) {
                unlinkat(folder.fd, file->d_name, 0);
            }
        }
    }
    closedir(dir);
    return files;
}

static void tear_down(void)
{
    count(true);
    el_folder_close(&folder);
    rmdir(path);
}

static el_dictionary_entry_t entry_of(const char *origin, uint64_t expires)
{
    el_dictionary_entry_t entry = {.path = "/d", .match = "/*", .expires = expires};

    snprintf(entry.origin, sizeof(entry.origin), "%s", origin);
    return entry;
}

/* A dictionary that is the byte `c` over and over. */
static void put(char c, size_t nbytes, const char *origin, uint8_t hash[EL_DICTIONARY_HASH])
{
    el_dictionary_entry_t entry = entry_of(origin, now + 1000);
    char *bytes = malloc(nbytes);

    ck_assert_ptr_nonnull(bytes);
    memset(bytes, c, nbytes);
    ck_assert(el_folder_hash(bytes, nbytes, hash));
    ck_assert(el_folder_put(&folder, hash, bytes, nbytes, &entry));
    free(bytes);
}

static bool is_there(const uint8_t hash[EL_DICTIONARY_HASH])
{
    size_t nbytes;
    bool damaged;
    uint8_t *bytes = el_folder_read(&folder, hash, &nbytes, &damaged);

    free(bytes);
    return bytes != NULL;
}

/* What the folder says of a request for `target` that names the dictionary. */
static el_dictionary_reason_t find_for(const uint8_t hash[EL_DICTIONARY_HASH], const char *origin,
                                       const char *target, el_dictionary_entry_t *entry)
{
    el_dictionary_request_t request = {.origin = origin, .target = target, .now = now};

    return el_folder_find(&folder, hash, &request, entry);
}

static bool is_found(const uint8_t hash[EL_DICTIONARY_HASH], const char *origin,
                     el_dictionary_entry_t *entry)
{
    return find_for(hash, origin, "/a", entry) == EL_DICTIONARY_USED;
}

static void name_of(const uint8_t hash[EL_DICTIONARY_HASH], char name[65])
{
    for (int i = 0; i < EL_DICTIONARY_HASH; i++) {
        sprintf(name + 2 * i, "%02x", hash[i]);
    }
}

/* As if it had last been used so many seconds ago. */
static void grow_older(const char *name, time_t seconds)
{
    struct timespec times[2] = {{.tv_sec = (time_t)now - seconds}, {.tv_sec = (time_t)now - seconds}};

    ck_assert_int_eq(utimensat(folder.fd, name, times, 0), 0);
}

CASE(folder, .set_up = set_up, .tear_down = tear_down);

TEST(folder, a_dictionary_is_kept_under_its_hash)
{
    uint8_t hash[EL_DICTIONARY_HASH], *bytes;
    el_dictionary_entry_t found;
    struct stat info;
    char name[65];
    size_t nbytes;
    bool damaged;

    put('a', 5000, ORIGIN, hash);
    name_of(hash, name);
    ck_assert_int_eq(fstatat(folder.fd, name, &info, 0), 0);
    ck_assert_uint_eq(info.st_mode & 0777, 0600);
    ck_assert_int_eq(count(false), 2);
    bytes = el_folder_read(&folder, hash, &nbytes, &damaged);
    ck_assert_ptr_nonnull(bytes);
    ck_assert_uint_eq(nbytes, 5000);
    ck_assert(!damaged && bytes[0] == 'a' && bytes[4999] == 'a');
    free(bytes);
    ck_assert(is_found(hash, ORIGIN, &found));
    ck_assert_str_eq(found.match, "/*");
    ck_assert_uint_eq(found.expires, now + 1000);
}

TEST(folder, each_origin_has_its_own)
{
    uint8_t hash[EL_DICTIONARY_HASH];
    el_dictionary_entry_t found;

    put('a', 100, ORIGIN, hash);
    ck_assert(!is_found(hash, "https://example.com", &found));
    put('a', 100, "https://example.com", hash);
    ck_assert(is_found(hash, "https://example.com", &found));
    ck_assert_str_eq(found.origin, "https://example.com");
    ck_assert(is_found(hash, ORIGIN, &found));
    ck_assert_int_eq(count(false), 3);
}

TEST(folder, an_unknown_hash_is_not_found)
{
    uint8_t hash[EL_DICTIONARY_HASH] = {0};
    el_dictionary_entry_t found;
    size_t nbytes;
    bool damaged;

    ck_assert(!is_found(hash, ORIGIN, &found));
    ck_assert_ptr_null(el_folder_read(&folder, hash, &nbytes, &damaged));
    ck_assert(!damaged);
}

/* What stands in the file's place, which had 100 times an a. */
static const struct {
    const char *label;
    const char *bytes;
} damages[] = {
    {"nothing", ""},
    {"a part", "aaaaa"},
    {"something else", "bbbbb"},
};

EACH(folder, what_does_not_hash_to_its_name_is_removed, damages)
{
    uint8_t hash[EL_DICTIONARY_HASH];
    char name[65];
    size_t nbytes;
    bool damaged;
    int fd;

    put('a', 100, ORIGIN, hash);
    name_of(hash, name);
    fd = openat(folder.fd, name, O_WRONLY | O_TRUNC);
    ck_assert_int_eq(write(fd, row->bytes, strlen(row->bytes)),
                     (ssize_t)strlen(row->bytes));
    close(fd);
    ck_assert_msg(!el_folder_read(&folder, hash, &nbytes, &damaged) && damaged, "%s",
                  row->label);
    row_assert(faccessat(folder.fd, name, F_OK, 0) != 0);
    put('a', 100, ORIGIN, hash);
    ck_assert(is_there(hash));
}

TEST(folder, a_link_or_a_pipe_is_no_dictionary)
{
    uint8_t hash[EL_DICTIONARY_HASH];
    char name[65], copy[] = "copy";

    put('a', 100, ORIGIN, hash);
    name_of(hash, name);
    ck_assert_int_eq(renameat(folder.fd, name, folder.fd, copy), 0);
    ck_assert_int_eq(symlinkat(copy, folder.fd, name), 0);
    ck_assert(!is_there(hash));
    unlinkat(folder.fd, name, 0);
    ck_assert_int_eq(mkfifoat(folder.fd, name, 0600), 0);
    ck_assert(!is_there(hash));
}

TEST(folder, a_damaged_entry_is_none)
{
    el_dictionary_entry_t found;
    uint8_t hash[EL_DICTIONARY_HASH];
    DIR *dir = opendir(path);
    const struct dirent *file;

    put('a', 100, ORIGIN, hash);
    while ((file = readdir(dir)) != NULL) {
        if (strlen(file->d_name) > 64) {
            int fd = openat(folder.fd, file->d_name, O_WRONLY);

            ck_assert_int_eq(write(fd, "x", 1), 1);
            close(fd);
        }
    }
    closedir(dir);
    ck_assert(!is_found(hash, ORIGIN, &found));
    put('a', 100, ORIGIN, hash);
    ck_assert(is_found(hash, ORIGIN, &found));
}

TEST(folder, an_entry_is_written_again_where_it_says_more)
{
    el_dictionary_entry_t entry = entry_of(ORIGIN, now + 1100), found;
    uint8_t hash[EL_DICTIONARY_HASH];
    char bytes[100];

    put('a', sizeof(bytes), ORIGIN, hash);
    memset(bytes, 'a', sizeof(bytes));
    ck_assert(el_folder_put(&folder, hash, bytes, sizeof(bytes), &entry));
    ck_assert(is_found(hash, ORIGIN, &found));
    ck_assert_uint_eq(found.expires, now + 1000);
    entry.expires = now + 5000;
    ck_assert(el_folder_put(&folder, hash, bytes, sizeof(bytes), &entry));
    ck_assert(is_found(hash, ORIGIN, &found));
    ck_assert_uint_eq(found.expires, now + 5000);
    ck_assert_int_eq(count(false), 2);
}

/* Gives the dictionary of 100 times `a` out for what `match` says. */
static void give_out(const char *match, uint64_t expires, uint8_t hash[EL_DICTIONARY_HASH])
{
    el_dictionary_entry_t entry = entry_of(ORIGIN, expires);
    char bytes[100];

    memset(bytes, 'a', sizeof(bytes));
    strcpy(entry.match, match);
    ck_assert(el_folder_hash(bytes, sizeof(bytes), hash));
    ck_assert(el_folder_put(&folder, hash, bytes, sizeof(bytes), &entry));
}

TEST(folder, each_rule_has_its_own)
{
    uint8_t hash[EL_DICTIONARY_HASH];
    el_dictionary_entry_t found;

    give_out("/one/*", now + 1000, hash);
    give_out("/two/*", now + 10, hash);
    ck_assert_int_eq(find_for(hash, ORIGIN, "/one/a", &found), EL_DICTIONARY_USED);
    ck_assert_str_eq(found.match, "/one/*");
    ck_assert_uint_eq(found.expires, now + 1000);
    ck_assert_int_eq(find_for(hash, ORIGIN, "/two/a", &found), EL_DICTIONARY_USED);
    ck_assert_str_eq(found.match, "/two/*");
    ck_assert_int_eq(find_for(hash, ORIGIN, "/three/a", &found), EL_DICTIONARY_MATCH);
    ck_assert_int_eq(count(false), 2);
    now += 10;
    ck_assert_int_eq(find_for(hash, ORIGIN, "/one/a", &found), EL_DICTIONARY_USED);
    ck_assert_int_eq(find_for(hash, ORIGIN, "/two/a", &found), EL_DICTIONARY_MATCH);
}

TEST(folder, of_many_rules_those_that_end_first_go)
{
    uint8_t hash[EL_DICTIONARY_HASH];
    el_dictionary_entry_t found;
    char text[32];

    for (int i = 0; i < EL_FOLDER_ENTRIES + 2; i++) {
        snprintf(text, sizeof(text), "/%c/*", 'a' + i);
        /* The third and the fifth end first. */
        give_out(text, now + (i == 2 || i == 4 ? 100 : 1000 + (uint64_t)i), hash);
    }
    for (int i = 0; i < EL_FOLDER_ENTRIES + 2; i++) {
        snprintf(text, sizeof(text), "/%c/x", 'a' + i);
        ck_assert_msg((find_for(hash, ORIGIN, text, &found) == EL_DICTIONARY_USED)
                          == (i != 2 && i != 4), "%s", text);
    }
    ck_assert_int_eq(count(false), 2);
}

TEST(folder, the_longest_unused_make_room)
{
    uint8_t first[EL_DICTIONARY_HASH], second[EL_DICTIONARY_HASH], third[EL_DICTIONARY_HASH];
    el_dictionary_entry_t found;
    char name[65];

    put('a', MOST / 2 - 100000, ORIGIN, first);
    put('b', MOST / 2 - 100000, ORIGIN, second);
    name_of(first, name);
    grow_older(name, 20000);
    name_of(second, name);
    grow_older(name, 30000);
    ck_assert(is_found(second, ORIGIN, &found));
    put('c', MOST / 2 - 100000, ORIGIN, third);
    ck_assert(!is_there(first));
    ck_assert(!is_found(first, ORIGIN, &found));
    ck_assert(is_there(second));
    ck_assert(is_there(third));
    ck_assert(is_found(third, ORIGIN, &found));
    ck_assert_int_eq(count(false), 4);
}

TEST(folder, what_was_never_finished_goes)
{
    static const char *const old[] = {".new-1-1", ".new-1-2"};
    uint8_t hash[EL_DICTIONARY_HASH];
    char orphan[128] = "";

    memset(orphan, '0', 64);
    strcat(orphan, ".0123456789abcdef");
    for (int i = 0; i < 2; i++) {
        close(openat(folder.fd, old[i], O_WRONLY | O_CREAT, 0600));
    }
    close(openat(folder.fd, orphan, O_WRONLY | O_CREAT, 0600));
    close(openat(folder.fd, "notes", O_WRONLY | O_CREAT, 0600));
    grow_older(old[0], 10000);
    grow_older(orphan, 10000);
    grow_older("notes", 10000);
    put('a', 100, ORIGIN, hash);
    ck_assert_int_ne(faccessat(folder.fd, old[0], F_OK, 0), 0);
    ck_assert_int_eq(faccessat(folder.fd, old[1], F_OK, 0), 0);
    ck_assert_int_ne(faccessat(folder.fd, orphan, F_OK, 0), 0);
    ck_assert_int_eq(faccessat(folder.fd, "notes", F_OK, 0), 0);
}

TEST(folder, what_others_are_writing_stays)
{
    char names[2][64], text[8];
    uint8_t hash[EL_DICTIONARY_HASH];

    /* A process of another container may have this one's number, and share the folder. */
    for (int i = 0; i < 2; i++) {
        int fd;

        snprintf(names[i], sizeof(names[i]), ".new-%ld-%d", (long)getpid(), i);
        fd = openat(folder.fd, names[i], O_WRONLY | O_CREAT, 0600);
        ck_assert_int_eq(write(fd, "others", 6), 6);
        close(fd);
    }
    put('a', 100, ORIGIN, hash);
    ck_assert(is_there(hash));
    for (int i = 0; i < 2; i++) {
        int fd = openat(folder.fd, names[i], O_RDONLY);

        ck_assert_int_ge(fd, 0);
        ck_assert_int_eq(read(fd, text, sizeof(text)), 6);
        close(fd);
    }
}

TEST(folder, what_is_too_large_is_refused)
{
    el_dictionary_entry_t entry = entry_of(ORIGIN, now + 1000);
    uint8_t hash[EL_DICTIONARY_HASH] = {1};
    static char bytes[MOST];

    ck_assert(!el_folder_put(&folder, hash, bytes, sizeof(bytes), &entry));
    ck_assert_int_eq(errno, EFBIG);
    ck_assert(!el_folder_put(&folder, hash, bytes, 0, &entry));
    ck_assert_int_eq(count(false), 0);
}

TEST(folder, a_folder_that_is_gone_fails)
{
    el_dictionary_entry_t entry = entry_of(ORIGIN, now + 1000);
    uint8_t hash[EL_DICTIONARY_HASH] = {1};
    el_folder_t none;

    rmdir(path);
    ck_assert(!el_folder_put(&folder, hash, "a", 1, &entry));
    ck_assert_int_eq(errno, ENOENT);
    ck_assert(!el_folder_open(&none, path, MOST));
    ck_assert_int_eq(mkdir(path, 0700), 0);
}

TEST(folder, its_mode_says_who_may_write)
{
    struct stat info;

    ck_assert_int_eq(fstat(folder.fd, &info), 0);
    ck_assert_int_eq(fchmod(folder.fd, 0700), 0);
    ck_assert(el_folder_may_write(&folder, info.st_uid, info.st_gid));
    ck_assert(!el_folder_may_write(&folder, info.st_uid + 1, info.st_gid));
    ck_assert_int_eq(fchmod(folder.fd, 0770), 0);
    ck_assert(el_folder_may_write(&folder, info.st_uid + 1, info.st_gid));
    ck_assert(!el_folder_may_write(&folder, info.st_uid + 1, info.st_gid + 1));
    ck_assert_int_eq(fchmod(folder.fd, 0707), 0);
    ck_assert(el_folder_may_write(&folder, info.st_uid + 1, info.st_gid + 1));
    ck_assert_int_eq(fchmod(folder.fd, 0500), 0);
    ck_assert(!el_folder_may_write(&folder, info.st_uid, info.st_gid));
    ck_assert_int_eq(fchmod(folder.fd, 0700), 0);
}
