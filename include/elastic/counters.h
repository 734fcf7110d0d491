#ifndef ELASTIC_COUNTERS_H
#define ELASTIC_COUNTERS_H

#include "elastic/decide.h"
#include "elastic/dictionary.h"
#include "elastic/http.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Counters of the status page, tallies of encoded bodies, counts of each virtual host, and the last
 * hour, in memory that all children share.
 *
 * Each process counts in its own stripe, chosen by `process`, a number of its own, so that
 * processes rarely write to the same cache line. Zeroed memory has counted nothing. Lock-free; any
 * process, any thread.
 */

/* Number of stripes, a power of two. */
#define EL_COUNTER_STRIPES 32

/* X(identifier, note, text for people): reasons for not sending a precompressed file. */
#define EL_PRECOMPRESSED_FAULTS(X)                                                                 \
    X(OUTDATED, "outdated", "older than its file")                                                 \
    X(IRREGULAR, "irregular", "not a regular file")                                                \
    X(DENIED, "denied", "denied by the rules for its own name")                                    \
    X(OWNER, "owner", "owned neither by the owner of its file nor by root")                        \
    X(OUTSIDE, "outside", "outside of ElasticPrecompressedRoot")                                   \
    X(EMPTY, "empty", "empty")                                                                     \
    X(CODING, "coding", "not in the coding of its extension, or cut off")                          \
    X(WINDOW, "window", "compressed with a window that browsers refuse, above 8 MB")               \
    X(SIZE, "size", "made of a file of another size")                                              \
    X(FILTER, "filter", "beside a content filter that changes the body, or may")                   \
    X(UNREADABLE, "unreadable", "unreadable, or was replaced at that moment")

typedef enum {
#define X(id, note, text) EL_PRECOMPRESSED_##id,
    EL_PRECOMPRESSED_FAULTS(X)
#undef X
    EL_PRECOMPRESSED_FAULTS_COUNT
} el_precompressed_fault_t;

/* For people; the subject is the precompressed file. */
extern const char *const el_precompressed_fault_texts[EL_PRECOMPRESSED_FAULTS_COUNT];

/*
 * X(identifier): the counters. EL_COUNT_PRECOMPRESSED_FAULT, _DICTIONARY and _SKIPPED begin ranges
 * of more. src/httpd/status/status.c has a row for each counter that the status page shows.
 */
#define EL_COUNTERS(X)                                                                             \
    X(COMPRESSED)      /* responses sent encoded */                                                \
    X(BYTES_IN)        /* of those, before encoding */                                             \
    X(BYTES_OUT)       /* of those, after encoding */                                              \
    X(SAMPLED_IN)      /* BYTES_IN of the responses whose CPU time was sampled */                  \
    X(SAMPLED_NSEC)    /* the sampled CPU time */                                                  \
    X(PRECOMPRESSED)   /* responses sent from precompressed files */                               \
    X(PROBES)          /* bodies whose first piece was encoded to see whether it pays */           \
    X(IMPROVED)        /* cached encodings that the idle thread made smaller */                    \
    X(IMPROVED_NSEC)   /* its CPU time, that of failed attempts included */                        \
    X(IMPROVED_BYTES)  /* bytes saved by responses sent from improved encodings */                 \
    X(CACHE_HITS)      /* responses sent from the cache */                                         \
    X(CACHE_MISSES)    /* look-ups without a good enough encoding */                               \
    X(CACHE_STORED)    /* encodings that the store accepted */                                     \
    X(CACHE_FAULTS)    /* errors of the store */                                                   \
    X(CACHE_BUSY)      /* times that the store was in use for too long to wait */                  \
    X(DICTIONARIES)    /* responses that became dictionaries */                                    \
    X(DICTIONARY_FAULTS) /* errors of the folder of dictionaries */                                \
    X(DIFFERENCES)     /* responses sent dictionary-compressed */                                  \
    X(DIFFERENCES_IN)  /* bytes of those, before */                                                \
    X(DIFFERENCES_OUT) /* bytes of those, after */

typedef enum {
#define X(id) EL_COUNT_##id,
    EL_COUNTERS(X)
#undef X
    EL_COUNT_PRECOMPRESSED_FAULT, /* files that were not sent; add the el_precompressed_fault_t */
    /* requests that named a dictionary; add the el_dictionary_reason_t */
    EL_COUNT_DICTIONARY = EL_COUNT_PRECOMPRESSED_FAULT + EL_PRECOMPRESSED_FAULTS_COUNT,
    /* responses that were not compressed; add the el_reason_t */
    EL_COUNT_SKIPPED = EL_COUNT_DICTIONARY + EL_DICTIONARY_REASON_COUNT,
    EL_COUNT_TOTAL = EL_COUNT_SKIPPED + EL_REASON_COUNT
} el_counter_t;

typedef struct {
    _Alignas(64) _Atomic uint64_t count[EL_COUNT_TOTAL];
} el_stripe_t;

typedef struct el_counters {
    _Atomic uint64_t started; /* start of counting, µs of the monotonic clock */
    _Atomic uint64_t cpu_usec; /* the highest value el_counters_cpu_usec() has returned */
    el_stripe_t stripe[EL_COUNTER_STRIPES];
} el_counters_t;

/* Relaxed: counters order no other memory. */
static inline void el_count_add(_Atomic uint64_t *counter, uint64_t value)
{
    atomic_fetch_add_explicit(counter, value, memory_order_relaxed);
}

static inline void el_counters_add(el_counters_t *counters, unsigned process, el_counter_t counter,
                                   uint64_t value)
{
    el_count_add(&counters->stripe[process % EL_COUNTER_STRIPES].count[counter], value);
}

uint64_t el_counters_total(const el_counters_t *counters, el_counter_t counter);

/*
 * CPU time of all encoding in µs: the sampled CPU time, scaled from the sampled bytes to all bytes.
 * Never falls, because monitoring treats it as a counter: the highest estimate so far is returned.
 */
uint64_t el_counters_cpu_usec(el_counters_t *counters);

/*
 * Tallies of encoded bodies for monitoring. Each series of coding and maker has a number and bytes;
 * each coding has histograms of time and size with fixed classes. They only grow.
 */

/* X(identifier, coding, maker, true if the maker encodes bodies as they are requested) */
#define EL_TALLY_SERIES(X)                                                                         \
    X(ZLIB, EL_GZIP, "zlib", true)                                                                 \
    X(ISAL, EL_GZIP, "isal", true)                                                                 \
    X(LIBDEFLATE, EL_GZIP, "libdeflate", true)                                                     \
    X(CACHED_GZIP, EL_GZIP, "cache", false)                                                        \
    X(FILE_GZIP, EL_GZIP, "precompressed", false)                                                  \
    X(BROTLI, EL_BR, "brotli", true)                                                               \
    X(CACHED_BR, EL_BR, "cache", false)                                                            \
    X(FILE_BR, EL_BR, "precompressed", false)                                                      \
    X(ZSTD, EL_ZSTD, "zstd", true)                                                                 \
    X(CACHED_ZSTD, EL_ZSTD, "cache", false)                                                        \
    X(FILE_ZSTD, EL_ZSTD, "precompressed", false)                                                  \
    X(DCB, EL_DCB, "brotli", true)                                                                 \
    X(DCZ, EL_DCZ, "zstd", true)

typedef enum {
#define X(id, coding, engine, encoded) EL_TALLY_##id,
    EL_TALLY_SERIES(X)
#undef X
    EL_TALLY_SERIES_COUNT
} el_tally_series_t;

typedef struct {
    el_coding_t coding;
    const char *engine;
    bool encoded;
} el_tally_series_info_t;

/* Responses, and the bytes of their bodies before and after. */
typedef enum { EL_TALLY_RESPONSES, EL_TALLY_IN, EL_TALLY_OUT, EL_TALLY_COUNTS } el_tally_count_t;

/* The histograms of each coding. */
typedef enum {
    EL_TALLY_TIME, /* ns elapsed in the encoder; only bodies encoded for their response */
    EL_TALLY_SIZE, /* bytes before encoding */
    EL_TALLY_KINDS
} el_tally_kind_t;

/* Classes of each kind that have an upper bound; one more class is unbounded. */
#define EL_TALLY_BOUNDS 12

/* A class: its inclusive upper bound, and the bound as text in seconds or bytes. */
typedef struct {
    uint64_t most;
    const char *text;
} el_tally_bound_t;

typedef struct {
    _Alignas(64) _Atomic uint64_t made[EL_TALLY_SERIES_COUNT][EL_TALLY_COUNTS];
    _Atomic uint64_t count[EL_ALL_CODINGS][EL_TALLY_KINDS][EL_TALLY_BOUNDS + 1];
    _Atomic uint64_t sum[EL_ALL_CODINGS][EL_TALLY_KINDS];
} el_tally_stripe_t;

typedef struct el_tally {
    el_tally_stripe_t stripe[EL_COUNTER_STRIPES];
} el_tally_t;

/* A body: bytes before and after, and ns elapsed in the encoder. */
typedef struct {
    uint64_t in;
    uint64_t out;
    uint64_t nsec;
} el_tally_body_t;

/* A histogram: the count of each class, the unbounded one last, and the sum of all values. */
typedef struct {
    uint64_t count[EL_TALLY_BOUNDS + 1];
    uint64_t sum;
} el_tally_total_t;

extern const el_tally_series_info_t el_tally_info[EL_TALLY_SERIES_COUNT];

/* The series of `coding` by `engine`; EL_TALLY_SERIES_COUNT: none. */
el_tally_series_t el_tally_find(el_coding_t coding, const char *engine);

/* The upper bounds of each kind, the lowest first. */
extern const el_tally_bound_t el_tally_bounds[EL_TALLY_KINDS][EL_TALLY_BOUNDS];

/* Units of each kind in one second or byte. */
extern const double el_tally_scale[EL_TALLY_KINDS];

void el_tally_add(el_tally_t *tally, unsigned process, el_tally_series_t series,
                  const el_tally_body_t *body);

/* Responses whose body was encoded for them, not taken from the cache or a file. */
uint64_t el_tally_encoded(const el_tally_t *tally);

/* Sums over all stripes. */
uint64_t el_tally_made(const el_tally_t *tally, el_tally_series_t series, el_tally_count_t which);
void el_tally_read(const el_tally_t *tally, el_coding_t coding, el_tally_kind_t kind,
                   el_tally_total_t *total);

/*
 * Counts of each virtual host that has a slot; all others share one more slot. The memory is fixed,
 * however many hosts are configured. A slot belongs to the hash of a name, so that a host keeps its
 * counts over a graceful restart.
 */

/*
 * Slots, and the number used by default. It is low because monitoring stores each label value as a
 * series of its own.
 */
#define EL_VHOSTS 64
#define EL_VHOSTS_DEFAULT 16

/* The slot that the other hosts share. */
#define EL_VHOST_OTHER EL_VHOSTS

typedef enum {
    EL_VHOST_COMPRESSED,    /* responses */
    EL_VHOST_UNCOMPRESSED,  /* responses */
    EL_VHOST_PRECOMPRESSED, /* responses from precompressed files */
    EL_VHOST_BYTES_IN,      /* of compressed responses, before */
    EL_VHOST_BYTES_OUT,     /* of compressed responses, after */
    EL_VHOST_COUNTS
} el_vhost_count_t;

typedef struct {
    _Alignas(64) _Atomic uint64_t count[EL_VHOSTS + 1][EL_VHOST_COUNTS];
} el_vhosts_stripe_t;

typedef struct el_vhosts {
    _Atomic uint64_t name[EL_VHOSTS]; /* hash of the slot's owner; 0: free */
    el_vhosts_stripe_t stripe[EL_COUNTER_STRIPES];
} el_vhosts_t;

/* The hash of a host's name, in any case of letters; never 0. */
uint64_t el_vhosts_hash(const char *name);

/*
 * Gives each of the `count` different names, at most EL_VHOSTS, a slot: its own from before, a free
 * one, or one of a name that is not among them, whose counts are then cleared. One process at a
 * time.
 */
void el_vhosts_assign(el_vhosts_t *vhosts, const uint64_t *names, size_t count, unsigned *slots);

static inline void el_vhosts_add(el_vhosts_t *vhosts, unsigned process, unsigned slot,
                                 el_vhost_count_t count, uint64_t value)
{
    el_count_add(&vhosts->stripe[process % EL_COUNTER_STRIPES].count[slot][count], value);
}

uint64_t el_vhosts_total(const el_vhosts_t *vhosts, unsigned slot, el_vhost_count_t count);

/*
 * Load, position and bytes saved of the last hour by minute, and the totals before today, for the
 * status page. The sampling process writes; if two overlap, a part of a minute is lost.
 */

#define EL_HISTORY_MINUTES 60

/* Sums of one minute's samples, in millionths, and the bytes saved in it. */
typedef struct {
    _Atomic uint64_t minute; /* number of the minute, by any clock; 0: none */
    _Atomic uint64_t samples;
    _Atomic uint64_t load;
    _Atomic uint64_t position;
    _Atomic uint64_t saved; /* below zero if bodies grew: an int64_t */
} el_history_minute_t;

/* Totals since the start: time, bytes before and after encoding, CPU time. Times are in µs. */
enum { EL_PAST_TIME, EL_PAST_IN, EL_PAST_OUT, EL_PAST_CPU, EL_PAST_COUNTS };

typedef struct {
    el_history_minute_t minute[EL_HISTORY_MINUTES];
    _Atomic uint64_t saved;                  /* bytes, at the last sample */
    _Atomic uint64_t day;                    /* the current day; 0: none yet */
    _Atomic uint64_t before[EL_PAST_COUNTS]; /* totals before `day` */
} el_history_t;

/* A sample, or a minute: shares of 0 … 1, and bytes. */
typedef struct {
    double load;
    double position;
    double saved; /* of a sample: since the start; of a minute: in it */
} el_history_point_t;

/* Adds a sample to `minute`, above 0. Bytes saved since the last sample count for this minute. */
void el_history_add(el_history_t *history, uint64_t minute, el_history_point_t point);

/* The means of `minute`, and its bytes. False if it has no sample, or is too long ago. */
bool el_history_get(const el_history_t *history, uint64_t minute, el_history_point_t *point);

/*
 * Begins `day`, above 0, unless it has begun, and adds `counts`, those of the day that ends, to the
 * totals. The first day adds nothing: it counts from the start.
 */
void el_history_begin(el_history_t *history, uint64_t day, const uint64_t counts[EL_PAST_COUNTS]);

#endif
