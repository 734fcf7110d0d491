/* Runs the suites of the engines; a program of its own, because it links the libraries. */
#include "suites.h"

int main(void)
{
    SRunner *runner = srunner_create(NULL);

    ENGINE_SUITES(ADD_SUITE)
    return run_suites(runner);
}
