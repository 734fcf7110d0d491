#define _XOPEN_SOURCE 700 /* openat(), utimensat() */

#include "httpd/dictionary/folder.h"

#include "httpd/dictionary/sweep.h"

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

/* A use is noted where none was within so many seconds: dictionaries live for days. */
#define USE_NOTED 3600

/* Bytes of the random part of a name under which a file is written: no two are ever the same. */
#define UNFINISHED_RANDOM 16

/* Bytes of all entries of one dictionary and origin. */
#define ENTRIES_NBYTES (EL_FOLDER_ENTRIES * EL_DICTIONARY_TEXT_MOST)

/* Entries are written again where they last a quarter longer: not at each request. */
#define IS_LONGER(new, old, now) ((new) > (old) && ((new) - (old)) * 4 > (new) - (now))

bool el_folder_hash(const void *bytes, size_t nbytes, uint8_t hash[EL_DICTIONARY_HASH])
{
    return EVP_Digest(bytes, nbytes, hash, NULL, EVP_sha256(), NULL) == 1;
}

static void write_digits(const uint8_t *bytes, size_t digits, char *text)
{
    for (size_t i = 0; i < digits; i++) {
        text[i] = "0123456789abcdef"[bytes[i / 2] >> (i % 2 ? 0 : 4) & 0xf];
    }
    text[digits] = '\0';
}

void el_folder_name(const uint8_t hash[EL_DICTIONARY_HASH], char name[EL_FOLDER_NAME_ROOM])
{
    write_digits(hash, EL_HASH_DIGITS, name);
}

static bool name_entry(const uint8_t hash[EL_DICTIONARY_HASH], const char *origin, char *name)
{
    uint8_t of_origin[EL_DICTIONARY_HASH];

    el_folder_name(hash, name);
    name[EL_HASH_DIGITS] = '.';
    if (!el_folder_hash(origin, strlen(origin), of_origin)) {
        return false;
    }
    write_digits(of_origin, EL_ORIGIN_DIGITS, name + EL_HASH_DIGITS + 1);
    return true;
}

bool el_folder_open(el_folder_t *folder, const char *path, uint64_t most)
{
    folder->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    folder->most = most;
    /* The first dictionary of a process looks at what is there. */
    atomic_init(&folder->added, most);
    return folder->fd >= 0;
}

size_t el_folder_file_most(const el_folder_t *folder)
{
    /* With its entry, and what the blocks of both are rounded up by, it stays after a sweep. */
    uint64_t room = EL_SWEPT(folder->most) - 2 * EL_SWEEP_BLOCK;

    return room < EL_FOLDER_FILE_MOST ? (size_t)room : EL_FOLDER_FILE_MOST;
}

bool el_folder_may_write(const el_folder_t *folder, unsigned user, unsigned group)
{
    struct stat info;
    unsigned needed = S_IWOTH | S_IXOTH | S_IROTH;

    if (fstat(folder->fd, &info) != 0) {
        return false;
    }
    needed = info.st_uid == user ? needed << 6 : info.st_gid == group ? needed << 3 : needed;
    return (info.st_mode & needed) == needed;
}

void el_folder_close(el_folder_t *folder)
{
    if (folder->fd >= 0) {
        close(folder->fd);
    }
    folder->fd = -1;
}

static bool write_all(int fd, const char *bytes, size_t nbytes)
{
    while (nbytes > 0) {
        ssize_t written = write(fd, bytes, nbytes);

        if (written < 0 && errno != EINTR) {
            return false;
        }
        bytes += written > 0 ? written : 0;
        nbytes -= written > 0 ? (size_t)written : 0;
    }
    return true;
}

/*
 * Writes a file under another name, and renames it; errno is that of what failed. The name is
 * random: other containers that share the folder have processes of the same number.
 */
static bool write_file(const el_folder_t *folder, const char *name, const void *bytes,
                       size_t nbytes)
{
    char unfinished[sizeof(EL_UNFINISHED) + 2 * UNFINISHED_RANDOM] = EL_UNFINISHED;
    uint8_t random[UNFINISHED_RANDOM];
    bool good;
    int fd, error;

    if (RAND_bytes(random, (int)sizeof(random)) != 1) {
        return false;
    }
    write_digits(random, 2 * sizeof(random), unfinished + strlen(EL_UNFINISHED));
    fd = openat(folder->fd, unfinished, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return false;
    }
    good = write_all(fd, bytes, nbytes);
    error = errno;
    if (close(fd) == 0 && good && renameat(folder->fd, unfinished, folder->fd, name) == 0) {
        return true;
    }
    error = good ? errno : error;
    unlinkat(folder->fd, unfinished, 0);
    errno = error;
    return false;
}

/* Opens a regular file; nobody waits for a pipe of that name. */
static int open_file(const el_folder_t *folder, const char *name, struct stat *info)
{
    int fd = openat(folder->fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

    if (fd >= 0 && (fstat(fd, info) != 0 || !S_ISREG(info->st_mode))) {
        close(fd);
        errno = EINVAL;
        fd = -1;
    }
    return fd;
}

/* As much as is there, up to `most`. */
static size_t read_all(int fd, char *bytes, size_t most)
{
    size_t nbytes = 0;

    while (nbytes < most) {
        ssize_t n = read(fd, bytes + nbytes, most - nbytes);

        if (n == 0 || (n < 0 && errno != EINTR)) {
            break;
        }
        nbytes += n > 0 ? (size_t)n : 0;
    }
    return nbytes;
}

/* The text of all entries of the dictionary for `origin`; NULL where there is none. */
static char *read_entries(const el_folder_t *folder, const uint8_t hash[EL_DICTIONARY_HASH],
                          const char *origin, size_t *len)
{
    char name[EL_ENTRY_NAME_ROOM], *text = NULL;
    struct stat info;
    int fd;

    if (!name_entry(hash, origin, name)) {
        return NULL;
    }
    fd = open_file(folder, name, &info);
    if (fd < 0) {
        return NULL;
    }
    if (info.st_size > 0 && info.st_size <= ENTRIES_NBYTES) {
        text = malloc((size_t)info.st_size);
        *len = text ? read_all(fd, text, (size_t)info.st_size) : 0;
    }
    close(fd);
    return text;
}

/* Notes that the dictionary is used. */
static void touch(const el_folder_t *folder, const uint8_t hash[EL_DICTIONARY_HASH])
{
    char name[EL_FOLDER_NAME_ROOM];
    struct stat info;

    el_folder_name(hash, name);
    if (fstatat(folder->fd, name, &info, AT_SYMLINK_NOFOLLOW) == 0
        && info.st_mtime + USE_NOTED < time(NULL)) {
        utimensat(folder->fd, name, NULL, AT_SYMLINK_NOFOLLOW);
    }
}

el_dictionary_reason_t el_folder_find(const el_folder_t *folder,
                                      const uint8_t hash[EL_DICTIONARY_HASH],
                                      const el_dictionary_request_t *request,
                                      el_dictionary_entry_t *entry)
{
    el_dictionary_reason_t reason = EL_DICTIONARY_UNKNOWN;
    size_t len = 0, taken;
    char *text = read_entries(folder, hash, request->origin, &len);

    for (size_t at = 0; at < len && reason != EL_DICTIONARY_USED; at += taken) {
        el_dictionary_reason_t fits;

        taken = el_dictionary_entry_parse(text + at, len - at, entry);
        if (taken == 0) {
            break;
        }
        /* Few digits of the origin are in the file's name: it may be another's. */
        fits = el_dictionary_entry_fits(entry, request);
        reason = fits == EL_DICTIONARY_USED || fits > reason ? fits : reason;
    }
    free(text);
    if (reason == EL_DICTIONARY_USED) {
        touch(folder, hash);
    }
    return reason;
}

/* An entry in the text of several. */
typedef struct {
    const char *text;
    size_t len;
    uint64_t expires;
} written_t;

/* Entries that stay beside a new one: what ends last. */
typedef struct {
    written_t entries[EL_FOLDER_ENTRIES - 1];
    size_t count;
} others_t;

static void add_other(others_t *others, written_t entry)
{
    written_t *first = others->entries;

    if (others->count < EL_FOLDER_ENTRIES - 1) {
        others->entries[others->count++] = entry;
        return;
    }
    for (size_t i = 1; i < others->count; i++) {
        first = others->entries[i].expires < first->expires ? &others->entries[i] : first;
    }
    *first = entry.expires > first->expires ? entry : *first;
}

/*
 * The others of `len` bytes of text; false where they have what says the same, and lasts as long.
 */
static bool find_others(const char *text, size_t len, const el_dictionary_entry_t *entry,
                        others_t *others)
{
    uint64_t now = (uint64_t)time(NULL);
    el_dictionary_entry_t one;
    size_t taken;

    others->count = 0;
    for (size_t at = 0;
         at < len && (taken = el_dictionary_entry_parse(text + at, len - at, &one)) > 0;
         at += taken) {
        if (el_dictionary_entry_same(&one, entry)) {
            if (!IS_LONGER(entry->expires, one.expires, now)) {
                return false;
            }
        } else if (strcmp(one.origin, entry->origin) == 0 && one.expires > now) {
            add_other(others, (written_t){text + at, taken, one.expires});
        }
    }
    return true;
}

static bool write_entries(el_folder_t *folder, const uint8_t hash[EL_DICTIONARY_HASH],
                          const el_dictionary_entry_t *entry, const others_t *others)
{
    char name[EL_ENTRY_NAME_ROOM], *text = malloc(ENTRIES_NBYTES);
    size_t len;
    bool good;

    if (!text) {
        return false;
    }
    len = el_dictionary_entry_write(entry, text);
    for (size_t i = 0; i < others->count; i++) {
        memcpy(text + len, others->entries[i].text, others->entries[i].len);
        len += others->entries[i].len;
    }
    atomic_fetch_add(&folder->added, EL_SWEEP_BLOCK);
    good = name_entry(hash, entry->origin, name) && write_file(folder, name, text, len);
    free(text);
    return good;
}

static bool put_entry(el_folder_t *folder, const uint8_t hash[EL_DICTIONARY_HASH],
                      const el_dictionary_entry_t *entry)
{
    others_t others;
    size_t len = 0;
    char *text = read_entries(folder, hash, entry->origin, &len);
    bool good = !find_others(text, len, entry, &others)
                || write_entries(folder, hash, entry, &others);

    free(text);
    return good;
}

bool el_folder_put(el_folder_t *folder, const uint8_t hash[EL_DICTIONARY_HASH], const void *bytes,
                   size_t nbytes, const el_dictionary_entry_t *entry)
{
    char name[EL_FOLDER_NAME_ROOM];
    struct stat info;

    if (nbytes == 0 || nbytes > el_folder_file_most(folder)) {
        errno = EFBIG;
        return false;
    }
    el_folder_name(hash, name);
    if (fstatat(folder->fd, name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(info.st_mode)
        && (uint64_t)info.st_size == nbytes) {
        touch(folder, hash);
    } else {
        if (!write_file(folder, name, bytes, nbytes)) {
            return false;
        }
        atomic_fetch_add(&folder->added, nbytes + EL_SWEEP_BLOCK);
    }
    if (!put_entry(folder, hash, entry)) {
        return false;
    }
    if (atomic_load(&folder->added) > folder->most - EL_SWEPT(folder->most)) {
        atomic_store(&folder->added, 0);
        el_sweep(folder->fd, folder->most);
    }
    return true;
}

uint8_t *el_folder_read(const el_folder_t *folder, const uint8_t hash[EL_DICTIONARY_HASH],
                        size_t *nbytes, bool *damaged)
{
    uint8_t found[EL_DICTIONARY_HASH], *bytes = NULL;
    char name[EL_FOLDER_NAME_ROOM];
    struct stat info;
    size_t size;
    int fd;

    *damaged = false;
    el_folder_name(hash, name);
    fd = open_file(folder, name, &info);
    if (fd < 0) {
        return NULL;
    }
    size = info.st_size > EL_FOLDER_FILE_MOST ? 0 : (size_t)info.st_size;
    bytes = malloc(size + 1);
    *nbytes = bytes ? read_all(fd, (char *)bytes, size) : 0;
    close(fd);
    if (!bytes || (*nbytes > 0 && !el_folder_hash(bytes, *nbytes, found))) {
        free(bytes);
        return NULL;
    }
    if (*nbytes == 0 || *nbytes < size || memcmp(found, hash, EL_DICTIONARY_HASH) != 0) {
        *damaged = true;
        unlinkat(folder->fd, name, 0); /* its entries go with the next sweep */
        free(bytes);
        return NULL;
    }
    return bytes;
}
