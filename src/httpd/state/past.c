#include "httpd/state/past.h"

#include "httpd/state/shared.h"

#include "host/clock.h"

#include "apr_time.h"

/* µs. */
#define MINUTE 60000000u

/* Enough for each year, so that no two days have the same number. */
#define DAYS_OF_YEAR 366

/* The number of this minute, above 0. */
static uint64_t minute_now(void)
{
    return el_clock_usec() / MINUTE + EL_HISTORY_MINUTES;
}

/* The number of this day at this place, above 0. */
static uint64_t day_now(void)
{
    apr_time_exp_t now;

    apr_time_exp_lt(&now, apr_time_now());
    return (uint64_t)(now.tm_year * DAYS_OF_YEAR + now.tm_yday + 1);
}

void el_past_note(void)
{
    el_control_state_t control = el_state_control(el_shared.state);
    uint64_t load = atomic_load_explicit(&el_shared.state->load_ppm, memory_order_relaxed);

    if (load == EL_STATE_NO_LOAD) {
        return;
    }
    el_history_begin(el_shared.history, day_now(), el_shared.counters);
    el_history_add(el_shared.history, minute_now(),
                   (el_history_point_t){
                       .load = (double)load / EL_PPM,
                       .position = control.top ? el_control_position(control) / control.top : 1,
                   });
}

bool el_past_minute(unsigned age, el_history_point_t *point)
{
    return el_history_get(el_shared.history, minute_now() - age, point);
}

el_savings_t el_past_today(void)
{
    el_savings_counts_t counts =
        el_history_today(el_shared.history, day_now(), el_shared.counters);

    return el_savings_of(&counts);
}

static double risen(el_shown_t which, double estimate)
{
    return (double)el_counters_shown(el_shared.counters, which, estimate);
}

el_savings_t el_past_ever(void)
{
    el_savings_counts_t counts = el_savings_counted(el_shared.counters);
    el_savings_t savings = el_savings_of(&counts);

    savings.encoding_usec = risen(EL_SHOWN_CPU_USEC, savings.encoding_usec);
    savings.stock_usec = risen(EL_SHOWN_STOCK_USEC, savings.stock_usec);
    savings.stock_out = risen(EL_SHOWN_STOCK_OUT, savings.stock_out);
    return savings;
}
