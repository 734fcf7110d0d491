#include "elastic/sketch.h"

#include "bytes.h"

/* A count is halved before it needs more bits than half of a word: a few hundred bodies are enough. */
#define FULL 256

/*
 * One body in so many has to be one that was seen: hashing takes about a thirtieth of the time of
 * the fastest setups.
 */
#define WORTH 32

/* So many bodies of a path are hashed before it is judged. */
#define KNOWN_PATH 16

/* And of a host, of whose paths the next is then expected to be like the others. */
#define KNOWN_HOST 64

/* Of a path that is not worth it one body in so many is hashed; of a new one where no other was. */
#define SAMPLE 16
#define SAMPLE_NEW 4

typedef struct {
    uint32_t hashed;
    uint32_t again;
} count_t;

static uint64_t hash_of(const char *text, uint64_t sum)
{
    for (; *text; text++) {
        sum = el_hash_add(sum, (unsigned char)*text);
    }
    /* The high bits choose the second row's place: the low ones have to reach them. */
    sum ^= sum >> 33;
    sum *= UINT64_C(0xff51afd7ed558ccd);
    return sum ^ sum >> 33;
}

el_place_t el_sketch_place(const char *host, const char *path)
{
    uint64_t sum = hash_of(host, EL_HASH_START);

    return (el_place_t){.host = sum, .path = hash_of(path, sum ^ 1)};
}

static uint32_t index_of(uint64_t key, unsigned row)
{
    return (uint32_t)(key >> row * 32) % EL_SKETCH_COUNTS;
}

static count_t unpack(uint32_t word)
{
    return (count_t){.hashed = word >> 16, .again = word & 0xffff};
}

static count_t count_of(const el_sketch_t *sketch, uint64_t key)
{
    count_t best = {.hashed = UINT32_MAX};

    for (unsigned row = 0; row < EL_SKETCH_ROWS; row++) {
        count_t count = unpack(atomic_load_explicit(&sketch->count[row][index_of(key, row)],
                                                    memory_order_relaxed));

        best = count.hashed < best.hashed ? count : best;
    }
    return best;
}

static bool is_worth(count_t count)
{
    return count.again * WORTH >= count.hashed;
}

/* Evenly spread, whatever a site's rounds are. */
static bool is_sample(uint32_t turn, uint32_t every)
{
    return el_spread(turn) < UINT32_MAX / every;
}

bool el_sketch_asks(const el_sketch_t *sketch, el_place_t place, uint32_t turn)
{
    count_t path = count_of(sketch, place.path), host;

    if (path.hashed >= KNOWN_PATH) {
        return is_worth(path) || is_sample(turn, SAMPLE);
    }
    host = count_of(sketch, place.host);
    return host.hashed < KNOWN_HOST || is_worth(host) || is_sample(turn, SAMPLE_NEW);
}

static void learn(_Atomic uint32_t *word, bool again)
{
    uint32_t before = atomic_load_explicit(word, memory_order_relaxed);
    count_t count = unpack(before);

    count.hashed++;
    count.again += again;
    if (count.hashed >= FULL) {
        count.hashed /= 2;
        count.again /= 2;
    }
    /* Where another thread was faster, one lesson is lost. */
    atomic_compare_exchange_strong_explicit(word, &before, count.hashed << 16 | count.again,
                                            memory_order_relaxed, memory_order_relaxed);
}

void el_sketch_learn(el_sketch_t *sketch, el_place_t place, bool again)
{
    const uint64_t keys[] = {place.path, place.host};

    for (unsigned row = 0; row < EL_SKETCH_ROWS; row++) {
        for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
            learn(&sketch->count[row][index_of(keys[i], row)], again);
        }
    }
    if (!atomic_load_explicit(&sketch->taught, memory_order_relaxed)) {
        atomic_store_explicit(&sketch->taught, 1, memory_order_relaxed);
    }
}

/* Memory that was never written stays so: it takes no room. */
void el_sketch_reset(el_sketch_t *sketch)
{
    if (atomic_load(&sketch->taught)) {
        for (unsigned i = 0; i < EL_SKETCH_ROWS * EL_SKETCH_COUNTS; i++) {
            atomic_store_explicit(&sketch->count[i / EL_SKETCH_COUNTS][i % EL_SKETCH_COUNTS], 0,
                                  memory_order_relaxed);
        }
        atomic_store(&sketch->taught, 0);
    }
}
