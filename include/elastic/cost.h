/*
 * Costs: the CPU time and the encoded size that are expected of a setup (a coding at a level) for a
 * body of a certain length. The engines have tables, measured on one machine with some bodies.
 * Measurements of the site's own responses correct them.
 *
 * The corrections are factors, kept as estimates of their logarithms. Time has a factor of the
 * machine, of the coding (one engine may be slower than others) and of the setup. Size has a factor
 * of bodies of a length, and of the coding for such bodies. So a setup that is not in use follows a
 * change of the machine's speed, or of the content, as well.
 *
 * The size of a dictionary-compressed body depends on its dictionary. Only its time is corrected
 * here; el_cost_differ() gives its size.
 *
 * Readers and writers never wait: if two writers meet, one measurement is lost. Any thread; no
 * clock.
 */
#ifndef ELASTIC_COST_H
#define ELASTIC_COST_H

#include "elastic/http.h"

#include <stdatomic.h>
#include <stdint.h>

/* Classes of a body's length: up to 2, 8, 32, 128 KB, and larger. */
#define EL_SIZE_CLASSES 5

/* Assumed length of a body of unknown length: the longest of its class. */
#define EL_COST_UNKNOWN_LENGTH (128 * 1024)

/* One more than the highest level of any coding. */
#define EL_COST_LEVELS 20

typedef struct {
    uint32_t nsec; /* CPU time in ns for each KB of the body */
    uint32_t size; /* of the encoded body, in ten-thousandths of the body's */
} el_cost_t;

/* Number of combinations of coding, level and size class. */
#define EL_COST_KEYS (EL_ALL_CODINGS * EL_COST_LEVELS * EL_SIZE_CLASSES)

/* Indexes into el_costs_t.word. A name that stands for several words is the first one's. */
enum {
    EL_COST_MACHINE,                                /* time factor of the machine */
    EL_COST_CODING,                                 /* time factor of each coding */
    EL_COST_LENGTH = EL_COST_CODING + EL_ALL_CODINGS, /* size factor of each size class */
    EL_COST_FIT = EL_COST_LENGTH + EL_SIZE_CLASSES, /* size factor by coding and class */
    EL_COST_TIME = EL_COST_FIT + EL_CODINGS * EL_SIZE_CLASSES, /* time factor by setup and class */
    EL_COST_WORDS = EL_COST_TIME + EL_COST_KEYS
};

/* Corrections in shared memory; zeroed memory has none. */
typedef struct el_costs {
    _Atomic uint64_t word[EL_COST_WORDS];
} el_costs_t;

/* The size class of a body of `nbytes`. An unknown length (0) counts as that of a large page. */
unsigned el_cost_class(uint64_t nbytes);

/*
 * The cost in a server of a body of `nbytes` (0: unknown) whose engine's table says `known`. Adds
 * the same time for all setups: the time a body loses because other work has filled the caches. So
 * a measured setup does not look slower than an unmeasured one for that reason alone.
 */
el_cost_t el_cost_in_server(el_cost_t known, uint64_t nbytes);

/* A setup and a size class: the key of a correction. */
typedef struct {
    el_coding_t coding;
    int level;
    unsigned size_class;
} el_cost_key_t;

/*
 * Adds a measurement of `key`, for which the engine's table says `known`. `now` is in seconds of
 * any clock that all callers share, with differences below 2^24.
 */
void el_cost_update(el_costs_t *costs, el_cost_key_t key, el_cost_t known, el_cost_t measured,
                    uint32_t now);

/* The expected cost of `key` at `now`. */
el_cost_t el_cost_expect(const el_costs_t *costs, el_cost_key_t key, el_cost_t known,
                         uint32_t now);

/*
 * The expected cost of a dictionary-compressed body. `plain` is the cost of the same coding without
 * a dictionary; `own` is the expected part of its bytes, in ten-thousandths.
 */
el_cost_t el_cost_differ(el_cost_t plain, uint32_t own);

/* Seconds after which a third of a correction is left. */
#define EL_ESTIMATE_FADE 3600

/* Seconds since the last measurement of `key` itself; UINT32_MAX: never measured. */
uint32_t el_cost_age(const el_costs_t *costs, el_cost_key_t key, uint32_t now);

/* Measured time divided by the tables' time, for the machine as a whole; 1: never measured. */
double el_cost_slowness(const el_costs_t *costs, uint32_t now);

/* The el_cost_t.nsec that encodes a body of `nbytes` within `usec`; UINT32_MAX: no limit. */
uint32_t el_cost_allowance(uint64_t usec, uint64_t nbytes);

#endif
