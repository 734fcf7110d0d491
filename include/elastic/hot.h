/*
 * What is asked for often: a table of kept encodings that are used again and again, and that a
 * higher level would make smaller.
 *
 * It is bounded, and forgets: what was asked for counts half after each EL_HOT_HALF seconds. Where a
 * set of the table is full, whatever is new takes one off the count of the least of it, and its
 * place when nothing is left of that: so names that are asked for once displace no others.
 *
 * In shared memory; lock-free; any process, any thread; no clock. Two that meet may lose an item.
 */
#ifndef ELASTIC_HOT_H
#define ELASTIC_HOT_H

#include "elastic/entry.h"
#include "elastic/snapshot.h"

/* Seconds after which what was counted counts half. */
#define EL_HOT_HALF 60

/*
 * So many times something is to have been asked for before it is taken: what is asked for less is
 * likely not to be asked for again, and its place among the kept encodings may be gone first.
 */
#define EL_HOT_LEAST 4

/* The table: 512 items of 64 bytes, 32 KB. Sets and ways are powers of two. */
#define EL_HOT_SETS 64
#define EL_HOT_WAYS 8

/* An encoding, and what it may become. */
typedef struct {
    el_name_t name;
    uint32_t nbytes; /* of the body, before it was encoded */
    uint8_t coding;  /* what it may become: an el_coding_t */
    uint8_t level;   /* as users count levels */
    uint8_t zero[2];
} el_hot_item_t;
_Static_assert(sizeof(el_hot_item_t) == 40, "an item has no holes");

typedef struct {
    _Atomic uint64_t key;   /* of the name; 0: free */
    _Atomic uint64_t asked; /* how often, when that was, and whether it was taken since */
    _Atomic uint64_t checksum;
    _Atomic uint64_t words[EL_SNAPSHOT_WORDS(el_hot_item_t)]; /* see snapshot.h */
} el_hot_slot_t;

/* Zeroed, an empty table. */
typedef struct el_hot {
    el_hot_slot_t slot[EL_HOT_SETS * EL_HOT_WAYS];
} el_hot_t;

/* `item` was asked for at `now`, in seconds of any clock that all callers share. */
void el_hot_note(el_hot_t *hot, const el_hot_item_t *item, uint32_t now);

/*
 * Takes what was asked for most of late, and at least EL_HOT_LEAST times. False where there is
 * nothing. It is not taken again while it goes on being asked for, since improving it has had no
 * effect then; once it has been forgotten, it counts anew.
 */
bool el_hot_take(el_hot_t *hot, uint32_t now, el_hot_item_t *item);

/* Back to an empty table. */
void el_hot_reset(el_hot_t *hot);

#endif
