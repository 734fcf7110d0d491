/*
 * Measures the pool under many threads: each takes a context and a buffer, encodes a small body and
 * gives both back, as fast as it can. For each number of threads it prints the CPU time of a body,
 * in which contention for the pool shows, the contexts that were made anew for lack of a kept one,
 * and what the pool keeps in the end. A second pass encodes nothing: the pool alone, which no server
 * does as often.
 */
#define _POSIX_C_SOURCE 200809L
#include "elastic/engine.h"
#include "engines/engines.h"
#include "engines/memory.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NBYTES 1024
#define BODIES 100000
#define THREADS_MAX 64

/* Of as many rounds, in which the numbers of threads take turns, the fastest counts. */
#define ROUNDS 9

static uint8_t body[NBYTES];
static size_t share;
static bool encodes;

static el_engine_t engine; /* that of the plan, with create() counted */
static el_context_t *(*create)(const el_setup_t *setup);
static _Atomic unsigned long created;

static el_context_t *create_counted(const el_setup_t *setup)
{
    atomic_fetch_add(&created, 1);
    return create(setup);
}

static void *work(void *plan)
{
    for (size_t i = 0; i < share; i++) {
        size_t held;
        el_context_t *context = el_pool_acquire(plan);
        uint8_t *out = el_pool_buffer_acquire(el_engine_bound(NBYTES), &held);
        el_span_t span = {body, NBYTES, out, held};

        if (!context || !out || (encodes && el_engine_encode(context, &span) != EL_STEP_OK)) {
            abort();
        }
        el_pool_release(context);
        el_pool_buffer_release(out);
    }
    return NULL;
}

static double cpu_nsec(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double run(unsigned threads, el_plan_t *plan)
{
    pthread_t thread[THREADS_MAX];
    double before = cpu_nsec();

    share = BODIES / threads;
    for (unsigned i = 0; i < threads; i++) {
        if (pthread_create(&thread[i], NULL, work, plan) != 0) {
            abort();
        }
    }
    for (unsigned i = 0; i < threads; i++) {
        pthread_join(thread[i], NULL);
    }
    return (cpu_nsec() - before) / BODIES;
}

static void measure(el_plan_t *plan, const char *what)
{
    static const unsigned counts[] = {1, 2, 4, 8, 64};
    enum { COUNTS = sizeof(counts) / sizeof(counts[0]) };
    double best[COUNTS];
    unsigned long made[COUNTS] = {0};

    run(1, plan); /* the first one makes the contexts */
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < COUNTS; i++) {
            unsigned long before = atomic_load(&created);
            double nsec = run(counts[i], plan);

            best[i] = round == 0 || nsec < best[i] ? nsec : best[i];
            made[i] += atomic_load(&created) - before;
        }
    }
    printf("| threads | CPU ns for %s | contexts made for 100,000 |\n|---|---|---|\n", what);
    for (size_t i = 0; i < COUNTS; i++) {
        printf("| %u | %.0f | %lu |\n", counts[i], best[i], made[i] / ROUNDS);
    }
    printf("%zu KB kept at the end\n\n", el_pool_nbytes() / 1024);
    el_pool_drain();
}

int main(void)
{
    el_setup_t wanted = {.level = 1, .size_hint = NBYTES};
    el_plan_t plan = el_engine_plan(EL_GZIP, &wanted, true);

    engine = *plan.engine;
    create = engine.create;
    engine.create = create_counted;
    plan.engine = &engine;
    memset(body, 'a', NBYTES / 2);
    for (size_t i = NBYTES / 2; i < NBYTES; i++) {
        body[i] = (uint8_t)(i * i / 3);
    }
    encodes = true;
    measure(&plan, "a body of 1 KB");
    encodes = false;
    measure(&plan, "the pool alone");
    return 0;
}
