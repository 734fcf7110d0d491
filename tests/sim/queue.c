#include "queue.h"
#include "sim.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RESPONSES_MOST (1 << 20)
/* Length in seconds of the slots in which arrivals are counted; also between samples in a surge. */
#define SLOT 0.1
#define SLOTS_MOST (1 << 16)
#define SOON 4
#define WARM_UP 10. /* seconds that are not counted */
#define AFTER_SECONDS 30

typedef struct {
    const queue_t *queue;
    uint64_t seed;
    double free[QUEUE_CPUS_MOST]; /* time at which each CPU becomes free */
    double busy[SLOTS_MOST];      /* CPU seconds used in each slot */
    size_t sampled, due;          /* first slots of the last sample and the next */
    unsigned soon;                /* samples left at a distance of one slot */
    size_t slot;                  /* of the last arrival */
    double in_slot, since;        /* arrivals in the slot, and since the last sample */
    double surge;                 /* arrivals in a slot that hasten the next sample */
    el_price_memory_t memory;
    double error; /* of the last sample; see queue->noise */
    double price;
    double *total; /* times of the counted responses */
    size_t count;
} run_t;

static double clamped(double share)
{
    return fmin(1, fmax(0, share));
}

/* Takes the samples due until `now`. */
static void sample(run_t *run, double now)
{
    const queue_t *queue = run->queue;

    while ((double)run->due * SLOT <= now) {
        double seconds = (double)(run->due - run->sampled) * SLOT, busy = 0, delay;
        double kept = queue->lasting > 0 ? exp(-seconds / queue->lasting) : 0;

        for (; run->sampled < run->due; run->sampled++) {
            busy += run->busy[run->sampled];
        }
        busy = busy / (seconds * queue->cpus) + queue->others;
        run->error = kept * run->error + sqrt(1 - kept * kept) * sim_normal(&run->seed);
        busy = clamped(clamped(busy) + queue->noise * run->error);
        delay = el_price_follow(&run->memory, busy, queue->cpus, seconds);
        run->price = 8e9 / queue->rate / delay;
        run->surge = ceil(el_price_surge(run->since * SLOT / seconds, busy));
        run->since = 0;
        run->due += run->soon > 0 ? 1 : (size_t)(queue->interval / SLOT + 0.5);
        run->soon -= run->soon > 0;
    }
}

/* Counts a response whose encoding begins at `now`: after its arrival if the CPU is full. */
static void count_arrival(run_t *run, double now)
{
    size_t slot = (size_t)(now / SLOT);

    run->in_slot = run->slot == slot ? run->in_slot + 1 : 1;
    run->slot = slot;
    run->since++;
    if (run->in_slot == run->surge) {
        run->due = slot + 1;
        run->soon = SOON;
    }
}

/* Adds work to the slots that it spans. */
static void count_busy(run_t *run, double from, double to)
{
    for (size_t i = (size_t)(from / SLOT); from < to && i < SLOTS_MOST; i++) {
        double end = fmin(to, (double)(i + 1) * SLOT);

        run->busy[i] += fmax(0, end - from);
        from = end;
    }
}

/* The CPU that becomes free first. */
static double *next_cpu(run_t *run)
{
    unsigned first = 0;

    for (unsigned cpu = 1; cpu < run->queue->cpus; cpu++) {
        first = run->free[cpu] < run->free[first] ? cpu : first;
    }
    return &run->free[first];
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

/* Changes of the setup, minute by minute. */
typedef struct {
    size_t minute, changes, responses, unsteady;
    const el_rung_t *last;
} changes_t;

static void end_minute(changes_t *changes)
{
    changes->unsteady += changes->changes > 2 ? changes->responses : 0;
    changes->changes = changes->responses = 0;
}

static void count_change(changes_t *changes, double now, const el_rung_t *rung)
{
    size_t minute = (size_t)(now / 60);

    if (minute != changes->minute) {
        end_minute(changes);
    }
    changes->minute = minute;
    changes->changes += changes->last != NULL && changes->last != rung;
    changes->responses++;
    changes->last = rung;
}

/* Mean times before a flood, and in each second after it. */
typedef struct {
    double before, after[AFTER_SECONDS];
    size_t count_before, count[AFTER_SECONDS];
    double last_up;
} flood_t;

static void count_flood(flood_t *flood, const queue_t *queue, double now, double total, bool up)
{
    if (now < queue->flood_at) {
        flood->before += total;
        flood->count_before++;
    } else if (now < queue->flood_end) {
        flood->last_up = up ? now : flood->last_up;
    } else if (now - queue->flood_end < AFTER_SECONDS) {
        flood->after[(size_t)(now - queue->flood_end)] += total;
        flood->count[(size_t)(now - queue->flood_end)]++;
    }
}

static double calm(const flood_t *flood)
{
    double most = 1.2 * flood->before / (double)flood->count_before;
    size_t second = AFTER_SECONDS;

    while (second > 0 && flood->after[second - 1] <= most * (double)flood->count[second - 1]) {
        second--;
    }
    return (double)second;
}

/* Sorts the run's times and evaluates them. */
static queue_result_t result_of(run_t *run, double bytes)
{
    queue_result_t result = {.bytes = bytes / (double)run->count};

    for (size_t i = 0; i < run->count; i++) {
        result.mean += run->total[i] / (double)run->count;
    }
    qsort(run->total, run->count, sizeof(*run->total), compare);
    result.p95 = run->total[(size_t)(0.95 * (double)run->count)];
    return result;
}

queue_result_t queue_run(const queue_t *queue)
{
    run_t *run = calloc(1, sizeof(*run));
    double rate = queue->base * queue->cpus / queue->making, now = 0, bytes = 0;
    changes_t changes = {0};
    flood_t flood = {.last_up = queue->flood_at};
    queue_result_t result;

    run->queue = queue;
    run->seed = queue->seed ? queue->seed : 1;
    run->price = 8e9 / queue->rate;
    run->due = (size_t)(queue->interval / SLOT + 0.5);
    run->total = malloc(RESPONSES_MOST * sizeof(*run->total));
    while (now < queue->seconds && run->count < RESPONSES_MOST) {
        const el_rung_t *rung;
        double *cpu = next_cpu(run), total, left, start;

        now -= log(sim_even(&run->seed)) / (rate * (in_flood(queue, now) ? queue->flood : 1));
        /* The state at the start of encoding decides, not that at arrival. */
        start = fmax(now, *cpu);
        sample(run, start);
        count_arrival(run, start);
        rung = queue->fixed >= 0 ? &queue->rungs[queue->fixed]
                                 : el_ladder_rung(queue->rungs, queue->count, run->price);
        left = queue->kbytes * 1024 * rung->cost.size / 10000;
        *cpu = start + queue->making + queue->kbytes * rung->cost.nsec / 1e9;
        count_busy(run, start, *cpu);
        total = *cpu - now + 8 * left / queue->rate;
        if (now >= WARM_UP) {
            run->total[run->count++] = total;
            bytes += left;
            count_change(&changes, now, rung);
            count_flood(&flood, queue, now, total, rung != queue->rungs);
        }
    }
    end_minute(&changes);
    result = result_of(run, bytes);
    result.unsteady = (double)changes.unsteady / (double)run->count;
    result.floored = flood.last_up - queue->flood_at;
    result.calm = queue->flood > 0 ? calm(&flood) : 0;
    free(run->total);
    free(run);
    return result;
}
