#include "httpd/body/meter.h"

#include "host/clock.h"

/*
 * 2^32 times √2 - 1, to the nearest odd number. Its multiples, modulo 2^32, are spread evenly and
 * without a period: a site whose requests come in rounds has each of them sampled. It is not the
 * number that mixes two setups, or only one of them would be.
 */
#define SPREAD 1779033703u

el_meter_t el_meter_create(void)
{
    static _Atomic uint32_t responses;
    uint32_t count = atomic_fetch_add_explicit(&responses, 1, memory_order_relaxed);

    return (el_meter_t){.used.sampled = count * SPREAD < UINT32_MAX / EL_STATS_EVERY};
}

/*
 * The time elapsed lies inside of the CPU time: a kernel lets others run when a system call
 * returns, and in a busy process the sampled responses would seem to take many times longer.
 */
void el_meter_start(el_meter_t *meter)
{
    if (meter->used.sampled) {
        meter->began_cpu = el_clock_cpu_nsec();
    }
    meter->began_elapsed = el_clock_nsec();
}

void el_meter_stop(el_meter_t *meter)
{
    meter->used.elapsed_nsec += el_clock_nsec() - meter->began_elapsed;
    if (meter->used.sampled) {
        meter->used.cpu_nsec += el_clock_cpu_nsec() - meter->began_cpu;
    }
}

void el_meter_go_on(el_meter_t *meter, const el_meter_t *before)
{
    meter->used.sampled = before->used.sampled;
    meter->used.elapsed_nsec = before->used.elapsed_nsec;
    meter->used.looked_nsec = before->used.cpu_nsec;
}
