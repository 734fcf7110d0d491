/*
 * The client mix: which codings this site's clients leave the choice between, and what the
 * controller's positions therefore cost here. A site whose clients accept gzip alone moves along
 * gzip's levels, and not along the ladder of all codings. Any thread.
 */
#ifndef ELASTIC_CONTROL_CLIENT_MIX_H
#define ELASTIC_CONTROL_CLIENT_MIX_H

#include "httpd/base/glue.h"

/* Counts a response whose coding was chosen from `set`, of one or more EL_CODING_BIT()s. */
void el_client_mix_count(unsigned set);

/*
 * What the setups at positions 0 … top cost (CPU µs for each KB of a body) and leave of it (bytes
 * for each byte), for a body of `length` bytes, by the settings of the main server: the mean over
 * the clients that were counted, or a client that takes every coding while none were. Both arrays
 * have room for EL_COST_LEVELS. False where nothing is encoded, or `top` is beyond that.
 */
bool el_client_mix_curve(uint64_t length, unsigned top, double *cost, double *ratio);

#endif
