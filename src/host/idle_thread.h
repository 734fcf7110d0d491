/*
 * A thread that has the CPU only while nobody else wants it (Linux: SCHED_IDLE), for calls that may
 * last: whoever needs the CPU has it back within milliseconds.
 *
 * It must hold no lock that others wait for: without the CPU it would not release it.
 */
#ifndef ELASTIC_HOST_IDLE_THREAD_H
#define ELASTIC_HOST_IDLE_THREAD_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Starts the thread of this process, which calls `run` once for each el_idle_thread_wake() and
 * receives no signals. It is never ended and never waited for: what `run` uses has to stay until the
 * process ends (host/code.h). False where the system has no such threads, with the reason in errno.
 * These functions are called by one thread.
 */
bool el_idle_thread_start(void (*run)(void));

/* Has `run` called once more. */
void el_idle_thread_wake(void);

/* CPU time that the thread has used; 0 where there is none. */
uint64_t el_idle_thread_cpu_nsec(void);

#endif
