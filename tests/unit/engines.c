/* Runs the suites of the engines; a program of its own, because it links the libraries. */
#include "suites.h"

int main(void)
{
    int failed = 0;

    ENGINE_SUITES(RUN_SUITE)
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
