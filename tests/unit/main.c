/* Runs the suites of the core. */
#include "suites.h"

int main(void)
{
    int failed = 0;

    UNIT_SUITES(RUN_SUITE)
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
