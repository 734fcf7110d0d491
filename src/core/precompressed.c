#include "elastic/precompressed.h"

#include "bytes.h"

#include <string.h>

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
static bool precompressed_zstd_take(zstd_walk_t *walk, unsigned nbytes, uint32_t *number)
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
static el_precompressed_fault_t precompressed_zstd_stop(const zstd_walk_t *walk)
{
    return walk->open ? GOOD : EL_PRECOMPRESSED_CODING;
}

/*
 * The header behind the magic (§3.1.1.1). One with a dictionary's number needs that dictionary,
 * which no browser has.
 */
static el_precompressed_fault_t precompressed_zstd_head(zstd_walk_t *walk, bool *checksum)
{
    static const uint8_t of_dictionary[] = {0, 1, 2, 4}, of_size[] = {0, 2, 4, 8};
    uint32_t flags, exponent = 0, dictionary = 0, low = 0, high = 0;
    unsigned size_bytes;
    uint64_t size, window;
    bool single;

    if (!precompressed_zstd_take(walk, 1, &flags)) {
        return precompressed_zstd_stop(walk);
    }
    single = flags & 0x20;
    *checksum = flags & 4;
    size_bytes = flags >> 6 == 0 && single ? 1 : of_size[flags >> 6];
    if ((!single && !precompressed_zstd_take(walk, 1, &exponent))
        || !precompressed_zstd_take(walk, of_dictionary[flags & 3], &dictionary)
        || !precompressed_zstd_take(walk, size_bytes > 4 ? 4 : size_bytes, &low)
        || !precompressed_zstd_take(walk, size_bytes > 4 ? 4 : 0, &high)) {
        return precompressed_zstd_stop(walk);
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

/* A frame behind its magic, to its end where that is at hand. */
static el_precompressed_fault_t precompressed_zstd_frame(zstd_walk_t *walk)
{
    bool checksum = false;
    uint32_t block = 0, ignored;
    el_precompressed_fault_t fault = precompressed_zstd_head(walk, &checksum);

    while (fault == GOOD && !walk->open && !(block & 1)) {
        if (!precompressed_zstd_take(walk, 3, &block)) {
            return precompressed_zstd_stop(walk);
        }
        if ((block >> 1 & 3) == 3) {
            return EL_PRECOMPRESSED_CODING;
        }
        walk->at += (block >> 1 & 3) == 1 ? 1 : block >> 3; /* one byte, repeated; or so many */
        if (walk->at > walk->file->size) {
            return EL_PRECOMPRESSED_CODING;
        }
    }
    if (fault == GOOD && !walk->open && checksum && !precompressed_zstd_take(walk, 4, &ignored)) {
        return precompressed_zstd_stop(walk);
    }
    return fault;
}

static el_precompressed_fault_t precompressed_judge_zstd(const el_precompressed_t *file)
{
    zstd_walk_t walk = {.file = file};
    el_precompressed_fault_t fault = GOOD;

    while (fault == GOOD && !walk.open && walk.at < file->size) {
        uint32_t magic, skipped;

        if (!precompressed_zstd_take(&walk, 4, &magic)) {
            fault = precompressed_zstd_stop(&walk);
        } else if (magic == ZSTD_MAGIC) {
            fault = precompressed_zstd_frame(&walk);
        } else if ((magic & ~UINT32_C(15)) != ZSTD_SKIPPABLE) {
            fault = EL_PRECOMPRESSED_CODING;
        } else if (!precompressed_zstd_take(&walk, 4, &skipped)) {
            fault = precompressed_zstd_stop(&walk);
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
        return precompressed_judge_zstd(file);
    default:
        return GOOD;
    }
}

/* --- verdicts */

/* The lowest bits of a verdict's word are the verdict. */
#define VERDICT_BITS UINT64_C(15)
_Static_assert(EL_PRECOMPRESSED_FAULTS_COUNT < 15, "a verdict has room, and none is a zero word");

static uint64_t precompressed_hash_of(const el_precompressed_id_t *id)
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
    uint64_t hash = precompressed_hash_of(id);
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
    uint64_t hash = precompressed_hash_of(id);

    atomic_store_explicit(&verdicts->verdict[(hash >> 4) % PLACES],
                          (hash & ~VERDICT_BITS) | ((uint64_t)verdict + 1), memory_order_relaxed);
}

bool el_precompressed_name(el_precompressed_verdicts_t *verdicts, const el_precompressed_id_t *id)
{
    uint64_t hash = precompressed_hash_of(id), bit = UINT64_C(1) << (hash >> 4) % 64;
    size_t place = (hash >> 10) % (sizeof(verdicts->named) / sizeof(verdicts->named[0]));

    return !(atomic_fetch_or_explicit(&verdicts->named[place], bit, memory_order_relaxed) & bit);
}
