#define _DEFAULT_SOURCE /* explicit_bzero() */

#include "httpd/store/key_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What is wrong with the file, before it is read; NULL: nothing. */
static const char *fault_of(int fd)
{
    struct stat file;

    if (fstat(fd, &file) != 0) {
        return strerror(errno);
    }
    if (!S_ISREG(file.st_mode)) {
        return "is no regular file";
    }
    if (file.st_mode & (S_IRWXG | S_IRWXO)) {
        return "may be used by others than its owner (chmod 600)";
    }
    return file.st_size > EL_KEY_FILE_MOST ? "has more than 4096 bytes" : NULL;
}

static const char *read_keys(int fd, el_seal_keys_t *keys)
{
    unsigned char secret[EL_KEY_FILE_MOST];
    const char *fault = NULL;
    ssize_t nbytes = read(fd, secret, sizeof(secret));

    if (nbytes < 0) {
        fault = strerror(errno);
    } else if (nbytes < EL_SEAL_SECRET_LEAST) {
        fault = "has fewer than 32 bytes";
    } else if (!el_seal_keys(secret, (size_t)nbytes, keys)) {
        fault = "cannot be used: libcrypto failed";
    }
    explicit_bzero(secret, sizeof(secret));
    return fault;
}

const char *el_key_file_read(const char *path, el_seal_keys_t *keys)
{
    /* O_NONBLOCK: a pipe of that name has nobody wait. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const char *fault;

    if (fd < 0) {
        return strerror(errno);
    }
    fault = fault_of(fd);
    if (!fault) {
        fault = read_keys(fd, keys);
    }
    close(fd);
    return fault;
}
