#include "elastic/padding.h"

#include "random.h"
#include "suites.h"

#include <string.h>

static uint8_t input[EL_PADDING_RANDOM(EL_PADDING_MAX)];
static char text[EL_PADDING_MAX + 1];

static const size_t limits[] = {0, 1, 2, 3, 4, 5, 31, 32, 33, 100, EL_PADDING_MAX};

START_TEST(the_bounds_are_reached_and_kept)
{
    size_t most = limits[_i];
    uint64_t seed = 1;

    memset(input, 0, sizeof(input));
    ck_assert_uint_eq(el_padding_make(input, most, text), 0);
    ck_assert_str_eq(text, "");
    memset(input, 0xff, sizeof(input));
    ck_assert_uint_eq(el_padding_make(input, most, text), most);
    ck_assert_uint_eq(strlen(text), most);
    for (int i = 0; i < 1000; i++) {
        random_bytes(&seed, input, EL_PADDING_RANDOM(most));
        ck_assert_uint_le(el_padding_make(input, most, text), most);
    }
}
END_TEST

/* Nothing beyond the bytes that it asks for is read: a tool that watches memory would see it. */
START_TEST(its_random_bytes_are_enough)
{
    size_t most = limits[_i];
    size_t len = EL_PADDING_RANDOM(most);
    uint8_t *exact = malloc(len);
    char *room = malloc(most + 1);

    memset(exact, 0xff, len);
    ck_assert_uint_eq(el_padding_make(exact, most, room), most);
    free(exact);
    free(room);
}
END_TEST

/* Each of 8 bits in HPACK's code, and a character of a token. */
START_TEST(each_character_is_one_byte_in_every_version_of_http)
{
    static const char characters[] = "XZ&*";
    size_t seen[4] = {0};
    uint64_t seed = 2;

    for (int i = 0; i < 1000; i++) {
        size_t len;

        random_bytes(&seed, input, EL_PADDING_RANDOM(100));
        len = el_padding_make(input, 100, text);
        ck_assert_uint_eq(strspn(text, characters), len);
        for (size_t k = 0; k < len; k++) {
            seen[strchr(characters, text[k]) - characters]++;
        }
    }
    for (int i = 0; i < 4; i++) {
        ck_assert_msg(seen[i] > 11000 && seen[i] < 14000, "'%c': %zu of 50000", characters[i],
                      seen[i]);
    }
}
END_TEST

/* The sum of two dice: of 289 pairs of 0 … 16, one is 0 and one 32, and 17 are 16. */
START_TEST(the_shortest_and_the_longest_are_rare)
{
    enum { MOST = 32, ROUNDS = 289 * 200 };
    size_t seen[MOST + 1] = {0};
    uint64_t seed = 3;

    for (int i = 0; i < ROUNDS; i++) {
        random_bytes(&seed, input, EL_PADDING_RANDOM(MOST));
        seen[el_padding_make(input, MOST, text)]++;
    }
    for (size_t len = 0; len <= MOST; len++) {
        size_t expected = 200 * (len <= MOST / 2 ? len + 1 : MOST - len + 1);

        ck_assert_msg(seen[len] > expected / 2 && seen[len] < 2 * expected,
                      "%zu bytes: %zu times, not %zu", len, seen[len], expected);
    }
}
END_TEST

START_TEST(a_field_takes_its_name_and_at_most_so_many_bytes)
{
    ck_assert_uint_eq(el_padding_room(0), 0);
    ck_assert_uint_eq(el_padding_room(32), strlen("Elastic-Padding: \r\n") + 32);
}
END_TEST

Suite *padding_suite(void)
{
    TCase *tc = tcase_create("padding");

    tcase_add_loop_test(tc, the_bounds_are_reached_and_kept, 0, ROWS(limits));
    tcase_add_loop_test(tc, its_random_bytes_are_enough, 0, ROWS(limits));
    tcase_add_test(tc, each_character_is_one_byte_in_every_version_of_http);
    tcase_add_test(tc, the_shortest_and_the_longest_are_rare);
    tcase_add_test(tc, a_field_takes_its_name_and_at_most_so_many_bytes);
    return suite_of("padding", tc);
}
