#include "core/bytes.h"
#include "elastic/cost.h"
#include "elastic/entry.h"
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
    {"an engine with a space", EL_BR, ANY, EL_BR, 4, "br 1", 9, 5, false},
    {"an engine with a DEL", EL_BR, ANY, EL_BR, 4, "br\x7f", 9, 5, false},
    {"of no coding", EL_IDENTITY, ANY, EL_IDENTITY, 4, "zlib", 9, 5, false},
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

/* Adds blocks of four words of the machine's order; zeros fill the last one. */
static void add_to_lanes(uint64_t lanes[4], const void *bytes, size_t nbytes)
{
    for (size_t at = 0; at < nbytes; at += 32) {
        uint64_t words[4] = {0};

        memcpy(words, (const char *)bytes + at, nbytes - at < 32 ? nbytes - at : 32);
        for (int i = 0; i < 4; i++) {
            lanes[i] = el_hash_mix(lanes[i], words[i]);
        }
    }
}

/* The layout's second number: other machines and later versions read it. */
static uint64_t checksum_of(const uint8_t *bytes, size_t nbytes)
{
    uint64_t lanes[4], sum = EL_HASH_START;

    for (unsigned i = 0; i < 4; i++) {
        lanes[i] = EL_HASH_START + i;
    }
    add_to_lanes(lanes, &name, sizeof(name));
    add_to_lanes(lanes, bytes + 16, EL_ENTRY_HEAD - 16);
    add_to_lanes(lanes, bytes + EL_ENTRY_HEAD, nbytes - EL_ENTRY_HEAD);
    for (int i = 0; i < 4; i++) {
        sum = el_hash_mix(sum, lanes[i]);
    }
    return sum;
}

TEST(entry, the_checksum_is_of_the_name_and_the_rest)
{
    for (entry.nbytes = 1; entry.nbytes < 100; entry.nbytes++) {
        el_entry_write(&name, &entry, written);
        ck_assert_uint_eq(el_bytes_get(written + 8, 8),
                          checksum_of(written, EL_ENTRY_HEAD + entry.nbytes));
    }
}

/* Where a head has zeros. The engine "libdeflate" has ten bytes. */
static const struct {
    const char *label;
    size_t from, to;
} zeros[] = {
    {"behind the level", 42, 44}, {"behind the engine", 59, 60}, {"at the end", 60, 64},
};
EACH(entry, a_head_has_zeros, zeros)
{
    for (size_t i = row->from; i < row->to; i++) {
        written[i] = 'x';
        el_bytes_put(written + 8, 8, checksum_of(written, EL_ENTRY_HEAD + NBYTES));
        row_assert(!parses(EL_ENTRY_HEAD + NBYTES));
        written[i] = 0;
        el_bytes_put(written + 8, 8, checksum_of(written, EL_ENTRY_HEAD + NBYTES));
        row_assert(parses(EL_ENTRY_HEAD + NBYTES));
    }
}

TEST(entry, an_engine_ends_in_its_room)
{
    memset(written + 48, 'x', EL_ENTRY_ENGINE);
    el_bytes_put(written + 8, 8, checksum_of(written, EL_ENTRY_HEAD + NBYTES));
    ck_assert(!parses(EL_ENTRY_HEAD + NBYTES));
}

#define GOOD EL_PRECOMPRESSED_FAULTS_COUNT
#define BYTES(text) text, sizeof(text) - 1

/* A gzip member. Only its header and the size at its end are read. */
#define GZIP(size) "\x1f\x8b\x08\0\0\0\0\0\0\3data" "crc!" size
/* zstd: magic number and frame header; one last block of 4 bytes. */
#define ZSTD(header) "\x28\xb5\x2f\xfd" header
#define BLOCK "\x21\0\0" "data"
#define SKIPPED "\x5a\x2a\x4d\x18\3\0\0\0abc"

static const struct {
    const char *label;
    el_coding_t coding;
    const char *bytes;
    size_t nbytes;
    uint64_t original;
    el_precompressed_fault_t fault;
} files[] = {
    {"an empty file", EL_GZIP, BYTES(""), 0, EL_PRECOMPRESSED_EMPTY},
    {"an empty br", EL_BR, BYTES(""), 10, EL_PRECOMPRESSED_EMPTY},
    {"gzip", EL_GZIP, BYTES(GZIP("\x0a\0\0\0")), 10, GOOD},
    {"gzip of another size", EL_GZIP, BYTES(GZIP("\x0b\0\0\0")), 10, EL_PRECOMPRESSED_SIZE},
    {"sizes of gzip are modulo 2^32", EL_GZIP, BYTES(GZIP("\x0a\0\0\0")), (UINT64_C(5) << 32) + 10,
     GOOD},
    {"two members, of which clients read the first", EL_GZIP,
     BYTES(GZIP("\x0a\0\0\0") GZIP("\5\0\0\0")), 15, EL_PRECOMPRESSED_SIZE},
    {"gzip that is cut off", EL_GZIP, BYTES("\x1f\x8b\x08\0\0\0\0\0\0\3datacrc!\x0a"), 10,
     EL_PRECOMPRESSED_CODING},
    {"compress in place of gzip", EL_GZIP, BYTES("\x1f\x9d\x08\0\0\0\0\0\0\3datacrc!\x0a\0\0\0"),
     10, EL_PRECOMPRESSED_CODING},
    {"another first byte", EL_GZIP, BYTES("\x1e\x8b\x08\0\0\0\0\0\0\3datacrc!\x0a\0\0\0"),
     10, EL_PRECOMPRESSED_CODING},
    {"gzip of another method", EL_GZIP, BYTES("\x1f\x8b\x07\0\0\0\0\0\0\3datacrc!\x0a\0\0\0"), 10,
     EL_PRECOMPRESSED_CODING},
    {"gzip with a reserved flag", EL_GZIP, BYTES("\x1f\x8b\x08\x20\0\0\0\0\0\3datacrc!\x0a\0\0\0"),
     10, EL_PRECOMPRESSED_CODING},
    {"a coding whose files are not judged", EL_DCZ, BYTES("x"), 10, GOOD},
    {"zstd in place of gzip", EL_GZIP, BYTES(ZSTD("\x20\x0a" BLOCK "............")), 10,
     EL_PRECOMPRESSED_CODING},
    {"br", EL_BR, BYTES("\x1b\x0a"), 10, GOOD},
    {"br of nothing", EL_BR, BYTES("\x06"), 0, GOOD},
    {"br of nothing for something", EL_BR, BYTES("\x06"), 10, EL_PRECOMPRESSED_SIZE},
    {"br with a large window", EL_BR, BYTES("\x11\x19\xff"), 10, EL_PRECOMPRESSED_WINDOW},
    {"zstd, one segment", EL_ZSTD, BYTES(ZSTD("\x20\x0a" BLOCK)), 10, GOOD},
    {"zstd of another size", EL_ZSTD, BYTES(ZSTD("\x20\x0a" BLOCK)), 11, EL_PRECOMPRESSED_SIZE},
    {"zstd with two bytes of size", EL_ZSTD, BYTES(ZSTD("\x60\x0a\1" BLOCK)), 522, GOOD},
    {"zstd with four", EL_ZSTD, BYTES(ZSTD("\x80\x00\x0a\0\1\0" BLOCK)), 65546, GOOD},
    {"zstd with eight", EL_ZSTD, BYTES(ZSTD("\xc0\x00\1\0\0\0\1\0\0\0" BLOCK)),
     (UINT64_C(1) << 32) + 1, GOOD},
    {"zstd without a size", EL_ZSTD, BYTES(ZSTD("\0\x58" BLOCK)), 10, GOOD},
    {"a window of 8 MB", EL_ZSTD, BYTES(ZSTD("\0\x68" BLOCK)), 10, GOOD},
    {"of 9 MB", EL_ZSTD, BYTES(ZSTD("\0\x69" BLOCK)), 10, EL_PRECOMPRESSED_WINDOW},
    {"of 128 MB", EL_ZSTD, BYTES(ZSTD("\0\x88" BLOCK)), 10, EL_PRECOMPRESSED_WINDOW},
    {"the greatest", EL_ZSTD, BYTES(ZSTD("\0\xff" BLOCK)), 10, EL_PRECOMPRESSED_WINDOW},
    {"one segment of 8 MB", EL_ZSTD, BYTES(ZSTD("\xa0\0\0\x80\0" BLOCK)), 8 << 20, GOOD},
    {"one segment above 8 MB", EL_ZSTD, BYTES(ZSTD("\xa0\1\0\x80\0" BLOCK)), (8 << 20) + 1,
     EL_PRECOMPRESSED_WINDOW},
    {"one segment of all there is", EL_ZSTD,
     BYTES(ZSTD("\xe0\xff\xff\xff\xff\xff\xff\xff\xff" BLOCK)), 10, EL_PRECOMPRESSED_WINDOW},
    {"a size of all there is", EL_ZSTD,
     BYTES(ZSTD("\xc0\0\xff\xff\xff\xff\xff\xff\xff\xff" BLOCK)), 10, EL_PRECOMPRESSED_SIZE},
    {"two frames", EL_ZSTD, BYTES(ZSTD("\x20\x0a" BLOCK) ZSTD("\x20\5" BLOCK)), 15, GOOD},
    {"two frames of another size", EL_ZSTD, BYTES(ZSTD("\x20\x0a" BLOCK) ZSTD("\x20\5" BLOCK)), 10,
     EL_PRECOMPRESSED_SIZE},
    {"two frames, and one says no size", EL_ZSTD, BYTES(ZSTD("\x20\x0a" BLOCK) ZSTD("\0\0" BLOCK)),
     15, GOOD},
    {"and it is the first one", EL_ZSTD, BYTES(ZSTD("\0\0" BLOCK) ZSTD("\x20\x0a" BLOCK)), 15,
     GOOD},
    {"and the other has too much", EL_ZSTD, BYTES(ZSTD("\x20\x0b" BLOCK) ZSTD("\0\0" BLOCK)), 10,
     EL_PRECOMPRESSED_SIZE},
    {"a window, and a block that is cut off", EL_ZSTD, BYTES(ZSTD("\0\x88" "\x21\0\0dat")), 10,
     EL_PRECOMPRESSED_WINDOW},
    {"a window without a block", EL_ZSTD, BYTES(ZSTD("\4\x88")), 10, EL_PRECOMPRESSED_WINDOW},
    {"a window in a header that is cut off", EL_ZSTD, BYTES(ZSTD("\1\x88")), 10,
     EL_PRECOMPRESSED_CODING},
    {"no block", EL_ZSTD, BYTES(ZSTD("\x20\x0a")), 10, EL_PRECOMPRESSED_CODING},
    {"the window of the second frame", EL_ZSTD, BYTES(ZSTD("\x20\x0a" BLOCK) ZSTD("\0\x88" BLOCK)),
     15, EL_PRECOMPRESSED_WINDOW},
    {"two blocks, one of a byte that is repeated, and a checksum", EL_ZSTD,
     BYTES(ZSTD("\x24\x0a" "\xf2\xff\0x" BLOCK "sum!")), 10, GOOD},
    {"without the checksum", EL_ZSTD, BYTES(ZSTD("\x24\x0a" BLOCK)), 10, EL_PRECOMPRESSED_CODING},
    {"a skippable frame first", EL_ZSTD, BYTES(SKIPPED ZSTD("\x20\x0a" BLOCK)), 10, GOOD},
    {"and another frame's window", EL_ZSTD, BYTES(SKIPPED ZSTD("\0\x88" BLOCK)), 10,
     EL_PRECOMPRESSED_WINDOW},
    {"nothing but a skippable frame", EL_ZSTD, BYTES(SKIPPED), 10, EL_PRECOMPRESSED_SIZE},
    {"which is cut off", EL_ZSTD, BYTES("\x5a\x2a\x4d\x18\4\0\0\0abc"), 0, EL_PRECOMPRESSED_CODING},
    {"zstd that is cut off in a block", EL_ZSTD, BYTES(ZSTD("\x20\x0a" "\x21\0\0dat")), 10,
     EL_PRECOMPRESSED_CODING},
    {"before its last block", EL_ZSTD, BYTES(ZSTD("\x20\x0a" "\x20\0\0data")), 10,
     EL_PRECOMPRESSED_CODING},
    {"in the header", EL_ZSTD, BYTES(ZSTD("\xc0\0\1")), 10, EL_PRECOMPRESSED_CODING},
    {"in the magic", EL_ZSTD, BYTES("\x28\xb5\x2f"), 10, EL_PRECOMPRESSED_CODING},
    {"zstd with something behind", EL_ZSTD, BYTES(ZSTD("\x20\x0a" BLOCK) "\n"), 10,
     EL_PRECOMPRESSED_CODING},
    {"a reserved block", EL_ZSTD, BYTES(ZSTD("\x20\x0a" "\x27\0\0data")), 10,
     EL_PRECOMPRESSED_CODING},
    {"a reserved flag", EL_ZSTD, BYTES(ZSTD("\x28\x0a" BLOCK)), 10, EL_PRECOMPRESSED_CODING},
    {"a dictionary", EL_ZSTD, BYTES(ZSTD("\x21\7\x0a" BLOCK)), 10, EL_PRECOMPRESSED_CODING},
    {"no number of a dictionary", EL_ZSTD, BYTES(ZSTD("\x23\0\0\0\0\x0a" BLOCK)), 10, GOOD},
    {"zstd of before its format", EL_ZSTD, BYTES("\x27\xb5\x2f\xfd" "\x20\x0a" BLOCK), 10,
     EL_PRECOMPRESSED_CODING},
};

CASE(precompressed);

static el_precompressed_fault_t judge(const void *bytes, size_t nbytes, uint64_t size, int row)
{
    el_precompressed_t file = {files[row].coding, copy_of(bytes, nbytes), nbytes, {0}, size,
                               files[row].original};
    size_t tail = size < sizeof(file.end) ? size : sizeof(file.end);

    memcpy(file.end, files[row].bytes + size - tail, tail);
    return el_precompressed_judge(&file);
}

EACH(precompressed, a_file_is_judged_by_what_its_format_says, files)
{
    int at = (int)(row - files);

    row_eq(judge(row->bytes, row->nbytes, row->nbytes, at), row->fault);
    /* A good file stays good if only its beginning was read. */
    for (size_t nbytes = 0; row->fault == GOOD && nbytes < row->nbytes; nbytes++) {
        bool begun = nbytes >= (row->coding == EL_GZIP ? 20 : row->coding == EL_BR ? 1 : 0);

        if (begun) {
            row_eq(judge(row->bytes, nbytes, row->nbytes, at), GOOD);
        }
    }
}

/* Only the first bytes of a file were read. */
static const struct {
    const char *label;
    const char *bytes;
    size_t size, nbytes;
    el_precompressed_fault_t fault;
} beginnings[] = {
    {"a header whose size is not there", BYTES(ZSTD("\xc0\0\1")), 6, EL_PRECOMPRESSED_CODING},
    {"a header whose size may be there", BYTES(ZSTD("\xc0\0\1\0\0\0\0\0\0\0")), 6, GOOD},
    {"nothing behind a window", BYTES(ZSTD("\0\x88" BLOCK)), 6, EL_PRECOMPRESSED_WINDOW},
    {"a window, but no size", BYTES(ZSTD("\xc0\x88\1\0\0\0\0\0\0\0")), 6, GOOD},
    {"flags, and a short rest", BYTES(ZSTD("\4\0\0")), 5, GOOD},
};
EACH(precompressed, a_beginning_is_judged_by_what_may_follow, beginnings)
{
    el_precompressed_t file = {EL_ZSTD, copy_of(row->bytes, row->nbytes), row->nbytes, {0},
                               row->size, 10};

    row_eq(el_precompressed_judge(&file), row->fault);
}

static el_precompressed_verdicts_t verdicts;
CASE(precompressed_verdicts, ZEROED(verdicts));

TEST(precompressed_verdicts, a_verdict_is_of_these_numbers_alone)
{
    const el_precompressed_id_t id = {1, 2, 3, 4, 5, 6, EL_GZIP};
    const el_precompressed_fault_t some[] = {0, EL_PRECOMPRESSED_SIZE, GOOD};
    el_precompressed_fault_t got;

    ck_assert(!el_precompressed_recall(&verdicts, &id, &got));
    for (int i = 0; i < ROWS(some); i++) {
        el_precompressed_remember(&verdicts, &id, some[i]);
        ck_assert(el_precompressed_recall(&verdicts, &id, &got));
        ck_assert_int_eq(got, some[i]);
    }
    for (size_t i = 0; i < sizeof(id) / 8; i++) {
        el_precompressed_id_t other = id;

        ((uint64_t *)&other)[i]++;
        ck_assert(!el_precompressed_recall(&verdicts, &other, &got));
        ck_assert(el_precompressed_name(&verdicts, &other));
        ck_assert(!el_precompressed_name(&verdicts, &other));
    }
}

TEST(precompressed_verdicts, most_of_a_site_is_known)
{
    el_precompressed_fault_t got;
    int known = 0, named = 0;

    for (uint64_t i = 0; i < 500; i++) {
        el_precompressed_remember(&verdicts, &(el_precompressed_id_t){.inode = i}, GOOD);
    }
    for (uint64_t i = 0; i < 500; i++) {
        el_precompressed_id_t id = {.inode = i};

        known += el_precompressed_recall(&verdicts, &id, &got);
        named += el_precompressed_name(&verdicts, &id);
    }
    ck_assert_int_gt(known, 350);
    ck_assert_int_gt(named, 490);
    for (uint64_t i = 500; i < 1000; i++) {
        ck_assert(!el_precompressed_recall(&verdicts, &(el_precompressed_id_t){.inode = i}, &got));
    }
}

/* Repeated bodies, paths with repeated bodies, and popular encodings. */

static el_doorkeeper_t door;

CASE(bodies, ZEROED(door));

/* Notes numbered bodies. Returns how many were known. */
static unsigned note(uint64_t first, uint64_t end, uint32_t most)
{
    unsigned known = 0;

    for (uint64_t number = first; number < end; number++) {
        uint64_t seed = number;
        uint8_t hash[16];

        random_bytes(&seed, hash, sizeof(hash));
        known += el_doorkeeper_note(&door, hash, most);
    }
    return known;
}

TEST(bodies, what_was_seen_is_known_until_a_reset)
{
    ck_assert_uint_eq(note(0, 1000, EL_DOORKEEPER_MOST), 0);
    ck_assert_uint_eq(note(0, 1000, EL_DOORKEEPER_MOST), 1000);
    el_doorkeeper_reset(&door);
    ck_assert_uint_eq(note(1, 2, EL_DOORKEEPER_MOST), 0);
}

TEST(bodies, each_takes_three_bits)
{
    unsigned bits = 0;

    note(7, 8, EL_DOORKEEPER_MOST);
    for (unsigned i = 0; i < EL_DOORKEEPER_BITS / 64; i++) {
        bits += (unsigned)__builtin_popcountll(door.word[0][i]);
    }
    ck_assert_uint_eq(bits, 3);
}

TEST(bodies, few_that_are_new_are_taken_for_known)
{
    ck_assert_uint_lt(note(0, 2 * EL_DOORKEEPER_MOST, EL_DOORKEEPER_MOST),
                      2 * EL_DOORKEEPER_MOST / 50);
}

static const uint32_t memories[] = {1000, EL_DOORKEEPER_MOST};

/* Nearly all are known after one filter is full, nearly none after two. */
EACH(bodies, what_is_long_ago_is_forgotten, memories)
{
    note(0, 100, *row);
    note(1000, 1000 + *row, *row);
    ck_assert_uint_ge(note(0, 100, *row), 95);
    note(1000000, 1000000 + 2 * *row + *row / 10, *row);
    ck_assert_uint_le(note(0, 100, *row), 10);
}

static el_sketch_t sketch;

CASE(paths, ZEROED(sketch));

/* The number of 1600 bodies that are hashed. */
static unsigned asked(const char *host, const char *path)
{
    unsigned count = 0;

    for (uint32_t turn = 0; turn < 1600; turn++) {
        count += el_sketch_asks(&sketch, el_sketch_key(host, path), turn);
    }
    return count;
}

/* Learns `bodies`, of which one in `every` was known; 0: none. */
static void learn(const char *host, const char *path, int bodies, int every)
{
    for (int i = 0; i < bodies; i++) {
        el_sketch_learn(&sketch, el_sketch_key(host, path), every > 0 && i % every == 0);
    }
}

static const struct {
    const char *label;
    struct {
        int bodies, every;
    } seen[2];
    unsigned least, most; /* hashed */
} histories[] = {
    {"the first are all hashed", {{0, 0}}, 1600, 1600},
    {"as long as they are few", {{15, 0}}, 1600, 1600},
    {"of what never repeats a sample is", {{16, 0}}, 95, 105},
    {"what repeats is hashed", {{1000, 20}}, 1600, 1600},
    {"but not what does so seldom", {{1000, 100}}, 0, 105},
    {"a path comes to repeat", {{1000, 0}, {10, 1}}, 1600, 1600},
    {"and ceases to", {{10, 1}, {1000, 0}}, 0, 105},
    {"one of 32 is enough", {{32, 32}}, 1600, 1600},
    {"one of 33 is not", {{32, 32}, {1, 0}}, 95, 105},
    {"256 bodies are halved", {{256, 32}, {1, 0}}, 95, 105},
};
EACH(paths, a_path_is_hashed_as_it_repeats, histories)
{
    learn("host", "/path", row->seen[0].bodies, row->seen[0].every);
    learn("host", "/path", row->seen[1].bodies, row->seen[1].every);
    row_assert(asked("host", "/path") >= row->least);
    row_assert(asked("host", "/path") <= row->most);
    el_sketch_reset(&sketch);
    row_eq(asked("host", "/path"), 1600);
}

TEST(paths, a_sample_is_spread_over_every_round)
{
    learn("host", "/path", 100, 0);
    for (uint32_t round = 2; round < 40; round++) {
        for (uint32_t first = 0; first < round; first++) {
            unsigned count = 0;

            for (uint32_t turn = first; turn < 600 * round; turn += round) {
                count += el_sketch_asks(&sketch, el_sketch_key("host", "/path"), turn);
            }
            ck_assert_msg(count > 5, "%u of 600 at %u of each %u", count, first, round);
        }
    }
}

TEST(paths, a_new_path_is_as_its_host_is)
{
    for (int i = 0; i < 64; i++) {
        char path[16] = {'/', (char)('a' + i % 8), (char)('a' + i / 8)};

        learn("crawled", path, 1, 0);
        learn("busy", path, 2, 2);
    }
    ck_assert_uint_le(asked("crawled", "/new"), 420);
    ck_assert_uint_ge(asked("crawled", "/new"), 380);
    ck_assert_uint_eq(asked("busy", "/new"), 1600);
    learn("even", "/path", 64, 32);
    ck_assert_uint_eq(asked("even", "/new"), 1600);
    ck_assert_uint_eq(asked("other", "/new"), 1600);
}

TEST(paths, many_paths_leave_a_busy_one_alone)
{
    for (int i = 0; i < 100000; i++) {
        char path[16];

        snprintf(path, sizeof(path), "/%d", i);
        learn("crawled", path, 1, 0);
        learn("busy", "/page", i % 50 == 0, 1);
    }
    ck_assert_uint_eq(asked("busy", "/page"), 1600);
}

/* Popular encodings: counted, forgotten, and taken once. */
#define LEAST EL_POPULAR_LEAST
#define HALF EL_POPULAR_HALF
#define NOW (100000u - 100000u % HALF)

static el_popular_t hot;

CASE(encodings, ZEROED(hot));

/* The item of a number, with a name like a keyed hash. */
static el_popular_item_t item_of(uint64_t number)
{
    el_popular_item_t item = {.nbytes = (uint32_t)number, .coding = EL_BR, .level = 11};

    random_bytes(&number, item.name.hash, sizeof(item.name.hash));
    return item;
}

static void ask_for(el_popular_item_t item, int times, uint32_t now)
{
    for (int i = 0; i < times; i++) {
        el_popular_note(&hot, &item, now);
    }
}

static void ask(uint64_t number, int times, uint32_t now)
{
    ask_for(item_of(number), times, now);
}

/* Takes an item at `now`. Returns its number; −1: none. */
static int64_t take(uint32_t now)
{
    el_popular_item_t item, expected;

    if (!el_popular_take(&hot, now, &item)) {
        return -1;
    }
    expected = item_of(item.nbytes);
    ck_assert_mem_eq(&item, &expected, sizeof(item));
    return item.nbytes;
}

TEST(encodings, one_encoding_is_taken_for_each_kind_of_clients)
{
    el_popular_item_t item = item_of(1), other = item, taken[2];

    other.coding = EL_GZIP;
    ask_for(item, 10, NOW);
    ask_for(other, 10, NOW);
    ck_assert(el_popular_take(&hot, NOW, &taken[0]) && el_popular_take(&hot, NOW, &taken[1]));
    ck_assert_int_eq(taken[0].coding + taken[1].coding, EL_BR + EL_GZIP);
    ck_assert(!el_popular_take(&hot, NOW, &item));
}

TEST(encodings, what_is_asked_for_most_is_taken_first_and_once)
{
    ck_assert_int_eq(take(NOW), -1);
    ask(1, 10, NOW);
    ask(2, 30, NOW);
    ask(3, 20, NOW);
    ck_assert(take(NOW) == 2 && take(NOW) == 3 && take(NOW) == 1 && take(NOW) == -1);
}

/* Requests at two times, and the item taken at a third. */
static const struct {
    const char *label;
    int times;
    uint32_t at;
    int times_later;
    uint32_t later, taken_at;
    int64_t taken;
} fadings[] = {
    {"at once", LEAST, NOW, 0, 0, NOW, 1},
    {"seldom is not enough", LEAST - 1, NOW, 0, 0, NOW, -1},
    {"until it was often", LEAST - 1, NOW, 1, NOW, NOW, 1},
    {"a half-life later half counts", 2 * LEAST, NOW, 0, 0, NOW + HALF, 1},
    {"and less than half is too little", 2 * LEAST - 1, NOW, 0, 0, NOW + HALF, -1},
    {"three of them", 8 * LEAST, NOW, 0, 0, NOW + 3 * HALF, 1},
    {"after a day nothing is left", 1000000, NOW, 0, 0, NOW + 86400, -1},
    {"nor after 32 half-lives", 1000000, NOW, 0, 0, NOW + 32 * HALF, -1},
    {"nor after 64", 1000000, NOW, 0, 0, NOW + 64 * HALF, -1},
    {"another process's earlier clock takes nothing away", 1000, NOW, 1, NOW - HALF, NOW - HALF, 1},
};
EACH(encodings, what_was_asked_for_is_forgotten, fadings)
{
    ask(1, row->times, row->at);
    ask(1, row->times_later, row->later);
    row_eq(take(row->taken_at), row->taken);
}

TEST(encodings, what_was_forgotten_is_noted_as_it_is_now)
{
    el_popular_item_t item = item_of(1), taken;

    ask_for(item, 100, NOW);
    item.level = 5;
    ask_for(item, LEAST, NOW + 64 * HALF);
    ck_assert(el_popular_take(&hot, NOW + 64 * HALF, &taken));
    ck_assert_int_eq(taken.level, 5);
}

TEST(encodings, what_was_taken_in_vain_is_taken_again_after_an_hour)
{
    ask(1, 100, NOW);
    ck_assert_int_eq(take(NOW), 1);
    for (uint32_t now = NOW; now < NOW + 3 * 3600; now += HALF / 4) {
        ask(1, 50, now);
        ck_assert_int_eq(take(now), now != NOW && now % 3600 == NOW % 3600 ? 1 : -1);
    }
}

TEST(encodings, what_was_taken_in_vain_is_not_taken_again_until_it_was_forgotten)
{
    ask(1, 100, NOW);
    ask(2, 100, NOW);
    ck_assert_int_eq(take(NOW) + take(NOW), 1 + 2);
    ask(2, LEAST, NOW + 2 * HALF);
    ck_assert_int_eq(take(NOW + 2 * HALF), 2);
    for (uint32_t now = NOW; now < NOW + 20 * HALF; now += HALF / 4) {
        ask(1, 50, now);
        ck_assert_int_eq(take(now), -1);
    }
}

/* Item `number` of one set. */
static el_popular_item_t neighbour(uint64_t number)
{
    uint64_t key = number * EL_POPULAR_SETS + 5;
    el_popular_item_t item = {.nbytes = (uint32_t)number};

    memcpy(item.name.hash, &key, sizeof(key));
    return item;
}

TEST(encodings, names_of_one_time_displace_no_others_of_a_full_set)
{
    el_popular_item_t item;

    for (uint64_t number = 1; number <= EL_POPULAR_WAYS; number++) {
        ask_for(neighbour(number), 50, NOW);
    }
    for (uint64_t number = 100; number < 140; number++) {
        ask_for(neighbour(number), 1, NOW);
    }
    for (int i = 0; i < EL_POPULAR_WAYS; i++) {
        ck_assert(el_popular_take(&hot, NOW, &item));
        ck_assert_uint_le(item.nbytes, EL_POPULAR_WAYS);
    }
}

/* Its count is gone, and with it that it was taken. */
TEST(encodings, what_others_displace_is_new_again)
{
    el_popular_item_t first, item;

    for (uint64_t number = 1; number <= EL_POPULAR_WAYS; number++) {
        ask_for(neighbour(number), 50, NOW);
    }
    ck_assert(el_popular_take(&hot, NOW, &first));
    ask_for(neighbour(100), 1, NOW);
    ask_for(first, 60, NOW);
    ck_assert(el_popular_take(&hot, NOW, &item));
    ck_assert_mem_eq(&item, &first, sizeof(item));
}

TEST(encodings, what_is_new_and_asked_for_more_takes_the_place_of_others)
{
    for (uint64_t number = 1; number <= 4 * EL_POPULAR_SETS * EL_POPULAR_WAYS; number++) {
        ask(number, LEAST, NOW);
    }
    ask(7777777, 100, NOW);
    ck_assert_int_eq(take(NOW), 7777777);
}

TEST(encodings, a_full_count_stays_full)
{
    ask(1, 1, NOW);
    for (int i = 0; i < EL_POPULAR_SETS * EL_POPULAR_WAYS; i++) {
        atomic_fetch_or(&hot.slot[i].asked, (1 << 26) - 1);
    }
    ask(1, 1, NOW);
    ck_assert_int_eq(take(NOW), 1);
}

static const bool of_key[] = {false, true};
EACH(encodings, an_item_that_two_wrote_is_not_taken, of_key)
{
    ask(1, 100, NOW);
    ask(2, 50, NOW);
    for (int i = 0; i < EL_POPULAR_SETS * EL_POPULAR_WAYS; i++) {
        if ((atomic_load(&hot.slot[i].asked) & 0xff) == 100) {
            atomic_fetch_xor(*row ? &hot.slot[i].key : &hot.slot[i].words[2], 64);
        }
    }
    ck_assert(take(NOW) == 2 && take(NOW) == -1);
}

CASE(encodings_threads, ZEROED(hot), .tags = "threads");

static void *note_and_take(void *unused)
{
    for (int i = 0; i < 20000; i++) {
        ask((uint64_t)(i % 1000) + 1, 1, NOW);
        if (i % 16 == 0) {
            take(NOW);
        }
    }
    return unused;
}

TEST(encodings_threads, threads_that_meet)
{
    threads_run(4, note_and_take, NULL);
}
