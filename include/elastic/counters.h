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
 * They are kept in stripes, so that processes that count at the same time do not write to the same
 * cache line; `process`, the number of one, picks its stripe. Zeroed memory has counted nothing.
 * Lock-free; any process, any thread.
 */

/* Processes that can count without sharing a cache line. A power of two. */
#define EL_COUNTER_STRIPES 32

/* X(identifier, note, text for people): why a precompressed file was not sent. */
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

/* For people; the precompressed file is its subject. */
extern const char *const el_precompressed_fault_texts[EL_PRECOMPRESSED_FAULTS_COUNT];

/*
 * X(identifier): the counters, beside one for each fault of a precompressed file, each fate of a
 * dictionary and each reason. A row of src/httpd/status/status.c shows one.
 */
#define EL_COUNTERS(X)                                                                             \
    X(COMPRESSED)      /* responses that went out encoded */                                       \
    X(BYTES_IN)        /* of those, before */                                                      \
    X(BYTES_OUT)       /* of those, after */                                                       \
    X(SAMPLED_IN)      /* the same as BYTES_IN, of the responses whose CPU time was taken */       \
    X(SAMPLED_NSEC)    /* and that CPU time */                                                     \
    X(PRECOMPRESSED)   /* responses served from precompressed files */                             \
    X(PROBES)          /* bodies of which the first piece was encoded to see whether it pays */    \
    X(IMPROVED)        /* kept encodings that were made smaller while CPU time was spare */        \
    X(IMPROVED_NSEC)   /* and the CPU time of that, of those that were not, too */                 \
    X(IMPROVED_BYTES)  /* what responses with them had less */                                     \
    X(CACHE_HITS)      /* responses that went out with an encoding that was kept */                \
    X(CACHE_MISSES)    /* bodies that were looked for, and no encoding found that was as good */   \
    X(CACHE_STORED)    /* encodings that the store took */                                         \
    X(CACHE_FAULTS)    /* what went wrong with the store */                                        \
    X(CACHE_BUSY)      /* times that others used the store for too long to wait for it */          \
    X(DICTIONARIES)    /* responses that became dictionaries */                                    \
    X(DICTIONARY_FAULTS) /* what went wrong with the folder of dictionaries */                     \
    X(DIFFERENCES)     /* responses that went out as what differs from a dictionary */             \
    X(DIFFERENCES_IN)  /* bytes of those, before */                                                \
    X(DIFFERENCES_OUT) /* of those, after */

typedef enum {
#define X(id) EL_COUNT_##id,
    EL_COUNTERS(X)
#undef X
    EL_COUNT_PRECOMPRESSED_FAULT, /* files that were not sent; add the el_precompressed_fault_t */
    /* requests that named a dictionary, by what became of it; add the el_dictionary_reason_t */
    EL_COUNT_DICTIONARY = EL_COUNT_PRECOMPRESSED_FAULT + EL_PRECOMPRESSED_FAULTS_COUNT,
    /* responses that were not compressed, by reason; add the el_reason_t */
    EL_COUNT_SKIPPED = EL_COUNT_DICTIONARY + EL_DICTIONARY_REASON_COUNT,
    EL_COUNT_TOTAL = EL_COUNT_SKIPPED + EL_REASON_COUNT
} el_counter_t;

typedef struct {
    _Alignas(64) _Atomic uint64_t count[EL_COUNT_TOTAL];
} el_stripe_t;

typedef struct el_counters {
    _Atomic uint64_t started; /* µs of the monotonic clock, when counting began */
    _Atomic uint64_t cpu_usec; /* the highest that el_counters_cpu_usec() has returned */
    el_stripe_t stripe[EL_COUNTER_STRIPES];
} el_counters_t;

/* Counters order nothing, so they need no barriers. */
static inline void el_count_add(_Atomic uint64_t *counter, uint64_t value)
{
    atomic_fetch_add_explicit(counter, value, memory_order_relaxed);
}

/* Adds to a counter. */
static inline void el_counters_add(el_counters_t *counters, unsigned process, el_counter_t counter,
                                   uint64_t value)
{
    el_count_add(&counters->stripe[process % EL_COUNTER_STRIPES].count[counter], value);
}

/* The sum of a counter over all stripes. */
uint64_t el_counters_total(const el_counters_t *counters, el_counter_t counter);

/*
 * CPU time of all encoding, µs: that of the sampled responses, scaled by their bytes to all.
 * Programs take it for a counter, so it never falls: if the estimate does, it is what it was
 * before.
 */
uint64_t el_counters_cpu_usec(el_counters_t *counters);

/*
 * Tallies of encoded bodies for monitoring: by coding and maker, their number and bytes; by coding
 * alone, histograms of time and size in classes that never change. They only grow.
 */

/* X(identifier, coding, who made it, whether that was by encoding the body): the series. */
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

/* Of each series: responses, and the bytes of their bodies before and after. */
typedef enum { EL_TALLY_RESPONSES, EL_TALLY_IN, EL_TALLY_OUT, EL_TALLY_COUNTS } el_tally_count_t;

/* The histograms of each coding. */
typedef enum {
    EL_TALLY_TIME, /* ns elapsed in the encoder; of bodies that were encoded */
    EL_TALLY_SIZE, /* bytes before */
    EL_TALLY_KINDS
} el_tally_kind_t;

/* The classes of each kind that have an upper bound; one more has what is above them. */
#define EL_TALLY_BOUNDS 12

/* A class: what is `most` or less, and that as a number of seconds or bytes. */
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

/* A body: bytes before and after, and the time that it took. */
typedef struct {
    uint64_t in;
    uint64_t out;
    uint64_t nsec;
} el_tally_body_t;

/* One kind of one coding: how many are in each class, the last one without a bound, and the sum. */
typedef struct {
    uint64_t count[EL_TALLY_BOUNDS + 1];
    uint64_t sum;
} el_tally_total_t;

/* Of each series. */
extern const el_tally_series_info_t el_tally_info[EL_TALLY_SERIES_COUNT];

/* The series of `coding` by `engine`, or EL_TALLY_SERIES_COUNT if there is none. */
el_tally_series_t el_tally_find(el_coding_t coding, const char *engine);

/* The EL_TALLY_BOUNDS upper bounds of a kind, the lowest first. */
extern const el_tally_bound_t el_tally_bounds[EL_TALLY_KINDS][EL_TALLY_BOUNDS];

/* How many of the unit in which a kind is counted are one second or byte. */
extern const double el_tally_scale[EL_TALLY_KINDS];

/* Counts `body`. */
void el_tally_add(el_tally_t *tally, unsigned process, el_tally_series_t series,
                  const el_tally_body_t *body);

/* Responses whose body was encoded for them, without those from the cache or a file. */
uint64_t el_tally_encoded(const el_tally_t *tally);

/* The sums over all stripes. */
uint64_t el_tally_made(const el_tally_t *tally, el_tally_series_t series, el_tally_count_t which);
void el_tally_read(const el_tally_t *tally, el_coding_t coding, el_tally_kind_t kind,
                   el_tally_total_t *total);

/*
 * Counts of each virtual host that has a slot; the others share one more. The memory is of a fixed
 * size, however many hosts a configuration has. A slot belongs to the hash of a name, so that a
 * host keeps its counts over a graceful restart.
 */

/*
 * Places, and how many of them are used unless the configuration says otherwise: a label of metrics
 * has few values, because each is a series that monitoring keeps.
 */
#define EL_VHOSTS 64
#define EL_VHOSTS_DEFAULT 16

/* The slot of all others. */
#define EL_VHOST_OTHER EL_VHOSTS

typedef enum {
    EL_VHOST_COMPRESSED,    /* responses */
    EL_VHOST_UNCOMPRESSED,  /* responses */
    EL_VHOST_PRECOMPRESSED, /* responses from precompressed files */
    EL_VHOST_BYTES_IN,      /* of the compressed ones, before */
    EL_VHOST_BYTES_OUT,     /* of those, after */
    EL_VHOST_COUNTS
} el_vhost_count_t;

typedef struct {
    _Alignas(64) _Atomic uint64_t count[EL_VHOSTS + 1][EL_VHOST_COUNTS];
} el_vhosts_stripe_t;

typedef struct el_vhosts {
    _Atomic uint64_t name[EL_VHOSTS]; /* whose slot it is, a hash; 0: nobody's */
    el_vhosts_stripe_t stripe[EL_COUNTER_STRIPES];
} el_vhosts_t;

/* The hash of a host's name, whatever the case of its letters; never 0. */
uint64_t el_vhosts_hash(const char *name);

/*
 * Gives each of the `count` different names, at most EL_VHOSTS, a slot: the one that it has had, a
 * free one, or that of a name that is not among them, whose counts are forgotten. One process at a
 * time.
 */
void el_vhosts_assign(el_vhosts_t *vhosts, const uint64_t *names, size_t count, unsigned *slots);

/* Adds to a count of a slot. */
static inline void el_vhosts_add(el_vhosts_t *vhosts, unsigned process, unsigned slot,
                                 el_vhost_count_t count, uint64_t value)
{
    el_count_add(&vhosts->stripe[process % EL_COUNTER_STRIPES].count[slot][count], value);
}

/* The sum of a count over all stripes. */
uint64_t el_vhosts_total(const el_vhosts_t *vhosts, unsigned slot, el_vhost_count_t count);

/*
 * The load, the position and the bytes saved in the last hour by minutes, and the counts before
 * today, for the status page. The process that samples adds; two that meet lose a part of a minute.
 */

#define EL_HISTORY_MINUTES 60

/* The sums of a minute's samples, in millionths, and the bytes saved in it. */
typedef struct {
    _Atomic uint64_t minute; /* which one, of any clock; 0: none */
    _Atomic uint64_t samples;
    _Atomic uint64_t load;
    _Atomic uint64_t position;
    _Atomic uint64_t saved; /* below zero if bodies grew: an int64_t */
} el_history_minute_t;

/* Sums from a start on: time, bytes before and after encoding, CPU time; times in µs. */
enum { EL_PAST_TIME, EL_PAST_IN, EL_PAST_OUT, EL_PAST_CPU, EL_PAST_COUNTS };

typedef struct {
    el_history_minute_t minute[EL_HISTORY_MINUTES];
    _Atomic uint64_t saved;                  /* bytes, at the last sample */
    _Atomic uint64_t day;                    /* the last one that began; 0: none */
    _Atomic uint64_t before[EL_PAST_COUNTS]; /* from the start until then */
} el_history_t;

/* A sample, or a minute: shares of 0 … 1, and bytes. */
typedef struct {
    double load;
    double position;
    double saved; /* of a sample: since the start; of a minute: in it */
} el_history_point_t;

/* Adds a sample in `minute`, above 0. Bytes saved since the sample before count for this minute. */
void el_history_add(el_history_t *history, uint64_t minute, el_history_point_t point);

/* The means of `minute`, and the bytes. False if there was no sample in it, or it is too long ago. */
bool el_history_get(const el_history_t *history, uint64_t minute, el_history_point_t *point);

/*
 * Begins `day`, above 0, unless it has begun; `counts` are of the day that ends. The first day has
 * what was counted from the start on.
 */
void el_history_begin(el_history_t *history, uint64_t day, const uint64_t counts[EL_PAST_COUNTS]);

#endif
