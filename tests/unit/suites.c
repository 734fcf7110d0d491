/* Runs the tests that were linked; libcheck's CK_ variables choose, and set the output. */
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
        if (of->threads) {
            tcase_set_tags(of->tcase, "threads");
        }
        suite_add_tcase(suite, of->tcase);
        srunner_add_suite(runner, suite);
    }
    return of->tcase;
}

int main(void)
{
    int failed;

    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
