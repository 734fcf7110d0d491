#ifndef ELASTIC_ENTRY_H
#define ELASTIC_ENTRY_H

#include "elastic/counters.h"
#include "elastic/http.h"
#include "elastic/lockfree.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* Bytes of a keyed hash of what an entry was made from. */
#define EL_NAME_HASH 16

/* The kind of an entry; it is a part of the name. */
typedef enum {
    EL_NAME_BODY = 1, /* the encoding of a body: found by the body */
    EL_NAME_FILE      /* that of a file: found by the file's numbers; never leaves this machine */
} el_name_kind_t;

/* The name of an entry: equal bytes are the same name. It has no gaps. */
typedef struct {
    uint8_t hash[EL_NAME_HASH];
    uint8_t kind;        /* an el_name_kind_t */
    uint8_t coding;      /* an el_coding_t; EL_IDENTITY: of whatever was hashed, in no coding */
    uint8_t pinned;      /* the level, if no other may be used; otherwise EL_NAME_ADAPTIVE */
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
 * Reads what el_entry_write() wrote under `name`. False if the `nbytes` are anything else:
 * shorter, longer, of another version, with a wrong checksum or an impossible value; then `entry`
 * is zeroed. entry->data points into `bytes`.
 */
bool el_entry_parse(const el_name_t *name, const uint8_t *bytes, size_t nbytes, el_entry_t *entry);

/*
 * The numbers of a file's content, which a name of the kind EL_NAME_FILE is made of: as long as
 * they are the same, the content is, and nobody needs to read it to know. They mean something on
 * this machine only, and while it runs.
 */

/* The kernel's numbers of an open file. It has no gaps: equal bytes are equal numbers. */
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
 * True if the next change of the file is certain to show in its numbers. `now_usec` is the clock's
 * time, in µs since 1970, at which they were read or before.
 *
 * False if the file has changed within the last 40 seconds: clocks of file systems tick, some
 * every two seconds, and changes within a tick look the same; and what is written through a mapping
 * shows once only until the kernel writes the page back, which it does within 35 seconds. If it
 * never does, el_file_is_in_memory(), nothing is ever certain. False if the time of the last
 * change is a whole second: such a file system, an image that was made elsewhere for one, may not
 * keep it at all.
 */
bool el_file_id_settled(const el_file_id_t *id, int64_t now_usec);

/*
 * The sketch knows which paths give bodies that come again: only those are hashed. The doorkeeper
 * knows which bodies were seen once: only one that is seen again gets a place in a store. The table
 * of popular encodings has those that are asked for often and that a higher level would make
 * smaller.
 *
 * All of it is in shared memory, of a fixed size, and forgets; zeroed, it knows nothing. Lock-free;
 * any process, any thread; no clock. If two meet, the note of one of them may be lost.
 */

/*
 * The doorkeeper: two Bloom filters. The newer one takes what is seen; when it has taken as many as
 * the caller says, it becomes the older one, and what that knew is forgotten. So a crawl of a whole
 * site does not sweep the store.
 */

/*
 * Bits of one filter, a power of two: 256 KB. With three bits for each of EL_DOORKEEPER_MOST, one
 * in 140 that was never seen is taken for seen.
 */
#define EL_DOORKEEPER_BITS (1u << 21)
#define EL_DOORKEEPER_MOST 150000u

typedef struct el_door {
    _Atomic uint64_t noted; /* by the newer filters, from the beginning */
    _Atomic uint64_t word[2][EL_DOORKEEPER_BITS / 64];
} el_doorkeeper_t;

/*
 * Notes the 16 bytes at `hash`, which are as good as random, and returns whether they had been seen
 * among the last `most` others, or up to twice as many: 1 … EL_DOORKEEPER_MOST, the same in all
 * calls.
 */
bool el_doorkeeper_note(el_doorkeeper_t *doorkeeper, const uint8_t *hash, uint32_t most);

/* Back to nothing seen. */
void el_doorkeeper_reset(el_doorkeeper_t *doorkeeper);

/*
 * The sketch: a page that is never the same twice must not pay for hashing. It counts for each key
 * the bodies that were hashed, and those among them that had been seen before. Keys may share a
 * count; each has two, and the one that fewer share is believed. Counts are halved as they grow, so
 * that changes are learnt.
 */

/* Counts of each row, a power of two: 128 KB in all. */
#define EL_SKETCH_COUNTS (1u << 14)
#define EL_SKETCH_ROWS 2

typedef struct el_sketch {
    _Atomic uint32_t taught; /* 1 from the first lesson on */
    _Atomic uint32_t count[EL_SKETCH_ROWS][EL_SKETCH_COUNTS];
} el_sketch_t;

/* The host and path that a body comes from; by el_sketch_key(). */
typedef struct {
    uint64_t host;
    uint64_t path; /* on that host */
} el_sketch_key_t;

/* The key of `path` on `host`, texts of any content. */
el_sketch_key_t el_sketch_key(const char *host, const char *path);

/*
 * True if a body of `key` is worth hashing. Where bodies were never the same, or too seldom, a
 * sample still is: `turn` is another number for each body, as a count of them.
 */
bool el_sketch_asks(const el_sketch_t *sketch, el_sketch_key_t key, uint32_t turn);

/* A body of `key` was hashed; `again` is whether it had been seen before. */
void el_sketch_learn(el_sketch_t *sketch, el_sketch_key_t key, bool again);

/* Back to knowing nothing. */
void el_sketch_reset(el_sketch_t *sketch);

/*
 * The table of popular encodings. A count is halved after each EL_POPULAR_HALF seconds. If a set of
 * the table is full, a newcomer decrements its smallest count, and takes the place when that is 0:
 * names that are asked for once displace no others.
 */

/* Seconds after which what was counted counts half. */
#define EL_POPULAR_HALF 60

/*
 * The least count of an encoding that is taken: one that is asked for less is likely not to be
 * asked for again, or the store has dropped it by then.
 */
#define EL_POPULAR_LEAST 4

/* Half-lives after which what was taken may be taken again, as it was perhaps not improved. */
#define EL_POPULAR_AGAIN 60

/* The table: 512 items of 64 bytes, 32 KB. Sets and ways are powers of two. */
#define EL_POPULAR_SETS 64
#define EL_POPULAR_WAYS 8

/* An encoding, and what it may become. */
typedef struct {
    el_name_t name;
    uint32_t nbytes; /* of the body, before it was encoded */
    uint8_t coding;  /* what it may become: an el_coding_t */
    uint8_t level;   /* as users count levels */
    uint8_t zero[2];
} el_popular_item_t;
_Static_assert(sizeof(el_popular_item_t) == 40, "an item has no holes");

typedef struct {
    _Atomic uint64_t key;   /* of the name; 0: free */
    _Atomic uint64_t asked; /* how often, when that was, and whether it was taken since */
    _Atomic uint64_t checksum;
    _Atomic uint64_t words[EL_SNAPSHOT_WORDS(el_popular_item_t)]; /* see lockfree.h */
} el_popular_slot_t;

/* Zeroed, an empty table. */
typedef struct el_hot {
    el_popular_slot_t slot[EL_POPULAR_SETS * EL_POPULAR_WAYS];
} el_popular_t;

/* `item` was asked for at `now`, in seconds of any clock that all callers share. */
void el_popular_note(el_popular_t *popular, const el_popular_item_t *item, uint32_t now);

/*
 * Takes what was asked for most, and at least EL_POPULAR_LEAST times. False if there is
 * nothing. What goes on being asked for is taken again after EL_POPULAR_AGAIN half-lives only:
 * improving it had no effect, perhaps because the store was busy, or has lost it since. Once it has
 * been forgotten, it counts anew.
 */
bool el_popular_take(el_popular_t *popular, uint32_t now, el_popular_item_t *item);

/*
 * Judges a precompressed file: browsers must be able to decode it, and to as many bytes as the file
 * has in whose place it is sent. It is not decoded: the numbers that the formats write down are
 * read.
 *
 * Pure, but for the verdicts in memory that all children share: lock-free; any process, any thread.
 */

/* Of so many bytes a verdict is made: most files are shorter. */
#define EL_PRECOMPRESSED_READ (4 << 20)

/* The window that each browser has room for (RFC 9659 for zstd). */
#define EL_PRECOMPRESSED_LARGEST_WINDOW (8 << 20)

typedef struct {
    el_coding_t coding;
    const uint8_t *bytes; /* the first `nbytes` of the file: all, or EL_PRECOMPRESSED_READ */
    size_t nbytes;
    uint8_t end[4];    /* its last bytes */
    uint64_t size;     /* of the file */
    uint64_t original; /* size of the file in whose place it is sent */
} el_precompressed_t;

/*
 * EL_PRECOMPRESSED_EMPTY, _CODING, _WINDOW or _SIZE where browsers would refuse the file, or get
 * another body from it; EL_PRECOMPRESSED_FAULTS_COUNT: nothing is known against it. Sizes are
 * judged only if they are certain: a zstd frame may say none, a br stream never does, and which
 * frames follow in a file that is not here to its end is not known.
 */
el_precompressed_fault_t el_precompressed_judge(const el_precompressed_t *file);

/* The numbers of a file that was judged, and of what for. It has no gaps. */
typedef struct {
    uint64_t device, inode, size;
    int64_t modified, changed; /* µs since 1970 */
    uint64_t original;
    uint64_t coding; /* an el_coding_t */
} el_precompressed_id_t;

/*
 * The last verdicts, by the hash of those numbers, with the verdict in its lowest bits; a new one
 * may push out another. And marks of what the log has named: of two in 65536, that of one may hide
 * the other. Zeroed memory knows nothing.
 */
typedef struct {
    _Atomic uint64_t verdict[1024];
    _Atomic uint64_t named[1024];
} el_precompressed_verdicts_t;

/* False if nothing is known of the file; `verdict` is unchanged then. */
bool el_precompressed_recall(const el_precompressed_verdicts_t *verdicts,
                             const el_precompressed_id_t *id, el_precompressed_fault_t *verdict);

void el_precompressed_remember(el_precompressed_verdicts_t *verdicts,
                               const el_precompressed_id_t *id, el_precompressed_fault_t verdict);

/* True if the file is to be named in the log: true for one caller. */
bool el_precompressed_name(el_precompressed_verdicts_t *verdicts, const el_precompressed_id_t *id);

#endif
