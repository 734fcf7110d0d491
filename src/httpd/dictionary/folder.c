#define _XOPEN_SOURCE 700 /* for openat(), utimensat() and fdopendir() */

#include "httpd/dictionary/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A dictionary's name is its hash in hexadecimal digits. */
#define HASH_DIGITS ((size_t)EL_FOLDER_NAME_ROOM - 1)

/* A file of entries adds a dot and digits of the SHA-256 of its origin. */
#define ORIGIN_DIGITS 16
#define ENTRY_NAME_ROOM (HASH_DIGITS + 1 + ORIGIN_DIGITS + 1)

/*
 * Name of a file being written, followed by random digits: hashes do not begin like this, and names
 * do not collide. Process ids would not do: containers may share the folder.
 */
#define UNFINISHED ".new-"
#define UNFINISHED_RANDOM 16

/* Seconds after which a file is surely not being written, nor the gap between two. */
#define FINISHED_BY 600

/* Files count in multiples of this, as most file systems store them. */
#define BLOCK 4096

/* Size after a sweep: an eighth of `most` is free for the next dictionaries. */
#define SWEPT(most) ((most) / 8 * 7)

/* A use is noted once in this many seconds: dictionaries live for days. */
#define USE_NOTED 3600

/* Room for all entries of one dictionary and origin. */
#define ENTRIES_NBYTES (EL_FOLDER_ENTRIES * EL_DICTIONARY_TEXT_MOST)

/* Entries are only rewritten if they then last a quarter longer. */
#define IS_LONGER(new, old, now) ((new) > (old) && ((new) - (old)) * 4 > (new) - (now))

/* --- names */

bool el_folder_hash(const void *bytes, size_t nbytes, uint8_t hash[EL_DICTIONARY_HASH])
{
    return EVP_Digest(bytes, nbytes, hash, NULL, EVP_sha256(), NULL) == 1;
}

static void folder_digits(const uint8_t *bytes, size_t digits, char *text)
{
    for (size_t i = 0; i < digits; i++) {
        text[i] = "0123456789abcdef"[bytes[i / 2] >> (i % 2 ? 0 : 4) & 0xf];
    }
    text[digits] = '\0';
}

void el_folder_name(const uint8_t hash[EL_DICTIONARY_HASH], char name[EL_FOLDER_NAME_ROOM])
{
    folder_digits(hash, HASH_DIGITS, name);
}

static bool folder_entry_name(const uint8_t hash[EL_DICTIONARY_HASH], const char *origin,
                              char name[ENTRY_NAME_ROOM])
{
    uint8_t of_origin[EL_DICTIONARY_HASH];

    if (!el_folder_hash(origin, strlen(origin), of_origin)) {
        return false;
    }
    el_folder_name(hash, name);
    name[HASH_DIGITS] = '.';
    folder_digits(of_origin, ORIGIN_DIGITS, name + HASH_DIGITS + 1);
    return true;
}

/* --- files */

/* Writes under another name and renames. False on failure, with errno set. */
static bool folder_write(const el_folder_t *folder, const char *name, const char *bytes,
                         size_t nbytes)
{
    char unfinished[sizeof(UNFINISHED) + 2 * UNFINISHED_RANDOM] = UNFINISHED;
    uint8_t random[UNFINISHED_RANDOM];
    int fd, error = 0;

    if (RAND_bytes(random, (int)sizeof(random)) != 1) {
        return false;
    }
    folder_digits(random, 2 * sizeof(random), unfinished + strlen(UNFINISHED));
    fd = openat(folder->fd, unfinished, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd == -1) {
        return false;
    }
    while (nbytes > 0 && !error) {
        ssize_t written = write(fd, bytes, nbytes);

        if (written != -1) {
            bytes += written;
            nbytes -= (size_t)written;
        } else if (errno != EINTR) {
            error = errno;
        }
    }
    if (close(fd) == 0 && !error && renameat(folder->fd, unfinished, folder->fd, name) == 0) {
        return true;
    }
    error = error ? error : errno;
    unlinkat(folder->fd, unfinished, 0);
    errno = error;
    return false;
}

/*
 * Reads a regular file of at most `most` bytes and sets `*size`. The caller frees the result. NULL
 * if it is missing, larger, or cannot be read to its end.
 */
static uint8_t *folder_read(const el_folder_t *folder, const char *name, size_t most, size_t *size)
{
    /* O_NONBLOCK: do not wait for a pipe. */
    int fd = openat(folder->fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    uint8_t *bytes = NULL;
    struct stat info;
    size_t nbytes = 0;
    ssize_t n = 1;

    *size = 0;
    if (fd == -1) {
        return NULL;
    }
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) {
        *size = (size_t)info.st_size;
        bytes = *size <= most ? malloc(*size + 1) : NULL;
    } else {
        errno = EINVAL;
    }
    /* The last call reads no bytes. */
    while (bytes && n != 0) {
        n = read(fd, bytes + nbytes, *size - nbytes);
        if (n != -1) {
            nbytes += (size_t)n;
        } else if (errno != EINTR) {
            break;
        }
    }
    close(fd);
    if (nbytes < *size) {
        free(bytes);
        bytes = NULL;
    }
    return bytes;
}

/* Notes a use of the dictionary in its file's time. */
static void folder_touch(const el_folder_t *folder, const char *name)
{
    struct stat info;

    if (fstatat(folder->fd, name, &info, AT_SYMLINK_NOFOLLOW) == 0
        && info.st_mtime + USE_NOTED < time(NULL)) {
        utimensat(folder->fd, name, NULL, AT_SYMLINK_NOFOLLOW);
    }
}

/* Reads all entries of the dictionary for `origin`. NULL if there are none. */
static char *folder_entries(const el_folder_t *folder, const uint8_t hash[EL_DICTIONARY_HASH],
                            const char *origin, size_t *len)
{
    char name[ENTRY_NAME_ROOM];

    *len = 0;
    return folder_entry_name(hash, origin, name)
               ? (char *)folder_read(folder, name, ENTRIES_NBYTES, len)
               : NULL;
}

/* --- removing the dictionaries unused for longest */

/* A dictionary found by a sweep. */
typedef struct {
    char name[EL_FOLDER_NAME_ROOM];
    struct timespec used;
    uint64_t nbytes; /* including its entries */
} sweep_item_t;

typedef struct {
    int fd; /* the folder */
    sweep_item_t *items;
    size_t count, room;
    uint64_t total; /* of the items */
    time_t now;
    bool failed;
} sweep_t;

static int folder_sweep_by_name(const void *a, const void *b)
{
    return strcmp(((const sweep_item_t *)a)->name, ((const sweep_item_t *)b)->name);
}

static int folder_sweep_by_use(const void *a, const void *b)
{
    const struct timespec *one = &((const sweep_item_t *)a)->used;
    const struct timespec *other = &((const sweep_item_t *)b)->used;

    if (one->tv_sec != other->tv_sec) {
        return one->tv_sec < other->tv_sec ? -1 : 1;
    }
    return one->tv_nsec < other->tv_nsec ? -1 : one->tv_nsec > other->tv_nsec;
}

static uint64_t folder_sweep_blocks(const struct stat *info)
{
    return ((uint64_t)info->st_size + BLOCK - 1) / BLOCK * BLOCK;
}

/* Lists a dictionary; removes a file that was never finished. */
static void folder_sweep_list(sweep_t *sweep, const char *name, const struct stat *info)
{
    sweep_item_t *item;

    if (strlen(name) != HASH_DIGITS || strspn(name, "0123456789abcdef") != HASH_DIGITS) {
        if (strncmp(name, UNFINISHED, strlen(UNFINISHED)) == 0
            && info->st_mtime + FINISHED_BY < sweep->now) {
            unlinkat(sweep->fd, name, 0);
        }
        return;
    }
    if (sweep->count == sweep->room) {
        size_t room = sweep->room ? sweep->room * 2 : 64;
        sweep_item_t *items = realloc(sweep->items, room * sizeof(*items));

        if (!items) {
            sweep->failed = true;
            return;
        }
        sweep->items = items;
        sweep->room = room;
    }
    item = &sweep->items[sweep->count++];
    *item = (sweep_item_t){.used = info->st_mtim, .nbytes = folder_sweep_blocks(info)};
    memcpy(item->name, name, sizeof(item->name));
    sweep->total += item->nbytes;
}

/* The listed dictionary of a file of entries, or NULL. `*is_entry`: it is such a file. */
static sweep_item_t *folder_sweep_owner(const sweep_t *sweep, const char *name, bool *is_entry)
{
    sweep_item_t key;

    *is_entry = strlen(name) == ENTRY_NAME_ROOM - 1 && name[HASH_DIGITS] == '.';
    if (!*is_entry || sweep->count == 0) {
        return NULL;
    }
    memcpy(key.name, name, HASH_DIGITS);
    key.name[HASH_DIGITS] = '\0';
    return bsearch(&key, sweep->items, sweep->count, sizeof(key), folder_sweep_by_name);
}

/* Adds entries to their dictionary's size; removes entries without a dictionary. */
static void folder_sweep_count(sweep_t *sweep, const char *name, const struct stat *info)
{
    bool is_entry;
    sweep_item_t *owner = folder_sweep_owner(sweep, name, &is_entry);

    if (owner) {
        owner->nbytes += folder_sweep_blocks(info);
        sweep->total += folder_sweep_blocks(info);
    } else if (is_entry && info->st_mtime + FINISHED_BY < sweep->now) {
        unlinkat(sweep->fd, name, 0);
    }
}

/* Removes entries of a listed dictionary. */
static void folder_sweep_remove(sweep_t *sweep, const char *name, const struct stat *info)
{
    bool is_entry;

    (void)info;
    if (folder_sweep_owner(sweep, name, &is_entry)) {
        unlinkat(sweep->fd, name, 0);
    }
}

/* Calls `see` for each regular file of the folder. */
static void folder_sweep_walk(sweep_t *sweep,
                              void (*see)(sweep_t *, const char *, const struct stat *))
{
    int fd = openat(sweep->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd == -1 ? NULL : fdopendir(fd);
    const struct dirent *file;
    struct stat info;

    if (!dir) {
        sweep->failed = true;
        if (fd != -1) {
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

static void folder_sweep_sort(sweep_t *sweep, int (*order)(const void *, const void *))
{
    if (sweep->count) {
        qsort(sweep->items, sweep->count, sizeof(*sweep->items), order);
    }
}

/* Reduces a folder above folder->most bytes to SWEPT. Processes may do so concurrently. */
static void folder_sweep(const el_folder_t *folder)
{
    sweep_t sweep = {.fd = folder->fd, .now = time(NULL)};

    folder_sweep_walk(&sweep, folder_sweep_list);
    folder_sweep_sort(&sweep, folder_sweep_by_name);
    folder_sweep_walk(&sweep, folder_sweep_count);
    if (!sweep.failed && sweep.total > folder->most) {
        size_t gone = 0;

        folder_sweep_sort(&sweep, folder_sweep_by_use);
        for (; gone < sweep.count && sweep.total > SWEPT(folder->most); gone++) {
            unlinkat(sweep.fd, sweep.items[gone].name, 0);
            sweep.total -= sweep.items[gone].nbytes;
        }
        /* Keep only the removed ones in the list, to find their entries. */
        sweep.count = gone;
        folder_sweep_sort(&sweep, folder_sweep_by_name);
        folder_sweep_walk(&sweep, folder_sweep_remove);
    }
    free(sweep.items);
}

/* --- the folder */

bool el_folder_open(el_folder_t *folder, const char *path, uint64_t most)
{
    folder->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    folder->most = most;
    /* The first dictionary of a process starts a sweep. */
    atomic_init(&folder->added, most);
    return folder->fd != -1;
}

void el_folder_close(el_folder_t *folder)
{
    if (folder->fd != -1) {
        close(folder->fd);
    }
    folder->fd = -1;
}

size_t el_folder_file_most(const el_folder_t *folder)
{
    /* It must survive a sweep, with its entry, both rounded up to blocks. */
    uint64_t room = SWEPT(folder->most) - 2 * BLOCK;

    return room < EL_FOLDER_FILE_MOST ? (size_t)room : EL_FOLDER_FILE_MOST;
}

bool el_folder_may_write(const el_folder_t *folder, unsigned user, unsigned group)
{
    struct stat info = {0}; /* which permits nothing */
    unsigned needed = S_IWOTH | S_IXOTH | S_IROTH;

    if (fstat(folder->fd, &info) == 0) {
        needed = info.st_uid == user ? needed << 6 : info.st_gid == group ? needed << 3 : needed;
    }
    return (info.st_mode & needed) == needed;
}

el_dictionary_reason_t el_folder_find(const el_folder_t *folder,
                                      const uint8_t hash[EL_DICTIONARY_HASH],
                                      const el_dictionary_request_t *request,
                                      el_dictionary_entry_t *entry)
{
    el_dictionary_reason_t reason = EL_DICTIONARY_UNKNOWN;
    char name[EL_FOLDER_NAME_ROOM];
    size_t len, taken;
    char *text = folder_entries(folder, hash, request->origin, &len);

    for (size_t at = 0; text && reason != EL_DICTIONARY_USED; at += taken) {
        el_dictionary_reason_t fits;

        taken = el_dictionary_entry_parse(text + at, len - at, entry);
        if (taken == 0) {
            break;
        }
        /* The file's name has few digits of the origin's hash: an entry may be another origin's. */
        fits = el_dictionary_entry_fits(entry, request);
        reason = fits == EL_DICTIONARY_USED || fits > reason ? fits : reason;
    }
    free(text);
    if (reason == EL_DICTIONARY_USED) {
        el_folder_name(hash, name);
        folder_touch(folder, name);
    }
    return reason;
}

/* One entry in the text of several. */
typedef struct {
    const char *text;
    size_t len;
    uint64_t expires;
} folder_entry_t;

/*
 * Writes `entry`, together with those entries in the text that are for other requests; if there are
 * too many, the ones that expire last. Writes nothing if the text has the same entry and it lasts
 * long enough.
 */
static bool folder_put_entry(el_folder_t *folder, const uint8_t hash[EL_DICTIONARY_HASH],
                             const el_dictionary_entry_t *entry, const char *before, size_t len)
{
    folder_entry_t others[EL_FOLDER_ENTRIES - 1];
    uint64_t now = (uint64_t)time(NULL);
    char name[ENTRY_NAME_ROOM], *text;
    el_dictionary_entry_t one;
    size_t count = 0, taken;
    bool good;

    for (size_t at = 0; (taken = el_dictionary_entry_parse(before + at, len - at, &one)) != 0;
         at += taken) {
        folder_entry_t other = {before + at, taken, one.expires};

        if (el_dictionary_entry_same(&one, entry)) {
            if (!IS_LONGER(entry->expires, one.expires, now)) {
                return true;
            }
        } else if (strcmp(one.origin, entry->origin) == 0 && one.expires > now) {
            if (count < EL_FOLDER_ENTRIES - 1) {
                others[count++] = other;
            } else {
                folder_entry_t *first = others;

                for (size_t i = 1; i < count; i++) {
                    first = others[i].expires < first->expires ? &others[i] : first;
                }
                *first = other.expires > first->expires ? other : *first;
            }
        }
    }
    text = malloc(ENTRIES_NBYTES);
    if (!text) {
        return false;
    }
    len = el_dictionary_entry_write(entry, text);
    for (size_t i = 0; i < count; i++) {
        memcpy(text + len, others[i].text, others[i].len);
        len += others[i].len;
    }
    atomic_fetch_add(&folder->added, BLOCK);
    good = folder_entry_name(hash, entry->origin, name) && folder_write(folder, name, text, len);
    free(text);
    return good;
}

bool el_folder_put(el_folder_t *folder, const uint8_t hash[EL_DICTIONARY_HASH], const void *bytes,
                   size_t nbytes, const el_dictionary_entry_t *entry)
{
    char name[EL_FOLDER_NAME_ROOM], *text;
    struct stat info;
    size_t len;
    bool good;

    if (nbytes == 0 || nbytes > el_folder_file_most(folder)) {
        errno = EFBIG;
        return false;
    }
    el_folder_name(hash, name);
    if (fstatat(folder->fd, name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(info.st_mode)
        && (uint64_t)info.st_size == nbytes) {
        folder_touch(folder, name);
    } else {
        if (!folder_write(folder, name, bytes, nbytes)) {
            return false;
        }
        atomic_fetch_add(&folder->added, nbytes + BLOCK);
    }
    text = folder_entries(folder, hash, entry->origin, &len);
    good = folder_put_entry(folder, hash, entry, text ? text : "", text ? len : 0);
    free(text);
    if (atomic_load(&folder->added) > folder->most - SWEPT(folder->most)) {
        atomic_store(&folder->added, 0);
        folder_sweep(folder);
    }
    return good;
}

uint8_t *el_folder_read(const el_folder_t *folder, const uint8_t hash[EL_DICTIONARY_HASH],
                        size_t *nbytes, bool *damaged)
{
    uint8_t found[EL_DICTIONARY_HASH], *bytes;
    char name[EL_FOLDER_NAME_ROOM];

    el_folder_name(hash, name);
    bytes = folder_read(folder, name, EL_FOLDER_FILE_MOST, nbytes);
    /* A file that cannot be read may be intact; one that is too large is not. */
    *damaged = bytes ? *nbytes == 0 : *nbytes > EL_FOLDER_FILE_MOST;
    if (bytes && *nbytes > 0) {
        if (!el_folder_hash(bytes, *nbytes, found)) {
            free(bytes);
            return NULL;
        }
        *damaged = memcmp(found, hash, EL_DICTIONARY_HASH) != 0;
    }
    if (*damaged) {
        unlinkat(folder->fd, name, 0); /* the next sweep removes its entries */
        free(bytes);
        return NULL;
    }
    return bytes;
}
