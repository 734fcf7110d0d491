#include "elastic/control.h"

#include "elastic/ladder.h"
#include "bytes.h"

#include <math.h>

/*
 * A packed state: fraction and position, which form one number in units of 1/65536, then the top,
 * then the bypass.
 */
#define POSITION_SHIFT 16
#define POSITION_MASK 0xffffu
#define TOP_SHIFT 32
#define TOP_MASK 0xffffu
#define BYPASS_BIT (UINT64_C(1) << (EL_CONTROL_BITS - 1))

el_control_state_t el_control_clamp(const el_control_config_t *config, el_control_state_t state)
{
    if (state.position > config->top || config->mode == EL_CONTROL_OFF) {
        state.position = config->top;
    }
    if (config->mode != EL_CONTROL_MIX || state.position == config->top) {
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

bool el_control_upper(el_control_state_t state, uint32_t count)
{
    return el_spread(count) >> 16 < state.fraction;
}

/*
 * Share of the whole range by which an error of the whole CPU moves the position in each interval.
 * The range usually changes the load by 0.3 to 1.5, so one interval corrects 0.15 to 0.75 of an
 * error, and a lag of one interval does not make the loop oscillate (it would from 1 on). From the
 * ceiling to the floor takes 7 intervals on a full machine.
 */
#define INTEGRAL 0.5
/* Half of that for a change of the error, so that a spike is answered before it has added up. */
#define PROPORTIONAL 0.25

/*
 * No move within this share of the band around the middle: 5 points of CPU with the default
 * thresholds. /proc/stat resolves 2 points on one CPU in half a second, and requests arrive
 * unevenly.
 */
#define QUIET (1. / 6)

/*
 * The gain is halved when a move overshoots, and otherwise grows by this factor up to 1. Without it
 * the loop would oscillate for ever between two setups of very different cost. Noise alone also
 * reverses the error, so the gain has a minimum, with which the end of a load shows within about
 * ten intervals.
 */
#define RECOVERY 1.25
#define GAIN_LEAST (1. / 16)

/* System-B in incremental form: the position is its own integral. Nothing winds up at a bound. */
static double control_mix(const el_control_config_t *config, double busy,
                          el_control_memory_t *memory, el_control_state_t state)
{
    double middle = (config->low + config->high) / 2;
    double quiet = QUIET * (config->high - config->low);
    double error = copysign(fmax(0, fabs(middle - busy) - quiet), middle - busy);
    double move = INTEGRAL * error + PROPORTIONAL * (error - memory->error);
    double gain = memory->gain == 0 ? 1 : fabs(memory->gain);

    /* The proportional term never reverses the direction. */
    if (move * error < 0 || error == 0) {
        move = 0;
    }
    memory->error = error;
    /* The sign of memory->gain is that of the last error. */
    if (error != 0) {
        gain = memory->gain * error < 0 ? fmax(GAIN_LEAST, gain / 2) : fmin(1, gain * RECOVERY);
        memory->gain = copysign(gain, error);
    }
    move *= fabs(memory->gain);
    return fmin(config->top, fmax(0, el_control_position(state) + config->top * move));
}

double el_control_price(const el_control_config_t *config, const el_control_memory_t *memory)
{
    return el_goal_worth(&config->goal) / memory->price.delay;
}

el_control_state_t el_control_next(const el_control_config_t *config,
                                   const el_observation_t *observed, el_control_memory_t *memory,
                                   el_control_state_t state)
{
    bool priced = el_control_is_priced(config);
    double position = 0;

    state = el_control_clamp(config, state);
    if (config->mode == EL_CONTROL_OFF) {
        return state;
    }
    if (priced) {
        el_price_follow(&memory->price, observed->busy, observed->cpus, observed->seconds);
        position = el_ladder_position(el_control_price(config, memory), config->top);
    }
    if (state.bypass) {
        /* End it only if the same load would not begin it again, however low config->bypass is. */
        state.bypass = observed->busy >= config->low + (config->high - config->low) / 2
                       || observed->busy > config->bypass;
        *memory = (el_control_memory_t){.price = memory->price};
        return state;
    }
    if (observed->busy > config->bypass && state.position == 0 && state.fraction == 0) {
        state.bypass = true;
        return state;
    }
    if (!priced && config->mode == EL_CONTROL_MIX) {
        position = control_mix(config, observed->busy, memory, state);
    } else if (!priced) {
        position = state.position;
        if (observed->busy > config->high) {
            position--;
        } else if (observed->busy < config->low) {
            position++;
        }
    }
    return el_control_at(state, position);
}

uint64_t el_control_schedule(uint64_t due, uint64_t now, uint64_t interval)
{
    return due + interval > now ? due + interval : now + interval;
}

/* Offsets in bytes; numbers are little-endian. Other bytes are 0. */
enum {
    AT_MAGIC = 0,
    AT_VERSION = 8,   /* 32 bits */
    AT_INTERVAL = 12, /* 32 */
    AT_UPDATED = 16,  /* 64 */
    AT_CONTROL = 24,  /* 64: a packed el_control_state_t */
    AT_LOAD = 32,     /* 32 */
    AT_FLAGS = 36,    /* 32 */
    AT_SAMPLES = 40,  /* 64 */
    AT_PID = 48,      /* 32 */
    AT_CHECKSUM = 60  /* 32: of all bytes before it */
};

#define FLAG_STOPPED 1u
#define FLAG_LOCKED 2u

static const char magic[8] = "elastic";

const char *const el_position_texts[EL_POSITION_VERDICT_COUNT] = {
#define X(id, text) text,
    EL_POSITION_VERDICTS(X)
#undef X
};

/*
 * CRC-32 as in gzip, ZIP and PNG (RFC 1952 §8), because every language has it. Bit by bit: 60 bytes
 * need no table.
 */
static uint32_t control_checksum(const uint8_t *bytes, size_t len)
{
    uint32_t crc = 0xffffffffu;

    while (len-- > 0) {
        crc ^= *bytes++;
        for (int bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
        }
    }
    return ~crc;
}

void el_position_encode(const el_position_t *position, uint8_t *bytes)
{
    memset(bytes, 0, EL_POSITION_SIZE);
    memcpy(bytes + AT_MAGIC, magic, sizeof(magic));
    el_bytes_put(bytes + AT_VERSION, 4, EL_POSITION_VERSION);
    el_bytes_put(bytes + AT_INTERVAL, 4, position->interval_msec);
    el_bytes_put(bytes + AT_UPDATED, 8, position->updated_usec);
    el_bytes_put(bytes + AT_CONTROL, 8, el_control_pack(position->control));
    el_bytes_put(bytes + AT_LOAD, 4, position->load_ppm);
    el_bytes_put(bytes + AT_FLAGS, 4, (position->stopped ? FLAG_STOPPED : 0)
                                          | (position->locked ? FLAG_LOCKED : 0));
    el_bytes_put(bytes + AT_SAMPLES, 8, position->samples);
    el_bytes_put(bytes + AT_PID, 4, position->pid);
    el_bytes_put(bytes + AT_CHECKSUM, 4, control_checksum(bytes, AT_CHECKSUM));
}

el_position_verdict_t el_position_decode(const uint8_t *bytes, size_t len, uint64_t now_usec,
                                         el_position_t *position)
{
    el_position_t got;
    uint64_t interval;
    bool stale;

    if (len < EL_POSITION_SIZE) {
        return EL_POSITION_SHORT;
    }
    if (memcmp(bytes + AT_MAGIC, magic, sizeof(magic)) != 0) {
        return EL_POSITION_FOREIGN;
    }
    if (el_bytes_get(bytes + AT_VERSION, 4) != EL_POSITION_VERSION) {
        return EL_POSITION_VERSION_OTHER;
    }
    got = (el_position_t){
        .control = el_control_unpack(el_bytes_get(bytes + AT_CONTROL, 8)),
        .updated_usec = el_bytes_get(bytes + AT_UPDATED, 8),
        .samples = el_bytes_get(bytes + AT_SAMPLES, 8),
        .interval_msec = (uint32_t)el_bytes_get(bytes + AT_INTERVAL, 4),
        .load_ppm = (uint32_t)el_bytes_get(bytes + AT_LOAD, 4),
        .pid = (uint32_t)el_bytes_get(bytes + AT_PID, 4),
        .stopped = (el_bytes_get(bytes + AT_FLAGS, 4) & FLAG_STOPPED) != 0,
        .locked = (el_bytes_get(bytes + AT_FLAGS, 4) & FLAG_LOCKED) != 0,
    };
    if (el_bytes_get(bytes + AT_CHECKSUM, 4) != control_checksum(bytes, AT_CHECKSUM)
        || got.interval_msec == 0 || got.updated_usec == 0
        || got.control.position > got.control.top
        || (got.control.position == got.control.top && got.control.fraction != 0)) {
        return EL_POSITION_DAMAGED;
    }
    *position = got;
    /* More than an interval ahead of now: the writer ran in another boot. */
    interval = (uint64_t)got.interval_msec * 1000;
    stale = got.updated_usec > now_usec
                ? got.updated_usec - now_usec > interval
                : now_usec - got.updated_usec > EL_POSITION_INTERVALS * interval;
    return got.stopped ? EL_POSITION_STOPPED : stale ? EL_POSITION_STALE : EL_POSITION_GOOD;
}

el_control_state_t el_position_scale(el_control_state_t control, unsigned top)
{
    double share = control.top > 0 ? el_control_position(control) / control.top : 1;

    control.top = top;
    return el_control_at(control, share * top);
}
