/*
 * The goal `time` in a queue: at every load, rate and number of CPUs it must come near the best
 * fixed setup for that load, which no one can know beforehand. Pages arrive at random, take CPU
 * time to make and encode, and then time to be sent to the client. The current price chooses the
 * setup of each response, unless it is fixed.
 */
#include "elastic/ladder.h"
#include "sim.h"

#define QUEUE_CPUS_MOST 64

typedef struct {
    /* The machine and its clients. */
    unsigned cpus;
    double rate;     /* of the client's connection, bits a second */
    double kbytes;   /* of a page */
    double making;   /* CPU seconds to make a page */
    double base;     /* share of the CPUs used for making pages */
    double others;   /* share of the CPUs used by programs at nice 19 */
    double flood;    /* factor of the arrivals … */
    double flood_at; /* … from this second … */
    double flood_end; /* … to this second */
    double seconds;  /* of the run */
    double interval; /* between samples of the load, seconds */
    double noise;    /* standard deviation of a sample's error */
    double lasting;  /* seconds over which errors correlate; 0: independent */
    const el_rung_t *rungs; /* as el_ladder_build() leaves them */
    size_t count;
    int fixed;       /* index of the only setup; below 0: the price decides */
    uint64_t seed;
} queue_t;

typedef struct {
    double mean;       /* total time in seconds: waiting, making, encoding, sending */
    double p95;
    double bytes;      /* mean bytes of a response */
    double unsteady;   /* share of responses in minutes with over two changes of setup */
    double floored;    /* seconds from the flood's begin until only the cheapest is used */
    double calm;       /* seconds from its end until the mean stays below 1.2 times that before */
} queue_result_t;

#define RESPONSES_MOST (1 << 20)
#define SLOTS_MOST (1 << 16)
#define WARM_UP 10. /* seconds that are not counted */
#define AFTER_SECONDS 30

typedef struct {
    const queue_t *queue;
    uint64_t seed;
    double free[QUEUE_CPUS_MOST]; /* time at which each CPU becomes free */
    double busy[SLOTS_MOST];      /* CPU seconds used in each slot */
    sampler_t sampler;
    double error; /* of the last sample; see queue->noise */
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

    while ((double)run->sampler.due * SLOT <= now) {
        double seconds = (double)(run->sampler.due - run->sampler.sampled) * SLOT, busy = 0;
        double kept = queue->lasting > 0 ? exp(-seconds / queue->lasting) : 0;

        for (size_t slot = run->sampler.sampled; slot < run->sampler.due; slot++) {
            busy += run->busy[slot];
        }
        busy = busy / (seconds * queue->cpus) + queue->others;
        run->error = kept * run->error + sqrt(1 - kept * kept) * sim_normal(&run->seed);
        busy = clamped(clamped(busy) + queue->noise * run->error);
        sampler_take(&run->sampler, busy, queue->cpus, seconds);
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
    qsort(run->total, run->count, sizeof(*run->total), sim_compare);
    result.p95 = run->total[(size_t)(0.95 * (double)run->count)];
    return result;
}

static queue_result_t queue_run(const queue_t *queue)
{
    run_t *run = calloc(1, sizeof(*run));
    double rate = queue->base * queue->cpus / queue->making, now = 0, bytes = 0;
    changes_t changes = {0};
    flood_t flood = {.last_up = queue->flood_at};
    queue_result_t result;

    run->queue = queue;
    run->seed = queue->seed ? queue->seed : 1;
    run->sampler = sampler_new(queue->rate, (size_t)(queue->interval / SLOT + 0.5));
    run->total = malloc(RESPONSES_MOST * sizeof(*run->total));
    while (now < queue->seconds && run->count < RESPONSES_MOST) {
        const el_rung_t *rung;
        double *cpu = next_cpu(run), total, left, start;

        now -= log(sim_even(&run->seed)) / (rate * (in_flood(queue, now) ? queue->flood : 1));
        /* The state at the start of encoding decides, not that at arrival. */
        start = fmax(now, *cpu);
        sample(run, start);
        sampler_count(&run->sampler, start);
        rung = queue->fixed >= 0 ? &queue->rungs[queue->fixed]
                                 : el_ladder_rung(queue->rungs, queue->count, run->sampler.price);
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

CASE(price);

/* gzip's setups for pages of 120 KB; tests make their costs steeper or flatter. */
static const el_rung_t setups[] = {
    {EL_GZIP, 1, {1372, 2646}}, {EL_GZIP, 2, {1488, 2611}}, {EL_GZIP, 3, {2085, 2476}},
    {EL_GZIP, 4, {6788, 2285}}, {EL_GZIP, 6, {10740, 2211}}, {EL_GZIP, 8, {27774, 2182}},
};
#define SETUPS ROWS(setups)

static el_rung_t rungs[SETUPS];

/* Builds the setups in order of cost, with costs raised to the power `steep`. */
static size_t ladder(double steep)
{
    memcpy(rungs, setups, sizeof(setups));
    for (size_t i = 0; i < SETUPS; i++) {
        rungs[i].cost.nsec = (uint32_t)(1372 * pow(setups[i].cost.nsec / 1372., steep));
    }
    return el_ladder_build(rungs, SETUPS);
}

static queue_t queue_new(size_t count)
{
    return (queue_t){
        .cpus = 1, .rate = 5e6, .kbytes = 120, .making = 0.004, .base = 0.4, .seconds = 300,
        .interval = 0.5, .rungs = rungs, .count = count, .fixed = -1, .seed = 1,
    };
}

/* The fixed setup with the least mean time. */
static queue_result_t best_fixed(queue_t queue)
{
    queue_result_t best = {.mean = INFINITY};

    for (queue.fixed = 0; queue.fixed < (int)queue.count; queue.fixed++) {
        queue_result_t one = queue_run(&queue);

        best = one.mean < best.mean ? one : best;
    }
    return best;
}

static const struct {
    unsigned cpus;
    double mbit, steep, noise;
} machines[] = {
    {1, 5, 1, 0},   {1, 20, 1, 0},    {1, 100, 1, 0},  {1, 5, 1, 0.08}, {1, 20, 1, 0.08},
    {2, 5, 1, 0.04}, {4, 20, 1, 0.04}, {16, 5, 1, 0.02}, {64, 5, 1, 0.01}, {1, 5, 1.3, 0.04},
    {1, 20, 0.7, 0.04},
};

EACH(price, it_is_near_the_best_of_the_fixed_setups, machines)
{
    queue_t queue = queue_new(ladder(row->steep));

    queue.cpus = row->cpus;
    queue.rate = row->mbit * 1e6;
    queue.noise = row->noise;
    queue.seconds = queue.cpus > 4 ? 600. / queue.cpus + 20 : 300;
    for (queue.base = 0.1; queue.base < 0.85; queue.base += 0.175) {
        queue_result_t best = best_fixed(queue), got = queue_run(&queue);

        ck_assert_msg(got.mean < 1.03 * best.mean, "%u CPUs at %.1f, mean %.1f ms, best %.1f",
                      queue.cpus, queue.base, 1e3 * got.mean, 1e3 * best.mean);
        ck_assert_msg(got.p95 < 1.05 * best.p95, "%u CPUs at %.1f, p95 %.1f ms, best %.1f",
                      queue.cpus, queue.base, 1e3 * got.p95, 1e3 * best.p95);
    }
}

/* On a host of two CPUs a constant load wavers by eight points, for seconds. */
static const struct {
    unsigned cpus;
    double mbit, noise, lasting;
} hosts[] = {
    {1, 5, 0, 0},  {1, 5, 0.08, 0},  {1, 5, 0.08, 3},  {1, 20, 0.08, 3},
    {2, 5, 0.08, 0}, {2, 5, 0.08, 3}, {2, 20, 0.08, 3}, {4, 5, 0.08, 0}, {4, 5, 0.05, 3},
};

EACH(price, at_a_steady_load_it_is_steady, hosts)
{
    queue_t queue = queue_new(ladder(1));
    double unsteady = 0;

    queue.cpus = row->cpus;
    queue.rate = row->mbit * 1e6;
    queue.noise = row->noise;
    queue.lasting = row->lasting;
    queue.seconds = 900;
    for (queue.base = 0.1; queue.base < 0.85; queue.base += 0.1) {
        unsteady += queue_run(&queue).unsteady / 8;
    }
    /* After a jump, real or noise, the load is the mean of few samples for some seconds. */
    ck_assert_msg(unsteady <= 0.08, "%u CPUs, %g Mbit/s, noise %g for %g s: %.3f", queue.cpus,
                  row->mbit, queue.noise, queue.lasting, unsteady);
}

/* A flood that the server cannot carry, and one that it just carries at the cheapest setup. */
static const double floods[] = {10, 4.5};

EACH(price, a_flood_is_met_at_the_floor_and_left_behind, floods)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        queue_t queue = queue_new(ladder(1));
        queue_result_t got, floor;

        queue.seed = seed;
        queue.base = 0.15;
        queue.flood = *row;
        /* Any time within an interval. */
        queue.flood_at = 60 + (double)seed / 40;
        queue.flood_end = queue.flood_at + 5;
        queue.seconds = 110;
        got = queue_run(&queue);
        queue.fixed = 0;
        floor = queue_run(&queue);
        if (row == floods) {
            /* One slot to notice it, and one to measure it. */
            ck_assert_double_le(got.floored, 0.25);
        }
        ck_assert_double_le(got.calm, floor.calm + 2);
    }
}

TEST(price, work_that_nobody_waits_for_leaves_it_at_the_floor)
{
    queue_t queue = queue_new(ladder(1));

    queue.others = 1;
    ck_assert_double_eq_tol(queue_run(&queue).bytes, 120 * 1024 * .2646, 1);
}

TEST(price, without_load_the_wire_decides)
{
    queue_t queue = queue_new(ladder(1));

    queue.base = 0.02;
    ck_assert_double_eq_tol(queue_run(&queue).bytes, 120 * 1024 * .2211, 50);
    queue.rate = 100e6;
    ck_assert_double_eq_tol(queue_run(&queue).bytes, 120 * 1024 * .2476, 50);
}
