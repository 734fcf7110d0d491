#include "elastic/door.h"

#include <string.h>

/* Bits of a hash that find one bit of a filter. */
#define INDEX_BITS 21
_Static_assert(EL_DOOR_BITS == 1u << INDEX_BITS, "an index reaches each bit");

/* As many as 64 bits have indexes. */
#define PROBES 3

static bool has(const el_door_t *door, unsigned filter, uint32_t bit)
{
    uint64_t word = atomic_load_explicit(&door->word[filter][bit / 64], memory_order_relaxed);

    return word >> bit % 64 & 1;
}

static bool has_all(const el_door_t *door, unsigned filter, uint64_t hash)
{
    for (int i = 0; i < PROBES; i++, hash >>= INDEX_BITS) {
        if (!has(door, filter, hash % EL_DOOR_BITS)) {
            return false;
        }
    }
    return true;
}

static void set_all(el_door_t *door, unsigned filter, uint64_t hash)
{
    for (int i = 0; i < PROBES; i++, hash >>= INDEX_BITS) {
        uint32_t bit = hash % EL_DOOR_BITS;

        atomic_fetch_or_explicit(&door->word[filter][bit / 64], UINT64_C(1) << bit % 64,
                                 memory_order_relaxed);
    }
}

static void clear(el_door_t *door, unsigned filter)
{
    for (unsigned i = 0; i < EL_DOOR_BITS / 64; i++) {
        atomic_store_explicit(&door->word[filter][i], 0, memory_order_relaxed);
    }
}

bool el_door_note(el_door_t *door, const uint8_t *hash, uint32_t most)
{
    uint64_t noted = atomic_load_explicit(&door->noted, memory_order_relaxed);
    unsigned newer = noted / most % 2;
    uint64_t first;

    /* The other half of a name's hash finds entries. */
    memcpy(&first, hash + sizeof(first), sizeof(first));
    if (has_all(door, newer, first)) {
        return true;
    }
    set_all(door, newer, first);
    noted = atomic_fetch_add_explicit(&door->noted, 1, memory_order_relaxed) + 1;
    if (noted % most == 0) {
        clear(door, noted / most % 2);
        return false;
    }
    return has_all(door, !newer, first);
}

/* Memory that was never written stays so: it takes no room. */
void el_door_reset(el_door_t *door)
{
    if (atomic_load(&door->noted) > 0) {
        clear(door, 0);
        clear(door, 1);
        atomic_store(&door->noted, 0);
    }
}
