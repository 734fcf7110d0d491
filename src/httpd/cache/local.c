#include "httpd/cache/local.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Places, in sets that a name belongs to: as many as there are pages of 4 KB in 4 MB. */
#define SETS 256
#define WAYS 4

/* One copy takes a part of all, so that a large one does not drive out all others. */
#define PART 4

/* A copy; its bytes follow. */
typedef struct {
    _Atomic uint32_t users; /* its slot among them */
    uint32_t stamp;
    bool asked; /* since it was passed over last */
    el_name_t name;
    el_entry_t entry; /* entry.data: the bytes behind */
} copy_t;

static struct {
    pthread_mutex_t lock; /* not taken by release(), which cleanups in signal handlers may call */
    size_t most;
    _Atomic size_t nbytes; /* of all copies, until nobody uses them */
    unsigned hand;         /* the slot that is looked at next for something to drive out */
    copy_t *slot[SETS * WAYS];
} copies = {.lock = PTHREAD_MUTEX_INITIALIZER};

void el_found_release(el_found_t *found)
{
    if (found->buffer) {
        found->release(found->buffer);
        found->buffer = NULL;
    }
}

static size_t size_of(const copy_t *copy)
{
    return sizeof(*copy) + copy->entry.nbytes;
}

static void leave(copy_t *copy)
{
    if (copy && atomic_fetch_sub_explicit(&copy->users, 1, memory_order_acq_rel) == 1) {
        atomic_fetch_sub_explicit(&copies.nbytes, size_of(copy), memory_order_relaxed);
        free(copy);
    }
}

static void release(void *buffer)
{
    leave(buffer);
}

/* The caller has made itself one of the copy's users. */
static void find(copy_t *copy, el_found_t *found)
{
    found->entry = copy->entry;
    found->buffer = copy;
    found->release = release;
}

static copy_t **set_of(const el_name_t *name)
{
    uint32_t hash;

    memcpy(&hash, name->hash, sizeof(hash));
    return &copies.slot[(hash ^ name->coding) % SETS * WAYS];
}

/* The slot of that name, or NULL. */
static copy_t **slot_of(const el_name_t *name)
{
    copy_t **set = set_of(name);

    for (int way = 0; way < WAYS; way++) {
        if (set[way] && memcmp(&set[way]->name, name, sizeof(*name)) == 0) {
            return &set[way];
        }
    }
    return NULL;
}

void el_local_open(size_t most)
{
    copies.most = most;
}

bool el_local_get(const el_name_t *name, el_local_stamp_t stamp, el_found_t *found)
{
    copy_t **slot, *copy = NULL;

    pthread_mutex_lock(&copies.lock);
    slot = slot_of(name);
    if (slot && stamp.now - (*slot)->stamp <= stamp.age) {
        copy = *slot;
        copy->asked = true;
        atomic_fetch_add_explicit(&copy->users, 1, memory_order_relaxed);
    }
    pthread_mutex_unlock(&copies.lock);
    if (copy) {
        find(copy, found);
    }
    return copy != NULL;
}

/* A slot for that name: its own, a free one, or one that nobody asked for. */
static copy_t **choose(const el_name_t *name)
{
    copy_t **set = set_of(name), **chosen = slot_of(name);

    for (int way = 0; !chosen && way < WAYS; way++) {
        if (!set[way]) {
            chosen = &set[way];
        }
    }
    for (int way = 0; !chosen && way < WAYS; way++) {
        chosen = set[way]->asked ? NULL : &set[way];
        set[way]->asked = false;
    }
    return chosen ? chosen : set;
}

/* Whether to give up its slot would free nothing yet. */
static bool is_sent(copy_t *copy)
{
    return atomic_load_explicit(&copy->users, memory_order_relaxed) > 1;
}

/*
 * Under the lock: drives out what was asked for longest ago, about, until there is room for
 * `nbytes` more. False where what is being sent leaves none.
 */
static bool make_room(size_t nbytes)
{
    for (unsigned i = 0; i < 2 * SETS * WAYS; i++) {
        copy_t **slot = &copies.slot[copies.hand++ % (SETS * WAYS)];

        if (atomic_load_explicit(&copies.nbytes, memory_order_relaxed) + nbytes <= copies.most) {
            return true;
        }
        if (!*slot || is_sent(*slot)) {
            continue;
        }
        if ((*slot)->asked) {
            (*slot)->asked = false;
        } else {
            leave(*slot);
            *slot = NULL;
        }
    }
    return atomic_load_explicit(&copies.nbytes, memory_order_relaxed) + nbytes <= copies.most;
}

static copy_t *make_copy(const el_name_t *name, const el_entry_t *entry, uint32_t now)
{
    copy_t *copy = malloc(sizeof(*copy) + entry->nbytes);

    if (copy) {
        memcpy(copy + 1, entry->data, entry->nbytes);
        atomic_init(&copy->users, 1);
        copy->stamp = now;
        copy->asked = false;
        copy->name = *name;
        copy->entry = *entry;
        copy->entry.data = (const uint8_t *)(copy + 1);
    }
    return copy;
}

bool el_local_put(const el_name_t *name, const el_entry_t *entry, uint32_t now, el_found_t *found)
{
    size_t nbytes = sizeof(copy_t) + entry->nbytes;
    copy_t *copy, *before = NULL;
    bool fits;

    if (nbytes > copies.most / PART || !(copy = make_copy(name, entry, now))) {
        return false;
    }
    pthread_mutex_lock(&copies.lock);
    fits = make_room(nbytes);
    if (fits) {
        copy_t **slot = choose(name);

        atomic_fetch_add_explicit(&copies.nbytes, nbytes, memory_order_relaxed);
        before = *slot;
        *slot = copy;
        if (found) {
            atomic_fetch_add_explicit(&copy->users, 1, memory_order_relaxed);
        }
    }
    pthread_mutex_unlock(&copies.lock);
    leave(before);
    if (!fits) {
        free(copy);
    } else if (found) {
        find(copy, found);
    }
    return fits;
}
