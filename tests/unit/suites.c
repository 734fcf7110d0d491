/* Runs the linked tests. libcheck's CK_ variables select tests and set the output. */
#include "suites.h"

static SRunner *runner;

TCase *case_of(case_t *of)
{
    Suite *suite;

    if (!of->tcase) {
        runner = runner ? runner : srunner_create(NULL);
        suite = suite_create(of->name);
        of->tcase = tcase_create(of->name);
        tcase_add_checked_fixture(of->tcase, of->set_up, of->tear_down);
        if (of->timeout > 0) {
            tcase_set_timeout(of->tcase, of->timeout);
        }
        if (of->tags) {
            tcase_set_tags(of->tcase, of->tags);
        }
        suite_add_tcase(suite, of->tcase);
        srunner_add_suite(runner, suite);
    }
    return of->tcase;
}

void random_bytes(uint64_t *state, uint8_t *bytes, size_t len)
{
    uint64_t word = 0;

    for (size_t i = 0; i < len; i++, word >>= 8) {
        if (i % 8 == 0) {
            word = *state += UINT64_C(0x9e3779b97f4a7c15);
            word = (word ^ word >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
            word = (word ^ word >> 27) * UINT64_C(0x94d049bb133111eb);
            word ^= word >> 31;
        }
        bytes[i] = (uint8_t)word;
    }
}

static void *allocate(size_t nbytes)
{
    static void *rooms[3];
    static unsigned next;
    void **room = &rooms[next++ % 3];

    free(*room);
    *room = malloc(nbytes > 0 ? nbytes : 1);
    ck_assert_ptr_nonnull(*room);
    return *room;
}

void *copy_of(const void *bytes, size_t nbytes)
{
    return memcpy(allocate(nbytes), bytes, nbytes);
}

char *repeat(const char *unit, size_t nbytes)
{
    size_t len = strlen(unit);
    char *text = allocate(nbytes + 1);

    for (size_t i = 0; i < nbytes; i++) {
        text[i] = unit[i % len];
    }
    text[nbytes] = '\0';
    return text;
}

threads_t threads_start(unsigned count, void *(*work)(void *), const void *first, size_t size)
{
    threads_t threads = {.count = count};

    for (unsigned i = 0; i < count; i++) {
        void *of = (void *)((uintptr_t)first + i * size);

        ck_assert_int_eq(pthread_create(&threads.thread[i], NULL, work, of), 0);
    }
    return threads;
}

void threads_join(const threads_t *threads)
{
    for (unsigned i = 0; i < threads->count; i++) {
        pthread_join(threads->thread[i], NULL);
    }
}

void threads_run(unsigned count, void *(*work)(void *), const void *of)
{
    threads_t threads = threads_start(count, work, of, 0);

    threads_join(&threads);
}

int main(void)
{
    int failed;

    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
