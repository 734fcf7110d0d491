/* Threads for calls that may block. */
#include "httpd/store/workers.h"

#include "suites.h"

#include <semaphore.h>
#include <signal.h>

/* µs; whoever waits so long has found a fault. */
#define LONG UINT64_C(60000000)

/*
 * Those of each test: where tests share a process, threads of one before still wait for work of theirs.
 */
#define TESTS 16
static el_workers_t all[TESTS], *workers = all;

/* A task that runs when `go` is posted, and says so. */
typedef struct {
    el_task_t task;
    sem_t *go; /* NULL: at once */
    sem_t *ran;
    int number;
    bool was_late;
} job_t;

static _Atomic int discarded, order;
static sem_t go, ran, gone;

static void run(el_task_t *task)
{
    job_t *job = (job_t *)task;

    if (job->go) {
        while (sem_wait(job->go) != 0) {
        }
    }
    job->was_late = el_task_is_late(task);
    job->number = ++order;
    sem_post(&ran);
}

static void discard(el_task_t *task)
{
    free(task);
    discarded++;
    sem_post(&gone);
}

static job_t *job_that(sem_t *waits_for)
{
    job_t *job = calloc(1, sizeof(*job));

    ck_assert_ptr_nonnull(job);
    *job = (job_t){.task = {.run = run, .discard = discard}, .go = waits_for};
    return job;
}

static void start(unsigned threads)
{
    ck_assert_ptr_ne(++workers, all + TESTS);
    discarded = order = 0;
    sem_init(&go, 0, 0);
    sem_init(&ran, 0, 0);
    sem_init(&gone, 0, 0);
    ck_assert(el_workers_start(workers, threads));
}

/* What one thread is in, until `go` is posted. */
static void occupy(void)
{
    ck_assert(el_workers_post(workers, &job_that(&go)->task));
    for (bool taken = false; !taken;) {
        pthread_mutex_lock(&workers->lock);
        taken = workers->waiting == 0;
        pthread_mutex_unlock(&workers->lock);
    }
}

START_TEST(a_call_brings_its_result)
{
    job_t *job = job_that(NULL);

    start(2);
    ck_assert_int_eq(el_workers_call(workers, &job->task, LONG), EL_TASK_DONE);
    ck_assert_int_eq(job->number, 1);
    ck_assert(!job->was_late);
    ck_assert_int_eq(discarded, 0);
    free(job);
}
END_TEST

START_TEST(what_was_posted_is_run_and_discarded)
{
    start(1);
    ck_assert(el_workers_post(workers, &job_that(NULL)->task));
    sem_wait(&gone);
    ck_assert_int_eq(order, 1);
}
END_TEST

START_TEST(a_call_that_hangs_is_left_to_its_thread)
{
    int before;

    start(1);
    /* Where the thread was not even there in time, again, with more of it. */
    for (uint64_t usec = 10000, tries = 0; discarded == (int)tries; usec *= 2, tries++) {
        ck_assert_int_eq(el_workers_call(workers, &job_that(&go)->task, usec), EL_TASK_LATE);
    }
    before = discarded;
    sem_post(&go);
    sem_wait(&ran);
    while (discarded == before) {
        sem_wait(&gone);
    }
    ck_assert_int_eq(discarded, before + 1);
}
END_TEST

START_TEST(a_call_for_which_no_thread_is_free_is_never_made)
{
    start(1);
    occupy();
    ck_assert_int_eq(el_workers_call(workers, &job_that(NULL)->task, 1000), EL_TASK_LATE);
    ck_assert_int_eq(discarded, 1);
    sem_post(&go);
    sem_wait(&ran);
    ck_assert_int_eq(order, 1);
}
END_TEST

START_TEST(no_more_wait_than_may)
{
    job_t *one_more = job_that(NULL);

    start(1);
    occupy();
    for (int i = 0; i < EL_WORKERS_WAITING; i++) {
        ck_assert(el_workers_post(workers, &job_that(NULL)->task));
    }
    ck_assert(!el_workers_post(workers, &one_more->task));
    ck_assert_int_eq(el_workers_call(workers, &one_more->task, LONG), EL_TASK_REFUSED);
    free(one_more);
    sem_post(&go);
    for (int i = 0; i < EL_WORKERS_WAITING + 1; i++) {
        sem_wait(&gone);
    }
    ck_assert_int_eq(order, EL_WORKERS_WAITING + 1);
}
END_TEST

static void *let_go(void *unused)
{
    for (bool both = false; !both;) {
        pthread_mutex_lock(&workers->lock);
        both = workers->waiting == 2;
        pthread_mutex_unlock(&workers->lock);
    }
    sem_post(&go);
    return unused;
}

START_TEST(what_is_waited_for_comes_first)
{
    job_t *job = job_that(NULL);
    pthread_t thread;

    start(1);
    occupy();
    ck_assert(el_workers_post(workers, &job_that(NULL)->task));
    ck_assert_int_eq(pthread_create(&thread, NULL, let_go, NULL), 0);
    ck_assert_int_eq(el_workers_call(workers, &job->task, LONG), EL_TASK_DONE);
    ck_assert_int_eq(job->number, 2);
    pthread_join(thread, NULL);
    free(job);
}
END_TEST

static void blocked_signals(el_task_t *task)
{
    sigset_t blocked;

    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    ((job_t *)task)->number = sigismember(&blocked, SIGTERM) && sigismember(&blocked, SIGUSR1);
}

START_TEST(threads_take_no_signals)
{
    job_t *job = job_that(NULL);
    sigset_t blocked;

    start(1);
    job->task.run = blocked_signals;
    ck_assert_int_eq(el_workers_call(workers, &job->task, LONG), EL_TASK_DONE);
    ck_assert_int_eq(job->number, 1);
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    ck_assert(!sigismember(&blocked, SIGTERM));
    free(job);
}
END_TEST

#define THREADS 6
#define TIMES 500

static void *call_often(void *unused)
{
    for (int i = 0; i < TIMES; i++) {
        job_t *job = job_that(NULL);

        if (i % 3 == 0) {
            if (!el_workers_post(workers, &job->task)) {
                discard(&job->task);
            }
        } else if (el_workers_call(workers, &job->task, i % 3 == 1 ? 1 : LONG) != EL_TASK_LATE) {
            discard(&job->task);
        }
    }
    return unused;
}

START_TEST(threads_that_meet)
{
    pthread_t threads[THREADS];

    start(3);
    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, call_often, NULL), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    for (int i = 0; i < THREADS * TIMES; i++) {
        sem_wait(&gone);
    }
    ck_assert_int_eq(discarded, THREADS * TIMES);
}
END_TEST

Suite *workers_suite(void)
{
    TCase *tc = tcase_create("workers"), *threads = tcase_create("threads");
    Suite *suite = suite_of("workers", tc);

    tcase_add_test(tc, a_call_brings_its_result);
    tcase_add_test(tc, what_was_posted_is_run_and_discarded);
    tcase_add_test(tc, a_call_that_hangs_is_left_to_its_thread);
    tcase_add_test(tc, a_call_for_which_no_thread_is_free_is_never_made);
    tcase_add_test(tc, no_more_wait_than_may);
    tcase_add_test(tc, what_is_waited_for_comes_first);
    tcase_add_test(tc, threads_take_no_signals);
    tcase_set_tags(threads, "threads");
    tcase_add_test(threads, threads_that_meet);
    suite_add_tcase(suite, threads);
    return suite;
}
