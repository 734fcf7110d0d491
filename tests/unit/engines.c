/* Runs the suites of the engines; a program of its own, because it links the libraries. */
#include "suites.h"

#include <stdlib.h>

int main(void)
{
    SRunner *runner = srunner_create(engines_suite());
    int failed;

    srunner_add_suite(runner, failing_suite());
    srunner_add_suite(runner, level_change_suite());
    srunner_add_suite(runner, pool_suite());
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
