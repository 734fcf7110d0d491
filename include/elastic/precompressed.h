/*
 * Judges a precompressed file: browsers must be able to decode it, and to as many bytes as the file
 * has in whose place it is sent. It is not decoded: the numbers that the formats write down are
 * read.
 *
 * Pure, but for the verdicts in memory that all children share: lock-free; any process, any thread.
 */
#ifndef ELASTIC_PRECOMPRESSED_H
#define ELASTIC_PRECOMPRESSED_H

#include "elastic/counters.h"

/* Of so many bytes a verdict is made: most files are shorter. */
#define EL_PRECOMPRESSED_READ (4 << 20)

/* The window that each browser has room for (RFC 9659 for zstd). */
#define EL_PRECOMPRESSED_LARGEST_WINDOW (8 << 20)

typedef struct {
    el_coding_t coding;
    const uint8_t *bytes; /* the first `nbytes` of the file: all, or EL_PRECOMPRESSED_READ */
    size_t nbytes;
    uint8_t end[4];    /* its last bytes */
    uint64_t size;     /* of the file */
    uint64_t original; /* size of the file in whose place it is sent */
} el_precompressed_t;

/*
 * EL_PRECOMPRESSED_EMPTY, _CODING, _WINDOW or _SIZE where browsers would refuse the file, or get
 * another body from it; EL_PRECOMPRESSED_FAULTS_COUNT: nothing is known against it. Sizes are
 * judged only where they are certain: a zstd frame may say none, a br stream never does, and which
 * frames follow in a file that is not here to its end is not known.
 */
el_precompressed_fault_t el_precompressed_judge(const el_precompressed_t *file);

/* The numbers of a file that was judged, and of what for. It has no gaps. */
typedef struct {
    uint64_t device, inode, size;
    int64_t modified, changed; /* µs since 1970 */
    uint64_t original;
    uint64_t coding; /* an el_coding_t */
} el_precompressed_id_t;

/*
 * The last verdicts, by the hash of those numbers, with the verdict in its lowest bits; a new one
 * may push out another. And marks of what the log has named: of two in 65536, that of one may hide
 * the other. Zeroed memory knows nothing.
 */
typedef struct {
    _Atomic uint64_t verdict[1024];
    _Atomic uint64_t named[1024];
} el_precompressed_verdicts_t;

/* False if nothing is known of the file; `verdict` is unchanged then. */
bool el_precompressed_recall(const el_precompressed_verdicts_t *verdicts,
                             const el_precompressed_id_t *id, el_precompressed_fault_t *verdict);

void el_precompressed_remember(el_precompressed_verdicts_t *verdicts,
                               const el_precompressed_id_t *id, el_precompressed_fault_t verdict);

/* True if the file is to be named in the log: true for one caller. */
bool el_precompressed_name(el_precompressed_verdicts_t *verdicts, const el_precompressed_id_t *id);

#endif
