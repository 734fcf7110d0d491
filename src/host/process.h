#ifndef ELASTIC_HOST_PROCESS_H
#define ELASTIC_HOST_PROCESS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Clocks. The monotonic clock is common to all processes of the machine. Any thread. */

uint64_t el_clock_nsec(void);
uint64_t el_clock_usec(void);
uint32_t el_clock_sec(void);

/* CPU time of the calling thread. A system call, twenty times slower than the monotonic clock. */
uint64_t el_clock_cpu_nsec(void);

/* Processes and threads: liveness, code, a lock between processes, an idle thread. */

/* True if a process `pid` exists, of any owner. Any thread. */
bool el_process_is_alive(uint32_t pid);

/*
 * Keeps the shared object with `address`, and its dependencies, mapped until this process ends,
 * even if it is unloaded: for threads that may still run in it. False on failure.
 */
bool el_code_keep(const void *address);

/*
 * Starts a detached thread with all signals blocked: httpd's own threads handle them. Sets
 * `*thread`, unless NULL. False on failure, with errno set.
 */
bool el_thread_start(void *(*run)(void *of), void *of, pthread_t *thread);

/*
 * A lock between threads of several processes, in shared memory. It survives the death of its
 * holder, and waiting for it is limited.
 */
typedef struct {
    pthread_mutex_t mutex;
} el_lock_t;

/* Initializes a lock in shared memory. False if the system does not support it. */
bool el_lock_init(el_lock_t *lock);

/*
 * Takes the lock. False if others held it for `usec` µs: a stopped process may hold it that long.
 * `*died`: the last holder died with it, so the protected data may be half changed.
 */
bool el_lock_take(el_lock_t *lock, uint64_t usec, bool *died);

void el_lock_give(el_lock_t *lock);

/*
 * A thread that runs only while the CPU is otherwise idle (Linux: SCHED_IDLE), for long work. Other
 * threads get the CPU back within milliseconds.
 *
 * It must not hold a lock that others wait for: without the CPU it would not release it.
 */

/*
 * Starts this process's idle thread, which calls `run` once for each el_idle_thread_wake(), with
 * all signals blocked. No one ends or joins it: everything that `run` uses must stay until the
 * process ends (el_code_keep()). False if the system has no such threads, with errno set. Call
 * these functions from one thread only.
 */
bool el_idle_thread_start(void (*run)(void));

/* Makes the thread call `run` once more. */
void el_idle_thread_wake(void);

/* CPU time used by the thread, ns; 0 if there is none. */
uint64_t el_idle_thread_cpu_nsec(void);

#endif
