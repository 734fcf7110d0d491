/* Threads for calls that may block. */
#include "httpd/cache/tools.h"
#include "suites.h"

#include <semaphore.h>
#include <signal.h>

/* µs; waiting this long is a fault. */
#define LONG UINT64_C(60000000)

/*
 * A test's threads and counters. They are never freed: threads live on and may discard a task
 * later, so tests in one process must not share them.
 */
typedef struct {
    el_workers_t workers;
    sem_t go, gone;
    _Atomic int discarded, order;
} crew_t;

static crew_t *crew;

/* A task that runs once `go` is posted. */
typedef struct {
    el_task_t task;
    crew_t *crew;
    sem_t *go; /* NULL: at once */
    int number;
    int *noted; /* NULL, or gets the number, too */
    bool was_late;
} job_t;

static void run(el_task_t *task)
{
    job_t *job = (job_t *)task;

    if (job->go) {
        while (sem_wait(job->go) != 0) {
        }
    }
    job->was_late = el_task_is_late(task);
    job->number = ++job->crew->order;
    if (job->noted) {
        *job->noted = job->number;
    }
}

static void discard(el_task_t *task)
{
    crew_t *of = ((job_t *)task)->crew;

    free(task);
    of->discarded++;
    sem_post(&of->gone);
}

static job_t *job_that(sem_t *waits_for)
{
    job_t *job = calloc(1, sizeof(*job));

    ck_assert_ptr_nonnull(job);
    *job = (job_t){.task = {.run = run, .discard = discard}, .crew = crew, .go = waits_for};
    return job;
}

static void start(unsigned threads)
{
    static crew_t *all[16]; /* reachable, for LeakSanitizer */
    static unsigned tests;

    ck_assert_uint_lt(tests, sizeof(all) / sizeof(all[0]));
    crew = all[tests++] = calloc(1, sizeof(*crew));
    ck_assert_ptr_nonnull(crew);
    sem_init(&crew->go, 0, 0);
    sem_init(&crew->gone, 0, 0);
    ck_assert(el_workers_start(&crew->workers, threads));
}

static el_task_end_t call(job_t *job, uint64_t usec)
{
    return el_workers_call(&crew->workers, &job->task, usec);
}

static bool post(job_t *job)
{
    return el_workers_post(&crew->workers, &job->task);
}

static unsigned waiting(void)
{
    unsigned number;

    pthread_mutex_lock(&crew->workers.lock);
    number = crew->workers.waiting;
    pthread_mutex_unlock(&crew->workers.lock);
    return number;
}

/* Keeps one thread busy until `go` is posted, with a task that is not waited for. */
static void occupy(void)
{
    ck_assert(post(job_that(&crew->go)));
    while (waiting() > 0) {
    }
}

/* The same with a late call. Tries again with more time if the thread had not begun it. */
static void hang(void)
{
    int tries = 0;

    for (uint64_t usec = 10000; crew->discarded == tries; usec *= 2, tries++) {
        ck_assert_int_eq(call(job_that(&crew->go), usec), EL_TASK_LATE);
    }
    crew->discarded = 0;
}

CASE(workers);

/* Makes a call that is done in time, as task `number`. */
static void call_done(int number)
{
    job_t *job = job_that(NULL);

    ck_assert_int_eq(call(job, LONG), EL_TASK_DONE);
    ck_assert_int_eq(job->number, number);
    ck_assert(!job->was_late);
    free(job);
}

/* Lets one task go on, and waits until `discarded` tasks were discarded. */
static void let_go(int discarded)
{
    sem_post(&crew->go);
    while (crew->discarded < discarded) {
        sem_wait(&crew->gone);
    }
    ck_assert_int_eq(crew->discarded, discarded);
}

/* A second call finds no free thread, and is never run. */
TEST(workers, a_call_that_hangs_is_left_to_its_thread)
{
    start(1);
    hang();
    ck_assert_int_eq(call(job_that(NULL), 1000), EL_TASK_LATE);
    ck_assert_int_eq(crew->discarded, 1);
    let_go(2);
    ck_assert_int_eq(crew->order, 1);
}

TEST(workers, no_more_wait_than_may)
{
    job_t *one_more;

    start(1);
    one_more = job_that(NULL);
    hang();
    for (int i = 0; i < EL_WORKERS_WAITING; i++) {
        ck_assert(post(job_that(NULL)));
    }
    ck_assert(!post(one_more));
    ck_assert_int_eq(call(one_more, LONG), EL_TASK_REFUSED);
    free(one_more);
    let_go(EL_WORKERS_WAITING + 1);
    ck_assert_int_eq(crew->order, EL_WORKERS_WAITING + 1);
}

TEST(workers, what_nobody_waits_for_leaves_a_thread_for_calls)
{
    start(3);
    occupy();
    occupy();
    ck_assert(post(job_that(NULL)));
    call_done(1);
    sem_post(&crew->go);
    let_go(3);
}

TEST(workers, a_call_does_not_wait_for_what_nobody_waits_for)
{
    job_t *job;

    start(1);
    job = job_that(NULL);
    occupy();
    ck_assert_int_eq(call(job, LONG), EL_TASK_REFUSED);
    free(job);
    let_go(1);
    call_done(2);
}

static void *let_go_of_two(void *unused)
{
    while (waiting() < 2) {
    }
    sem_post(&crew->go);
    return unused;
}

TEST(workers, what_is_waited_for_comes_first)
{
    threads_t thread;

    start(1);
    hang();
    ck_assert(post(job_that(NULL)));
    thread = threads_start(1, let_go_of_two, NULL, 0);
    call_done(2);
    threads_join(&thread);
}

TEST(workers, tasks_are_run_in_the_order_of_their_coming)
{
    int posted[3] = {0};

    start(1);
    hang();
    for (int i = 0; i < 3; i++) {
        job_t *job = job_that(NULL);

        job->noted = &posted[i];
        ck_assert(post(job));
    }
    let_go(4);
    ck_assert(posted[0] == 2 && posted[1] == 3 && posted[2] == 4);
}

static void *call_and_note(void *noted)
{
    job_t *job = job_that(NULL);

    job->noted = noted;
    ck_assert_int_eq(call(job, LONG), EL_TASK_DONE);
    free(job);
    return NULL;
}

TEST(workers, calls_are_run_in_the_order_of_their_coming)
{
    int called[3] = {0};
    threads_t threads[3];

    start(1);
    hang();
    for (unsigned i = 0; i < 3; i++) {
        threads[i] = threads_start(1, call_and_note, &called[i], 0);
        while (waiting() <= i) {
        }
    }
    let_go(1);
    for (int i = 0; i < 3; i++) {
        threads_join(&threads[i]);
        ck_assert_int_eq(called[i], 2 + i);
    }
}

TEST(workers, none_are_no_workers)
{
    static el_workers_t none;

    ck_assert(!el_workers_start(&none, 0));
}

static void blocked_signals(el_task_t *task)
{
    sigset_t blocked;

    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    ((job_t *)task)->number = sigismember(&blocked, SIGTERM) && sigismember(&blocked, SIGUSR1);
}

TEST(workers, threads_take_no_signals)
{
    job_t *job;
    sigset_t blocked;

    start(1);
    job = job_that(NULL);
    job->task.run = blocked_signals;
    ck_assert_int_eq(call(job, LONG), EL_TASK_DONE);
    ck_assert_int_eq(job->number, 1);
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    ck_assert(!sigismember(&blocked, SIGTERM));
    free(job);
}

CASE(workers_threads, .tags = "threads");

#define THREADS 6
#define TIMES 500

static void *call_often(void *unused)
{
    for (int i = 0; i < TIMES; i++) {
        job_t *job = job_that(NULL);

        if (i % 3 == 0) {
            if (!post(job)) {
                discard(&job->task);
            }
        } else if (call(job, i % 3 == 1 ? 1 : LONG) != EL_TASK_LATE) {
            discard(&job->task);
        }
    }
    return unused;
}

TEST(workers_threads, threads_that_meet)
{
    start(3);
    threads_run(THREADS, call_often, NULL);
    for (int i = 0; i < THREADS * TIMES; i++) {
        sem_wait(&crew->gone);
    }
    ck_assert_int_eq(crew->discarded, THREADS * TIMES);
}
