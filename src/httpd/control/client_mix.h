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
 * What the setups at positions 0 … top cost (CPU µs for each KB of a body), by the settings of the
 * main server: for the mean body of late, the mean over the clients of late, or a client of all
 * codings where sections alone had any. `cost` has room for EL_COST_LEVELS. False where nothing was
 * encoded yet, or `top` is beyond that. `now` is µs of the monotonic clock; called for each sample.
 */
bool el_client_mix_curve(uint64_t now, unsigned top, double *cost);

#endif
