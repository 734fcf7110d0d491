#define _POSIX_C_SOURCE 200809L

#include "host/clock.h"

#include <time.h>

static uint64_t nsec_of(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t el_clock_nsec(void)
{
    return nsec_of(CLOCK_MONOTONIC);
}

uint64_t el_clock_usec(void)
{
    return el_clock_nsec() / 1000;
}

uint32_t el_clock_sec(void)
{
    return (uint32_t)(el_clock_nsec() / 1000000000u);
}

uint64_t el_clock_cpu_nsec(void)
{
    return nsec_of(CLOCK_THREAD_CPUTIME_ID);
}
