/*
 * The folder in which dictionaries are kept. Each is a file named by the SHA-256 of its bytes.
 * Beside it is a file for each origin that gave it out, with the entries (elastic/dictionary.h) of
 * all rules by which it did. Files are written under a random name and renamed, so every file is
 * whole, whoever shares or copies the folder. The size of the folder is bounded: dictionaries that
 * were not used for longest are removed first.
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
 * Entries of one dictionary and origin at most. Few files are given out by several rules, and each
 * request that names the dictionary reads all its entries. Beyond it, those that end first go.
 */
#define EL_FOLDER_ENTRIES 8

typedef struct {
    int fd;        /* of the folder; -1: there is none */
    uint64_t most; /* bytes of all files, each counted in whole blocks */
    atomic_uint_least64_t added; /* bytes that this process has added since it last swept */
} el_folder_t;

/* Computes the SHA-256 of `nbytes`. False if memory is short. */
bool el_folder_hash(const void *bytes, size_t nbytes, uint8_t hash[EL_DICTIONARY_HASH]);

/* Writes the name of a dictionary's file. */
void el_folder_name(const uint8_t hash[EL_DICTIONARY_HASH], char name[EL_FOLDER_NAME_ROOM]);

/* Opens the folder at `path`. False if it is none, or may not be read. */
bool el_folder_open(el_folder_t *folder, const char *path, uint64_t most);

/* Bytes of the largest dictionary that it takes. */
size_t el_folder_file_most(const el_folder_t *folder);

/* True if the mode of the open folder lets the user, in this group, keep files in it. */
bool el_folder_may_write(const el_folder_t *folder, unsigned user, unsigned group);

void el_folder_close(el_folder_t *folder);

/*
 * Keeps a dictionary and its entry for entry->origin, and makes room for it. Entries of that origin
 * for other requests stay; one for the same requests that ends much sooner is replaced. If two
 * processes do so at the same time, one entry may be lost until its rule gives the dictionary out
 * again. False if the dictionary and the entry are not certain to be there.
 */
bool el_folder_put(el_folder_t *folder, const uint8_t hash[EL_DICTIONARY_HASH], const void *bytes,
                   size_t nbytes, const el_dictionary_entry_t *entry);

/*
 * Looks for an entry by which the dictionary was given out for such a request. EL_DICTIONARY_USED:
 * `*entry` is it, and the use is noted. Otherwise the reason against it, by the entry that came
 * nearest.
 */
el_dictionary_reason_t el_folder_find(const el_folder_t *folder,
                                      const uint8_t hash[EL_DICTIONARY_HASH],
                                      const el_dictionary_request_t *request,
                                      el_dictionary_entry_t *entry);

/*
 * The dictionary's bytes, for the caller to free(). NULL if it is not there or cannot be read. NULL
 * and `*damaged` if the bytes are not those of its name: then the file is removed.
 */
uint8_t *el_folder_read(const el_folder_t *folder, const uint8_t hash[EL_DICTIONARY_HASH],
                        size_t *nbytes, bool *damaged);

#endif
