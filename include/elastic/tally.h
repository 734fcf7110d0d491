/*
 * Tallies of encoded bodies for whoever watches the server: by coding and what made the encoding, how
 * many there were and their bytes; by coding alone, how long encoding took and the sizes before, in
 * classes that never change.
 *
 * Counters in shared memory that only grow, in stripes as those of counters.h. Lock-free; any
 * process, any thread. Zeroed memory has counted nothing.
 */
#ifndef ELASTIC_TALLY_H
#define ELASTIC_TALLY_H

#include "elastic/coding.h"
#include "elastic/counters.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

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

/* What is counted of each series: responses, and the bytes of their bodies before and after. */
typedef enum { EL_TALLY_RESPONSES, EL_TALLY_IN, EL_TALLY_OUT, EL_TALLY_COUNTS } el_tally_count_t;

/* What there is a histogram of, for each coding. */
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

/* What a series is of. */
const el_tally_series_info_t *el_tally_info(el_tally_series_t series);

/* The series of `coding` by `engine`, or EL_TALLY_SERIES_COUNT where there is none. */
el_tally_series_t el_tally_find(el_coding_t coding, const char *engine);

/* The EL_TALLY_BOUNDS upper bounds of a kind, the lowest first. */
const el_tally_bound_t *el_tally_bounds(el_tally_kind_t kind);

/* How many of the unit in which a kind is counted are one second or byte. */
double el_tally_scale(el_tally_kind_t kind);

/* Counts `body`. `process`, its number, picks the stripe. */
void el_tally_add(el_tally_t *tally, unsigned process, el_tally_series_t series,
                  const el_tally_body_t *body);

/* The sums over all stripes. */
uint64_t el_tally_made(const el_tally_t *tally, el_tally_series_t series, el_tally_count_t which);
void el_tally_read(const el_tally_t *tally, el_coding_t coding, el_tally_kind_t kind,
                   el_tally_total_t *total);

#endif
