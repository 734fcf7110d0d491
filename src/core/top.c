#include "elastic/top.h"

#include <string.h>

/* FNV-1a with 64 bits: its start and its factor. */
#define FNV_START UINT64_C(14695981039346656037)
#define FNV_FACTOR UINT64_C(1099511628211)

#define FREE 0

static uint64_t get(const _Atomic uint64_t *word)
{
    return atomic_load_explicit(word, memory_order_relaxed);
}

static void set(_Atomic uint64_t *word, uint64_t value)
{
    atomic_store_explicit(word, value, memory_order_relaxed);
}

static void add(_Atomic uint64_t *word, uint64_t value)
{
    atomic_fetch_add_explicit(word, value, memory_order_relaxed);
}

static uint64_t hash_of(const char *text, uint64_t sum)
{
    for (; *text; text++) {
        sum = (sum ^ (unsigned char)*text) * FNV_FACTOR;
    }
    return sum;
}

static uint64_t key_of(const char *first, const char *second)
{
    uint64_t key = hash_of(second, hash_of(first, FNV_START));

    return key != FREE ? key : 1;
}

static size_t append(char *text, size_t len, const char *more)
{
    while (*more && len < EL_TOP_TEXT - 1) {
        text[len++] = *more++;
    }
    return len;
}

static void write_name(el_top_slot_t *slot, uint64_t key, const char *first, const char *second)
{
    el_top_name_t name = {.key = key};

    append(name.text, append(name.text, 0, first), second);
    el_snapshot_write(slot->words, &slot->checksum, &name, sizeof(name));
}

static bool read_name(const el_top_t *top, size_t i, el_top_name_t *name)
{
    return el_snapshot_read(top->slot[i].words, &top->slot[i].checksum, name, sizeof(*name))
           && name->key == get(&top->key[i]);
}

/* The slot of `key`; EL_TOP_SLOTS where it has none: `*lightest` is then the one to take. */
static size_t find(const el_top_t *top, uint64_t key, size_t *lightest)
{
    uint64_t least = UINT64_MAX;

    for (size_t i = 0; i < EL_TOP_SLOTS; i++) {
        if (get(&top->key[i]) == key) {
            return i;
        }
    }
    for (size_t i = 0; i < EL_TOP_SLOTS; i++) {
        uint64_t weight = get(&top->weight[i]);

        if (weight < least) {
            least = weight;
            *lightest = i;
        }
    }
    return EL_TOP_SLOTS;
}

void el_top_add(el_top_t *top, const char *first, const char *second, uint64_t weight)
{
    uint64_t key = key_of(first, second), before;
    size_t lightest = 0, i = find(top, key, &lightest);

    add(&top->total, weight);
    if (i < EL_TOP_SLOTS) {
        add(&top->weight[i], weight);
        return;
    }
    before = get(&top->key[lightest]);
    /* Where another process has taken it, this weight has no slot. */
    if (atomic_compare_exchange_strong(&top->key[lightest], &before, key)) {
        set(&top->excess[lightest], get(&top->weight[lightest]));
        add(&top->weight[lightest], weight);
        write_name(&top->slot[lightest], key, first, second);
    }
}

static void shift(_Atomic uint64_t *word, uint64_t by)
{
    uint64_t value = get(word);

    /* What is added meanwhile stays. */
    atomic_fetch_sub_explicit(word, value - (by < 64 ? value >> by : 0), memory_order_relaxed);
}

void el_top_fade(el_top_t *top, uint64_t era)
{
    uint64_t before = get(&top->era);

    if (before >= era || !atomic_compare_exchange_strong(&top->era, &before, era) || before == 0) {
        return;
    }
    for (size_t i = 0; i < EL_TOP_SLOTS; i++) {
        shift(&top->weight[i], era - before);
        shift(&top->excess[i], era - before);
    }
    shift(&top->total, era - before);
}

/* Puts `item` where it belongs among `count` items, the heaviest first, in an array of `room`. */
static size_t insert(el_top_item_t *items, size_t count, size_t room, const el_top_item_t *item)
{
    size_t at = count;

    while (at > 0 && items[at - 1].weight < item->weight) {
        at--;
    }
    if (at == room) {
        return count;
    }
    count = count < room ? count + 1 : room;
    memmove(&items[at + 1], &items[at], (count - at - 1) * sizeof(*items));
    items[at] = *item;
    return count;
}

size_t el_top_read(const el_top_t *top, el_top_item_t *items, size_t room, uint64_t *total)
{
    size_t count = 0;

    for (size_t i = 0; i < EL_TOP_SLOTS; i++) {
        el_top_item_t item = {.weight = get(&top->weight[i]), .excess = get(&top->excess[i])};
        el_top_name_t name;

        if (item.weight > 0 && item.excess <= item.weight / 2 && read_name(top, i, &name)) {
            memcpy(item.text, name.text, sizeof(item.text));
            count = insert(items, count, room, &item);
        }
    }
    *total = get(&top->total);
    return count;
}

void el_top_reset(el_top_t *top)
{
    for (size_t i = 0; i < EL_TOP_SLOTS; i++) {
        set(&top->key[i], FREE);
        set(&top->weight[i], 0);
        set(&top->excess[i], 0);
        el_snapshot_clear(&top->slot[i].checksum);
    }
    set(&top->total, 0);
    set(&top->era, 0);
}
