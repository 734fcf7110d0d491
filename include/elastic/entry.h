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
 * Entries of the store of encodings: the bytes of an encoding and the setup that made them, as one
 * piece of memory, found by a name.
 *
 * The checksum covers the name, the head and the encoding, so that a torn, truncated or mixed-up
 * entry is not accepted. It does not protect against someone who can write to the store: entries in
 * a store that other machines reach are sealed.
 *
 * Pure; any thread.
 */

/* Bytes of the keyed hash of the encoded bytes or of a file's numbers. */
#define EL_NAME_HASH 16

/* Kinds of entries; part of the name. */
typedef enum {
    EL_NAME_BODY = 1, /* encoding of a body, found by the body's bytes */
    EL_NAME_FILE      /* encoding of a file, found by el_file_id_t; this machine only */
} el_name_kind_t;

/* The name of an entry. Names are compared as bytes, so there is no padding. */
typedef struct {
    uint8_t hash[EL_NAME_HASH];
    uint8_t kind;        /* an el_name_kind_t */
    uint8_t coding;      /* an el_coding_t; EL_IDENTITY: no coding yet, only the hash */
    uint8_t pinned;      /* the only level allowed, or EL_NAME_ADAPTIVE */
    uint8_t window_bits; /* as in el_setup_t; 0: the engine's choice */
    uint8_t mem_level;
    uint8_t block_bits;
    uint8_t zero[10];
} el_name_t;
_Static_assert(sizeof(el_name_t) == 32, "a name has no gaps");

/* Any level may be stored under this name. */
#define EL_NAME_ADAPTIVE 255

/* Bytes of an entry before the encoding. */
#define EL_ENTRY_HEAD 64

/* Bytes of an engine's name, with the NUL. */
#define EL_ENTRY_ENGINE 12

typedef struct {
    el_coding_t coding;
    int level;                     /* in users' numbers: 0 … EL_COST_LEVELS - 1 */
    char engine[EL_ENTRY_ENGINE];  /* el_engine_t.name of the library */
    uint64_t in;                   /* length of the identity, 1 or more */
    uint64_t written;              /* bytes that the store had taken before this entry */
    uint32_t gained;               /* bytes saved against the first entry of its name */
    const uint8_t *data;           /* the encoding */
    size_t nbytes;                 /* 1 or more */
} el_entry_t;

/*
 * Writes `entry` under `name` to `out`, which has EL_ENTRY_HEAD + entry->nbytes bytes. The encoding
 * may be in place already: entry->data == out + EL_ENTRY_HEAD.
 */
void el_entry_write(const el_name_t *name, const el_entry_t *entry, uint8_t *out);

/*
 * Parses an entry that el_entry_write() wrote under `name`; entry->data then points into `bytes`.
 * False, and a zeroed `entry`, if anything is wrong: length, version, checksum, or an impossible
 * value.
 */
bool el_entry_parse(const el_name_t *name, const uint8_t *bytes, size_t nbytes, el_entry_t *entry);

/*
 * The numbers of an open file, from which an EL_NAME_FILE name is made. While they are unchanged
 * the content is unchanged, and need not be read. They are valid on this machine until it reboots.
 */

/* Compared as bytes, so there is no padding. */
typedef struct {
    uint64_t device;
    uint64_t inode;
    uint64_t size;
    int64_t modified_sec;  /* last change of the content, seconds since 1970 */
    int64_t changed_sec;   /* last change of content, names or rights, likewise */
    uint32_t modified_nsec;
    uint32_t changed_nsec;
} el_file_id_t;
_Static_assert(sizeof(el_file_id_t) == 48, "numbers without gaps");

/*
 * True if the next change of the file is certain to change its numbers. `now_usec` is a time, in µs
 * since 1970, no later than when they were read.
 *
 * False if the file changed within the last 40 seconds. Timestamps of file systems tick, some every
 * two seconds, and two changes within a tick look the same. Writes through a mapping change the
 * times only once until the kernel writes the page back, which takes up to 35 seconds. A file that
 * is never written back, see el_file_is_in_memory(), must not be trusted at all. False also if the
 * time of the last change is a whole second: such a file system may not store fractions.
 */
bool el_file_id_settled(const el_file_id_t *id, int64_t now_usec);

/*
 * Three tables decide about bodies. The sketch finds paths whose bodies repeat: only those are
 * hashed. The doorkeeper finds bodies seen before: only those are stored. The table of popular
 * encodings finds those that are requested often and can be improved.
 *
 * All are in shared memory of a fixed size and forget over time; zeroed, they are empty. Lock-free;
 * any process, any thread; no clock. If two writers meet, one note may be lost.
 */

/*
 * The doorkeeper: two Bloom filters. The newer one takes new bodies. After a number of bodies that
 * the caller sets it becomes the older one, and the old contents are forgotten. So a crawl of a
 * whole site does not evict the store's entries.
 */

/*
 * Bits of one filter, a power of two: 256 KB. With three bits for each of EL_DOORKEEPER_MOST
 * bodies, one new body in 140 looks like a known one.
 */
#define EL_DOORKEEPER_BITS (1u << 21)
#define EL_DOORKEEPER_MOST 150000u

typedef struct el_door {
    _Atomic uint64_t noted; /* by newer filters, since the beginning */
    _Atomic uint64_t word[2][EL_DOORKEEPER_BITS / 64];
} el_doorkeeper_t;

/*
 * Notes the 16 bytes at `hash`, which must be as good as random. Returns whether they are among the
 * last `most` to 2 × `most` noted. `most` is 1 … EL_DOORKEEPER_MOST, the same in all calls.
 */
bool el_doorkeeper_note(el_doorkeeper_t *doorkeeper, const uint8_t *hash, uint32_t most);

/* Forgets everything. */
void el_doorkeeper_reset(el_doorkeeper_t *doorkeeper);

/*
 * The sketch: pages that never repeat must not pay for hashing. For each key it counts hashed
 * bodies, and those of them that were seen before. Keys may share a counter; each has two, and the
 * one with fewer bodies counts. Counters are halved as they grow, so that changes show.
 */

/* Counters of each row, a power of two: 128 KB in all. */
#define EL_SKETCH_COUNTS (1u << 14)
#define EL_SKETCH_ROWS 2

typedef struct el_sketch {
    _Atomic uint32_t taught; /* 1: something was counted */
    _Atomic uint32_t count[EL_SKETCH_ROWS][EL_SKETCH_COUNTS];
} el_sketch_t;

/* The source of a body; see el_sketch_key(). */
typedef struct {
    uint64_t host;
    uint64_t path; /* hash of host and path */
} el_sketch_key_t;

/* The key of `path` on `host`, any strings. */
el_sketch_key_t el_sketch_key(const char *host, const char *path);

/*
 * True if a body of `key` is worth hashing. If its bodies repeat too seldom, a sample is still
 * hashed: `turn` must differ for each body, as a counter does.
 */
bool el_sketch_asks(const el_sketch_t *sketch, el_sketch_key_t key, uint32_t turn);

/* Counts a hashed body of `key`; `again`: it was seen before. */
void el_sketch_learn(el_sketch_t *sketch, el_sketch_key_t key, bool again);

/* Forgets everything. */
void el_sketch_reset(el_sketch_t *sketch);

/*
 * The table of popular encodings. Counts are halved every EL_POPULAR_HALF seconds. A newcomer to a
 * full set decrements the set's smallest count, and takes that slot if the count is 0. So names
 * that are requested once displace no others.
 */

#define EL_POPULAR_HALF 60

/*
 * Least count of an encoding to improve. With fewer requests it is unlikely to be requested again,
 * or to be in the store still.
 */
#define EL_POPULAR_LEAST 4

/* Half-lives after which an encoding may be taken again, in case it was not improved. */
#define EL_POPULAR_AGAIN 60

/* 512 slots of 64 bytes, 32 KB. Sets and ways are powers of two. */
#define EL_POPULAR_SETS 64
#define EL_POPULAR_WAYS 8

/* A cached encoding, and the coding and level it may be improved to. */
typedef struct {
    el_name_t name;
    uint32_t nbytes; /* of the body before encoding */
    uint8_t coding;  /* target: an el_coding_t */
    uint8_t level;   /* target, in users' numbers */
    uint8_t zero[2];
} el_popular_item_t;
_Static_assert(sizeof(el_popular_item_t) == 40, "an item has no holes");

typedef struct {
    _Atomic uint64_t key;   /* see entry_key_of() in entry.c; 0: free */
    _Atomic uint64_t asked; /* count, time, and a mark if it was taken; see entry.c */
    _Atomic uint64_t checksum;
    _Atomic uint64_t words[EL_SNAPSHOT_WORDS(el_popular_item_t)]; /* el_popular_item_t */
} el_popular_slot_t;

/* Zeroed: an empty table. */
typedef struct el_hot {
    el_popular_slot_t slot[EL_POPULAR_SETS * EL_POPULAR_WAYS];
} el_popular_t;

/* Counts a request of `item` at `now`, in seconds of any clock that all callers share. */
void el_popular_note(el_popular_t *popular, const el_popular_item_t *item, uint32_t now);

/*
 * Takes the most requested item with a count of at least EL_POPULAR_LEAST. False if there is none.
 * An item that stays popular is taken again only after EL_POPULAR_AGAIN half-lives: improving it
 * had no effect, or the store lost it.
 */
bool el_popular_take(el_popular_t *popular, uint32_t now, el_popular_item_t *item);

/*
 * Judges a precompressed file by its framing, without decoding it. Browsers must be able to decode
 * it, and its decoded size must be that of the original file.
 *
 * Pure, except for the table of verdicts, which all children share: lock-free; any process, any
 * thread.
 */

/* Bytes read for a verdict: more than most files have. */
#define EL_PRECOMPRESSED_READ (4 << 20)

/* The largest window that every browser supports (RFC 9659 for zstd). */
#define EL_PRECOMPRESSED_LARGEST_WINDOW (8 << 20)

typedef struct {
    el_coding_t coding;
    const uint8_t *bytes; /* the first bytes of the file: all, or EL_PRECOMPRESSED_READ */
    size_t nbytes;
    uint8_t end[4];    /* the file's last bytes */
    uint64_t size;     /* of the precompressed file */
    uint64_t original; /* size of the original file */
} el_precompressed_t;

/*
 * The fault, EL_PRECOMPRESSED_EMPTY, _CODING, _WINDOW or _SIZE, if browsers would refuse the file
 * or decode another body; otherwise EL_PRECOMPRESSED_FAULTS_COUNT. Sizes are judged only if they
 * are certain: a zstd frame may leave its size out, a br stream has none, and frames beyond `bytes`
 * are unknown.
 */
el_precompressed_fault_t el_precompressed_judge(const el_precompressed_t *file);

/* Identifies a judged file together with its original. Hashed as words, so there is no padding. */
typedef struct {
    uint64_t device, inode, size;
    int64_t modified, changed; /* µs since 1970 */
    uint64_t original;
    uint64_t coding; /* an el_coding_t */
} el_precompressed_id_t;

/*
 * The last verdicts, indexed by a hash of the id; a new verdict may replace another one. `named`
 * has one bit for each of 65536 hashes of files that the log has named: two files may share a bit.
 * Zeroed: empty.
 */
typedef struct {
    _Atomic uint64_t verdict[1024];
    _Atomic uint64_t named[1024];
} el_precompressed_verdicts_t;

/* False if nothing is known; `verdict` is then unchanged. */
bool el_precompressed_recall(const el_precompressed_verdicts_t *verdicts,
                             const el_precompressed_id_t *id, el_precompressed_fault_t *verdict);

void el_precompressed_remember(el_precompressed_verdicts_t *verdicts,
                               const el_precompressed_id_t *id, el_precompressed_fault_t verdict);

/* True for one caller: it should name the file in the log. */
bool el_precompressed_name(el_precompressed_verdicts_t *verdicts, const el_precompressed_id_t *id);

#endif
