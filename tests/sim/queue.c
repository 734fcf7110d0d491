#include "queue.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RESPONSES_MOST (1 << 20)
/* Sums by second; samples by interval. */
#define SAMPLES_MOST (1 << 16)
#define WARM_UP 10. /* seconds that do not count */

typedef struct {
    const queue_t *queue;
    uint64_t seed;
    double free[QUEUE_CPUS_MOST]; /* when each CPU is */
    double busy[SAMPLES_MOST];    /* CPU seconds in each interval */
    size_t samples;               /* taken so far */
    el_price_memory_t memory;
    double price;
    double *total; /* of the responses that count */
    size_t count;
} run_t;

/* xorshift64; in 0 … 1, never 0. */
static double even(run_t *run)
{
    run->seed ^= run->seed << 13;
    run->seed ^= run->seed >> 7;
    run->seed ^= run->seed << 17;
    return (double)((run->seed >> 11) + 1) / (double)(UINT64_C(1) << 53);
}

static double normal(run_t *run)
{
    return sqrt(-2 * log(even(run))) * cos(2 * 3.14159265358979 * even(run));
}

static double clamped(double share)
{
    return fmin(1, fmax(0, share));
}

/* The samples that are due until `now`. */
static void sample(run_t *run, double now)
{
    const queue_t *queue = run->queue;

    for (; (double)(run->samples + 1) * queue->interval <= now; run->samples++) {
        double busy = run->busy[run->samples] / (queue->interval * queue->cpus) + queue->others;
        double delay = el_price_follow(&run->memory, clamped(clamped(busy)
                                                             + queue->noise * normal(run)),
                                       queue->cpus, queue->interval);

        run->price = 8e9 / queue->rate / delay;
    }
}

/* Adds a span of work to the intervals that it lies in. */
static void count_busy(run_t *run, double from, double to)
{
    double interval = run->queue->interval;

    for (size_t i = (size_t)(from / interval); from < to && i < SAMPLES_MOST; i++) {
        double end = fmin(to, (double)(i + 1) * interval);

        run->busy[i] += fmax(0, end - from);
        from = end;
    }
}

/* When a page that arrives at `now` and takes `work` is done: the first CPU that is free takes it. */
static double serve(run_t *run, double now, double work)
{
    unsigned first = 0;
    double start;

    for (unsigned cpu = 1; cpu < run->queue->cpus; cpu++) {
        first = run->free[cpu] < run->free[first] ? cpu : first;
    }
    start = fmax(now, run->free[first]);
    run->free[first] = start + work;
    count_busy(run, start, start + work);
    return run->free[first];
}

static int compare(const void *a, const void *b)
{
    double one = *(const double *)a, other = *(const double *)b;

    return (one > other) - (one < other);
}

static bool in_flood(const queue_t *queue, double at)
{
    return at >= queue->flood_at && at < queue->flood_end;
}

queue_result_t queue_run(const queue_t *queue)
{
    run_t *run = calloc(1, sizeof(*run));
    queue_result_t result = {0};
    double rate = queue->base * queue->cpus / queue->making, now = 0, mean_before = 0, last_up = 0;
    size_t before = 0, changes = 0, last = 0, floored = 0;

    run->queue = queue;
    run->seed = queue->seed ? queue->seed : 1;
    run->price = 8e9 / queue->rate;
    run->total = malloc(RESPONSES_MOST * sizeof(*run->total));
    while (now < queue->seconds && run->count < RESPONSES_MOST) {
        const el_rung_t *rung;
        double total, bytes;

        now -= log(even(run)) / (rate * (in_flood(queue, now) ? queue->flood : 1));
        sample(run, now);
        rung = queue->fixed >= 0 ? &queue->rungs[queue->fixed]
                                 : el_ladder_rung(queue->rungs, queue->count, run->price);
        bytes = queue->kbytes * 1024 * rung->cost.size / 10000;
        total = serve(run, now, queue->making + queue->kbytes * rung->cost.nsec / 1e9) - now
                + 8 * bytes / queue->rate;
        changes += run->count > 0 && (size_t)(rung - queue->rungs) != last;
        last = (size_t)(rung - queue->rungs);
        if (now < WARM_UP) {
            continue;
        }
        run->total[run->count++] = total;
        result.bytes += bytes;
        if (queue->flood_end > 0 && now < queue->flood_at) {
            mean_before += total;
            before++;
        }
        if (in_flood(queue, now) && rung != queue->rungs) {
            last_up = now;
            floored++;
        }
        if (queue->flood_end > 0 && now >= queue->flood_end
            && total > 2 * mean_before / (double)before) {
            result.calm = now - queue->flood_end;
        }
    }
    for (size_t i = 0; i < run->count; i++) {
        result.mean += run->total[i] / (double)run->count;
    }
    qsort(run->total, run->count, sizeof(*run->total), compare);
    result.p95 = run->total[(size_t)(0.95 * (double)run->count)];
    result.bytes /= (double)run->count;
    result.changes = (double)changes / queue->seconds * 60;
    result.floored = floored ? last_up - queue->flood_at : 0;
    free(run->total);
    free(run);
    return result;
}
