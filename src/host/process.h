#ifndef ELASTIC_HOST_PROCESS_H
#define ELASTIC_HOST_PROCESS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* The clocks. The monotonic one is common to all processes of the machine. Any thread. */

/* The monotonic clock. */
uint64_t el_clock_nsec(void);
uint64_t el_clock_usec(void);
uint32_t el_clock_sec(void);

/* CPU time of the calling thread: a system call, twenty times as long as the monotonic clock. */
uint64_t el_clock_cpu_nsec(void);

/*
 * Processes and threads: if one lives, what keeps its code, a lock of several, and one that
 * gives way.
 */

/* True if there is a process `pid`, whoever it belongs to; any thread. */
bool el_process_is_alive(uint32_t pid);

/*
 * Keeps the shared object that has `address` mapped, and what it depends on, until this process
 * ends, even if it is unloaded: for threads that may still run in it. False if it cannot.
 */
bool el_code_keep(const void *address);

/*
 * Starts a detached thread that takes no signals, which are httpd's own threads' to handle;
 * `*thread`, unless NULL, is the thread. False if it cannot, with the reason in errno.
 */
bool el_thread_start(void *(*run)(void *of), void *of, pthread_t *thread);

/*
 * A lock between the threads of several processes, in memory that they share. It survives whoever
 * dies while holding it, and nobody waits for it for long.
 */
typedef struct {
    pthread_mutex_t mutex;
} el_lock_t;

/* Makes the shared memory at `lock` a lock; false if the system has none of this kind. */
bool el_lock_init(el_lock_t *lock);

/*
 * Takes the lock. False if others have held it for `usec` µs: a process that was stopped keeps
 * it for as long. `*died` is whether its last holder ended without giving it back, so that what it
 * protects may be half done.
 */
bool el_lock_take(el_lock_t *lock, uint64_t usec, bool *died);

void el_lock_give(el_lock_t *lock);

/*
 * A thread that has the CPU only while nobody else wants it (Linux: SCHED_IDLE), for calls that may
 * last: whoever needs the CPU has it back within milliseconds.
 *
 * It must hold no lock that others wait for: without the CPU it would not release it.
 */

/*
 * Starts the thread of this process, which calls `run` once for each el_idle_thread_wake() and
 * receives no signals. It is never ended and never waited for: what `run` uses has to stay until
 * the process ends (el_code_keep()). False if the system has no such threads, with the reason in
 * errno. These functions are called by one thread.
 */
bool el_idle_thread_start(void (*run)(void));

/* Has `run` called once more. */
void el_idle_thread_wake(void);

/* CPU time that the thread has used; 0 if there is none. */
uint64_t el_idle_thread_cpu_nsec(void);

#endif
