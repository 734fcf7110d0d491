/*
 * An entry of the store of encodings: the bytes of an encoding and the setup that made them, as one
 * piece of memory, and the name that it is found by.
 *
 * An entry is made for one name. Its checksum covers the name, what it says of itself and the
 * bytes, so that one that was torn, cut or mixed up with another is none. The checksum is no
 * protection against those who can write to the store: where other machines can, entries are
 * sealed.
 *
 * Pure; any thread.
 */
#ifndef ELASTIC_ENTRY_H
#define ELASTIC_ENTRY_H

#include "elastic/coding.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of a keyed hash of what an entry was made from. */
#define EL_NAME_HASH 16

/* What is found by a name; it is a part of the name. */
typedef enum {
    EL_NAME_BODY = 1, /* the encoding of a body: found by the body */
    EL_NAME_FILE      /* that of a file: found by the file's numbers; never leaves this machine */
} el_name_kind_t;

/* The name of an entry: equal bytes are the same name. It has no gaps. */
typedef struct {
    uint8_t hash[EL_NAME_HASH];
    uint8_t kind;        /* an el_name_kind_t */
    uint8_t coding;      /* an el_coding_t; EL_IDENTITY: of whatever was hashed, in no coding */
    uint8_t pinned;      /* the level, where no other may be used; otherwise EL_NAME_ADAPTIVE */
    uint8_t window_bits; /* of el_setup_t; 0: the engine's choice */
    uint8_t mem_level;
    uint8_t block_bits;
    uint8_t zero[10];
} el_name_t;
_Static_assert(sizeof(el_name_t) == 32, "a name has no gaps");

/* In place of a level: entries at any level have this name. */
#define EL_NAME_ADAPTIVE 255

/* Bytes before the encoding. */
#define EL_ENTRY_HEAD 64

/* Bytes of the name of an engine, with the NUL. */
#define EL_ENTRY_ENGINE 12

typedef struct {
    el_coding_t coding;
    int level;                     /* as users count levels: 0 … EL_COST_LEVELS - 1 */
    char engine[EL_ENTRY_ENGINE];  /* the library that made it, as in el_engine_t.name */
    uint64_t in;                   /* bytes of the identity, 1 or more */
    uint64_t written;              /* bytes that the store had taken when it took this entry */
    uint32_t gained;               /* bytes by which it is smaller than the first one of its name */
    const uint8_t *data;           /* the encoding */
    size_t nbytes;                 /* 1 or more */
} el_entry_t;

/*
 * Writes `entry` under `name` to `out`, which has room for EL_ENTRY_HEAD + entry->nbytes. The
 * encoding may be there already: entry->data == out + EL_ENTRY_HEAD.
 */
void el_entry_write(const el_name_t *name, const el_entry_t *entry, uint8_t *out);

/*
 * Reads what el_entry_write() wrote under `name`. False where the `nbytes` are anything else:
 * shorter, longer, of another version, with a wrong checksum or an impossible value; then `entry`
 * is zeroed. entry->data points into `bytes`.
 */
bool el_entry_parse(const el_name_t *name, const uint8_t *bytes, size_t nbytes, el_entry_t *entry);

/*
 * The numbers of a file's content, which a name of the kind EL_NAME_FILE is made of: as long as
 * they are the same, the content is, and nobody needs to read it to know. They mean something on
 * this machine only, and while it runs.
 */

/* What the kernel says of an open file. It has no gaps: equal bytes are equal numbers. */
typedef struct {
    uint64_t device;
    uint64_t inode;
    uint64_t size;         /* bytes */
    int64_t modified_sec;  /* seconds since 1970, of the last change of the content */
    int64_t changed_sec;   /* and of the last change of content, names or rights */
    uint32_t modified_nsec;
    uint32_t changed_nsec;
} el_file_id_t;
_Static_assert(sizeof(el_file_id_t) == 48, "numbers without gaps");

/*
 * Whether the next change of the file is certain to show in its numbers. `now_usec` is the clock's
 * time, in µs since 1970, at which they were read or before.
 *
 * Not where the file has changed within the last 40 seconds: clocks of file systems tick, some
 * every two seconds, and changes within a tick look the same; and what is written through a mapping
 * shows once only until the kernel writes the page back, which it does within 35 seconds. Where it
 * never does, el_file_is_in_memory(), nothing is ever certain. Not where the time of the last
 * change is a whole second: such a file system, an image that was made elsewhere for one, may not
 * keep it at all.
 */
bool el_file_id_settled(const el_file_id_t *id, int64_t now_usec);

#endif
