#define _XOPEN_SOURCE 700 /* openat(), utimensat() */

#include "httpd/dictionary/folder.h"

#include "httpd/dictionary/sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#ifdef ELASTIC_WITH_CRYPTO
#include <openssl/evp.h>
#endif

/* A use is noted where none was within so many seconds: dictionaries live for days. */
#define USE_NOTED 3600

/* Entries are written again where they last a quarter longer: not at each request. */
#define IS_LONGER(new, old, now) ((new) > (old) && ((new) - (old)) * 4 > (new) - (now))

#ifdef ELASTIC_WITH_CRYPTO

bool el_folder_built_in(void)
{
    return true;
}

bool el_folder_hash(const void *bytes, size_t nbytes, uint8_t hash[EL_DICTIONARY_HASH])
{
    return EVP_Digest(bytes, nbytes, hash, NULL, EVP_sha256(), NULL) == 1;
}

#else

bool el_folder_built_in(void)
{
    return false;
}

bool el_folder_hash(const void *bytes, size_t nbytes, uint8_t hash[EL_DICTIONARY_HASH])
{
    (void)bytes;
    (void)nbytes;
    memset(hash, 0, EL_DICTIONARY_HASH);
    errno = ENOSYS;
    return false;
}

#endif

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
    atomic_init(&folder->serial, 0);
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

/* Writes a file under another name, and renames it; errno is that of what failed. */
static bool write_file(el_folder_t *folder, const char *name, const void *bytes, size_t nbytes)
{
    char unfinished[64];
    unsigned serial = atomic_fetch_add(&folder->serial, 1);
    bool good;
    int fd, error;

    snprintf(unfinished, sizeof(unfinished), EL_UNFINISHED "%ld-%u", (long)getpid(), serial);
    unlinkat(folder->fd, unfinished, 0);
    fd = openat(folder->fd, unfinished, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return false;
    }
    good = write_all(fd, bytes, nbytes);
    error = errno;
    if (close(fd) != 0 && good) {
        good = false;
        error = errno;
    }
    if (good && renameat(folder->fd, unfinished, folder->fd, name) == 0) {
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

bool el_folder_find(const el_folder_t *folder, const uint8_t hash[EL_DICTIONARY_HASH],
                    const char *origin, el_dictionary_entry_t *entry)
{
    char name[EL_ENTRY_NAME_ROOM], text[EL_DICTIONARY_TEXT_MOST + 1];
    struct stat info;
    size_t len;
    int fd;

    if (!name_entry(hash, origin, name)) {
        return false;
    }
    fd = open_file(folder, name, &info);
    if (fd < 0) {
        return false;
    }
    len = read_all(fd, text, sizeof(text));
    close(fd);
    /* Few digits of the origin are in the name. */
    return el_dictionary_entry_parse(text, len, entry) && strcmp(entry->origin, origin) == 0;
}

/* Whether what is there says the same, and lasts about as long. */
static bool is_kept(const el_folder_t *folder, const uint8_t hash[EL_DICTIONARY_HASH],
                    const el_dictionary_entry_t *entry)
{
    uint64_t now = (uint64_t)time(NULL);
    el_dictionary_entry_t kept = {0};

    return el_folder_find(folder, hash, entry->origin, &kept)
           && el_dictionary_entry_same(&kept, entry)
           && !IS_LONGER(entry->expires, kept.expires, now);
}

static bool put_entry(el_folder_t *folder, const uint8_t hash[EL_DICTIONARY_HASH],
                      const el_dictionary_entry_t *entry)
{
    char name[EL_ENTRY_NAME_ROOM], text[EL_DICTIONARY_TEXT_MOST];
    size_t len;

    if (is_kept(folder, hash, entry)) {
        return true;
    }
    len = el_dictionary_entry_write(entry, text);
    atomic_fetch_add(&folder->added, EL_SWEEP_BLOCK);
    return name_entry(hash, entry->origin, name) && write_file(folder, name, text, len);
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
        el_folder_touch(folder, hash);
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

/* Its entries are of no use without it, and go with the next sweep. */
static void remove_damaged(const el_folder_t *folder, const char *name)
{
    unlinkat(folder->fd, name, 0);
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
        remove_damaged(folder, name);
        free(bytes);
        return NULL;
    }
    return bytes;
}

void el_folder_touch(const el_folder_t *folder, const uint8_t hash[EL_DICTIONARY_HASH])
{
    char name[EL_FOLDER_NAME_ROOM];
    struct stat info;

    el_folder_name(hash, name);
    if (fstatat(folder->fd, name, &info, AT_SYMLINK_NOFOLLOW) == 0
        && info.st_mtime + USE_NOTED < time(NULL)) {
        utimensat(folder->fd, name, NULL, AT_SYMLINK_NOFOLLOW);
    }
}
