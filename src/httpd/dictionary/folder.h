/*
 * The folder of dictionaries. Each dictionary is a file named by the SHA-256 of its bytes. Beside
 * it is one file for each origin that gave it out, with the entries (elastic/dictionary.h) of all
 * rules that did. Files are written under a random name and renamed, so they are always whole, even
 * if the folder is shared or copied. The size is bounded: dictionaries that were unused for longest
 * are removed first.
 *
 * Independent of httpd. Any thread, and any number of processes. On failure functions set errno.
 */
#ifndef ELASTIC_DICTIONARY_FOLDER_H
#define ELASTIC_DICTIONARY_FOLDER_H

#include "elastic/http.h"
#include "elastic/dictionary.h"

#include <stdatomic.h>

/* Length of the name of a dictionary's file: hexadecimal digits of the hash, and a NUL. */
#define EL_FOLDER_NAME_ROOM (2 * EL_DICTIONARY_HASH + 1)

/* Bytes of the largest dictionary: larger ones cost a browser more memory than they are worth. */
#define EL_FOLDER_FILE_MOST (8 * 1024 * 1024)

/*
 * Most entries of one dictionary and origin; the first to expire are dropped. Few files are given
 * out by several rules, and each request that names the dictionary reads all entries.
 */
#define EL_FOLDER_ENTRIES 8

typedef struct {
    int fd;        /* -1: not open */
    uint64_t most; /* limit for all files, each counted in whole blocks */
    atomic_uint_least64_t added; /* by this process since its last sweep */
} el_folder_t;

/* Computes the SHA-256 of `nbytes`. False if memory is short. */
bool el_folder_hash(const void *bytes, size_t nbytes, uint8_t hash[EL_DICTIONARY_HASH]);

/* Writes the name of a dictionary's file. */
void el_folder_name(const uint8_t hash[EL_DICTIONARY_HASH], char name[EL_FOLDER_NAME_ROOM]);

/* Opens the folder at `path`. False if it is missing, not a folder, or unreadable. */
bool el_folder_open(el_folder_t *folder, const char *path, uint64_t most);

/* Bytes of the largest dictionary that the folder takes. */
size_t el_folder_file_most(const el_folder_t *folder);

/* True if the folder's mode lets this user and group keep files in it. */
bool el_folder_may_write(const el_folder_t *folder, unsigned user, unsigned group);

void el_folder_close(el_folder_t *folder);

/*
 * Stores a dictionary and its entry for entry->origin, and makes room for them. Other entries of
 * that origin stay; an entry for the same requests is replaced if it expires much sooner. If two
 * processes do this at the same time, one entry may be lost until its rule gives the dictionary out
 * again. False if dictionary or entry may be missing.
 */
bool el_folder_put(el_folder_t *folder, const uint8_t hash[EL_DICTIONARY_HASH], const void *bytes,
                   size_t nbytes, const el_dictionary_entry_t *entry);

/*
 * Finds an entry that gave the dictionary out for such a request. EL_DICTIONARY_USED: sets `*entry`
 * and notes the use. Otherwise the reason of the entry that came nearest.
 */
el_dictionary_reason_t el_folder_find(const el_folder_t *folder,
                                      const uint8_t hash[EL_DICTIONARY_HASH],
                                      const el_dictionary_request_t *request,
                                      el_dictionary_entry_t *entry);

/*
 * The dictionary's bytes; the caller frees them. NULL if it is missing or cannot be read. NULL and
 * `*damaged` if the bytes do not match the name: the file is then removed.
 */
uint8_t *el_folder_read(const el_folder_t *folder, const uint8_t hash[EL_DICTIONARY_HASH],
                        size_t *nbytes, bool *damaged);

#endif
