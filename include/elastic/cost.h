/*
 * Costs: the CPU time that a setup, a coding at a level, is expected to take for a body of a
 * certain length, and the bytes that it is expected to leave. The engines have a table of them for
 * one machine and some bodies; measurements of the site's own responses correct it.
 *
 * The corrections are factors, kept as estimates of their logarithms: of the time, the machine's,
 * the coding's (one engine may be slower than others) and the setup's; of the bytes, that of bodies
 * of a length, and how well the coding suits these. So a change of the machine's speed, or of the
 * content, is known at once for the setups that are not in use as well.
 *
 * What a dictionary-compressed body saves is a matter of its dictionary: only its time is corrected
 * here, and el_cost_differ() has the rest.
 *
 * Readers never wait, writers neither: two that meet lose one measurement. Any thread; no clock.
 */
#ifndef ELASTIC_COST_H
#define ELASTIC_COST_H

#include "elastic/http.h"

#include <stdatomic.h>
#include <stdint.h>

/* Classes of a body's length: up to 2, 8, 32, 128 KB, and larger. */
#define EL_SIZE_CLASSES 5

/* The length that a body of unknown length is taken to have: the longest of its class. */
#define EL_COST_UNKNOWN_LENGTH (128 * 1024)

/* One more than the highest level of any coding. */
#define EL_COST_LEVELS 20

typedef struct {
    uint32_t nsec; /* of CPU time for each KB of the body */
    uint32_t size; /* of the encoded body, in ten-thousandths of the body's */
} el_cost_t;

/* Means of the time of each setup and class of lengths. */
#define EL_COST_KEYS (EL_ALL_CODINGS * EL_COST_LEVELS * EL_SIZE_CLASSES)

/* Where the means lie in el_costs_t; a name that stands for several is their first. */
enum {
    EL_COST_MACHINE,                                /* of times */
    EL_COST_CODING,                                 /* of times, of each coding */
    EL_COST_LENGTH = EL_COST_CODING + EL_ALL_CODINGS, /* of sizes, of each class of lengths */
    EL_COST_FIT = EL_COST_LENGTH + EL_SIZE_CLASSES, /* of sizes, of each coding and class */
    EL_COST_TIME = EL_COST_FIT + EL_CODINGS * EL_SIZE_CLASSES, /* of times, by setup and class */
    EL_COST_WORDS = EL_COST_TIME + EL_COST_KEYS
};

/* Corrections, in shared memory; zeroed memory has none. */
typedef struct el_costs {
    _Atomic uint64_t word[EL_COST_WORDS];
} el_costs_t;

/* The class of a body of `nbytes`; where the length is unknown (0), that of a large page. */
unsigned el_cost_class(uint64_t nbytes);

/*
 * The cost that a body of `nbytes` (0: unknown) has in a server, if its engine's table says
 * `known`. All setups take the same time longer, so that what one is measured to take is no reason
 * to believe that the others differ from it by more than they do.
 */
el_cost_t el_cost_in_server(el_cost_t known, uint64_t nbytes);

/* A setup and a class of lengths: what one correction is for. */
typedef struct {
    el_coding_t coding;
    int level;
    unsigned size_class;
} el_cost_key_t;

/*
 * Adds a measurement of `key`, for which the engine's table has `known`, at `now` (seconds of any
 * clock that all callers share, less than 2^24 apart).
 */
void el_cost_update(el_costs_t *costs, el_cost_key_t key, el_cost_t known, el_cost_t measured,
                    uint32_t now);

/* The cost that is expected of `key` at `now`. */
el_cost_t el_cost_expect(const el_costs_t *costs, el_cost_key_t key, el_cost_t known,
                         uint32_t now);

/*
 * What a dictionary-compressed body costs, if its coding without a dictionary costs `plain`, and
 * `own` is the part of those bytes that is left, in ten-thousandths.
 */
el_cost_t el_cost_differ(el_cost_t plain, uint32_t own);

/* Seconds in which all but a third of what was learned has faded. */
#define EL_ESTIMATE_FADE 3600

/* Seconds since the last measurement of `key` itself; UINT32_MAX where there was none. */
uint32_t el_cost_age(const el_costs_t *costs, el_cost_key_t key, uint32_t now);

/* How many times as long everything takes here as the tables say; 1 where nothing was measured. */
double el_cost_slowness(const el_costs_t *costs, uint32_t now);

/*
 * What a setup may cost, in nsec of el_cost_t, so that a body of `nbytes` is encoded within `usec`;
 * UINT32_MAX where that is no limit.
 */
uint32_t el_cost_allowance(uint64_t usec, uint64_t nbytes);

#endif
