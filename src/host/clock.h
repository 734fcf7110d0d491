/* The clocks. The monotonic one is common to all processes of the machine. Any thread. */
#ifndef ELASTIC_HOST_CLOCK_H
#define ELASTIC_HOST_CLOCK_H

#include <stdint.h>

/* The monotonic clock. */
uint64_t el_clock_nsec(void);
uint64_t el_clock_usec(void);
uint32_t el_clock_sec(void);

/* CPU time of the calling thread: a system call, twenty times as long as the monotonic clock. */
uint64_t el_clock_cpu_nsec(void);

#endif
