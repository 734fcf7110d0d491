#include "elastic/vhosts.h"

#include "bytes.h"
#include "text.h"

#define NOBODY 0

uint64_t el_vhosts_hash(const char *name)
{
    uint64_t sum = EL_HASH_START;

    for (; *name; name++) {
        sum = el_hash_add(sum, (unsigned char)el_text_lower(*name));
    }
    return sum != NOBODY ? sum : 1;
}

static void forget(el_vhosts_t *vhosts, unsigned place)
{
    for (unsigned s = 0; s < EL_COUNTER_STRIPES; s++) {
        for (unsigned c = 0; c < EL_VHOST_COUNTS; c++) {
            atomic_store_explicit(&vhosts->stripe[s].count[place][c], 0, memory_order_relaxed);
        }
    }
}

static unsigned place_of(const el_vhosts_t *vhosts, uint64_t name)
{
    unsigned place = 0;

    while (place < EL_VHOSTS && atomic_load(&vhosts->name[place]) != name) {
        place++;
    }
    return place;
}

/* Places of names that are not among `names` are free from now on. */
static void leave(el_vhosts_t *vhosts, const uint64_t *names, size_t count)
{
    for (unsigned place = 0; place < EL_VHOSTS; place++) {
        uint64_t name = atomic_load(&vhosts->name[place]);
        size_t i = 0;

        while (i < count && names[i] != name) {
            i++;
        }
        if (i == count) {
            atomic_store(&vhosts->name[place], NOBODY);
        }
    }
}

/* A place is emptied as it is taken: until then, processes of before count on in it. */
void el_vhosts_assign(el_vhosts_t *vhosts, const uint64_t *names, size_t count, unsigned *places)
{
    leave(vhosts, names, count);
    for (size_t i = 0; i < count; i++) {
        places[i] = place_of(vhosts, names[i]);
        if (places[i] == EL_VHOSTS) {
            places[i] = place_of(vhosts, NOBODY);
            forget(vhosts, places[i]);
            atomic_store(&vhosts->name[places[i]], names[i]);
        }
    }
}

void el_vhosts_add(el_vhosts_t *vhosts, unsigned process, unsigned place, el_vhost_count_t count,
                   uint64_t add)
{
    el_vhosts_stripe_t *stripe = &vhosts->stripe[process % EL_COUNTER_STRIPES];

    atomic_fetch_add_explicit(&stripe->count[place][count], add, memory_order_relaxed);
}

uint64_t el_vhosts_total(const el_vhosts_t *vhosts, unsigned place, el_vhost_count_t count)
{
    uint64_t total = 0;

    for (unsigned s = 0; s < EL_COUNTER_STRIPES; s++) {
        total += atomic_load_explicit(&vhosts->stripe[s].count[place][count],
                                      memory_order_relaxed);
    }
    return total;
}
