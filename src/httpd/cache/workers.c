#define _XOPEN_SOURCE 700 /* pthread_condattr_setclock() */

#include "httpd/cache/tools.h"

#include "host/process.h"

#include <errno.h>
#include <time.h>

/* The states of a task. */
enum {
    POSTED, /* no caller waits for it */
    AWAITED,
    DONE,
    LATE /* the caller has stopped waiting */
};

#define NSEC_PER_SEC 1000000000u

static bool workers_is_posted(const el_task_t *task)
{
    return atomic_load(&task->state) == POSTED;
}

/* Runs tasks. If there are several threads, one stays free for calls. */
static void *workers_run(void *of)
{
    el_workers_t *workers = of;

    pthread_mutex_lock(&workers->lock);
    for (;;) {
        el_task_t *task = workers->first;
        bool posted = task && workers_is_posted(task);

        if (!task
            || (posted && workers->threads > 1 && workers->posted + 1 >= workers->threads)) {
            pthread_cond_wait(&workers->work, &workers->lock);
            continue;
        }
        workers->first = task->next;
        workers->waiting--;
        workers->posted += posted;
        pthread_mutex_unlock(&workers->lock);
        task->run(task);
        pthread_mutex_lock(&workers->lock);
        workers->posted -= posted;
        if (atomic_load(&task->state) == AWAITED) {
            atomic_store(&task->state, DONE);
            pthread_cond_broadcast(&workers->done);
        } else {
            pthread_mutex_unlock(&workers->lock);
            task->discard(task);
            pthread_mutex_lock(&workers->lock);
        }
    }
    return NULL;
}

bool el_workers_start(el_workers_t *workers, unsigned threads)
{
    pthread_condattr_t monotonic;

    workers->first = NULL;
    workers->waiting = 0;
    workers->threads = 0;
    workers->posted = 0;
    pthread_mutex_init(&workers->lock, NULL);
    pthread_cond_init(&workers->work, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&workers->done, &monotonic);
    pthread_condattr_destroy(&monotonic);
    while (workers->threads < threads && el_thread_start(workers_run, workers, NULL)) {
        workers->threads++;
    }
    return workers->threads > 0;
}

/* Queues the task; calls come before posted tasks. Returns false if too many wait. */
static bool workers_add(el_workers_t *workers, el_task_t *task, int state)
{
    el_task_t **at = &workers->first;

    if (workers->waiting == EL_WORKERS_WAITING) {
        return false;
    }
    atomic_store(&task->state, state);
    while (*at && (state == POSTED || !workers_is_posted(*at))) {
        at = &(*at)->next;
    }
    task->next = *at;
    *at = task;
    workers->waiting++;
    pthread_cond_signal(&workers->work);
    return true;
}

el_task_end_t el_workers_call(el_workers_t *workers, el_task_t *task, uint64_t usec)
{
    uint64_t until = el_clock_nsec() + usec * 1000;
    struct timespec end = {.tv_sec = (time_t)(until / NSEC_PER_SEC),
                           .tv_nsec = (long)(until % NSEC_PER_SEC)};
    el_task_end_t how = EL_TASK_REFUSED;
    el_task_t **at = &workers->first;
    bool discarded = false;

    pthread_mutex_lock(&workers->lock);
    if (workers->posted < workers->threads && workers_add(workers, task, AWAITED)) {
        while (atomic_load(&task->state) == AWAITED
               && pthread_cond_timedwait(&workers->done, &workers->lock, &end) != ETIMEDOUT) {
        }
        how = atomic_load(&task->state) == DONE ? EL_TASK_DONE : EL_TASK_LATE;
        if (how == EL_TASK_LATE) {
            atomic_store(&task->state, LATE);
            while (*at && *at != task) {
                at = &(*at)->next;
            }
            discarded = *at != NULL; /* no thread has taken it */
            if (discarded) {
                *at = task->next;
                workers->waiting--;
            }
        }
    }
    pthread_mutex_unlock(&workers->lock);
    if (discarded) {
        task->discard(task);
    }
    return how;
}

bool el_workers_post(el_workers_t *workers, el_task_t *task)
{
    bool added;

    pthread_mutex_lock(&workers->lock);
    added = workers_add(workers, task, POSTED);
    pthread_mutex_unlock(&workers->lock);
    return added;
}

bool el_task_is_late(const el_task_t *task)
{
    return atomic_load(&task->state) == LATE;
}
