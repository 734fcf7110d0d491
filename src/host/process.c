#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* for dladdr() and SCHED_IDLE */
#endif

#include "host/process.h"

#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

static uint64_t process_nsec_of(clockid_t clock)
{
    struct timespec now = {0};

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t el_clock_nsec(void)
{
    return process_nsec_of(CLOCK_MONOTONIC);
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
    return process_nsec_of(CLOCK_THREAD_CPUTIME_ID);
}

bool el_process_is_alive(uint32_t pid)
{
    return kill((pid_t)pid, 0) == 0 || errno != ESRCH;
}

bool el_code_keep(const void *address)
{
    Dl_info object;

    return dladdr(address, &object) != 0
           && dlopen(object.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE) != NULL;
}

bool el_thread_start(void *(*run)(void *of), void *of, pthread_t *thread)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    pthread_t started;
    int error = pthread_attr_init(&attributes);

    if (error == 0) {
        sigfillset(&all);
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        error = pthread_create(thread ? thread : &started, &attributes, run, of);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        pthread_attr_destroy(&attributes);
    }
    errno = error;
    return error == 0;
}

/* Times to yield the CPU before sleeping: the holder needs only microseconds. */
#define YIELDS 8

/* Length of a sleep in ns. */
#define NAP 50000

bool el_lock_init(el_lock_t *lock)
{
    pthread_mutexattr_t attributes;
    bool made = pthread_mutexattr_init(&attributes) == 0;

    if (made) {
        made = pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED) == 0
               && pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST) == 0
               && pthread_mutex_init(&lock->mutex, &attributes) == 0;
        pthread_mutexattr_destroy(&attributes);
    }
    return made;
}

/* Polls: pthread_mutex_timedlock() goes by the wall clock, which may be set meanwhile. */
bool el_lock_take(el_lock_t *lock, uint64_t usec, bool *died)
{
    const struct timespec nap = {.tv_nsec = NAP};
    int error = pthread_mutex_trylock(&lock->mutex);
    uint64_t until = error == EBUSY ? el_clock_usec() + usec : 0;

    for (unsigned turn = 0; error == EBUSY && el_clock_usec() < until; turn++) {
        if (turn < YIELDS) {
            sched_yield();
        } else {
            nanosleep(&nap, NULL);
        }
        error = pthread_mutex_trylock(&lock->mutex);
    }
    *died = error == EOWNERDEAD;
    if (*died) {
        pthread_mutex_consistent(&lock->mutex);
    }
    return error == 0 || *died;
}

void el_lock_give(el_lock_t *lock)
{
    pthread_mutex_unlock(&lock->mutex);
}

static struct {
    void (*run)(void);
    pid_t tid;
    sem_t begun;
    sem_t wake;
    bool started;
    clockid_t clock;
} idle;

static void process_wait_for(sem_t *semaphore)
{
    while (sem_wait(semaphore) != 0 && errno == EINTR) {
    }
}

static void *process_work(void *unused)
{
    (void)unused;
    idle.tid = (pid_t)syscall(SYS_gettid);
    sem_post(&idle.begun);
    process_wait_for(&idle.wake);
    /* NULL if el_idle_thread_start() failed. */
    while (idle.run) {
        idle.run();
        process_wait_for(&idle.wake);
    }
    return NULL;
}

/*
 * Sets the class from here: at SCHED_IDLE on a busy CPU, the thread itself would take long to
 * report that it has done so.
 */
bool el_idle_thread_start(void (*run)(void))
{
    pthread_t thread;
    int error;

    sem_init(&idle.begun, 0, 0);
    sem_init(&idle.wake, 0, 0);
    idle.run = run;
    if (!el_thread_start(process_work, NULL, &thread)) {
        return false;
    }
    process_wait_for(&idle.begun);
    error = sched_setscheduler(idle.tid, SCHED_IDLE, &(struct sched_param){0}) != 0
                ? errno : pthread_getcpuclockid(thread, &idle.clock);
    if (error != 0) {
        idle.run = NULL;
        el_idle_thread_wake();
        errno = error;
        return false;
    }
    idle.started = true;
    return true;
}

void el_idle_thread_wake(void)
{
    sem_post(&idle.wake);
}

uint64_t el_idle_thread_cpu_nsec(void)
{
    return idle.started ? process_nsec_of(idle.clock) : 0;
}
