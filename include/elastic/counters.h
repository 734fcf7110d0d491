/*
 * The counters of the status page, in memory that all children share.
 *
 * They are kept in stripes, so that processes that count at the same time do not write to the same
 * cache line. Lock-free; any process, any thread.
 */
#ifndef ELASTIC_COUNTERS_H
#define ELASTIC_COUNTERS_H

#include "elastic/coding.h"
#include "elastic/decide.h"
#include "elastic/dictionary.h"

#include <stdatomic.h>
#include <stdint.h>

/* So many processes can count without sharing a cache line. A power of two. */
#define EL_COUNTER_STRIPES 32

/* X(identifier, note, text for people): why a precompressed sibling was not sent. */
#define EL_SIBLING_FAULTS(X)                                                                       \
    X(OUTDATED, "outdated", "older than its file")                                                 \
    X(IRREGULAR, "irregular", "not a regular file")                                                \
    X(DENIED, "denied", "not to be had by asking for it")                                          \
    X(OWNER, "owner", "of another owner than its file")                                            \
    X(OUTSIDE, "outside", "outside of ElasticPrecompressedRoot")                                   \
    X(UNREADABLE, "unreadable", "unreadable, or was replaced meanwhile")

typedef enum {
#define X(id, note, text) EL_SIBLING_##id,
    EL_SIBLING_FAULTS(X)
#undef X
    EL_SIBLING_FAULTS_COUNT
} el_sibling_fault_t;

/* The last part of the key on the status page. */
const char *el_sibling_fault_note(el_sibling_fault_t fault);

/* For people; the sibling is its subject. */
const char *el_sibling_fault_text(el_sibling_fault_t fault);

/*
 * X(identifier): the counters, beside one for each fault of a sibling, each fate of a dictionary and
 * each reason.
 */
#define EL_COUNTERS(X)                                                                             \
    X(COMPRESSED)      /* responses that went out encoded */                                       \
    X(BYTES_IN)        /* of those, before */                                                      \
    X(BYTES_OUT)       /* of those, after */                                                       \
    X(SAMPLED_IN)      /* the same as BYTES_IN, of the responses whose CPU time was taken */       \
    X(SAMPLED_NSEC)    /* and that CPU time */                                                     \
    X(SAMPLED_OUT)     /* the same as BYTES_OUT, of those responses */                             \
    X(STOCK_NSEC)      /* CPU time that mod_deflate would have taken for them, at level 6 */       \
    X(STOCK_OUT)       /* and the bytes that it would have sent */                                 \
    X(PRECOMPRESSED)   /* responses served from siblings */                                        \
    X(PROBES)          /* bodies of which the first piece was encoded to see whether it pays */    \
    X(EXPLORED)        /* bodies encoded once more, to measure another setup */                    \
    X(EXPLORED_NSEC)   /* and the CPU time of that */                                              \
    X(IMPROVED)        /* kept encodings that were made smaller while CPU time was spare */        \
    X(IMPROVED_NSEC)   /* and the CPU time of that, of those that were not, too */                 \
    X(IMPROVED_BYTES)  /* what responses with them had less */                                     \
    X(CACHE_HITS)      /* responses that went out with an encoding that was kept */                \
    X(CACHE_MISSES)    /* bodies that were looked for, and no encoding found that was as good */   \
    X(CACHE_STORED)    /* encodings that the store took */                                         \
    X(CACHE_FAULTS)    /* what went wrong with the store */                                        \
    X(DICTIONARIES)    /* responses that became dictionaries */                                    \
    X(DICTIONARY_FAULTS) /* what went wrong with the folder of dictionaries */                     \
    X(DIFFERENCES)     /* responses that went out as what differs from a dictionary */             \
    X(DIFFERENCES_IN)  /* bytes of those, before */                                                \
    X(DIFFERENCES_OUT) /* of those, after */

typedef enum {
#define X(id) EL_COUNT_##id,
    EL_COUNTERS(X)
#undef X
    EL_COUNT_SIBLING, /* siblings that were not sent; add the el_sibling_fault_t */
    /* requests that named a dictionary, by what became of it; add the el_dictionary_reason_t */
    EL_COUNT_DICTIONARY = EL_COUNT_SIBLING + EL_SIBLING_FAULTS_COUNT,
    /* responses that were not compressed, by reason; add the el_reason_t */
    EL_COUNT_SKIPPED = EL_COUNT_DICTIONARY + EL_DICTIONARY_REASON_COUNT,
    EL_COUNT_TOTAL = EL_COUNT_SKIPPED + EL_REASON_COUNT
} el_counter_t;

typedef struct {
    _Alignas(64) _Atomic uint64_t count[EL_COUNT_TOTAL];
} el_stripe_t;

/* Estimates that programs take for counters. */
typedef enum {
    EL_SHOWN_CPU_USEC,
    EL_SHOWN_STOCK_USEC,
    EL_SHOWN_STOCK_OUT,
    EL_SHOWN_COUNT
} el_shown_t;

typedef struct el_counters {
    _Atomic uint64_t started; /* µs of the monotonic clock, when counting began */
    _Atomic uint64_t shown[EL_SHOWN_COUNT]; /* the highest so far */
    el_stripe_t stripe[EL_COUNTER_STRIPES];
} el_counters_t;

/* Adds to a counter. `process`, its number, picks the stripe. */
void el_counters_add(el_counters_t *counters, unsigned process, el_counter_t counter,
                     uint64_t add);

/* The sum of a counter over all stripes. */
uint64_t el_counters_total(const el_counters_t *counters, el_counter_t counter);

/*
 * An estimate as a counter, which never falls: `estimate`, or what was shown before, where that is
 * more.
 */
uint64_t el_counters_shown(el_counters_t *counters, el_shown_t which, double estimate);

#endif
