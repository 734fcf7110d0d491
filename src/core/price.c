#include "elastic/price.h"

#include "bytes.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* Digits of a number; more would lose precision silently. */
#define DIGITS_MAX 15

#define NSEC_PER_SEC 1e9
#define NSEC_PER_HOUR 3.6e12
#define BYTES_PER_GB 1e9

/*
 * Upper bound of the worth, above the price of the dearest setup, br 11 with 130 µs. If CPU time is
 * free, a full CPU still leads to cheap setups; see el_price_delay().
 */
#define WORTH_MOST 2e5

/* A page of some tens of KB arrives within a few round trips of a new congestion window. */
#define RATE_DEFAULT 5e6
#define RATE_LEAST 1e6
#define RATE_MOST 20e6

typedef struct {
    const char *at;
    const char *end;
} rest_t;

/* The next word, empty at the end. */
static rest_t price_next_word(rest_t *rest)
{
    rest_t word;

    el_text_skip_space(&rest->at, rest->end);
    word.at = rest->at;
    while (rest->at < rest->end && !el_text_is_space(*rest->at)) {
        rest->at++;
    }
    word.end = rest->at;
    return word;
}

static bool price_is_word(rest_t word, const char *text)
{
    return el_text_is(word.at, (size_t)(word.end - word.at), text);
}

/* Reads digits with at most one point into `number`, and advances `word`. */
static bool price_take_number(rest_t *word, double *number)
{
    double value = 0, unit = 1;
    unsigned digits = 0;
    bool point = false;

    for (; word->at < word->end; word->at++) {
        if (*word->at == '.' && !point) {
            point = true;
            continue;
        }
        if (!el_text_is_digit(*word->at)) {
            break;
        }
        if (++digits > DIGITS_MAX) {
            return false;
        }
        value = value * 10 + (*word->at - '0');
        unit *= point ? 10 : 1;
    }
    *number = value / unit;
    return digits > 0;
}

/* Reads a rate in bits a second, above 0. */
static bool price_take_rate(rest_t word, double *rate)
{
    static const struct {
        const char *name;
        double factor;
    } units[] = {{"bit/s", 1}, {"kbit/s", 1e3}, {"Mbit/s", 1e6}, {"Gbit/s", 1e9}};
    double number;

    if (!price_take_number(&word, &number) || number <= 0) {
        return false;
    }
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (price_is_word(word, units[i].name)) {
            *rate = number * units[i].factor;
            return true;
        }
    }
    return false;
}

static bool price_parse_time(rest_t *rest, el_goal_t *goal)
{
    rest_t rate = price_next_word(rest), least;

    *goal = (el_goal_t){.kind = EL_GOAL_TIME, .rate = RATE_DEFAULT, .least = RATE_LEAST,
                        .most = RATE_MOST, .by_connection = price_is_word(rate, "auto")};
    if (!goal->by_connection) {
        return price_is_word(rate, "") || price_take_rate(rate, &goal->rate);
    }
    least = price_next_word(rest);
    if (price_is_word(least, "")) {
        return true;
    }
    if (!price_take_rate(least, &goal->least)
        || !price_take_rate(price_next_word(rest), &goal->most)
        || goal->least > goal->most) {
        return false;
    }
    goal->rate = fmin(goal->most, fmax(goal->least, goal->rate));
    return true;
}

static bool price_parse_cost(rest_t *rest, el_goal_t *goal)
{
    rest_t cpu = price_next_word(rest);
    rest_t egress = price_next_word(rest);
    double per_core_hour, per_gbyte;

    if (!price_take_number(&cpu, &per_core_hour) || !price_is_word(cpu, "/h")
        || !price_take_number(&egress, &per_gbyte) || !price_is_word(egress, "/gb")
        || per_core_hour + per_gbyte <= 0) {
        return false;
    }
    *goal = (el_goal_t){.kind = EL_GOAL_COST, .per_core_hour = per_core_hour,
                        .per_gbyte = per_gbyte};
    return true;
}

bool el_goal_parse(const char *text, size_t len, el_goal_t *goal)
{
    rest_t rest = {text, text + len};
    rest_t kind = price_next_word(&rest);
    el_goal_t got = {.kind = EL_GOAL_CPU};

    if (!price_is_word(kind, "cpu")
        && !(price_is_word(kind, "time") && price_parse_time(&rest, &got))
        && !(price_is_word(kind, "cost") && price_parse_cost(&rest, &got))) {
        return false;
    }
    if (!price_is_word(price_next_word(&rest), "")) {
        return false;
    }
    *goal = got;
    return true;
}

double el_goal_rate(const el_goal_t *goal, double measured, bool limited)
{
    double rate = fmin(goal->most, fmax(goal->least, measured));

    return limited && rate < goal->rate ? goal->rate : rate;
}

double el_goal_worth(const el_goal_t *goal)
{
    switch (goal->kind) {
    case EL_GOAL_TIME:
        return fmin(WORTH_MOST, 8 * NSEC_PER_SEC / goal->rate);
    case EL_GOAL_COST:
        /* Infinite if CPU time is free. */
        return fmin(WORTH_MOST, goal->per_gbyte / BYTES_PER_GB * NSEC_PER_HOUR
                                    / goal->per_core_hour);
    default:
        return 0;
    }
}

/* A higher load counts as this one: the delay at 1 is infinite. */
#define LOAD_MOST 0.999

/* Erlang's formula takes a step for each CPU; more CPUs count as this many. */
#define CPUS_MOST 512

/*
 * The load follows samples within the noise by a mean over this many seconds, whose first samples
 * weigh the same. It follows samples beyond the noise by these shares of the difference. Up faster
 * than down: effort that falls too late delays others.
 */
#define SECONDS_SLOW 40.
#define FAST_UP 1.
#define FAST_DOWN 0.3

/*
 * Samples this many mean deviations away are beyond the noise. Below, the share grows with the
 * sixth power, so that half as far hardly counts. The deviation is bounded, so that after a jump
 * the next jump does not look like noise.
 */
#define DEVIATIONS 5.
#define DEVIATION_FIRST 0.05
#define DEVIATION_LEAST 0.02
#define DEVIATION_MOST 0.15

/* A CPU counts as full if less than this part of one CPU is idle: the demand beyond is hidden. */
#define IDLE_LEAST 0.03

/* The delay changes only by at least this factor. */
#define BAND 1.5

/*
 * A sample that moves the load by more than this share is a jump: earlier samples then count as
 * this many. Otherwise the mean would stay near full, and effort at the floor, for half a minute
 * after a full CPU. With fewer samples, brief work of other processes would look like load.
 */
#define JUMP 0.1
#define JUMP_SAMPLES 10.

/* The delay for a whole number of CPUs. */
static double price_delay_of(double load, unsigned cpus)
{
    double c = cpus;
    double a = load * c; /* offered load in CPUs: requests a second × service time */
    double b = 1, db = 0; /* Erlang's B, and its derivative by `a` */
    double wait, dwait, free;

    if (a <= 0) {
        return 1;
    }
    for (unsigned n = 1; n <= cpus; n++) {
        double before = a * b;
        double dbefore = b + a * db;

        b = before / (n + before);
        db = dbefore * n / ((n + before) * (n + before));
    }
    /* Erlang's C over the free CPUs: the mean wait for a service time of 1. */
    free = c - a * (1 - b);
    wait = c * b / (free * (c - a));
    dwait = wait * (db / b + (1 - b - a * db) / free + 1 / (c - a));
    return 1 + wait + a * dwait;
}

double el_price_delay(double load, double cpus)
{
    double whole, part;

    load = fmin(LOAD_MOST, fmax(0, load));
    cpus = fmin(CPUS_MOST, fmax(1, cpus));
    part = modf(cpus, &whole);
    if (part == 0) {
        return price_delay_of(load, (unsigned)whole);
    }
    return (1 - part) * price_delay_of(load, (unsigned)whole)
           + part * price_delay_of(load, (unsigned)whole + 1);
}

/*
 * The share of the way to a sample that is `error` away. A single sample beyond the noise may be an
 * outlier, also at a full CPU that is often busy: it takes two in a row, or one twice as far.
 */
static double price_gain(el_price_memory_t *memory, double error, double seconds, bool full)
{
    double slow = fmax(1 - exp(-seconds / SECONDS_SLOW), 1 / memory->samples);
    double fast = error > 0 ? FAST_UP : FAST_DOWN;
    double off = fmax(full ? 1 : 0, fabs(error) / (DEVIATIONS * memory->deviation));
    double both = error * memory->off > 0 ? fmin(off, fabs(memory->off)) : 0;

    memory->off = copysign(off, error);
    off = fmin(1, fmax(off / 2, both));
    return slow + fmax(0, fast - slow) * pow(off, 6);
}

double el_price_follow(el_price_memory_t *memory, double busy, double cpus, double seconds)
{
    double error, gain, delay;
    bool full = busy >= 1 - IDLE_LEAST / fmax(1, cpus);

    if (memory->samples == 0) {
        memory->load = busy;
        memory->deviation = DEVIATION_FIRST;
    }
    memory->samples++;
    error = busy - memory->load;
    gain = price_gain(memory, error, seconds, full);
    memory->load += error * gain;
    if (gain > JUMP) {
        memory->samples = fmin(memory->samples, JUMP_SAMPLES);
    }
    memory->deviation += (1 - exp(-seconds / (2 * SECONDS_SLOW)))
                         * (fmin(fabs(error), DEVIATION_MOST) - memory->deviation);
    memory->deviation = fmax(DEVIATION_LEAST, memory->deviation);
    delay = el_price_delay(memory->load, cpus);
    if (delay > memory->delay * BAND || delay < memory->delay / BAND) {
        memory->delay = delay;
    }
    return memory->delay;
}

/*
 * A surge is at least this many arrivals and deviations above the mean, and this share of the
 * arrivals that fill the CPUs.
 */
#define SURGE_LEAST 5.
#define SURGE_DEVIATIONS 3.
#define SURGE_SHARE 0.5

double el_price_surge(double mean, double busy)
{
    double chance = mean + SURGE_DEVIATIONS * sqrt(mean) + SURGE_LEAST;

    return fmax(chance, fmax(2 * mean, SURGE_SHARE * mean / fmax(0.01, busy)));
}
