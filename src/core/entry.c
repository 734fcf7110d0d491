#include "elastic/entry.h"

#include "bytes.h"
#include "elastic/cost.h"

#include <string.h>

/* The beginning of an entry; the number is the layout's version. */
static const uint8_t magic[8] = {'e', 'l', 'e', 'n', 't', 'r', 'y', 1};

/* The places of numbers in the head, little endian. */
enum {
    AT_MAGIC = 0,
    AT_SUM = 8, /* of the name, and of all that follows */
    AT_IN = 16,
    AT_NBYTES = 24,
    AT_WRITTEN = 32,
    AT_CODING = 40,
    AT_LEVEL = 41,
    AT_ZERO = 42, /* to the next */
    AT_GAINED = 44, /* 32 bits, before the engine */
    AT_ENGINE = 48,
    AT_END = AT_ENGINE + EL_ENTRY_ENGINE /* zeros from here to the encoding */
};
_Static_assert(AT_END <= EL_ENTRY_HEAD, "the head has room");

/* Sums side by side: a multiplication waits for the last one of its own sum only. */
#define LANES 4

/*
 * Words are in this machine's order of bytes; one with another order takes the entry for damaged.
 */
static inline void entry_mix(uint64_t *lanes, const uint64_t *words)
{
    for (int i = 0; i < LANES; i++) {
        lanes[i] = el_hash_mix(lanes[i], words[i]);
    }
}

static void entry_add(uint64_t *lanes, const uint8_t *bytes, size_t nbytes)
{
    uint64_t words[LANES];

    for (; nbytes >= sizeof(words); bytes += sizeof(words), nbytes -= sizeof(words)) {
        memcpy(words, bytes, sizeof(words));
        entry_mix(lanes, words);
    }
    if (nbytes > 0) {
        memset(words, 0, sizeof(words));
        memcpy(words, bytes, nbytes);
        entry_mix(lanes, words);
    }
}

static uint64_t entry_sum_of(const el_name_t *name, const uint8_t *entry, const uint8_t *data,
                             size_t nbytes)
{
    uint64_t lanes[LANES], all = EL_HASH_START;

    for (int i = 0; i < LANES; i++) {
        lanes[i] = EL_HASH_START + (uint64_t)i;
    }
    entry_add(lanes, (const uint8_t *)name, sizeof(*name));
    entry_add(lanes, entry + AT_IN, EL_ENTRY_HEAD - AT_IN);
    entry_add(lanes, data, nbytes);
    for (int i = 0; i < LANES; i++) {
        all = el_hash_mix(all, lanes[i]);
    }
    return all;
}

void el_entry_write(const el_name_t *name, const el_entry_t *entry, uint8_t *out)
{
    memset(out, 0, EL_ENTRY_HEAD);
    memcpy(out + AT_MAGIC, magic, sizeof(magic));
    el_bytes_put(out + AT_IN, 8, entry->in);
    el_bytes_put(out + AT_NBYTES, 8, entry->nbytes);
    el_bytes_put(out + AT_WRITTEN, 8, entry->written);
    out[AT_CODING] = (uint8_t)entry->coding;
    out[AT_LEVEL] = (uint8_t)entry->level;
    el_bytes_put(out + AT_GAINED, 4, entry->gained);
    for (int i = 0; i < EL_ENTRY_ENGINE - 1 && entry->engine[i]; i++) {
        out[AT_ENGINE + i] = (uint8_t)entry->engine[i];
    }
    if (entry->data != out + EL_ENTRY_HEAD) {
        memcpy(out + EL_ENTRY_HEAD, entry->data, entry->nbytes);
    }
    el_bytes_put(out + AT_SUM, 8, entry_sum_of(name, out, out + EL_ENTRY_HEAD, entry->nbytes));
}

static bool entry_all_zero(const uint8_t *bytes, size_t nbytes)
{
    for (size_t i = 0; i < nbytes; i++) {
        if (bytes[i] != 0) {
            return false;
        }
    }
    return true;
}

bool el_entry_parse(const el_name_t *name, const uint8_t *bytes, size_t nbytes, el_entry_t *entry)
{
    const uint8_t *engine = bytes + AT_ENGINE;
    size_t len = 0;

    memset(entry, 0, sizeof(*entry));
    if (nbytes <= EL_ENTRY_HEAD) {
        return false;
    }
    /* The engine is a text of printable characters without spaces; the rest is zeros. */
    while (len < EL_ENTRY_ENGINE && engine[len] > ' ' && engine[len] < 0x7f) {
        len++;
    }
    if (len == 0 || len == EL_ENTRY_ENGINE || memcmp(bytes + AT_MAGIC, magic, sizeof(magic)) != 0
        || bytes[AT_CODING] <= EL_IDENTITY || bytes[AT_CODING] >= EL_CODINGS
        || bytes[AT_CODING] != name->coding || bytes[AT_LEVEL] >= EL_COST_LEVELS
        || (name->pinned != EL_NAME_ADAPTIVE && name->pinned != bytes[AT_LEVEL])
        || !entry_all_zero(bytes + AT_ZERO, AT_GAINED - AT_ZERO)
        || !entry_all_zero(engine + len, EL_ENTRY_ENGINE - len)
        || !entry_all_zero(bytes + AT_END, EL_ENTRY_HEAD - AT_END)
        || el_bytes_get(bytes + AT_NBYTES, 8) != nbytes - EL_ENTRY_HEAD
        || el_bytes_get(bytes + AT_IN, 8) == 0
        || el_bytes_get(bytes + AT_SUM, 8)
               != entry_sum_of(name, bytes, bytes + EL_ENTRY_HEAD, nbytes - EL_ENTRY_HEAD)) {
        return false;
    }
    entry->coding = (el_coding_t)bytes[AT_CODING];
    entry->level = bytes[AT_LEVEL];
    entry->gained = (uint32_t)el_bytes_get(bytes + AT_GAINED, 4);
    memcpy(entry->engine, bytes + AT_ENGINE, EL_ENTRY_ENGINE);
    entry->in = el_bytes_get(bytes + AT_IN, 8);
    entry->written = el_bytes_get(bytes + AT_WRITTEN, 8);
    entry->data = bytes + EL_ENTRY_HEAD;
    entry->nbytes = nbytes - EL_ENTRY_HEAD;
    return true;
}

#define USEC_PER_SEC 1000000

/*
 * Changes through a mapping show at the first write to a page only, until the kernel has written
 * the page back: when it is 30 s old, at the next of looks that are 5 s apart, by default.
 */
#define WRITTEN_BACK_USEC (40 * USEC_PER_SEC)

/* A time that no clock shows is as good as none. */
#define SEC_MOST (INT64_MAX / USEC_PER_SEC - 1)

static bool entry_is_before(int64_t sec, uint32_t nsec, int64_t limit_usec)
{
    return sec >= 0 && sec < SEC_MOST && sec * USEC_PER_SEC + nsec / 1000 <= limit_usec;
}

bool el_file_id_settled(const el_file_id_t *id, int64_t now_usec)
{
    return id->changed_nsec != 0
           && entry_is_before(id->changed_sec, id->changed_nsec, now_usec - WRITTEN_BACK_USEC)
           && entry_is_before(id->modified_sec, id->modified_nsec, now_usec - WRITTEN_BACK_USEC);
}

/* Bits of a hash that find one bit of a filter. */
#define INDEX_BITS 21
_Static_assert(EL_DOORKEEPER_BITS == 1u << INDEX_BITS, "an index reaches each bit");

/* 64 bits have three indexes. */
#define PROBES 3

static bool entry_has_all(const el_doorkeeper_t *doorkeeper, unsigned filter, uint64_t hash)
{
    bool all = true;

    for (int i = 0; all && i < PROBES; i++, hash >>= INDEX_BITS) {
        uint32_t bit = hash % EL_DOORKEEPER_BITS;

        all = atomic_load_explicit(&doorkeeper->word[filter][bit / 64], memory_order_relaxed)
                  >> bit % 64 & 1;
    }
    return all;
}

static void entry_clear_filter(el_doorkeeper_t *doorkeeper, unsigned filter)
{
    for (unsigned i = 0; i < EL_DOORKEEPER_BITS / 64; i++) {
        atomic_store_explicit(&doorkeeper->word[filter][i], 0, memory_order_relaxed);
    }
}

bool el_doorkeeper_note(el_doorkeeper_t *doorkeeper, const uint8_t *hash, uint32_t most)
{
    uint64_t noted = atomic_load_explicit(&doorkeeper->noted, memory_order_relaxed);
    unsigned newer = noted / most % 2;
    uint64_t first;

    /* The other half of a name's hash finds entries. */
    memcpy(&first, hash + sizeof(first), sizeof(first));
    if (entry_has_all(doorkeeper, newer, first)) {
        return true;
    }
    for (uint64_t i = 0, rest = first; i < PROBES; i++, rest >>= INDEX_BITS) {
        uint32_t bit = rest % EL_DOORKEEPER_BITS;

        atomic_fetch_or_explicit(&doorkeeper->word[newer][bit / 64], UINT64_C(1) << bit % 64,
                                 memory_order_relaxed);
    }
    noted = atomic_fetch_add_explicit(&doorkeeper->noted, 1, memory_order_relaxed) + 1;
    if (noted % most == 0) {
        entry_clear_filter(doorkeeper, noted / most % 2);
        return false;
    }
    return entry_has_all(doorkeeper, !newer, first);
}

/* Memory that was never written stays so: it takes no room. */
void el_doorkeeper_reset(el_doorkeeper_t *doorkeeper)
{
    if (atomic_load(&doorkeeper->noted) > 0) {
        entry_clear_filter(doorkeeper, 0);
        entry_clear_filter(doorkeeper, 1);
        atomic_store(&doorkeeper->noted, 0);
    }
}

/*
 * A count is halved before it needs more bits than half of a word: a few hundred bodies are enough.
 */
#define FULL 256

/*
 * One body in so many has to be one that was seen: hashing takes about a thirtieth of the time of
 * the fastest setups.
 */
#define WORTH 32

/* Bodies of a path that are hashed before it is judged. */
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

static uint64_t entry_hash_of(const char *text, uint64_t sum)
{
    for (; *text; text++) {
        sum = el_hash_add(sum, (unsigned char)*text);
    }
    /* The high bits choose the second row's place: the low ones have to reach them. */
    sum ^= sum >> 33;
    sum *= UINT64_C(0xff51afd7ed558ccd);
    return sum ^ sum >> 33;
}

el_sketch_key_t el_sketch_key(const char *host, const char *path)
{
    uint64_t sum = entry_hash_of(host, EL_HASH_START);

    return (el_sketch_key_t){.host = sum, .path = entry_hash_of(path, sum ^ 1)};
}

static count_t entry_unpack(uint32_t word)
{
    return (count_t){.hashed = word >> 16, .again = word & 0xffff};
}

/* The smaller count of both rows: fewer others share it. */
static count_t entry_count_of(const el_sketch_t *sketch, uint64_t key)
{
    count_t best = {.hashed = UINT32_MAX};

    for (unsigned row = 0; row < EL_SKETCH_ROWS; row++) {
        uint32_t index = (uint32_t)(key >> row * 32) % EL_SKETCH_COUNTS;
        count_t count = entry_unpack(atomic_load_explicit(&sketch->count[row][index],
                                                          memory_order_relaxed));

        best = count.hashed < best.hashed ? count : best;
    }
    return best;
}

bool el_sketch_asks(const el_sketch_t *sketch, el_sketch_key_t key, uint32_t turn)
{
    count_t path = entry_count_of(sketch, key.path), host;
    uint32_t spread = el_spread(turn); /* evenly, whatever a site's rounds are */

    if (path.hashed >= KNOWN_PATH) {
        return path.again * WORTH >= path.hashed || spread < UINT32_MAX / SAMPLE;
    }
    host = entry_count_of(sketch, key.host);
    return host.hashed < KNOWN_HOST || host.again * WORTH >= host.hashed
           || spread < UINT32_MAX / SAMPLE_NEW;
}

void el_sketch_learn(el_sketch_t *sketch, el_sketch_key_t key, bool again)
{
    const uint64_t keys[] = {key.path, key.host};

    for (unsigned row = 0; row < EL_SKETCH_ROWS; row++) {
        for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
            uint32_t index = (uint32_t)(keys[i] >> row * 32) % EL_SKETCH_COUNTS;
            _Atomic uint32_t *word = &sketch->count[row][index];
            uint32_t before = atomic_load_explicit(word, memory_order_relaxed);
            count_t count = entry_unpack(before);

            count.hashed++;
            count.again += again;
            if (count.hashed >= FULL) {
                count.hashed /= 2;
                count.again /= 2;
            }
            /* If another thread was faster, one lesson is lost. */
            atomic_compare_exchange_strong_explicit(word, &before, count.hashed << 16 | count.again,
                                                    memory_order_relaxed, memory_order_relaxed);
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

/*
 * An `asked` word: how often in the low bits, for how many half-lives it is not taken again, and
 * above the number of the half-life in which that was so.
 */
#define COUNT_MASK UINT64_C(0x3ffffff)
#define TAKEN_ONE (COUNT_MASK + 1)
#define ERA_SHIFT 32
#define TAKEN_MASK ((UINT64_C(1) << ERA_SHIFT) - TAKEN_ONE)
#define TAKEN ((uint64_t)EL_POPULAR_AGAIN * TAKEN_ONE)
_Static_assert(EL_POPULAR_AGAIN <= TAKEN_MASK / TAKEN_ONE, "a word has room for it");

/* el_popular_take() looks again as often when another process was faster. */
#define TRIES 8

/* 2^64 times the golden ratio - 1, an odd number: it spreads small ones over all bits. */
#define SPREAD UINT64_C(0x9e3779b97f4a7c15)

/*
 * Hashes of names differ at random. One encoding may be worth improving for several kinds of
 * clients.
 */
static uint64_t entry_key_of(const el_popular_item_t *item)
{
    const el_name_t *name = &item->name;
    uint64_t key, kind = (uint64_t)name->coding << 16 | (uint64_t)name->pinned << 8 | item->coding;

    memcpy(&key, name->hash, sizeof(key));
    key ^= kind * SPREAD;
    return key ? key : 1;
}

/* `asked` as it is in `era`; 0, also taken by nobody, if nothing is left of it. */
static uint64_t entry_faded(uint64_t asked, uint64_t era)
{
    uint64_t passed = era - (asked >> ERA_SHIFT);
    uint64_t count = passed < ERA_SHIFT ? (asked & COUNT_MASK) >> passed : 0;
    uint64_t taken = (asked & TAKEN_MASK) / TAKEN_ONE;

    /* A process may have read the clock before another one that was here first. */
    if (asked >> ERA_SHIFT > era) {
        return asked;
    }
    taken = taken > passed ? taken - passed : 0;
    return count > 0 ? era << ERA_SHIFT | taken * TAKEN_ONE | count : 0;
}

/* Adds 1 or −1 to the count of a slot. */
static void entry_count(el_popular_slot_t *slot, uint64_t era, int add)
{
    uint64_t before = atomic_load_explicit(&slot->asked, memory_order_relaxed);
    uint64_t after;

    do {
        after = entry_faded(before, era);
        if (add < 0 ? (after & COUNT_MASK) == 0 : (after & COUNT_MASK) == COUNT_MASK) {
            return;
        }
        after = (after ? after : era << ERA_SHIFT) + (uint64_t)(int64_t)add;
    } while (!atomic_compare_exchange_weak_explicit(&slot->asked, &before, after,
                                                    memory_order_relaxed, memory_order_relaxed));
}

void el_popular_note(el_popular_t *popular, const el_popular_item_t *item, uint32_t now)
{
    uint64_t key = entry_key_of(item), era = now / EL_POPULAR_HALF;
    el_popular_slot_t *set = &popular->slot[key % EL_POPULAR_SETS * EL_POPULAR_WAYS];
    el_popular_slot_t *least = NULL;
    uint64_t fewest = UINT64_MAX;

    for (int way = 0; way < EL_POPULAR_WAYS; way++) {
        uint64_t asked = entry_faded(atomic_load_explicit(&set[way].asked, memory_order_relaxed),
                                     era);

        if (asked && atomic_load_explicit(&set[way].key, memory_order_relaxed) == key) {
            entry_count(&set[way], era, 1);
            return;
        }
        if ((asked & COUNT_MASK) < fewest) {
            fewest = asked & COUNT_MASK;
            least = &set[way];
        }
    }
    if (fewest > 0) {
        entry_count(least, era, -1);
        return;
    }
    /* If two meet here, key and words do not match: nobody takes the item, and it fades. */
    atomic_store_explicit(&least->asked, era << ERA_SHIFT | 1, memory_order_relaxed);
    atomic_store_explicit(&least->key, key, memory_order_relaxed);
    el_snapshot_write(least->words, &least->checksum, item, sizeof(*item));
}

bool el_popular_take(el_popular_t *popular, uint32_t now, el_popular_item_t *item)
{
    uint64_t era = now / EL_POPULAR_HALF;

    for (int i = 0; i < TRIES; i++) {
        uint64_t best = EL_POPULAR_LEAST - 1, asked = 0;
        el_popular_slot_t *slot = NULL;

        /* The slot that counts most and was not taken. */
        for (int s = 0; s < EL_POPULAR_SETS * EL_POPULAR_WAYS; s++) {
            uint64_t word = atomic_load_explicit(&popular->slot[s].asked, memory_order_relaxed);
            uint64_t faded = entry_faded(word, era);

            if (!(faded & TAKEN_MASK) && (faded & COUNT_MASK) > best) {
                best = faded & COUNT_MASK;
                slot = &popular->slot[s];
                asked = word;
            }
        }
        if (!slot) {
            return false;
        }
        /* With a count of 1: it is forgotten soon, unless it is still asked for. */
        if (atomic_compare_exchange_strong(&slot->asked, &asked, era << ERA_SHIFT | TAKEN | 1)
            && el_snapshot_read(slot->words, &slot->checksum, item, sizeof(*item))
            && entry_key_of(item) == atomic_load_explicit(&slot->key, memory_order_relaxed)) {
            return true;
        }
    }
    return false;
}

/* --- precompressed files */

#define GOOD EL_PRECOMPRESSED_FAULTS_COUNT

#define GZIP_HEAD 10
#define GZIP_TAIL 8
/* With the shortest deflate stream, that of an empty body. */
#define GZIP_LEAST (GZIP_HEAD + 2 + GZIP_TAIL)

/* --- zstd (RFC 8878 §3.1) */

#define ZSTD_MAGIC UINT32_C(0xfd2fb528)
#define ZSTD_SKIPPABLE UINT32_C(0x184d2a50) /* and the 15 that follow */

/* A walk along the frames of a file. */
typedef struct {
    const el_precompressed_t *file;
    uint64_t at;
    bool open;     /* the bytes at hand end before the file does */
    bool unsized;  /* a frame did not say its size */
    uint64_t body; /* bytes of the frames that did: never more than the original has */
} zstd_walk_t;

/* The next bytes, 4 or fewer, as a number. False if they are not at hand. */
static bool entry_zstd_take(zstd_walk_t *walk, unsigned nbytes, uint32_t *number)
{
    const el_precompressed_t *file = walk->file;

    if (walk->at > file->nbytes || file->nbytes - walk->at < nbytes) {
        walk->open = file->nbytes < file->size && walk->at <= file->size
                     && file->size - walk->at >= nbytes;
        return false;
    }
    *number = (uint32_t)el_bytes_get(file->bytes + walk->at, nbytes);
    walk->at += nbytes;
    return true;
}

/* A walk has to stop here: the rest is not at hand, or missing. */
static el_precompressed_fault_t entry_zstd_stop(const zstd_walk_t *walk)
{
    return walk->open ? GOOD : EL_PRECOMPRESSED_CODING;
}

/*
 * The header behind the magic (§3.1.1.1). One with a dictionary's number needs that dictionary,
 * which no browser has.
 */
static el_precompressed_fault_t entry_zstd_head(zstd_walk_t *walk, bool *checksum)
{
    static const uint8_t of_dictionary[] = {0, 1, 2, 4}, of_size[] = {0, 2, 4, 8};
    uint32_t flags, exponent = 0, dictionary = 0, low = 0, high = 0;
    unsigned size_bytes;
    uint64_t size, window;
    bool single;

    if (!entry_zstd_take(walk, 1, &flags)) {
        return entry_zstd_stop(walk);
    }
    single = flags & 0x20;
    *checksum = flags & 4;
    size_bytes = flags >> 6 == 0 && single ? 1 : of_size[flags >> 6];
    if ((!single && !entry_zstd_take(walk, 1, &exponent))
        || !entry_zstd_take(walk, of_dictionary[flags & 3], &dictionary)
        || !entry_zstd_take(walk, size_bytes > 4 ? 4 : size_bytes, &low)
        || !entry_zstd_take(walk, size_bytes > 4 ? 4 : 0, &high)) {
        return entry_zstd_stop(walk);
    }
    size = (low | (uint64_t)high << 32) + (size_bytes == 2 ? 256 : 0);
    window = (UINT64_C(1) << (10 + (exponent >> 3))) / 8 * (8 + (exponent & 7));
    if (flags & 8 || dictionary != 0) {
        return EL_PRECOMPRESSED_CODING;
    }
    if ((single ? size : window) > EL_PRECOMPRESSED_LARGEST_WINDOW) {
        return EL_PRECOMPRESSED_WINDOW;
    }
    walk->unsized = walk->unsized || size_bytes == 0;
    if (size > walk->file->original - walk->body) {
        return EL_PRECOMPRESSED_SIZE;
    }
    walk->body += size;
    return GOOD;
}

/* A frame behind its magic, to its end if that is at hand. */
static el_precompressed_fault_t entry_zstd_frame(zstd_walk_t *walk)
{
    bool checksum = false;
    uint32_t block = 0, ignored;
    el_precompressed_fault_t fault = entry_zstd_head(walk, &checksum);

    while (fault == GOOD && !walk->open && !(block & 1)) {
        if (!entry_zstd_take(walk, 3, &block)) {
            return entry_zstd_stop(walk);
        }
        if ((block >> 1 & 3) == 3) {
            return EL_PRECOMPRESSED_CODING;
        }
        walk->at += (block >> 1 & 3) == 1 ? 1 : block >> 3; /* one byte, repeated; or so many */
        if (walk->at > walk->file->size) {
            return EL_PRECOMPRESSED_CODING;
        }
    }
    if (fault == GOOD && !walk->open && checksum && !entry_zstd_take(walk, 4, &ignored)) {
        return entry_zstd_stop(walk);
    }
    return fault;
}

static el_precompressed_fault_t entry_judge_zstd(const el_precompressed_t *file)
{
    zstd_walk_t walk = {.file = file};
    el_precompressed_fault_t fault = GOOD;

    while (fault == GOOD && !walk.open && walk.at < file->size) {
        uint32_t number, skipped;

        if (!entry_zstd_take(&walk, 4, &number)) {
            fault = entry_zstd_stop(&walk);
        } else if (number == ZSTD_MAGIC) {
            fault = entry_zstd_frame(&walk);
        } else if ((number & ~UINT32_C(15)) != ZSTD_SKIPPABLE) {
            fault = EL_PRECOMPRESSED_CODING;
        } else if (!entry_zstd_take(&walk, 4, &skipped)) {
            fault = entry_zstd_stop(&walk);
        } else if (skipped > file->size - walk.at) {
            fault = EL_PRECOMPRESSED_CODING;
        } else {
            walk.at += skipped;
        }
    }
    if (fault != GOOD) {
        return fault;
    }
    return walk.open || walk.unsized || walk.body == file->original ? GOOD : EL_PRECOMPRESSED_SIZE;
}

el_precompressed_fault_t el_precompressed_judge(const el_precompressed_t *file)
{
    const uint8_t *bytes = file->bytes;

    if (file->size == 0) {
        return EL_PRECOMPRESSED_EMPTY;
    }
    switch (file->coding) {
    case EL_GZIP:
        /* The magic, deflate as the method, and no flag that is reserved (RFC 1952). */
        if (file->nbytes < GZIP_LEAST || bytes[0] != 0x1f || bytes[1] != 0x8b || bytes[2] != 8
            || (bytes[3] & 0xe0) != 0) {
            return EL_PRECOMPRESSED_CODING;
        }
        /*
         * Of several members browsers and curl read the first, and take that for the whole body:
         * its size is not the one that the last member says.
         */
        return (uint32_t)el_bytes_get(file->end, sizeof(file->end)) == (uint32_t)file->original
                   ? GOOD
                   : EL_PRECOMPRESSED_SIZE;
    case EL_BR:
        /*
         * brotli has no magic. 0x11 begins the streams of its --large_window, which RFC 7932
         * forbids. One byte has no room for more than the stream of an empty body.
         */
        if (bytes[0] == 0x11) {
            return EL_PRECOMPRESSED_WINDOW;
        }
        return file->size == 1 && file->original > 0 ? EL_PRECOMPRESSED_SIZE : GOOD;
    case EL_ZSTD:
        return entry_judge_zstd(file);
    default:
        return GOOD;
    }
}

/* --- verdicts */

/* The lowest bits of a verdict's word are the verdict. */
#define VERDICT_BITS UINT64_C(15)
_Static_assert(EL_PRECOMPRESSED_FAULTS_COUNT < 15, "a verdict has room, and none is a zero word");

static uint64_t entry_id_hash(const el_precompressed_id_t *id)
{
    uint64_t words[sizeof(*id) / sizeof(uint64_t)], hash = EL_HASH_START;

    memcpy(words, id, sizeof(words));
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        hash = el_hash_mix(hash, words[i]);
    }
    return hash;
}

/* The bits of a hash below the place are the verdict's. */
#define PLACES (sizeof((el_precompressed_verdicts_t){0}.verdict) / sizeof(_Atomic uint64_t))

bool el_precompressed_recall(const el_precompressed_verdicts_t *verdicts,
                             const el_precompressed_id_t *id, el_precompressed_fault_t *verdict)
{
    uint64_t hash = entry_id_hash(id);
    uint64_t word = atomic_load_explicit(&verdicts->verdict[(hash >> 4) % PLACES],
                                         memory_order_relaxed);

    if (word == 0 || ((word ^ hash) & ~VERDICT_BITS) != 0) {
        return false;
    }
    *verdict = (el_precompressed_fault_t)((word & VERDICT_BITS) - 1);
    return true;
}

void el_precompressed_remember(el_precompressed_verdicts_t *verdicts,
                               const el_precompressed_id_t *id, el_precompressed_fault_t verdict)
{
    uint64_t hash = entry_id_hash(id);

    atomic_store_explicit(&verdicts->verdict[(hash >> 4) % PLACES],
                          (hash & ~VERDICT_BITS) | ((uint64_t)verdict + 1), memory_order_relaxed);
}

bool el_precompressed_name(el_precompressed_verdicts_t *verdicts, const el_precompressed_id_t *id)
{
    uint64_t hash = entry_id_hash(id), bit = UINT64_C(1) << (hash >> 4) % 64;
    size_t place = (hash >> 10) % (sizeof(verdicts->named) / sizeof(verdicts->named[0]));

    return !(atomic_fetch_or_explicit(&verdicts->named[place], bit, memory_order_relaxed) & bit);
}
