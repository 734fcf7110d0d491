/* The last hour and today, in the shared block; see elastic/history.h. Any thread. */
#ifndef ELASTIC_STATE_PAST_H
#define ELASTIC_STATE_PAST_H

#include "httpd/base/glue.h"

#include "elastic/history.h"

/* Notes the load and the position as they are now; called by whoever has taken a sample. */
void el_past_note(void);

/* The means of the minute `age` minutes ago, 0 … EL_HISTORY_MINUTES - 1; false: no sample in it. */
bool el_past_minute(unsigned age, el_history_point_t *point);

/* What was saved since midnight of this place's time, or since the start where that was later. */
el_savings_t el_past_today(void);

/* What was saved since the start; times and bytes that are estimates never fall. */
el_savings_t el_past_ever(void);

#endif
