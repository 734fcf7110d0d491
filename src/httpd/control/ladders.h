/*
 * The ladders of setups that clients of several codings are served from, and the figures that they
 * are built from. A ladder is kept in the process, one for each set of codings and size class, and
 * built anew when the clock's second has changed since: costs are at most that old. Any thread.
 */
#ifndef ELASTIC_CONTROL_LADDERS_H
#define ELASTIC_CONTROL_LADDERS_H

#include "httpd/base/glue.h"
#include "httpd/state/shared.h"

#include "elastic/ladder.h"

/* A set of codings has this bit for each. */
#define EL_CODING_BIT(coding) (1u << (unsigned)(coding))

/* What a ladder is made of. */
typedef struct {
    unsigned set;            /* of EL_CODING_BIT()s, one or more, of codings that have a range */
    const el_range_t *range; /* of each coding: EL_CODINGS entries */
    bool whole;              /* the body goes through the engine in one call */
    uint64_t length;         /* of the body in bytes; 0: unknown */
} el_ladder_key_t;

/*
 * The setup for `turn`: of the cheapest order of all setups of the key's codings; and of those that
 * are no dearer than `most` nsec for each KB, where one below is not. Where ranges of the key say
 * `stock`, of the setups that make no more bytes than those of an httpd without this module would.
 */
el_rung_t el_ladders_choose(const el_ladder_key_t *key, el_turn_t turn, uint32_t most);

/*
 * What `turn` pays for a saved byte there, in nanoseconds of CPU time; INFINITY: bytes alone count.
 */
double el_ladders_price(const el_ladder_key_t *key, el_turn_t turn);

/*
 * The level of the key's one coding that is used where `level` is asked for: the next above where
 * that would make too many bytes; or the highest below, if none above makes as few.
 */
int el_ladders_level(const el_ladder_key_t *key, el_coding_t coding, int level);

/*
 * Of all setups of the key's codings, one that was not measured of late, near to one that takes
 * `nsec` for each KB; see el_explore_pick(). False where there is none.
 */
bool el_ladders_rare(const el_ladder_key_t *key, uint32_t nsec, el_rung_t *rare);

#endif
