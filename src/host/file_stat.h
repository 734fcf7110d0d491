/* What the kernel says of open files. Any thread. */
#ifndef ELASTIC_HOST_FILE_STAT_H
#define ELASTIC_HOST_FILE_STAT_H

#include "elastic/entry.h"

/* Reads the numbers of an open file. False where it is no regular file. */
bool el_file_stat(int descriptor, el_file_id_t *id);

#endif
