#define _GNU_SOURCE
#include "failing.h"
#include "suites.h"

#include <dlfcn.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* errno's numbers are results of the functions of threads. */
#define pthread_attr_init(...) FAILS(ENOMEM, pthread_attr_init(__VA_ARGS__))
#define pthread_create(...) FAILS(EAGAIN, pthread_create(__VA_ARGS__))
#define pthread_mutexattr_init(...) FAILS(ENOMEM, pthread_mutexattr_init(__VA_ARGS__))
#define pthread_mutexattr_setpshared(...) FAILS(EINVAL, pthread_mutexattr_setpshared(__VA_ARGS__))
#define pthread_mutexattr_setrobust(...) FAILS(EINVAL, pthread_mutexattr_setrobust(__VA_ARGS__))
#define pthread_mutex_init(...) FAILS(EAGAIN, pthread_mutex_init(__VA_ARGS__))
#define pthread_getcpuclockid(...) FAILS(ENOENT, pthread_getcpuclockid(__VA_ARGS__))
#define sched_setscheduler(...) FAILS(-1, sched_setscheduler(__VA_ARGS__))
#define dladdr(...) FAILS(0, dladdr(__VA_ARGS__))
#define dlopen(...) FAILS(NULL, dlopen(__VA_ARGS__))
#include "host/process.c"

/* µs; longer than anything here takes. */
#define LONG 60000000

static el_lock_t *lock;
static long counted;

static void set_up_lock(void)
{
    lock = mmap(NULL, sizeof(*lock), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert(lock != MAP_FAILED && el_lock_init(lock));
    counted = 0;
}

CASE(locks, .set_up = set_up_lock);

/* True if the lock is taken and reports whether its holder died. */
static bool takes(uint64_t usec, bool died)
{
    bool holder_died = !died, taken = el_lock_take(lock, usec, &holder_died);

    return holder_died == died && taken;
}

TEST(locks, a_process_that_holds_it_is_waited_for_within_the_limit)
{
    int held[2], go[2];
    char byte = 0;
    uint64_t began;
    pid_t child;

    ck_assert(pipe(held) == 0 && pipe(go) == 0);
    child = fork();
    if (child == 0) {
        takes(LONG, false);
        if (write(held[1], "", 1) == 1 && read(go[0], &byte, 1) == 1) {
            el_lock_give(lock);
        }
        _exit(0);
    }
    ck_assert(read(held[0], &byte, 1) == 1);
    began = el_clock_usec();
    ck_assert(!takes(20000, false));
    ck_assert(el_clock_usec() - began >= 20000);
    ck_assert(write(go[1], "", 1) == 1);
    ck_assert(takes(LONG, false));
    el_lock_give(lock);
    ck_assert(waitpid(child, NULL, 0) == child);
}

/* Emulators lack robust mutexes. */
CASE(locks_native, .set_up = set_up_lock, .tags = "native");

TEST(locks_native, it_outlives_who_dies_with_it)
{
    pid_t child = fork();

    if (child == 0) {
        takes(LONG, false);
        _exit(0);
    }
    ck_assert(waitpid(child, NULL, 0) == child);
    ck_assert(takes(LONG, true));
    el_lock_give(lock);
    ck_assert(takes(LONG, false));
    el_lock_give(lock);
}

CASE(locks_threads, .set_up = set_up_lock, .tags = "threads");

static void *count(void *unused)
{
    for (int i = 0; i < 5000; i++) {
        if (takes(LONG, false)) {
            counted++;
            el_lock_give(lock);
        }
    }
    return unused;
}

TEST(locks_threads, one_thread_at_a_time_has_it)
{
    threads_run(4, count, NULL);
    ck_assert_int_eq(counted, 4 * 5000);
}

TEST(locks, a_system_without_them_is_noticed)
{
    while (fail_next()) {
        el_lock_t other;

        ck_assert(ended(el_lock_init(&other)));
    }
}

CASE(processes);

TEST(processes, clocks_go_on)
{
    uint64_t usec = el_clock_usec();
    uint32_t seconds = el_clock_sec();

    ck_assert(seconds >= usec / 1000000 && seconds <= el_clock_usec() / 1000000);
}

TEST(processes, one_that_is_gone_is_known)
{
    pid_t child = fork();

    if (child == 0) {
        _exit(0);
    }
    ck_assert(el_process_is_alive((uint32_t)child) && el_process_is_alive((uint32_t)getpid()));
    ck_assert(waitpid(child, NULL, 0) == child);
    ck_assert(!el_process_is_alive((uint32_t)child));
    /* Another user's: kill() is not permitted, unless this is root. */
    ck_assert(el_process_is_alive(1));
}

TEST(processes, code_is_kept_where_the_loader_knows_it)
{
    char of_no_object;

    ck_assert(!el_code_keep(&of_no_object));
    while (fail_next()) {
        ck_assert(ended(el_code_keep(stdout)));
    }
}

/* The idle thread. */

/* CPU time of a run in ns. */
#define WORK 100000

static sem_t ran;
static _Atomic int times, policy;
static _Atomic bool takes_signals;
static _Atomic uint64_t used;

static void note(void)
{
    sigset_t blocked;
    uint64_t began = el_clock_cpu_nsec();

    policy = sched_getscheduler(0);
    sigprocmask(SIG_SETMASK, NULL, &blocked);
    takes_signals = !sigismember(&blocked, SIGTERM) || !sigismember(&blocked, SIGHUP);
    while (el_clock_cpu_nsec() - began < WORK) {
    }
    used = el_clock_cpu_nsec();
    times++;
    sem_post(&ran);
}

static void wake(int calls)
{
    int before = times;

    for (int i = 0; i < calls; i++) {
        el_idle_thread_wake();
    }
    for (int i = 0; i < calls; i++) {
        /* May wait as long as other processes use the CPU; libcheck ends it. */
        while (sem_wait(&ran) != 0) {
        }
    }
    ck_assert_int_eq(times, before + calls);
}

/* Each thread ends before the next one begins, which ThreadSanitizer cannot see. */
TEST(processes, an_idle_thread_that_cannot_be_had_is_told)
{
    while (fail_next()) {
        ck_assert(ended(el_idle_thread_start(note)));
        idle.run = NULL;
        idle.started = false;
        el_idle_thread_wake();
        while (syscall(SYS_tgkill, getpid(), idle.tid, 0) == 0) {
            sched_yield();
        }
    }
}

CASE(idling, .tags = "threads");

/* One test: the thread lives as long as the process, which tests may share. */
TEST(idling, it_runs_once_for_each_call_in_a_class_of_its_own)
{
    sem_init(&ran, 0, 0);
    ck_assert_uint_eq(el_idle_thread_cpu_nsec(), 0);
    ck_assert(el_idle_thread_start(note));
    ck_assert_int_eq(times, 0);
    wake(1);
    wake(1);
    wake(5); /* some of them while it runs */
    ck_assert_int_eq(policy, SCHED_IDLE);
    ck_assert_int_eq(sched_getscheduler(0), SCHED_OTHER);
    ck_assert(!takes_signals);
    ck_assert_uint_ge(el_idle_thread_cpu_nsec(), used);
    ck_assert_uint_ge(used, 7 * WORK);
}
