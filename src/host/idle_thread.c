#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* SCHED_IDLE */
#endif

#include "host/idle_thread.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static struct {
    void (*run)(void);
    pid_t tid;
    sem_t begun;
    sem_t wake;
    bool started;
    clockid_t clock;
} idle;

static void wait_for(sem_t *semaphore)
{
    while (sem_wait(semaphore) != 0 && errno == EINTR) {
    }
}

static void *work(void *unused)
{
    (void)unused;
    idle.tid = (pid_t)syscall(SYS_gettid);
    sem_post(&idle.begun);
    wait_for(&idle.wake);
    /* el_idle_thread_start() has failed where there is nothing to run. */
    while (idle.run) {
        idle.run();
        wait_for(&idle.wake);
    }
    return NULL;
}

/* httpd's signals are for its other threads. */
static int create(pthread_t *thread)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    int error = pthread_attr_init(&attributes);

    if (error == 0) {
        sigfillset(&all);
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        error = pthread_create(thread, &attributes, work, NULL);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        pthread_attr_destroy(&attributes);
    }
    return error;
}

/*
 * The class is set from here and not by the thread itself: on a busy CPU it would take it a while
 * from then on to say that it has done so.
 */
bool el_idle_thread_start(void (*run)(void))
{
    pthread_t thread;
    int error;

    sem_init(&idle.begun, 0, 0);
    sem_init(&idle.wake, 0, 0);
    idle.run = run;
    error = create(&thread);
    if (error != 0) {
        errno = error;
        return false;
    }
    wait_for(&idle.begun);
    if (sched_setscheduler(idle.tid, SCHED_IDLE, &(struct sched_param){0}) != 0
        || pthread_getcpuclockid(thread, &idle.clock) != 0) {
        error = errno;
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
    struct timespec used;

    if (!idle.started || clock_gettime(idle.clock, &used) != 0) {
        return 0;
    }
    return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}
