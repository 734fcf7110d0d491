#include "elastic/entry.h"

#include "bytes.h"
#include "elastic/cost.h"

#include <string.h>

/* First bytes of an entry; the last one is the layout's version. */
static const uint8_t magic[8] = {'e', 'l', 'e', 'n', 't', 'r', 'y', 1};

/* Offsets in the head; numbers are little-endian. */
enum {
    AT_MAGIC = 0,
    AT_SUM = 8, /* checksum of the name and everything that follows */
    AT_IN = 16,
    AT_NBYTES = 24,
    AT_WRITTEN = 32,
    AT_CODING = 40,
    AT_LEVEL = 41,
    AT_ZERO = 42, /* zeros up to AT_GAINED */
    AT_GAINED = 44, /* 32 bits */
    AT_ENGINE = 48,
    AT_END = AT_ENGINE + EL_ENTRY_ENGINE /* zeros up to the encoding */
};
_Static_assert(AT_END <= EL_ENTRY_HEAD, "the head has room");

/* Checksums side by side, so that multiplications do not wait for each other. */
#define LANES 4

/* Words are in native byte order: a machine with another order rejects the entry. */
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
    if (nbytes <= EL_ENTRY_HEAD || engine[EL_ENTRY_ENGINE - 1] != 0) {
        return false;
    }
    /* Printable characters without spaces, then zeros. */
    while (engine[len] > ' ' && engine[len] < 0x7f) {
        len++;
    }
    if (len == 0 || memcmp(bytes + AT_MAGIC, magic, sizeof(magic)) != 0
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
 * After the first write through a mapping, further writes to the page do not change the times until
 * the kernel writes the page back: by default once it is 30 s old, checked every 5 s.
 */
#define WRITTEN_BACK_USEC (40 * USEC_PER_SEC)

/* Later times are invalid; also prevents overflow. */
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

/* Bits of a hash that select one bit of a filter. */
#define INDEX_BITS 21
_Static_assert(EL_DOORKEEPER_BITS == 1u << INDEX_BITS, "an index reaches each bit");

/* A hash of 64 bits has three indexes. */
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

    /* The first half of the hash is used to find entries. */
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
        entry_clear_filter(doorkeeper, noted / most % 2); /* the older one */
    }
    return entry_has_all(doorkeeper, !newer, first);
}

/* Leaves unused pages untouched, so that they take no memory. */
void el_doorkeeper_reset(el_doorkeeper_t *doorkeeper)
{
    if (atomic_load(&doorkeeper->noted)) {
        entry_clear_filter(doorkeeper, 0);
        entry_clear_filter(doorkeeper, 1);
        atomic_store(&doorkeeper->noted, 0);
    }
}

/* Counts are halved at this value: they fit into half a word, and a few hundred bodies suffice. */
#define FULL 256

/*
 * A path is worth hashing if one body in this many repeats: hashing takes about a thirtieth of the
 * time of the fastest setups.
 */
#define WORTH 32

/* Hashed bodies after which a path is judged by itself. */
#define KNOWN_PATH 16

/* Hashed bodies after which a host's new paths are judged by its other paths. */
#define KNOWN_HOST 64

/* Samples one body in 16 of a path not worth it; one in 4 of a new path on such a host. */
#define SAMPLE_BITS 4
#define SAMPLE_NEW_BITS 2

typedef struct {
    uint32_t hashed;
    uint32_t again;
} count_t;

static uint64_t entry_hash_of(const char *text, uint64_t sum)
{
    for (; *text; text++) {
        sum = el_hash_add(sum, (unsigned char)*text);
    }
    /* The high bits select the counter of the second row: mix the low bits into them. */
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

/* The smaller counter of both rows: it is shared less. */
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
    uint32_t spread = el_spread(turn); /* even for periodic requests */

    if (path.hashed >= KNOWN_PATH) {
        return path.again * WORTH >= path.hashed || spread >> (32 - SAMPLE_BITS) == 0;
    }
    host = entry_count_of(sketch, key.host);
    return host.hashed < KNOWN_HOST || host.again * WORTH >= host.hashed
           || spread >> (32 - SAMPLE_NEW_BITS) == 0;
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
            /* If another thread was faster, this body is not counted. */
            atomic_compare_exchange_strong_explicit(word, &before, count.hashed << 16 | count.again,
                                                    memory_order_relaxed, memory_order_relaxed);
        }
    }
    if (!atomic_load_explicit(&sketch->taught, memory_order_relaxed)) {
        atomic_store_explicit(&sketch->taught, 1, memory_order_relaxed);
    }
}

/* Leaves unused pages untouched, so that they take no memory. */
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
 * An `asked` word: the count in the low bits, the half-lives for which it is not taken again, and
 * in the high bits the number of the half-life in which both were stored.
 */
#define COUNT_MASK UINT64_C(0x3ffffff)
#define TAKEN_ONE (COUNT_MASK + 1)
#define ERA_SHIFT 32
#define TAKEN_MASK ((UINT64_C(1) << ERA_SHIFT) - TAKEN_ONE)
#define TAKEN ((uint64_t)EL_POPULAR_AGAIN * TAKEN_ONE)
_Static_assert(EL_POPULAR_AGAIN <= TAKEN_MASK / TAKEN_ONE, "a word has room for it");

/* Attempts of el_popular_take() if other processes are faster. */
#define TRIES 8

/* 2^64 divided by the golden ratio, an odd number: spreads small numbers over all bits. */
#define SPREAD UINT64_C(0x9e3779b97f4a7c15)

/*
 * A hash of the encoding and of the coding to improve it to: one encoding may be improved for
 * clients of several codings.
 */
static uint64_t entry_key_of(const el_popular_item_t *item)
{
    const el_name_t *name = &item->name;
    uint64_t key, kind = (uint64_t)name->coding << 16 | (uint64_t)name->pinned << 8 | item->coding;

    memcpy(&key, name->hash, sizeof(key));
    key ^= kind * SPREAD;
    return key ? key : 1;
}

/* `asked` as of `era`; 0, not taken, if its count has faded. */
static uint64_t entry_faded(uint64_t asked, uint64_t era)
{
    uint64_t passed = era - (asked >> ERA_SHIFT);
    uint64_t count = passed < ERA_SHIFT ? (asked & COUNT_MASK) >> passed : 0;
    uint64_t taken = (asked & TAKEN_MASK) / TAKEN_ONE;

    /* A process may have read the clock later than this one. */
    if (asked >> ERA_SHIFT > era) {
        return asked;
    }
    taken = taken > passed ? taken - passed : 0;
    return count > 0 ? era << ERA_SHIFT | taken * TAKEN_ONE | count : 0;
}

static void entry_count(el_popular_slot_t *slot, uint64_t era, int add)
{
    uint64_t before = atomic_load_explicit(&slot->asked, memory_order_relaxed);
    uint64_t after;

    do {
        after = entry_faded(before, era);
        if (add == -1 ? (after & COUNT_MASK) == 0 : (after & COUNT_MASK) == COUNT_MASK) {
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
    /* If two writers meet here, key and words do not match: the item is not taken, and fades. */
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

        /* The highest count that is not marked as taken. */
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
        /* Restart at a count of 1: it fades soon unless requests go on. */
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
/* With the shortest deflate stream. */
#define GZIP_LEAST (GZIP_HEAD + 2 + GZIP_TAIL)

/* --- zstd (RFC 8878 §3.1) */

#define ZSTD_MAGIC UINT32_C(0xfd2fb528)
#define ZSTD_SKIPPABLE UINT32_C(0x184d2a50) /* … and the next 15 values */

/* A position in the sequence of a file's frames. */
typedef struct {
    const el_precompressed_t *file;
    uint64_t at;   /* at most the file's size */
    bool open;     /* the rest of the file is not in `bytes` */
    bool unsized;  /* a frame had no content size */
    uint64_t body; /* sum of content sizes, at most the original's size */
} zstd_walk_t;

/* Reads up to 4 bytes as a number. False if they are not in `bytes`. */
static bool entry_zstd_take(zstd_walk_t *walk, unsigned nbytes, uint32_t *number)
{
    const el_precompressed_t *file = walk->file;

    if (walk->at > file->nbytes || file->nbytes - walk->at < nbytes) {
        walk->open = file->size - walk->at >= nbytes;
        return false;
    }
    *number = (uint32_t)el_bytes_get(file->bytes + walk->at, nbytes);
    walk->at += nbytes;
    return true;
}

/* The fault if the walk cannot go on: none if the rest was only not read. */
static el_precompressed_fault_t entry_zstd_stop(const zstd_walk_t *walk)
{
    return walk->open ? GOOD : EL_PRECOMPRESSED_CODING;
}

/* The header after the magic number (§3.1.1.1). Browsers have no dictionary for its id. */
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
        || !entry_zstd_take(walk, size_bytes == 8 ? 4 : size_bytes, &low)
        || !entry_zstd_take(walk, size_bytes == 8 ? 4 : 0, &high)) {
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

/* A frame after its magic number. */
static el_precompressed_fault_t entry_zstd_frame(zstd_walk_t *walk)
{
    bool checksum = false;
    uint32_t block = 0, ignored;
    el_precompressed_fault_t fault = entry_zstd_head(walk, &checksum);

    if (fault != GOOD || walk->open) {
        return fault;
    }
    while (!(block & 1)) {
        if (!entry_zstd_take(walk, 3, &block)) {
            return entry_zstd_stop(walk);
        }
        if ((block >> 1 & 3) == 3) {
            return EL_PRECOMPRESSED_CODING;
        }
        walk->at += (block >> 1 & 3) == 1 ? 1 : block >> 3; /* RLE blocks have one byte */
        if (walk->at > walk->file->size) {
            return EL_PRECOMPRESSED_CODING;
        }
    }
    return !checksum || entry_zstd_take(walk, 4, &ignored) ? GOOD : entry_zstd_stop(walk);
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
        /* Magic number, deflate as the method, no reserved flag (RFC 1952 §2.3). */
        if (file->nbytes < GZIP_LEAST || bytes[0] != 0x1f || bytes[1] != 0x8b || bytes[2] != 8
            || (bytes[3] & 0xe0) != 0) {
            return EL_PRECOMPRESSED_CODING;
        }
        /*
         * The size is the last member's. If there are several members it differs from the
         * original's, which is right: browsers and curl take the first member for the whole body.
         */
        return (uint32_t)el_bytes_get(file->end, sizeof(file->end)) == (uint32_t)file->original
                   ? GOOD
                   : EL_PRECOMPRESSED_SIZE;
    case EL_BR:
        /*
         * br has no magic number. 0x11 begins the streams of brotli's --large_window, which RFC
         * 7932 forbids. A file of one byte can only be an empty body.
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

/* The lowest bits of a verdict's word are the verdict plus 1. */
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

/* The place is taken from the bits above the verdict's. */
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
