/*
 * Measures the pool under many threads: each takes a context and a buffer, encodes a small body and
 * gives both back, as fast as it can. Prints, for each number of threads, the CPU time of a body,
 * which is what waiting and lost contexts would show in, and what the pool keeps in the end.
 */
#define _POSIX_C_SOURCE 200809L
#include "elastic/engine.h"
#include "engines/pool.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NBYTES 1024
#define BODIES 400000
#define THREADS_MAX 64

static uint8_t body[NBYTES];
static size_t share;

static void *work(void *plan)
{
    for (size_t i = 0; i < share; i++) {
        size_t held;
        el_context_t *context = el_pool_acquire(plan);
        uint8_t *out = el_pool_buffer_acquire(el_engine_bound(NBYTES), &held);
        el_span_t span = {body, NBYTES, out, held};

        if (!context || !out || el_engine_encode(context, &span) != EL_STEP_OK) {
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

int main(void)
{
    static const unsigned counts[] = {1, 2, 8, 64};
    el_setup_t wanted = {.level = 1, .size_hint = NBYTES};
    el_plan_t plan = el_engine_plan(EL_GZIP, &wanted, true);

    memset(body, 'a', NBYTES / 2);
    for (size_t i = NBYTES / 2; i < NBYTES; i++) {
        body[i] = (uint8_t)(i * i / 3);
    }
    run(1, &plan); /* the first one makes the contexts */
    printf("| threads | CPU ns for a body of 1 KB | kept at the end, KB |\n|---|---|---|\n");
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        double nsec = run(counts[i], &plan);

        printf("| %u | %.0f | %zu |\n", counts[i], nsec, el_pool_kept() / 1024);
    }
    el_pool_drain();
    return 0;
}
