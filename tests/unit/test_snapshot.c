/* What a reader gets of a structure that others write. */
#include "elastic/snapshot.h"

#include "suites.h"

#include <pthread.h>
#include <string.h>

/* Longer than a cache line, and no whole number of words. */
typedef struct {
    char bytes[1001];
} thing_t;

static _Atomic uint64_t words[EL_SNAPSHOT_WORDS(thing_t)];
static _Atomic uint64_t checksum;

static void set_up(void)
{
    memset(words, 0, sizeof(words));
    checksum = 0;
}

static thing_t thing_of(char letter)
{
    thing_t thing;

    memset(&thing, letter, sizeof(thing));
    return thing;
}

static void write_thing(char letter)
{
    thing_t thing = thing_of(letter);

    el_snapshot_write(words, &checksum, &thing, sizeof(thing));
}

static bool read_thing(thing_t *thing)
{
    return el_snapshot_read(words, &checksum, thing, sizeof(*thing));
}

static void assert_none(void)
{
    thing_t thing = thing_of('?'), zeros = {{0}};

    ck_assert(!read_thing(&thing));
    ck_assert_mem_eq(&thing, &zeros, sizeof(thing));
}

static void assert_thing(char letter)
{
    thing_t thing, wanted = thing_of(letter);

    ck_assert(read_thing(&thing));
    ck_assert_mem_eq(&thing, &wanted, sizeof(thing));
}

START_TEST(zeroed_memory_has_none)
{
    assert_none();
}
END_TEST

START_TEST(what_was_written_is_read)
{
    write_thing('a');
    assert_thing('a');
    write_thing('b');
    assert_thing('b');
    /* Zeros can be written like anything else. */
    write_thing(0);
    assert_thing(0);
}
END_TEST

START_TEST(what_was_cleared_is_gone)
{
    write_thing('a');
    el_snapshot_clear(&checksum);
    assert_none();
}
END_TEST

START_TEST(a_mixture_of_two_is_none)
{
    _Atomic uint64_t kept[EL_SNAPSHOT_WORDS(thing_t)];

    write_thing('a');
    memcpy(kept, words, sizeof(kept));
    for (size_t n = 0; n < EL_SNAPSHOT_WORDS(thing_t); n++) {
        write_thing('b');
        words[n] = kept[n];
        assert_none();
    }
    /* As after a writer that died in the middle: the next one makes it good. */
    write_thing('b');
    assert_thing('b');
}
END_TEST

#define WRITERS 3
#define WRITES 3000

static void *write_many(void *letter)
{
    for (int n = 0; n < WRITES; n++) {
        write_thing(*(const char *)letter);
    }
    return NULL;
}

START_TEST(a_reader_gets_all_of_one_writers_or_none)
{
    static const char letters[WRITERS] = {'a', 'b', 'c'};
    pthread_t threads[WRITERS];
    thing_t thing, wanted;

    for (int i = 0; i < WRITERS; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, write_many, (void *)&letters[i]), 0);
    }
    for (int n = 0; n < WRITES; n++) {
        wanted = thing_of(read_thing(&thing) ? thing.bytes[0] : 0);
        ck_assert_mem_eq(&thing, &wanted, sizeof(thing));
    }
    for (int i = 0; i < WRITERS; i++) {
        pthread_join(threads[i], NULL);
    }
}
END_TEST

Suite *snapshot_suite(void)
{
    Suite *suite = suite_create("snapshot");
    TCase *tc = tcase_create("snapshot");
    TCase *threads = tcase_create("threads");

    tcase_add_checked_fixture(tc, set_up, NULL);
    tcase_add_test(tc, zeroed_memory_has_none);
    tcase_add_test(tc, what_was_written_is_read);
    tcase_add_test(tc, what_was_cleared_is_gone);
    tcase_add_test(tc, a_mixture_of_two_is_none);
    suite_add_tcase(suite, tc);

    tcase_set_tags(threads, "threads");
    tcase_add_test(threads, a_reader_gets_all_of_one_writers_or_none);
    suite_add_tcase(suite, threads);
    return suite;
}
