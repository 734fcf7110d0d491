/* The last hour and today, in the shared block; see elastic/history.h. Any thread. */
#ifndef ELASTIC_STATE_PAST_H
#define ELASTIC_STATE_PAST_H

#include "httpd/base/glue.h"

#include "elastic/history.h"

/* Notes the load and the position as they are now; called by whoever has taken a sample. */
void el_past_note(void);

/* The means of the minute `age` minutes ago, 0 … EL_HISTORY_MINUTES - 1; false: no sample in it. */
bool el_past_minute(unsigned age, el_history_point_t *point);

/* A counter of el_history_begin()'s order, since midnight, or the start where that was later. */
uint64_t el_past_today(unsigned which);

#endif
