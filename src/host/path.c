#define _XOPEN_SOURCE 700 /* realpath() */

#include "host/path.h"

#include <stdlib.h>
#include <string.h>

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
