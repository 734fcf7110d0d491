#include "elastic/entry.h"

#include "elastic/cost.h"
#include "bytes.h"

#include <string.h>

/* What an entry begins with; the number is the layout's version. */
static const uint8_t magic[8] = {'e', 'l', 'e', 'n', 't', 'r', 'y', 1};

/* Where the head has what; numbers are little endian. */
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

typedef struct {
    uint64_t lane[LANES];
} sum_t;

/*
 * Words are in this machine's order of bytes; one with another order takes the entry for damaged.
 */
static void add(sum_t *sum, const uint8_t *bytes, size_t nbytes)
{
    uint64_t words[LANES];

    for (; nbytes >= sizeof(words); bytes += sizeof(words), nbytes -= sizeof(words)) {
        memcpy(words, bytes, sizeof(words));
        for (int i = 0; i < LANES; i++) {
            sum->lane[i] = el_hash_mix(sum->lane[i], words[i]);
        }
    }
    if (nbytes > 0) {
        memset(words, 0, sizeof(words));
        memcpy(words, bytes, nbytes);
        for (int i = 0; i < LANES; i++) {
            sum->lane[i] = el_hash_mix(sum->lane[i], words[i]);
        }
    }
}

static uint64_t sum_of(const el_name_t *name, const uint8_t *entry, const uint8_t *data,
                       size_t nbytes)
{
    sum_t sum;
    uint64_t all = EL_HASH_START;

    for (int i = 0; i < LANES; i++) {
        sum.lane[i] = EL_HASH_START + (uint64_t)i;
    }
    add(&sum, (const uint8_t *)name, sizeof(*name));
    add(&sum, entry + AT_IN, EL_ENTRY_HEAD - AT_IN);
    add(&sum, data, nbytes);
    for (int i = 0; i < LANES; i++) {
        all = el_hash_mix(all, sum.lane[i]);
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
    el_bytes_put(out + AT_SUM, 8, sum_of(name, out, out + EL_ENTRY_HEAD, entry->nbytes));
}

static bool all_zero(const uint8_t *bytes, size_t nbytes)
{
    for (size_t i = 0; i < nbytes; i++) {
        if (bytes[i] != 0) {
            return false;
        }
    }
    return true;
}

/* A text of printable characters without spaces, and nothing but zeros behind. */
static bool is_engine(const uint8_t *text)
{
    size_t len = 0;

    while (len < EL_ENTRY_ENGINE && text[len] > ' ' && text[len] < 0x7f) {
        len++;
    }
    return len > 0 && len < EL_ENTRY_ENGINE && all_zero(text + len, EL_ENTRY_ENGINE - len);
}

static bool is_head(const el_name_t *name, const uint8_t *head)
{
    return memcmp(head + AT_MAGIC, magic, sizeof(magic)) == 0 && head[AT_CODING] > EL_IDENTITY
           && head[AT_CODING] < EL_CODINGS && head[AT_CODING] == name->coding
           && head[AT_LEVEL] < EL_COST_LEVELS
           && (name->pinned == EL_NAME_ADAPTIVE || name->pinned == head[AT_LEVEL])
           && all_zero(head + AT_ZERO, AT_GAINED - AT_ZERO) && is_engine(head + AT_ENGINE)
           && all_zero(head + AT_END, EL_ENTRY_HEAD - AT_END);
}

bool el_entry_parse(const el_name_t *name, const uint8_t *bytes, size_t nbytes, el_entry_t *entry)
{
    memset(entry, 0, sizeof(*entry));
    if (nbytes <= EL_ENTRY_HEAD || el_bytes_get(bytes + AT_NBYTES, 8) != nbytes - EL_ENTRY_HEAD
        || !is_head(name, bytes) || el_bytes_get(bytes + AT_IN, 8) == 0
        || el_bytes_get(bytes + AT_SUM, 8)
               != sum_of(name, bytes, bytes + EL_ENTRY_HEAD, nbytes - EL_ENTRY_HEAD)) {
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
 * What is changed through a mapping shows at the first write to a page only, until the kernel has
 * written the page back: when it is 30 s old, at the next of looks that are 5 s apart, by default.
 */
#define WRITTEN_BACK_USEC (40 * USEC_PER_SEC)

/* A time that no clock shows is as good as none. */
#define SEC_MOST (INT64_MAX / USEC_PER_SEC - 1)

static bool is_before(int64_t sec, uint32_t nsec, int64_t limit_usec)
{
    return sec >= 0 && sec < SEC_MOST && sec * USEC_PER_SEC + nsec / 1000 <= limit_usec;
}

bool el_file_id_settled(const el_file_id_t *id, int64_t now_usec)
{
    return id->changed_nsec != 0
           && is_before(id->changed_sec, id->changed_nsec, now_usec - WRITTEN_BACK_USEC)
           && is_before(id->modified_sec, id->modified_nsec, now_usec - WRITTEN_BACK_USEC);
}
