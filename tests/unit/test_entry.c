#include "elastic/entry.h"
#include "elastic/cost.h"
#include "suites.h"

#define NBYTES 1000

static uint8_t data[NBYTES];
static uint8_t written[EL_ENTRY_HEAD + NBYTES + 1];
static el_name_t name;
static el_entry_t entry;

static void set_up(void)
{
    for (int i = 0; i < NBYTES; i++) {
        data[i] = (uint8_t)(i * 7);
    }
    name = (el_name_t){.kind = EL_NAME_BODY, .coding = EL_GZIP, .pinned = EL_NAME_ADAPTIVE};
    memset(name.hash, 0x5a, sizeof(name.hash));
    entry = (el_entry_t){
        .coding = EL_GZIP, .level = 6, .engine = "libdeflate", .in = UINT64_C(5000000000),
        .written = UINT64_C(1) << 40, .gained = 0xfffffffe, .data = data, .nbytes = NBYTES,
    };
    el_entry_write(&name, &entry, written);
}

static bool parses(size_t nbytes)
{
    el_entry_t got;
    bool is_entry = el_entry_parse(&name, written, nbytes, &got);

    ck_assert(is_entry || (got.data == NULL && got.nbytes == 0 && got.in == 0));
    return is_entry;
}

CASE(entry, .set_up = set_up);

TEST(entry, what_was_written_is_read)
{
    el_entry_t got;

    ck_assert(el_entry_parse(&name, written, EL_ENTRY_HEAD + NBYTES, &got));
    ck_assert(got.coding == EL_GZIP && got.level == 6);
    ck_assert_str_eq(got.engine, "libdeflate");
    ck_assert(got.in == entry.in && got.written == entry.written);
    ck_assert_uint_eq(got.gained, 0xfffffffe);
    ck_assert(got.data == written + EL_ENTRY_HEAD && got.nbytes == NBYTES);
    ck_assert(memcmp(got.data, data, NBYTES) == 0);
}

TEST(entry, the_encoding_may_be_in_its_place_already)
{
    uint8_t again[EL_ENTRY_HEAD + NBYTES];

    memcpy(again + EL_ENTRY_HEAD, data, NBYTES);
    entry.data = again + EL_ENTRY_HEAD;
    el_entry_write(&name, &entry, again);
    ck_assert(memcmp(again, written, sizeof(again)) == 0);
}

/* Every other length is rejected as well. */
TEST(entry, every_changed_bit_is_found)
{
    for (size_t i = 0; i < EL_ENTRY_HEAD + NBYTES; i++) {
        for (int bit = 0; bit < 8; bit++) {
            written[i] ^= (uint8_t)(1 << bit);
            ck_assert_msg(!parses(EL_ENTRY_HEAD + NBYTES), "byte %zu, bit %d", i, bit);
            written[i] ^= (uint8_t)(1 << bit);
        }
        ck_assert_msg(!parses(i), "%zu bytes", i);
    }
    ck_assert(parses(EL_ENTRY_HEAD + NBYTES) && !parses(EL_ENTRY_HEAD + NBYTES + 1));
}

TEST(entry, an_entry_has_one_name)
{
    uint8_t *bytes = (uint8_t *)&name;

    for (size_t i = 0; i < sizeof(name); i++) {
        bytes[i] ^= 1;
        ck_assert_msg(!parses(EL_ENTRY_HEAD + NBYTES), "byte %zu of the name", i);
        bytes[i] ^= 1;
    }
}

/* Values must be possible even if the checksum is valid: anyone can compute it. */
#define ANY EL_NAME_ADAPTIVE

static const struct {
    const char *label;
    uint8_t coding, pinned; /* in the name */
    el_coding_t written;
    int level;
    char engine[EL_ENTRY_ENGINE];
    uint64_t in;
    size_t nbytes;
    bool is_entry;
} rows[] = {
    {"as it should be", EL_BR, ANY, EL_BR, 4, "brotli", 9, 5, true},
    {"the highest level", EL_ZSTD, ANY, EL_ZSTD, EL_COST_LEVELS - 1, "zstd", 9, 5, true},
    {"beyond the highest level", EL_ZSTD, ANY, EL_ZSTD, EL_COST_LEVELS, "zstd", 9, 5, false},
    {"the level that is asked for", EL_BR, 4, EL_BR, 4, "brotli", 9, 5, true},
    {"another one", EL_BR, 5, EL_BR, 4, "brotli", 9, 5, false},
    {"of another coding", EL_BR, ANY, EL_GZIP, 4, "zlib", 9, 5, false},
    {"of an unknown one", EL_CODINGS, ANY, EL_CODINGS, 4, "zlib", 9, 5, false},
    {"of no body", EL_BR, ANY, EL_BR, 4, "brotli", 0, 5, false},
    {"no bytes", EL_BR, ANY, EL_BR, 4, "brotli", 9, 0, false},
    {"no engine", EL_BR, ANY, EL_BR, 4, "", 9, 5, false},
    {"an engine with a line's end", EL_BR, ANY, EL_BR, 4, "br\n", 9, 5, false},
    {"the longest engine", EL_BR, ANY, EL_BR, 4, "elevenbytes", 9, 5, true},
};
EACH(entry, only_what_is_possible_is_an_entry, rows)
{
    uint8_t out[EL_ENTRY_HEAD + NBYTES];
    el_entry_t given = {.coding = row->written, .level = row->level, .in = row->in, .data = data,
                        .nbytes = row->nbytes}, got;

    memcpy(given.engine, row->engine, sizeof(given.engine));
    name.coding = row->coding;
    name.pinned = row->pinned;
    el_entry_write(&name, &given, out);
    row_eq(el_entry_parse(&name, out, EL_ENTRY_HEAD + row->nbytes, &got), row->is_entry);
}
