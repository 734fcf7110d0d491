#define _XOPEN_SOURCE 700 /* fdopendir(), the nanoseconds of struct stat */

#include "httpd/dictionary/sweep.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Seconds after which nobody writes to a file any more, or is between writing two. */
#define FINISHED_BY 600

/* A dictionary that a sweep has found. */
typedef struct {
    char name[EL_HASH_DIGITS + 1];
    struct timespec used;
    uint64_t nbytes; /* with its entries */
} item_t;

typedef struct {
    int fd; /* of the folder */
    item_t *items;
    size_t count, room;
    uint64_t total;
    time_t now;
    bool failed;
} sweep_t;

static int by_name(const void *a, const void *b)
{
    return strcmp(((const item_t *)a)->name, ((const item_t *)b)->name);
}

static int by_use(const void *a, const void *b)
{
    const item_t *one = a, *other = b;

    if (one->used.tv_sec != other->used.tv_sec) {
        return one->used.tv_sec < other->used.tv_sec ? -1 : 1;
    }
    return one->used.tv_nsec < other->used.tv_nsec ? -1 : one->used.tv_nsec > other->used.tv_nsec;
}

static uint64_t in_blocks(const struct stat *info)
{
    return ((uint64_t)info->st_size + EL_SWEEP_BLOCK - 1) / EL_SWEEP_BLOCK * EL_SWEEP_BLOCK;
}

static void add_item(sweep_t *sweep, const char *name, const struct stat *info)
{
    if (sweep->count == sweep->room) {
        size_t room = sweep->room ? sweep->room * 2 : 64;
        item_t *items = realloc(sweep->items, room * sizeof(*items));

        if (!items) {
            sweep->failed = true;
            return;
        }
        sweep->items = items;
        sweep->room = room;
    }
    sweep->items[sweep->count] = (item_t){.used = info->st_mtim, .nbytes = in_blocks(info)};
    memcpy(sweep->items[sweep->count].name, name, EL_HASH_DIGITS + 1);
    sweep->total += sweep->items[sweep->count++].nbytes;
}

static void find_dictionary(sweep_t *sweep, const char *name, const struct stat *info)
{
    if (strlen(name) == EL_HASH_DIGITS && strspn(name, "0123456789abcdef") == EL_HASH_DIGITS) {
        add_item(sweep, name, info);
    } else if (strncmp(name, EL_UNFINISHED, strlen(EL_UNFINISHED)) == 0
               && info->st_mtime + FINISHED_BY < sweep->now) {
        unlinkat(sweep->fd, name, 0);
    }
}

/*
 * The dictionary that an entry belongs to, by both names; NULL where it is no entry, or has none.
 */
static item_t *owner_of(const sweep_t *sweep, const char *name)
{
    item_t key;

    memcpy(key.name, name, EL_HASH_DIGITS);
    key.name[EL_HASH_DIGITS] = '\0';
    return sweep->count > 0
               ? bsearch(&key, sweep->items, sweep->count, sizeof(key), by_name)
               : NULL;
}

static bool is_entry(const char *name)
{
    return strlen(name) == EL_ENTRY_NAME_ROOM - 1 && name[EL_HASH_DIGITS] == '.';
}

static void count_entry(sweep_t *sweep, const char *name, const struct stat *info)
{
    item_t *owner = is_entry(name) ? owner_of(sweep, name) : NULL;

    if (owner) {
        owner->nbytes += in_blocks(info);
        sweep->total += in_blocks(info);
    } else if (is_entry(name) && info->st_mtime + FINISHED_BY < sweep->now) {
        unlinkat(sweep->fd, name, 0);
    }
}

static void remove_entry(sweep_t *sweep, const char *name, const struct stat *info)
{
    (void)info;
    if (is_entry(name) && owner_of(sweep, name)) {
        unlinkat(sweep->fd, name, 0);
    }
}

/* Shows each regular file of the folder to `see`. */
static void walk(sweep_t *sweep, void (*see)(sweep_t *, const char *, const struct stat *))
{
    int fd = openat(sweep->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *file;
    struct stat info;

    if (!dir) {
        sweep->failed = true;
        if (fd >= 0) {
            close(fd);
        }
        return;
    }
    while (!sweep->failed && (file = readdir(dir)) != NULL) {
        if (fstatat(fd, file->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(info.st_mode)) {
            see(sweep, file->d_name, &info);
        }
    }
    closedir(dir);
}

static void sort(sweep_t *sweep, int (*order)(const void *, const void *))
{
    if (sweep->count > 0) {
        qsort(sweep->items, sweep->count, sizeof(*sweep->items), order);
    }
}

static void remove_oldest(sweep_t *sweep, uint64_t most)
{
    size_t gone = 0;

    sort(sweep, by_use);
    for (; gone < sweep->count && sweep->total > EL_SWEPT(most); gone++) {
        unlinkat(sweep->fd, sweep->items[gone].name, 0);
        sweep->total -= sweep->items[gone].nbytes;
    }
    sweep->count = gone;
    sort(sweep, by_name);
    walk(sweep, remove_entry);
}

void el_sweep(int fd, uint64_t most)
{
    sweep_t sweep = {.fd = fd, .now = time(NULL)};

    walk(&sweep, find_dictionary);
    sort(&sweep, by_name);
    walk(&sweep, count_entry);
    if (!sweep.failed && sweep.total > most) {
        remove_oldest(&sweep, most);
    }
    free(sweep.items);
}
