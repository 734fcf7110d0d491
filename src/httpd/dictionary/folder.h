/*
 * The folder in which dictionaries are kept: a file for each, whose name is the SHA-256 of its bytes,
 * and beside it an entry for each origin that gave it out (elastic/dictionary.h). Files are written
 * under another name and renamed, so that every file is whole, whoever shares or copies the folder.
 * What it holds is bounded; what was not used for longest goes first.
 *
 * Knows no server. Any thread, and any number of processes. Where a function fails, errno says why.
 */
#ifndef ELASTIC_DICTIONARY_FOLDER_H
#define ELASTIC_DICTIONARY_FOLDER_H

#include "elastic/dictionary.h"
#include "elastic/difference.h"

#include <stdatomic.h>

/* Bytes of the name of a dictionary's file: its hash in hexadecimal digits, and a NUL. */
#define EL_FOLDER_NAME_ROOM (2 * EL_DICTIONARY_HASH + 1)

/* Bytes of the largest dictionary: beyond it a browser's memory is worth more than what it saves. */
#define EL_FOLDER_FILE_MOST (8 * 1024 * 1024)

typedef struct {
    int fd;        /* of the folder; -1: there is none */
    uint64_t most; /* bytes of all files, each counted in whole blocks */
    atomic_uint_least64_t added; /* bytes that this process has added since it last swept */
    atomic_uint serial;          /* of the names under which files are written */
} el_folder_t;

/* Whether hashes can be computed: without libcrypto nothing of this can be used. */
bool el_folder_built_in(void);

/* The SHA-256 of `nbytes`. False where memory is short. */
bool el_folder_hash(const void *bytes, size_t nbytes, uint8_t hash[EL_DICTIONARY_HASH]);

/* The name of a dictionary's file. */
void el_folder_name(const uint8_t hash[EL_DICTIONARY_HASH], char name[EL_FOLDER_NAME_ROOM]);

/* Opens the folder at `path`. False where it is none, or may not be read. */
bool el_folder_open(el_folder_t *folder, const char *path, uint64_t most);

/* Bytes of the largest dictionary that it takes. */
size_t el_folder_file_most(const el_folder_t *folder);

/* Whether the user, in this group, may keep files in the open folder, as far as its mode says. */
bool el_folder_may_write(const el_folder_t *folder, unsigned user, unsigned group);

void el_folder_close(el_folder_t *folder);

/*
 * Keeps a dictionary and its entry for entry->origin, in place of an earlier one of that origin that
 * says otherwise, or ends much sooner; makes room for it. False: it is not there for certain.
 */
bool el_folder_put(el_folder_t *folder, const uint8_t hash[EL_DICTIONARY_HASH], const void *bytes,
                   size_t nbytes, const el_dictionary_entry_t *entry);

/* Finds the entry of the dictionary for `origin`. */
bool el_folder_find(const el_folder_t *folder, const uint8_t hash[EL_DICTIONARY_HASH],
                    const char *origin, el_dictionary_entry_t *entry);

/*
 * The dictionary's bytes, for the caller to free(). NULL where it is not there, and where its bytes
 * are not what its name says: then `*damaged`, and it is removed.
 */
uint8_t *el_folder_read(const el_folder_t *folder, const uint8_t hash[EL_DICTIONARY_HASH],
                        size_t *nbytes, bool *damaged);

/* Notes that the dictionary is used. */
void el_folder_touch(const el_folder_t *folder, const uint8_t hash[EL_DICTIONARY_HASH]);

#endif
