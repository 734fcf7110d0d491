#include "elastic/hot.h"

#include <string.h>

/*
 * An `asked` word: how often in the low bits, whether it was taken, and above the number of the
 * half-life in which that was so.
 */
#define COUNT_MASK UINT64_C(0x7fffffff)
#define TAKEN (COUNT_MASK + 1)
#define ERA_SHIFT 32

/* How many times el_hot_take() looks again where another process was faster. */
#define TRIES 8

/* 2^64 times the golden ratio - 1, an odd number: it spreads small ones over all bits. */
#define SPREAD UINT64_C(0x9e3779b97f4a7c15)

/* Hashes of names differ at random. One encoding may be worth improving for several kinds of clients. */
static uint64_t key_of(const el_hot_item_t *item)
{
    const el_name_t *name = &item->name;
    uint64_t key, kind = (uint64_t)name->coding << 16 | name->pinned << 8 | item->coding;

    memcpy(&key, name->hash, sizeof(key));
    key ^= kind * SPREAD;
    return key ? key : 1;
}

static uint64_t era_of(uint32_t now)
{
    return now / EL_HOT_HALF;
}

/* `asked` as it is in `era`; 0, without its mark, where nothing is left of it. */
static uint64_t faded(uint64_t asked, uint64_t era)
{
    uint64_t passed = era - (asked >> ERA_SHIFT);
    uint64_t count = passed < ERA_SHIFT ? (asked & COUNT_MASK) >> passed : 0;

    /* A process may have read the clock before another one that was here first. */
    if (asked >> ERA_SHIFT > era) {
        return asked;
    }
    return count > 0 ? era << ERA_SHIFT | (asked & TAKEN) | count : 0;
}

static uint64_t count_of(uint64_t asked)
{
    return asked & COUNT_MASK;
}

/* Adds 1 or −1 to the count of a slot. */
static void count(el_hot_slot_t *slot, uint64_t era, int add)
{
    uint64_t before = atomic_load_explicit(&slot->asked, memory_order_relaxed);
    uint64_t after;

    do {
        after = faded(before, era);
        if (add < 0 ? count_of(after) == 0 : count_of(after) == COUNT_MASK) {
            return;
        }
        after = (after ? after : era << ERA_SHIFT) + (uint64_t)(int64_t)add;
    } while (!atomic_compare_exchange_weak_explicit(&slot->asked, &before, after,
                                                    memory_order_relaxed, memory_order_relaxed));
}

/* Whose words do not match its key is of two that met: nobody takes it, and it fades. */
static void fill(el_hot_slot_t *slot, const el_hot_item_t *item, uint64_t era)
{
    atomic_store_explicit(&slot->asked, era << ERA_SHIFT | 1, memory_order_relaxed);
    atomic_store_explicit(&slot->key, key_of(item), memory_order_relaxed);
    el_snapshot_write(slot->words, &slot->checksum, item, sizeof(*item));
}

void el_hot_note(el_hot_t *hot, const el_hot_item_t *item, uint32_t now)
{
    uint64_t key = key_of(item), era = era_of(now);
    el_hot_slot_t *set = &hot->slot[key % EL_HOT_SETS * EL_HOT_WAYS];
    el_hot_slot_t *least = NULL;
    uint64_t fewest = UINT64_MAX;

    for (int way = 0; way < EL_HOT_WAYS; way++) {
        uint64_t asked = faded(atomic_load_explicit(&set[way].asked, memory_order_relaxed), era);

        if (asked && atomic_load_explicit(&set[way].key, memory_order_relaxed) == key) {
            count(&set[way], era, 1);
            return;
        }
        if (count_of(asked) < fewest) {
            fewest = count_of(asked);
            least = &set[way];
        }
    }
    if (fewest == 0) {
        fill(least, item, era);
    } else {
        count(least, era, -1);
    }
}

/* The slot that counts most and was not taken; and its word. */
static el_hot_slot_t *most_of(el_hot_t *hot, uint64_t era, uint64_t *asked)
{
    el_hot_slot_t *most = NULL;
    uint64_t best = EL_HOT_LEAST - 1;

    for (int i = 0; i < EL_HOT_SETS * EL_HOT_WAYS; i++) {
        uint64_t word = atomic_load_explicit(&hot->slot[i].asked, memory_order_relaxed);
        uint64_t now = faded(word, era);

        if (!(now & TAKEN) && count_of(now) > best) {
            best = count_of(now);
            most = &hot->slot[i];
            *asked = word;
        }
    }
    return most;
}

bool el_hot_take(el_hot_t *hot, uint32_t now, el_hot_item_t *item)
{
    uint64_t era = era_of(now);

    for (int i = 0; i < TRIES; i++) {
        uint64_t asked;
        el_hot_slot_t *slot = most_of(hot, era, &asked);

        if (!slot) {
            return false;
        }
        /* With a count of 1: it is forgotten soon, unless it is still asked for. */
        if (atomic_compare_exchange_strong(&slot->asked, &asked, era << ERA_SHIFT | TAKEN | 1)
            && el_snapshot_read(slot->words, &slot->checksum, item, sizeof(*item))
            && key_of(item) == atomic_load_explicit(&slot->key, memory_order_relaxed)) {
            return true;
        }
    }
    return false;
}

void el_hot_reset(el_hot_t *hot)
{
    for (int i = 0; i < EL_HOT_SETS * EL_HOT_WAYS; i++) {
        atomic_store(&hot->slot[i].asked, 0);
    }
}
