#include "elastic/control_state.h"

#include <math.h>

/* 2^32 divided by the golden ratio, to the nearest odd number. */
#define GOLDEN 2654435769u

/*
 * A state's word: the fraction and the position, which are one number in 1/65536, the top it
 * was set for, then the bypass.
 */
#define POSITION_SHIFT 16
#define POSITION_MASK 0xffffu
#define TOP_SHIFT 32
#define TOP_MASK 0xffffu
#define BYPASS_BIT (UINT64_C(1) << (EL_CONTROL_BITS - 1))

bool el_control_is_whole(el_control_mode_t mode)
{
    return mode == EL_CONTROL_STEP || mode == EL_CONTROL_OFF;
}

el_control_state_t el_control_clamp(const el_control_config_t *config, el_control_state_t state)
{
    if (state.position > config->top || config->mode == EL_CONTROL_OFF) {
        state.position = config->top;
    }
    if (el_control_is_whole(config->mode) || state.position == config->top) {
        state.fraction = 0;
    }
    if (config->bypass > 1 || config->mode == EL_CONTROL_OFF) {
        state.bypass = false;
    }
    state.top = config->top;
    return state;
}

double el_control_position(el_control_state_t state)
{
    return state.position + (double)state.fraction / EL_CONTROL_ONE;
}

el_control_state_t el_control_at(el_control_state_t state, double position)
{
    double parts = round(fmin(state.top, fmax(0, position)) * EL_CONTROL_ONE);

    state.position = (unsigned)(parts / EL_CONTROL_ONE);
    state.fraction = (uint16_t)(parts - (double)state.position * EL_CONTROL_ONE);
    return state;
}

uint64_t el_control_pack(el_control_state_t state)
{
    return (uint64_t)state.fraction | (uint64_t)(state.position & POSITION_MASK) << POSITION_SHIFT
        | (uint64_t)(state.top & TOP_MASK) << TOP_SHIFT | (state.bypass ? BYPASS_BIT : 0);
}

el_control_state_t el_control_unpack(uint64_t word)
{
    return (el_control_state_t){
        .position = (unsigned)(word >> POSITION_SHIFT) & POSITION_MASK,
        .top = (unsigned)(word >> TOP_SHIFT) & TOP_MASK,
        .bypass = (word & BYPASS_BIT) != 0,
        .fraction = (uint16_t)word,
    };
}

/*
 * Multiples of the golden ratio, modulo one, leave the smallest gaps that a sequence can; so do
 * those of every other request, or of every third.
 */
uint16_t el_control_turn(uint32_t count)
{
    return (uint16_t)(count * GOLDEN >> 16);
}
