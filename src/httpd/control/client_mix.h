/*
 * The audience: which codings this site's clients leave the choice between, and what the
 * controller's positions therefore cost here. A site whose clients take gzip alone climbs gzip's
 * levels, and not the ladder of all codings.
 */
#ifndef ELASTIC_AUDIENCE_H
#define ELASTIC_AUDIENCE_H

#include "httpd/config/policy.h"

/* A coding as a member of a set of them. */
#define EL_AUDIENCE_BIT(coding) (1u << (unsigned)(coding))

/* Counts a response whose coding was chosen from `set`, of one or more EL_AUDIENCE_BIT()s. */
void el_audience_count(unsigned set);

/*
 * What the setups at positions 0 … top cost (CPU µs for each KB of a body) and leave of it (bytes
 * for each byte), for a body of `length` bytes, by the settings of the main server: the mean over
 * the clients that were counted, or a client that takes every coding while none were. Both arrays
 * have room for EL_COST_LEVELS. False where nothing is encoded, or `top` is beyond that.
 */
bool el_audience_curve(const server_rec *main_server, uint64_t length, unsigned top, double *cost,
                       double *ratio);

#endif
