#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* locks of open file descriptions */
#endif

#include "host/files.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

bool el_path_within(const char *path, const char *folder)
{
    char *real_path = realpath(path, NULL);
    char *real_folder = realpath(folder, NULL);
    bool within = false;

    if (real_path && real_folder) {
        size_t len = strlen(real_folder);

        /* Only the root of the file system ends in a slash. */
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

    return fstatfs(descriptor, &system) != 0 || system.f_type == TMPFS_MAGIC
           || system.f_type == RAMFS_MAGIC;
}

/* Without waiting: a path that names a FIFO must hold nobody. */
#define READ_FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
#define WRITE_FLAGS (O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW)

/*
 * An open file description's lock on all of the file, the writer's: one that the process's other
 * descriptors of the file do not end, and that a reader can ask about without taking it.
 */
static int files_lock(int fd, int command, struct flock *all)
{
    *all = (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(fd, command, all);
}

static el_position_verdict_t files_decode(int fd, uint64_t now_usec, el_position_t *position)
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
    /* If that cannot be found out, the position's age tells. */
    if (verdict == EL_POSITION_GOOD && position->locked && files_lock(fd, F_OFD_GETLK, &found) == 0
        && found.l_type == F_UNLCK) {
        verdict = EL_POSITION_STOPPED;
    }
    errno = 0;
    return verdict;
}

el_position_verdict_t el_position_file_read(const char *path, int kept, uint64_t now_usec,
                                            el_position_t *position)
{
    int fd = kept >= 0 ? kept : open(path, READ_FLAGS), saved;
    el_position_verdict_t verdict = fd >= 0 ? files_decode(fd, now_usec,
                                                           position) : EL_POSITION_SHORT;

    /* Twice, if the first look met the writer in the middle of its write. */
    if (verdict == EL_POSITION_DAMAGED) {
        verdict = files_decode(fd, now_usec, position);
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
        /* A file that is longer than a position was somebody's before its path was given here. */
        result = EL_POSITION_FILE_REFUSED;
    } else if (files_lock(file->fd, F_OFD_SETLK, &wanted) != 0) {
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
    /* The name may have come to mean another file, or none. */
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
    /* If somebody has added bytes, the next elasticd would take it for another's file. */
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
