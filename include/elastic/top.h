/*
 * What weighs most among texts of any number, in memory of a fixed size: the Space-Saving algorithm
 * (Metwally, Agrawal, El Abbadi, Efficient Computation of Frequent and Top-k Elements in Data Streams,
 * 2005). A text that has no slot takes the lightest one, with its weight, and remembers that as what it
 * may be too heavy by. So whatever weighs more than two EL_TOP_SLOTS-th parts of all is listed, and no
 * text seems lighter than it is.
 *
 * It forgets: what was added before an era counts half of what is added in it. In shared memory;
 * lock-free; any process, any thread; no clock. Two that take slots at the same time may lose one weight
 * or list a text twice. Zeroed memory has nothing.
 */
#ifndef ELASTIC_TOP_H
#define ELASTIC_TOP_H

#include "elastic/snapshot.h"

/* What weighs more than a 32nd part of all is listed. A search looks at 8 to 16 cache lines. */
#define EL_TOP_SLOTS 64

/* Of what there are lists. */
typedef enum { EL_TOP_ASKED, EL_TOP_PLAIN, EL_TOP_CPU, EL_TOPS } el_top_kind_t;

/* Bytes that are kept of a text, its end included. */
#define EL_TOP_TEXT 112

typedef struct {
    uint64_t key;
    char text[EL_TOP_TEXT];
} el_top_name_t;

/* A name in shared memory: see snapshot.h. */
typedef struct {
    _Atomic uint64_t checksum;
    _Atomic uint64_t words[EL_SNAPSHOT_WORDS(el_top_name_t)];
} el_top_slot_t;

typedef struct el_top {
    _Alignas(64) _Atomic uint64_t key[EL_TOP_SLOTS]; /* 0: free */
    _Atomic uint64_t weight[EL_TOP_SLOTS];
    _Atomic uint64_t excess[EL_TOP_SLOTS]; /* of the weight, at most so much is of others */
    el_top_slot_t slot[EL_TOP_SLOTS];
    _Atomic uint64_t total; /* all weights */
    _Atomic uint64_t era;
} el_top_t;

/* One of the heaviest. */
typedef struct {
    char text[EL_TOP_TEXT]; /* as it was added, without what was too long */
    uint64_t weight;
    uint64_t excess;
} el_top_item_t;

/* Adds `weight`, above 0, to the text that `first` and `second` are together. */
void el_top_add(el_top_t *top, const char *first, const char *second, uint64_t weight);

/* Halves all weights for each era that has begun since the last call: eras are numbered from 1 on. */
void el_top_fade(el_top_t *top, uint64_t era);

/*
 * The heaviest texts, the heaviest first, and `*total`, what all weigh together. Those are left out of
 * which more than half may be of others. Returns how many there are, `room` at most.
 */
size_t el_top_read(const el_top_t *top, el_top_item_t *items, size_t room, uint64_t *total);

/* Back to nothing. */
void el_top_reset(el_top_t *top);

#endif
