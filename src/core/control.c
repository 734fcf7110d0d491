#include "elastic/control.h"

el_control_state_t el_control_clamp(const el_control_config_t *config, el_control_state_t state)
{
    if (state.position > config->top || config->mode == EL_CONTROL_OFF) {
        state.position = config->top;
    }
    if (config->bypass > 1 || config->mode == EL_CONTROL_OFF) {
        state.bypass = false;
    }
    state.top = config->top;
    return state;
}

/* Ends a bypass only where the same load would not begin it again, however low its threshold. */
static bool bypass_ends(const el_control_config_t *config, double busy)
{
    return busy < config->low + (config->high - config->low) / 2 && busy <= config->bypass;
}

el_control_state_t el_control_next(const el_control_config_t *config, el_control_state_t state,
                                   double busy)
{
    state = el_control_clamp(config, state);
    if (config->mode == EL_CONTROL_OFF) {
        return state;
    }
    if (state.bypass) {
        state.bypass = !bypass_ends(config, busy);
    } else if (busy > config->bypass && state.position == 0) {
        state.bypass = true;
    } else if (busy > config->high && state.position > 0) {
        state.position--;
    } else if (busy < config->low && state.position < state.top) {
        state.position++;
    }
    return state;
}

bool el_control_due(uint64_t next_update, uint64_t now)
{
    return now >= next_update;
}

uint64_t el_control_schedule(uint64_t due, uint64_t now, uint64_t interval)
{
    return due + interval > now ? due + interval : now + interval;
}
