/* The unit tests: suites for each header of the core, and those of the engines. */
#ifndef ELASTIC_TESTS_SUITES_H
#define ELASTIC_TESTS_SUITES_H

#include <check.h>
#include <stdlib.h>

/* X(name): the suites of the program `unit`, each the function name_suite() of test_name.c. */
#define UNIT_SUITES(X)                                                                             \
    X(coding) X(accept) X(mediatype) X(load) X(cgroup) X(position) X(load_signals) X(machine)      \
    X(ladder) X(control) X(cost) X(ratio) X(price) X(control_mix) X(packet) X(etag) X(decide)      \
    X(lockfree) X(block) X(block_claim) X(block_control) X(tcp_info) X(entry) X(files)             \
    X(popular) X(process) X(seal) X(key_file) X(workers) X(folder) X(structured)                   \
    X(cache_control) X(dictionary) X(history) X(counters) X(local) X(waiters)

/* Those of the program `engines`, which links the compression libraries. */
#define ENGINE_SUITES(X) X(engines) X(decoder) X(level_change) X(failing) X(pool) X(budget) \
    X(recode) X(difference) X(prepared)

#define DECLARE_SUITE(name) Suite *name##_suite(void);
#define ADD_SUITE(name) srunner_add_suite(runner, name##_suite());

UNIT_SUITES(DECLARE_SUITE)
ENGINE_SUITES(DECLARE_SUITE)

/* For tcase_add_loop_test(): the rows of a table. */
#define ROWS(table) ((int)(sizeof(table) / sizeof((table)[0])))

/* A suite of one case. */
static inline Suite *suite_of(const char *name, TCase *tc)
{
    Suite *suite = suite_create(name);

    suite_add_tcase(suite, tc);
    return suite;
}

/* Runs what was added; libcheck's CK_ variables choose and set the output. For main() to return. */
static inline int run_suites(SRunner *runner)
{
    int failed;

    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

#endif
