/*
 * Measures what the levels of the engines cost and save: CPU time and bytes of whole bodies, cut to
 * several sizes from the files that are named, by the engines as the module calls them.
 *
 *   setups engines FILE...    each engine at each of its own levels
 *   setups levels FILE...     each level that a user may write, by its plan, beside zlib, as
 *                             mod_deflate sets it
 *   setups ladder FILE...     what a client gets that takes all codings, or gzip and br, at each
 *                             position of the default bounds; beside zlib 6 as mod_deflate runs it
 *
 * Prints a line for each setup and size: name, level, bytes of the body, nanoseconds, bytes out,
 * and of the ladder's the setup.
 *
 *   setups threads            what the pool takes of many threads
 */
#define _POSIX_C_SOURCE 200809L
#include "elastic/engine.h"
#include "elastic/ladder.h"
#include "engines/engines.h"
#include "engines/memory.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const size_t sizes[] = {1024, 4096, 16384, 65536, 122880, 307200};

#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

/* Passages of each size; each is encoded some times, of which the fastest counts. */
#define PASSAGES 12
#define BUDGET_NSEC 6000000.
#define REPEATS_MIN 3
#define REPEATS_MAX 40

/* Of the default bounds: gzip has nine levels. */
#define TOP 8

static uint8_t *text;
static size_t text_nbytes;
static uint8_t *out;

static double cpu_nsec(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static size_t encode(const el_plan_t *plan, const uint8_t *body, size_t nbytes)
{
    size_t room = el_engine_bound(nbytes);
    el_span_t span = {body, nbytes, out, room};
    el_context_t *context = el_pool_acquire(plan);

    if (!context || el_engine_encode(context, &span) != EL_STEP_OK) {
        fprintf(stderr, "setups: %s %d failed\n", plan->engine->name, plan->setup.level);
        exit(1);
    }
    el_pool_release(context);
    return room - span.out_nbytes_avail;
}

/* As mod_deflate does: a context of the full size for each body, which goes with it. */
static size_t encode_anew(const el_plan_t *plan, const uint8_t *body, size_t nbytes)
{
    size_t room = el_engine_bound(nbytes);
    el_span_t span = {body, nbytes, out, room};
    el_context_t *context = plan->engine->create(&plan->setup);

    if (!context || !plan->engine->reset(context, &plan->setup)
        || plan->engine->step(context, EL_FINISH, &span) != EL_STEP_OK) {
        fprintf(stderr, "setups: %s %d failed\n", plan->engine->name, plan->setup.level);
        exit(1);
    }
    plan->engine->free(context);
    return room - span.out_nbytes_avail;
}

typedef size_t encode_fn(const el_plan_t *plan, const uint8_t *body, size_t nbytes);

static void measure_by(encode_fn *run, const char *name, int level, const el_plan_t *plan,
                       size_t nbytes)
{
    double nsec = 0;
    size_t encoded = 0;

    for (size_t p = 0; p < PASSAGES; p++) {
        const uint8_t *body = text + (text_nbytes - nbytes) / PASSAGES * p;
        double best = 0, spent = 0;
        size_t bytes = 0;

        for (int i = 0; i < REPEATS_MAX && (i < REPEATS_MIN || spent < BUDGET_NSEC); i++) {
            double began = cpu_nsec(CLOCK_THREAD_CPUTIME_ID), took;

            bytes = run(plan, body, nbytes);
            took = cpu_nsec(CLOCK_THREAD_CPUTIME_ID) - began;
            spent += took;
            best = i == 0 || took < best ? took : best;
        }
        nsec += best;
        encoded += bytes;
    }
    printf("%s %d %zu %.0f %.1f %s-%d\n", name, level, nbytes, nsec / PASSAGES,
           (double)encoded / PASSAGES, el_coding_info(plan->engine->coding)->token,
           plan->setup.level);
    fflush(stdout);
}

static void measure(const char *name, int level, const el_plan_t *plan, size_t nbytes)
{
    measure_by(encode, name, level, plan, nbytes);
}

static void measure_engine(const el_engine_t *engine)
{
    for (int level = engine->level_min; level <= engine->level_max; level++) {
        for (size_t s = 0; s < SIZES; s++) {
            el_plan_t plan = {engine, {.level = level, .size_hint = sizes[s]}};

            measure(engine->name, level, &plan, sizes[s]);
        }
    }
}

static void measure_engines(void)
{
    for (size_t i = 0; el_engine_at(i); i++) {
        measure_engine(el_engine_at(i));
    }
}

static void measure_levels(void)
{
    for (int coding = EL_IDENTITY + 1; coding < EL_CODINGS; coding++) {
        const el_coding_info_t *info = el_coding_info((el_coding_t)coding);

        for (int level = info->level_min; level <= el_engine_top((el_coding_t)coding); level++) {
            for (size_t s = 0; s < SIZES; s++) {
                el_setup_t wanted = {.level = level, .size_hint = sizes[s]};
                el_plan_t plan = el_engine_plan((el_coding_t)coding, &wanted, true);
                el_plan_t zlib = {el_engine_for(EL_GZIP), {.level = level}};

                measure(info->token, level, &plan, sizes[s]);
                if (coding == EL_GZIP && level <= zlib.engine->level_max) {
                    measure("zlib-stock", level, &zlib, sizes[s]);
                }
            }
        }
    }
}

static el_plan_t plan_at(unsigned position, size_t nbytes, bool with_zstd)
{
    el_rung_t rungs[EL_RUNGS_MAX];
    const el_rung_t *rung;
    el_setup_t setup = {.size_hint = nbytes};
    size_t count = 0;

    for (int c = EL_IDENTITY + 1; c < EL_CODINGS; c++) {
        el_coding_t coding = (el_coding_t)c;
        const el_coding_info_t *info = el_coding_info(coding);

        for (int level = info->default_min; level <= info->default_max; level++) {
            setup.level = level;
            if (el_engine_for(coding) && (with_zstd || coding != EL_ZSTD)) {
                el_plan_t plan = el_engine_plan(coding, &setup, true);

                rungs[count++] = (el_rung_t){coding, level, el_engine_cost(&plan)};
            }
        }
    }
    count = el_ladder_build(rungs, count);
    rung = el_ladder_rung(rungs, count, el_ladder_price(rungs, count, position, TOP, 1));
    setup.level = rung->level;
    return el_engine_plan(rung->coding, &setup, true);
}

static void measure_ladder(void)
{
    for (size_t s = 0; s < SIZES; s++) {
        el_plan_t stock = {el_engine_for(EL_GZIP), {.level = 6}};

        measure_by(encode_anew, "stock", 6, &stock, sizes[s]);
        for (unsigned position = 0; position <= TOP; position++) {
            el_plan_t all = plan_at(position, sizes[s], true);
            el_plan_t two = plan_at(position, sizes[s], false);

            measure("all", (int)position, &all, sizes[s]);
            measure("br+gzip", (int)position, &two, sizes[s]);
        }
    }
}

/*
 * The pool: each of several threads takes a context and a buffer, encodes a small body and gives
 * both back, as fast as it can. CPU time of a body shows contention for the pool. A second pass
 * encodes nothing: the pool alone, which no server does as often.
 */
#define SMALL 1024
#define BODIES 100000
#define THREADS_MAX 64

/* Of as many rounds, in which the numbers of threads take turns, the fastest counts. */
#define ROUNDS 9

static uint8_t small[SMALL];
static size_t share;
static bool encodes;

static el_engine_t counted; /* that of the plan, with create() counted */
static el_context_t *(*create)(const el_setup_t *setup);
static _Atomic unsigned long created;

static el_context_t *create_counted(const el_setup_t *setup)
{
    atomic_fetch_add(&created, 1);
    return create(setup);
}

static void *use_pool(void *plan)
{
    for (size_t i = 0; i < share; i++) {
        size_t held;
        el_context_t *context = el_pool_acquire(plan);
        uint8_t *made = el_pool_buffer_acquire(el_engine_bound(SMALL), &held);
        el_span_t span = {small, SMALL, made, held};

        if (!context || !made || (encodes && el_engine_encode(context, &span) != EL_STEP_OK)) {
            abort();
        }
        el_pool_release(context);
        el_pool_buffer_release(made);
    }
    return NULL;
}

static double run_threads(unsigned threads, el_plan_t *plan)
{
    pthread_t thread[THREADS_MAX];
    double before = cpu_nsec(CLOCK_PROCESS_CPUTIME_ID);

    share = BODIES / threads;
    for (unsigned i = 0; i < threads; i++) {
        if (pthread_create(&thread[i], NULL, use_pool, plan) != 0) {
            abort();
        }
    }
    for (unsigned i = 0; i < threads; i++) {
        pthread_join(thread[i], NULL);
    }
    return (cpu_nsec(CLOCK_PROCESS_CPUTIME_ID) - before) / BODIES;
}

static void measure_pool(el_plan_t *plan, const char *what)
{
    static const unsigned counts[] = {1, 2, 4, 8, 64};
    enum { COUNTS = sizeof(counts) / sizeof(counts[0]) };
    double best[COUNTS];
    unsigned long made[COUNTS] = {0};

    run_threads(1, plan); /* the first one makes the contexts */
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < COUNTS; i++) {
            unsigned long before = atomic_load(&created);
            double nsec = run_threads(counts[i], plan);

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

static void measure_threads(void)
{
    el_setup_t wanted = {.level = 1, .size_hint = SMALL};
    el_plan_t plan = el_engine_plan(EL_GZIP, &wanted, true);

    counted = *plan.engine;
    create = counted.create;
    counted.create = create_counted;
    plan.engine = &counted;
    memset(small, 'a', SMALL / 2);
    for (size_t i = SMALL / 2; i < SMALL; i++) {
        small[i] = (uint8_t)(i * i / 3);
    }
    encodes = true;
    measure_pool(&plan, "a body of 1 KB");
    encodes = false;
    measure_pool(&plan, "the pool alone");
}

static void read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    size_t got;

    if (!file) {
        perror(path);
        exit(1);
    }
    do {
        text = realloc(text, text_nbytes + 65536);
        got = text ? fread(text + text_nbytes, 1, 65536, file) : 0;
        text_nbytes += got;
    } while (got > 0);
    fclose(file);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "threads") == 0) {
        measure_threads();
        return 0;
    }
    for (int i = 2; i < argc; i++) {
        read_file(argv[i]);
    }
    out = malloc(el_engine_bound(sizes[SIZES - 1]));
    if (!out || text_nbytes < 2 * sizes[SIZES - 1]) {
        fprintf(stderr, "usage: setups engines|levels|ladder FILE..., of 600 KB or more\n");
        return 2;
    }
    if (strcmp(argv[1], "engines") == 0) {
        measure_engines();
    } else if (strcmp(argv[1], "levels") == 0) {
        measure_levels();
    } else {
        measure_ladder();
    }
    return 0;
}
