#include "elastic/goal.h"

#include "text.h"

#include <math.h>
#include <string.h>

/* Digits of a number that are read: more would lose precision without a word. */
#define DIGITS_MAX 15

#define NSEC_PER_SEC 1e9
#define NSEC_PER_HOUR 3.6e12
#define BYTES_PER_GB 1e9

/*
 * More than a byte costs that the dearest setup saves, br 11 with 130 µs: free CPU time is worth no
 * more. A full CPU then still leads to cheap setups, see el_price_delay().
 */
#define WORTH_MOST 2e5

/* A page of some tens of KB comes in a few flights of a congestion window that has just opened. */
#define RATE_DEFAULT 5e6
#define RATE_LEAST 1e6
#define RATE_MOST 20e6

typedef struct {
    const char *at;
    const char *end;
} rest_t;

/* The next word, without the blanks around it; empty at the end. */
static rest_t next_word(rest_t *rest)
{
    rest_t word;

    while (rest->at < rest->end && el_text_is_space(*rest->at)) {
        rest->at++;
    }
    word.at = rest->at;
    while (rest->at < rest->end && !el_text_is_space(*rest->at)) {
        rest->at++;
    }
    word.end = rest->at;
    return word;
}

static bool is_word(rest_t word, const char *text)
{
    size_t len = strlen(text);

    return (size_t)(word.end - word.at) == len && el_text_same(word.at, text, len);
}

/* Digits with at most one point, into `number`; moves `word` behind them. */
static bool take_number(rest_t *word, double *number)
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

/* A rate in bits a second, above 0. */
static bool take_rate(rest_t word, double *rate)
{
    static const struct {
        const char *name;
        double factor;
    } units[] = {{"bit/s", 1}, {"kbit/s", 1e3}, {"Mbit/s", 1e6}, {"Gbit/s", 1e9}};
    double number;

    if (!take_number(&word, &number) || number <= 0) {
        return false;
    }
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (is_word(word, units[i].name)) {
            *rate = number * units[i].factor;
            return true;
        }
    }
    return false;
}

static bool parse_time(rest_t *rest, el_goal_t *goal)
{
    rest_t rate = next_word(rest), least;

    *goal = (el_goal_t){.kind = EL_GOAL_TIME, .rate = RATE_DEFAULT, .least = RATE_LEAST,
                        .most = RATE_MOST, .by_connection = is_word(rate, "auto")};
    if (!goal->by_connection) {
        return is_word(rate, "") || take_rate(rate, &goal->rate);
    }
    least = next_word(rest);
    if (is_word(least, "")) {
        return true;
    }
    if (!take_rate(least, &goal->least) || !take_rate(next_word(rest), &goal->most)
        || goal->least > goal->most) {
        return false;
    }
    goal->rate = fmin(goal->most, fmax(goal->least, goal->rate));
    return true;
}

static bool parse_cost(rest_t *rest, el_goal_t *goal)
{
    rest_t cpu = next_word(rest);
    rest_t egress = next_word(rest);
    double per_core_hour, per_gbyte;

    if (!take_number(&cpu, &per_core_hour) || !is_word(cpu, "/h")
        || !take_number(&egress, &per_gbyte) || !is_word(egress, "/gb")
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
    rest_t kind = next_word(&rest);
    el_goal_t got = {.kind = EL_GOAL_CPU};

    if (!is_word(kind, "cpu") && !(is_word(kind, "time") && parse_time(&rest, &got))
        && !(is_word(kind, "cost") && parse_cost(&rest, &got))) {
        return false;
    }
    if (!is_word(next_word(&rest), "")) {
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
        /* Endless where CPU time is for nothing. */
        return fmin(WORTH_MOST, goal->per_gbyte / BYTES_PER_GB * NSEC_PER_HOUR
                                    / goal->per_core_hour);
    default:
        return 0;
    }
}
