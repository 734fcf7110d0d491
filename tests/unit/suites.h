/* The unit tests: suites for each header of the core, and those of the engines. */
#ifndef ELASTIC_TESTS_SUITES_H
#define ELASTIC_TESTS_SUITES_H

#include <check.h>

/* For tcase_add_loop_test(): the rows of a table. */
#define ROWS(table) ((int)(sizeof(table) / sizeof((table)[0])))

Suite *accept_suite(void);
Suite *cgroup_suite(void);
Suite *coding_suite(void);
Suite *control_suite(void);
Suite *control_mix_suite(void);
Suite *control_predict_suite(void);
Suite *curve_suite(void);
Suite *cost_suite(void);
Suite *decide_suite(void);
Suite *decoder_suite(void);
Suite *encoding_suite(void);
Suite *engines_suite(void);
Suite *etag_suite(void);
Suite *goal_suite(void);
Suite *histogram_suite(void);
Suite *failing_suite(void);
Suite *ladder_suite(void);
Suite *level_change_suite(void);
Suite *load_suite(void);
Suite *machine_suite(void);
Suite *mediatype_suite(void);
Suite *packet_suite(void);
Suite *position_suite(void);
Suite *psi_suite(void);
Suite *ratio_suite(void);
Suite *reading_suite(void);
Suite *pool_suite(void);
Suite *snapshot_suite(void);
Suite *state_suite(void);
Suite *state_claim_suite(void);
Suite *state_control_suite(void);

#endif
