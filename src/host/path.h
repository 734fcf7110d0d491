/* Paths of the file system. Any thread. */
#ifndef ELASTIC_HOST_PATH_H
#define ELASTIC_HOST_PATH_H

#include <stdbool.h>

/*
 * Whether `path` lies below `folder`, all symbolic links of both resolved. False where either is not
 * there, or memory is short.
 */
bool el_path_within(const char *path, const char *folder);

#endif
