/*
 * Measures what the levels of the engines cost and save: CPU time and bytes of whole bodies, cut to
 * several sizes from the files that are named, by the engines as the module calls them.
 *
 *   setups engines FILE...    each engine at each of its own levels
 *   setups levels FILE...     each level that a user may write, by its plan, beside zlib, as
 *                             mod_deflate sets it
 *
 * Prints a line for each setup and size: name, level, bytes of the body, nanoseconds, bytes out.
 */
#define _POSIX_C_SOURCE 200809L
#include "elastic/engine.h"
#include "engines/pool.h"

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

static uint8_t *text;
static size_t text_nbytes;
static uint8_t *out;

static double cpu_nsec(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static size_t encode(const el_plan_t *plan, const uint8_t *body, size_t nbytes)
{
    size_t room = el_engine_bound(nbytes);
    el_span_t span = {body, nbytes, out, room};
    el_context_t *context = el_pool_take(plan);

    if (!context || el_engine_encode(context, &span) != EL_STEP_OK) {
        fprintf(stderr, "setups: %s %d failed\n", plan->engine->name, plan->setup.level);
        exit(1);
    }
    el_pool_give(context);
    return room - span.out_nbytes_avail;
}

static void measure(const char *name, int level, const el_plan_t *plan, size_t nbytes)
{
    double nsec = 0;
    size_t encoded = 0;

    for (size_t p = 0; p < PASSAGES; p++) {
        const uint8_t *body = text + (text_nbytes - nbytes) / PASSAGES * p;
        double best = 0, spent = 0;
        size_t bytes = 0;

        for (int i = 0; i < REPEATS_MAX && (i < REPEATS_MIN || spent < BUDGET_NSEC); i++) {
            double began = cpu_nsec(), took;

            bytes = encode(plan, body, nbytes);
            took = cpu_nsec() - began;
            spent += took;
            best = i == 0 || took < best ? took : best;
        }
        nsec += best;
        encoded += bytes;
    }
    printf("%s %d %zu %.0f %.1f\n", name, level, nbytes, nsec / PASSAGES,
           (double)encoded / PASSAGES);
    fflush(stdout);
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
    for (int i = 2; i < argc; i++) {
        read_file(argv[i]);
    }
    out = malloc(el_engine_bound(sizes[SIZES - 1]));
    if (!out || text_nbytes < 2 * sizes[SIZES - 1]) {
        fprintf(stderr, "usage: setups engines|levels FILE..., of at least 600 KB together\n");
        return 2;
    }
    if (strcmp(argv[1], "engines") == 0) {
        measure_engines();
    } else {
        measure_levels();
    }
    return 0;
}
