/*
 * How many responses an attacker needs who sees nothing but lengths. docs/manual/breach.md has the
 * arithmetic; these attacks are played against the padding as it is made.
 *
 * A guess that is right makes the encoding a byte shorter. The attacker asks for the page with a
 * right and a wrong guess, so often each, and takes the guess that seems shorter.
 */
#include "elastic/padding.h"

#include "random.h"
#include "suites.h"

/* Each attack is repeated, to see how often it succeeds. */
#define ROUNDS 200

/* Of the encoding with the wrong guess. */
#define LENGTH 5000

static uint64_t seed;

static size_t observed(size_t length, size_t most)
{
    uint8_t random[EL_PADDING_RANDOM(EL_PADDING_MAX)];
    char text[EL_PADDING_MAX + 1];

    random_bytes(&seed, random, EL_PADDING_RANDOM(most));
    return length + el_padding_make(random, most, text);
}

typedef double (*estimate_t)(size_t length, size_t most, unsigned samples);

static double mean(size_t length, size_t most, unsigned samples)
{
    double sum = 0;

    for (unsigned i = 0; i < samples; i++) {
        sum += (double)observed(length, most);
    }
    return sum / samples;
}

static double shortest(size_t length, size_t most, unsigned samples)
{
    size_t least = length + most;

    for (unsigned i = 0; i < samples; i++) {
        size_t seen = observed(length, most);

        least = seen < least ? seen : least;
    }
    return (double)least;
}

/* The share of attacks that find the right guess; of a tie, half. */
static double successes(estimate_t estimate, size_t most, unsigned samples)
{
    double found = 0;

    seed = 1;
    for (int round = 0; round < ROUNDS; round++) {
        double wrong = estimate(LENGTH, most, samples);
        double right = estimate(LENGTH - 1, most, samples);

        found += right < wrong ? 1 : right > wrong ? 0 : .5;
    }
    return found / ROUNDS;
}

/* Responses for each guess at 3σ: 18 times the variance of the padding, which is that of two dice. */
static unsigned samples_at_3_sigma(size_t most)
{
    double faces = (double)most / 2 + 1;

    return (unsigned)(18 * 2 * (faces * faces - 1) / 12);
}

static const struct {
    size_t most;
    unsigned samples; /* as the manual has it */
} rows[] = {{32, 864}, {100, 7800}};

START_TEST(without_padding_one_response_shows_it)
{
    ck_assert_double_eq(successes(mean, 0, 1), 1);
}
END_TEST

START_TEST(with_padding_the_mean_of_so_many_shows_it)
{
    size_t most = rows[_i].most;
    unsigned samples = samples_at_3_sigma(most);

    ck_assert_uint_eq(samples, rows[_i].samples);
    ck_assert_double_gt(successes(mean, most, samples), .98);
    ck_assert_double_lt(successes(mean, most, samples / 30), .8);
    ck_assert_double_lt(successes(mean, most, 1), .6);
}
END_TEST

/* What one draw in place of two would give away: after 6 times as many as there are lengths. */
START_TEST(the_shortest_of_so_many_does_not_show_it)
{
    size_t most = rows[_i].most;

    ck_assert_double_lt(successes(shortest, most, 6 * ((unsigned)most + 1)), .9);
    ck_assert_double_lt(successes(shortest, most, rows[_i].samples / 3), .9);
}
END_TEST

Suite *breach_suite(void)
{
    TCase *tc = tcase_create("breach");

    tcase_add_test(tc, without_padding_one_response_shows_it);
    tcase_add_loop_test(tc, with_padding_the_mean_of_so_many_shows_it, 0, ROWS(rows));
    tcase_add_loop_test(tc, the_shortest_of_so_many_does_not_show_it, 0, ROWS(rows));
    return suite_of("breach", tc);
}
