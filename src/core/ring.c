#include "elastic/ring.h"

#include <string.h>

/* A name is looked for in so many places, whichever names the others there have. */
#define WAYS 4

/* Bytes for each place in the table: entries are pages, most of which have more. */
#define BYTES_PER_SLOT 4096

/* What entries are aligned to, heads and all. */
#define UNIT 16

/* Positions count all bytes that were ever written, so that they tell what has been overwritten. */
struct el_ring {
    uint64_t room;    /* bytes of entries, which follow the table */
    uint64_t written; /* the position of the next entry */
    uint64_t sets;
    uint64_t slot[][WAYS]; /* positions, plus 1; 0: none */
};

/* Before each entry's bytes. */
typedef struct {
    uint8_t name[EL_RING_NAME];
    uint64_t nbytes;
    uint64_t zero; /* to whole units */
} head_t;
_Static_assert(sizeof(head_t) % UNIT == 0, "whole units");

static size_t in_units(size_t nbytes)
{
    return (nbytes + UNIT - 1) / UNIT * UNIT;
}

static size_t table_nbytes(uint64_t sets)
{
    return in_units(sizeof(el_ring_t) + (size_t)sets * WAYS * sizeof(uint64_t));
}

el_ring_t *el_ring_init(void *memory, size_t nbytes)
{
    el_ring_t *ring = memory;

    ring->sets = nbytes / BYTES_PER_SLOT / WAYS;
    ring->room = (nbytes - table_nbytes(ring->sets)) / UNIT * UNIT;
    el_ring_clear(ring);
    return ring;
}

void el_ring_clear(el_ring_t *ring)
{
    ring->written = 0;
    memset(ring->slot, 0, (size_t)ring->sets * sizeof(ring->slot[0]));
}

size_t el_ring_most(const el_ring_t *ring)
{
    return (size_t)ring->room / 8 - sizeof(head_t);
}

static uint64_t *set_of(const el_ring_t *ring, const uint8_t *name)
{
    uint64_t number;

    memcpy(&number, name, sizeof(number));
    return (uint64_t *)ring->slot[number % ring->sets];
}

static uint8_t *at(const el_ring_t *ring, uint64_t position)
{
    return (uint8_t *)ring + table_nbytes(ring->sets) + position % ring->room;
}

/* What the slot stands for; NULL where nothing, or something has been written over it. */
static const head_t *head_of(const el_ring_t *ring, uint64_t slot)
{
    const head_t *head = slot ? (const head_t *)at(ring, slot - 1) : NULL;

    return head && slot - 1 < ring->written && slot - 1 + ring->room >= ring->written
                   && head->nbytes <= el_ring_most(ring)
               ? head
               : NULL;
}

bool el_ring_find(const el_ring_t *ring, const uint8_t name[EL_RING_NAME], el_ring_found_t *found)
{
    const uint64_t *set = set_of(ring, name);

    for (int i = 0; i < WAYS; i++) {
        const head_t *head = head_of(ring, set[i]);

        if (head && memcmp(head->name, name, EL_RING_NAME) == 0) {
            *found = (el_ring_found_t){
                .bytes = (const uint8_t *)(head + 1),
                .nbytes = (size_t)head->nbytes,
                .old = ring->written - (set[i] - 1) > ring->room / 2,
            };
            return true;
        }
    }
    return false;
}

/* Its earlier place, or one that is free, or that of the oldest. */
static uint64_t *slot_for(const el_ring_t *ring, const uint8_t *name)
{
    uint64_t *set = set_of(ring, name), *best = set;

    for (int i = 0; i < WAYS; i++) {
        const head_t *head = head_of(ring, set[i]);

        if (head && memcmp(head->name, name, EL_RING_NAME) == 0) {
            return &set[i];
        }
        set[i] = head ? set[i] : 0;
        best = set[i] < *best ? &set[i] : best;
    }
    return best;
}

uint8_t *el_ring_add(el_ring_t *ring, const uint8_t name[EL_RING_NAME], size_t nbytes)
{
    uint64_t *slot, position;
    size_t whole;
    head_t *head;

    if (nbytes > el_ring_most(ring)) {
        return NULL;
    }
    whole = in_units(sizeof(head_t) + nbytes);
    /* An entry is in one piece: what is left behind the last one is passed over. */
    if (ring->written % ring->room + whole > ring->room) {
        ring->written += ring->room - ring->written % ring->room;
    }
    position = ring->written;
    ring->written += whole;
    /* What is written over counts as gone from here on. */
    slot = slot_for(ring, name);
    head = (head_t *)at(ring, position);
    *head = (head_t){.nbytes = nbytes};
    memcpy(head->name, name, EL_RING_NAME);
    *slot = position + 1;
    return (uint8_t *)(head + 1);
}
