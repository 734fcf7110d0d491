#include "elastic/entry.h"

#include "elastic/cost.h"

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

/* The start and the factor of FNV-1a with 64 bits, here for whole words. */
#define FNV_START UINT64_C(14695981039346656037)
#define FNV_FACTOR UINT64_C(1099511628211)

/* Sums side by side: a multiplication waits for the last one of its own sum only. */
#define LANES 4

typedef struct {
    uint64_t lane[LANES];
} sum_t;

static void put_number(uint8_t *to, uint64_t number)
{
    for (int i = 0; i < 8; i++, number >>= 8) {
        to[i] = (uint8_t)number;
    }
}

static uint64_t get_number(const uint8_t *from)
{
    uint64_t number = 0;

    for (int i = 7; i >= 0; i--) {
        number = number << 8 | from[i];
    }
    return number;
}

/* The shift brings the high bits, which multiplication alone never moves down, into the low ones. */
static uint64_t mix(uint64_t sum, uint64_t word)
{
    sum = (sum ^ word) * FNV_FACTOR;
    return sum ^ sum >> 32;
}

/* Words are in this machine's order of bytes; one with another order takes the entry for damaged. */
static void add(sum_t *sum, const uint8_t *bytes, size_t nbytes)
{
    uint64_t words[LANES];

    for (; nbytes >= sizeof(words); bytes += sizeof(words), nbytes -= sizeof(words)) {
        memcpy(words, bytes, sizeof(words));
        for (int i = 0; i < LANES; i++) {
            sum->lane[i] = mix(sum->lane[i], words[i]);
        }
    }
    if (nbytes > 0) {
        memset(words, 0, sizeof(words));
        memcpy(words, bytes, nbytes);
        for (int i = 0; i < LANES; i++) {
            sum->lane[i] = mix(sum->lane[i], words[i]);
        }
    }
}

static uint64_t sum_of(const el_name_t *name, const uint8_t *entry, const uint8_t *data,
                       size_t nbytes)
{
    sum_t sum;
    uint64_t all = FNV_START;

    for (int i = 0; i < LANES; i++) {
        sum.lane[i] = FNV_START + (uint64_t)i;
    }
    add(&sum, (const uint8_t *)name, sizeof(*name));
    add(&sum, entry + AT_IN, EL_ENTRY_HEAD - AT_IN);
    add(&sum, data, nbytes);
    for (int i = 0; i < LANES; i++) {
        all = mix(all, sum.lane[i]);
    }
    return all;
}

void el_entry_write(const el_name_t *name, const el_entry_t *entry, uint8_t *out)
{
    memset(out, 0, EL_ENTRY_HEAD);
    memcpy(out + AT_MAGIC, magic, sizeof(magic));
    put_number(out + AT_IN, entry->in);
    put_number(out + AT_NBYTES, entry->nbytes);
    put_number(out + AT_WRITTEN, entry->written);
    out[AT_CODING] = (uint8_t)entry->coding;
    out[AT_LEVEL] = (uint8_t)entry->level;
    put_number(out + AT_GAINED, entry->gained);
    for (int i = 0; i < EL_ENTRY_ENGINE - 1 && entry->engine[i]; i++) {
        out[AT_ENGINE + i] = (uint8_t)entry->engine[i];
    }
    if (entry->data != out + EL_ENTRY_HEAD) {
        memcpy(out + EL_ENTRY_HEAD, entry->data, entry->nbytes);
    }
    put_number(out + AT_SUM, sum_of(name, out, out + EL_ENTRY_HEAD, entry->nbytes));
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
           && (name->pinned == EL_NAME_MOVES || name->pinned == head[AT_LEVEL])
           && all_zero(head + AT_ZERO, AT_GAINED - AT_ZERO) && is_engine(head + AT_ENGINE)
           && all_zero(head + AT_END, EL_ENTRY_HEAD - AT_END);
}

bool el_entry_parse(const el_name_t *name, const uint8_t *bytes, size_t nbytes, el_entry_t *entry)
{
    memset(entry, 0, sizeof(*entry));
    if (nbytes <= EL_ENTRY_HEAD || get_number(bytes + AT_NBYTES) != nbytes - EL_ENTRY_HEAD
        || !is_head(name, bytes) || get_number(bytes + AT_IN) == 0
        || get_number(bytes + AT_SUM)
               != sum_of(name, bytes, bytes + EL_ENTRY_HEAD, nbytes - EL_ENTRY_HEAD)) {
        return false;
    }
    entry->coding = (el_coding_t)bytes[AT_CODING];
    entry->level = bytes[AT_LEVEL];
    entry->gained = (uint32_t)get_number(bytes + AT_GAINED);
    memcpy(entry->engine, bytes + AT_ENGINE, EL_ENTRY_ENGINE);
    entry->in = get_number(bytes + AT_IN);
    entry->written = get_number(bytes + AT_WRITTEN);
    entry->data = bytes + EL_ENTRY_HEAD;
    entry->nbytes = nbytes - EL_ENTRY_HEAD;
    return true;
}
