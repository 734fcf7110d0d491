/*
 * A few threads of a process for calls that may block for any time. A caller waits for a bounded
 * time; if the result comes later, the thread frees it. Tasks that nobody waits for delay no call:
 * of several threads one is left for calls, and if the only thread is busy with such a task, a call
 * is refused.
 *
 * Knows no server. Any thread, unless a function says otherwise. The threads never end: one may
 * hang in a call for ever. They take no signals, and need no cleanup when the process exits.
 */
#ifndef ELASTIC_CACHE_WORKERS_H
#define ELASTIC_CACHE_WORKERS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Tasks that wait for a thread, at most: they hold the memory that they bring. */
#define EL_WORKERS_WAITING 8

/* The first member of each task's own structure. */
typedef struct el_task {
    void (*run)(struct el_task *task);     /* in a thread; may block */
    void (*discard)(struct el_task *task); /* frees it */

    /* The workers' own. */
    struct el_task *next;
    atomic_int state;
} el_task_t;

typedef struct {
    pthread_mutex_t lock;
    pthread_cond_t work; /* there is a task */
    pthread_cond_t done; /* a task is done that somebody waits for */
    el_task_t *first;    /* of those that wait for a thread */
    unsigned waiting;
    unsigned threads;
    unsigned posted; /* threads that run tasks that nobody waited for at the start */
} el_workers_t;

/* Starts up to `threads` threads, in a process that does not fork them away. False: not one. */
bool el_workers_start(el_workers_t *workers, unsigned threads);

typedef enum {
    EL_TASK_DONE,   /* it was run; the caller's */
    EL_TASK_LATE,   /* it was not; the workers' from now on */
    EL_TASK_REFUSED /* no thread will come to it soon; the caller's, and nothing was done */
} el_task_end_t;

/* Has a thread run `task`, before posted ones; waits `usec` µs at most. */
el_task_end_t el_workers_call(el_workers_t *workers, el_task_t *task, uint64_t usec);

/* Has a thread run and discard `task` at some time. False if too many wait: the caller's. */
bool el_workers_post(el_workers_t *workers, el_task_t *task);

/* In run(): true if nobody waits for the result any more. */
bool el_task_is_late(const el_task_t *task);

#endif
