#include "elastic/control.h"

#include "fuzz.h"

static el_position_t position;
static uint8_t bytes[EL_POSITION_SIZE];

static void check(const el_position_t *got)
{
    el_control_state_t scaled = el_position_scale(got->control, 8);

    MUST(got->control.position <= got->control.top);
    MUST(got->interval_msec > 0 && got->updated_usec > 0);
    MUST(scaled.top == 8 && scaled.position <= 8);
    MUST(scaled.position < 8 || scaled.fraction == 0);
}

/* A checksum is what no fuzzer finds: the fields are taken from the input and written right. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    el_position_t made;
    el_position_verdict_t verdict;

    if (el_position_decode(data, size, UINT64_C(1) << 40, &position) >= EL_POSITION_STOPPED) {
        check(&position);
    }
    if (size < sizeof(made.updated_usec) * 3 + 8) {
        return 0;
    }
    memset(&made, 0, sizeof(made));
    memcpy(&made.updated_usec, data, 8);
    memcpy(&made.samples, data + 8, 8);
    memcpy(&made.control.fraction, data + 16, 2);
    made.control.position = data[18] | (unsigned)data[19] << 8;
    made.control.top = data[20] | (unsigned)data[21] << 8;
    made.interval_msec = data[22] | (uint32_t)data[23] << 24;
    made.control.bypass = (data[24] & 1) != 0;
    made.stopped = (data[24] & 2) != 0;
    el_position_encode(&made, bytes);
    verdict = el_position_decode(bytes, sizeof(bytes), UINT64_C(1) << 40, &position);
    MUST(verdict != EL_POSITION_SHORT && verdict != EL_POSITION_FOREIGN);
    if (verdict != EL_POSITION_DAMAGED) {
        check(&position);
        MUST(position.control.position == made.control.position);
        MUST(position.control.fraction == made.control.fraction);
        MUST(position.updated_usec == made.updated_usec && position.stopped == made.stopped);
        MUST((verdict == EL_POSITION_STOPPED) == made.stopped);
    }
    return 0;
}
