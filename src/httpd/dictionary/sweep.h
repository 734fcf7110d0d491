/*
 * Removes what the folder of dictionaries (folder.h) has too much of: those that were not used for
 * longest, each with its entries, and what was never finished.
 */
#ifndef ELASTIC_DICTIONARY_SWEEP_H
#define ELASTIC_DICTIONARY_SWEEP_H

#include <stdint.h>

/* The name of a dictionary: its hash in hexadecimal digits. */
#define EL_HASH_DIGITS ((size_t)64)

/* Behind it in the name of an entry: a dot, and as many digits of the SHA-256 of an origin. */
#define EL_ORIGIN_DIGITS 16

/* The room for the name of an entry, with the NUL. */
#define EL_ENTRY_NAME_ROOM (EL_HASH_DIGITS + 1 + EL_ORIGIN_DIGITS + 1)

/* The beginning of the names of files that are being written; no hash begins like this. */
#define EL_UNFINISHED ".new-"

/* A file counts as so many bytes, or a multiple: what most file systems give it. */
#define EL_SWEEP_BLOCK 4096

/* What is left where there was more than `most`: an eighth is room for the next dictionaries. */
#define EL_SWEPT(most) ((most) / 8 * 7)

/* Leaves at most `most` bytes, in whole blocks, in the folder. Any thread, and any process. */
void el_sweep(int fd, uint64_t most);

#endif
