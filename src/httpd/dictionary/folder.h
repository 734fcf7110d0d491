/*
 * The folder in which dictionaries are kept: a file for each, whose name is the SHA-256 of its
 * bytes, and beside it a file for each origin that gave it out, with the entries
 * (elastic/dictionary.h) of all rules by which it did. Files are written under a random name and
 * renamed, so that every file is whole, whoever shares or copies the folder. What it holds is
 * bounded; what was not used for longest goes first.
 *
 * Knows no server. Any thread, and any number of processes. Where a function fails, errno says why.
 */
#ifndef ELASTIC_DICTIONARY_FOLDER_H
#define ELASTIC_DICTIONARY_FOLDER_H

#include "elastic/http.h"
#include "elastic/dictionary.h"

#include <stdatomic.h>

/* Bytes of the name of a dictionary's file: its hash in hexadecimal digits, and a NUL. */
#define EL_FOLDER_NAME_ROOM (2 * EL_DICTIONARY_HASH + 1)

/*
 * Bytes of the largest dictionary: beyond it a browser's memory is worth more than what it saves.
 */
#define EL_FOLDER_FILE_MOST (8 * 1024 * 1024)

/*
 * Entries of one dictionary and origin at most: a file that several rules give out is rare, and
 * each request that names the dictionary reads them all. Beyond it, those that end first go.
 */
#define EL_FOLDER_ENTRIES 8

typedef struct {
    int fd;        /* of the folder; -1: there is none */
    uint64_t most; /* bytes of all files, each counted in whole blocks */
    atomic_uint_least64_t added; /* bytes that this process has added since it last swept */
} el_folder_t;

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
 * Keeps a dictionary and its entry for entry->origin, beside those of that origin that are for
 * other requests, and in place of one for the same that ends much sooner; makes room for it. Where
 * two processes do so at the same time, one entry may be lost, until its rule gives the dictionary
 * out again. False: it is not there for certain.
 */
bool el_folder_put(el_folder_t *folder, const uint8_t hash[EL_DICTIONARY_HASH], const void *bytes,
                   size_t nbytes, const el_dictionary_entry_t *entry);

/*
 * Whether the dictionary was given out for such a request: EL_DICTIONARY_USED, and `*entry` is the
 * entry that says so; that it is used is then noted. Otherwise why not, by the entry that came
 * nearest to it.
 */
el_dictionary_reason_t el_folder_find(const el_folder_t *folder,
                                      const uint8_t hash[EL_DICTIONARY_HASH],
                                      const el_dictionary_request_t *request,
                                      el_dictionary_entry_t *entry);

/*
 * The dictionary's bytes, for the caller to free(). NULL where it is not there, and where its bytes
 * are not what its name says: then `*damaged`, and it is removed.
 */
uint8_t *el_folder_read(const el_folder_t *folder, const uint8_t hash[EL_DICTIONARY_HASH],
                        size_t *nbytes, bool *damaged);

#endif
