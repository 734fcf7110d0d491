#include "elastic/position.h"

#include "bytes.h"

#include <string.h>

/* Where things are, in bytes; numbers are little-endian. What is not named is 0. */
enum {
    AT_MAGIC = 0,
    AT_VERSION = 8,   /* 32 bits */
    AT_INTERVAL = 12, /* 32 */
    AT_UPDATED = 16,  /* 64 */
    AT_CONTROL = 24,  /* 64: as in the shared block */
    AT_LOAD = 32,     /* 32 */
    AT_FLAGS = 36,    /* 32 */
    AT_SAMPLES = 40,  /* 64 */
    AT_PID = 48,      /* 32 */
    AT_CHECKSUM = 60  /* 32: of all before */
};

#define FLAG_STOPPED 1u
#define FLAG_LOCKED 2u

static const char magic[8] = "elastic";

const char *el_position_text(el_position_verdict_t verdict)
{
    static const char *const texts[] = {
#define X(id, text) text,
        EL_POSITION_VERDICTS(X)
#undef X
    };

    return texts[verdict];
}

/*
 * CRC-32 as in gzip, ZIP and PNG (RFC 1952 §8): every language has it. Bit by bit, since 60 bytes
 * are not worth a table.
 */
static uint32_t position_checksum(const uint8_t *bytes, size_t len)
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
    el_bytes_put(bytes + AT_CHECKSUM, 4, position_checksum(bytes, AT_CHECKSUM));
}

static bool position_is_sound(const el_position_t *position)
{
    el_control_state_t control = position->control;

    return position->interval_msec > 0 && position->updated_usec > 0
           && control.position <= control.top
           && (control.position < control.top || control.fraction == 0);
}

/* Ahead of now by more than an interval: clocks of two boots. */
static bool position_is_stale(const el_position_t *position, uint64_t now_usec)
{
    uint64_t interval = (uint64_t)position->interval_msec * 1000;

    return position->updated_usec > now_usec
               ? position->updated_usec - now_usec > interval
               : now_usec - position->updated_usec > EL_POSITION_INTERVALS * interval;
}

el_position_verdict_t el_position_decode(const uint8_t *bytes, size_t len, uint64_t now_usec,
                                         el_position_t *position)
{
    el_position_t got;

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
    if (el_bytes_get(bytes + AT_CHECKSUM, 4) != position_checksum(bytes, AT_CHECKSUM)
        || !position_is_sound(&got)) {
        return EL_POSITION_DAMAGED;
    }
    *position = got;
    return got.stopped                 ? EL_POSITION_STOPPED
           : position_is_stale(&got, now_usec) ? EL_POSITION_STALE
                                                : EL_POSITION_GOOD;
}

el_control_state_t el_position_scale(el_control_state_t control, unsigned top)
{
    double share = control.top > 0 ? el_control_position(control) / control.top : 1;

    control.top = top;
    return el_control_at(control, share * top);
}
