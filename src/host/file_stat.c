#define _POSIX_C_SOURCE 200809L

#include "host/file_stat.h"

#include <sys/stat.h>

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
