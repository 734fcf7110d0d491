/* Runs every suite; the CK_ environment variables of libcheck choose and set the output. */
#include "suites.h"

#include <stdlib.h>

int main(void)
{
    SRunner *runner = srunner_create(coding_suite());
    int failed;

    srunner_add_suite(runner, accept_suite());
    srunner_add_suite(runner, encoding_suite());
    srunner_add_suite(runner, decoder_suite());
    srunner_add_suite(runner, mediatype_suite());
    srunner_add_suite(runner, load_suite());
    srunner_add_suite(runner, cgroup_suite());
    srunner_add_suite(runner, psi_suite());
    srunner_add_suite(runner, position_suite());
    srunner_add_suite(runner, reading_suite());
    srunner_add_suite(runner, machine_suite());
    srunner_add_suite(runner, ladder_suite());
    srunner_add_suite(runner, curve_suite());
    srunner_add_suite(runner, goal_suite());
    srunner_add_suite(runner, histogram_suite());
    srunner_add_suite(runner, control_suite());
    srunner_add_suite(runner, cost_suite());
    srunner_add_suite(runner, ratio_suite());
    srunner_add_suite(runner, control_mix_suite());
    srunner_add_suite(runner, control_predict_suite());
    srunner_add_suite(runner, packet_suite());
    srunner_add_suite(runner, etag_suite());
    srunner_add_suite(runner, decide_suite());
    srunner_add_suite(runner, snapshot_suite());
    srunner_add_suite(runner, state_suite());
    srunner_add_suite(runner, state_claim_suite());
    srunner_add_suite(runner, state_control_suite());

    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
