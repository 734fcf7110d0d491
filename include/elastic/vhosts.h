/*
 * What is counted of each virtual host, for so many of them as there are places; the others share one
 * more. The memory is of a fixed size, however many hosts a configuration has.
 *
 * A place belongs to the hash of a name, so that a host keeps its counts over a graceful restart. In
 * shared memory, in stripes as the counters of counters.h. Lock-free; any process, any thread. Zeroed
 * memory has counted nothing.
 */
#ifndef ELASTIC_VHOSTS_H
#define ELASTIC_VHOSTS_H

#include "elastic/counters.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Places, and how many of them are used unless the configuration says otherwise: a label of metrics has
 * few values, because each is a series that monitoring keeps.
 */
#define EL_VHOSTS 64
#define EL_VHOSTS_DEFAULT 16

/* The place of all others. */
#define EL_VHOST_OTHER EL_VHOSTS

typedef enum {
    EL_VHOST_COMPRESSED,    /* responses */
    EL_VHOST_UNCOMPRESSED,  /* responses */
    EL_VHOST_PRECOMPRESSED, /* responses from siblings */
    EL_VHOST_BYTES_IN,      /* of the compressed ones, before */
    EL_VHOST_BYTES_OUT,     /* of those, after */
    EL_VHOST_COUNTS
} el_vhost_count_t;

typedef struct {
    _Alignas(64) _Atomic uint64_t count[EL_VHOSTS + 1][EL_VHOST_COUNTS];
} el_vhosts_stripe_t;

typedef struct el_vhosts {
    _Atomic uint64_t name[EL_VHOSTS]; /* whose place it is, a hash; 0: nobody's */
    el_vhosts_stripe_t stripe[EL_COUNTER_STRIPES];
} el_vhosts_t;

/* The hash of a host's name, whatever the case of its letters; never 0. */
uint64_t el_vhosts_hash(const char *name);

/*
 * Gives each of the `count` different names, at most EL_VHOSTS, a place: the one that it has had, a
 * free one, or that of a name that is not among them, whose counts are forgotten. One process at a
 * time.
 */
void el_vhosts_assign(el_vhosts_t *vhosts, const uint64_t *names, size_t count, unsigned *places);

/* Adds to a count of a place. `process`, its number, picks the stripe. */
void el_vhosts_add(el_vhosts_t *vhosts, unsigned process, unsigned place, el_vhost_count_t count,
                   uint64_t add);

/* The sum of a count over all stripes. */
uint64_t el_vhosts_total(const el_vhosts_t *vhosts, unsigned place, el_vhost_count_t count);

#endif
