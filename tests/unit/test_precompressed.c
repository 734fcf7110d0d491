#include "elastic/entry.h"
#include "suites.h"

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
    {"gzip of another method", EL_GZIP, BYTES("\x1f\x8b\x07\0\0\0\0\0\0\3datacrc!\x0a\0\0\0"), 10,
     EL_PRECOMPRESSED_CODING},
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
}
