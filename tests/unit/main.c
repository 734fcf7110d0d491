/* Runs the suites of the core. */
#include "suites.h"

int main(void)
{
    SRunner *runner = srunner_create(NULL);

    UNIT_SUITES(ADD_SUITE)
    return run_suites(runner);
}
