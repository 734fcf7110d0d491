/* Idle CPU time: one process has it, and no more of it than its share. */
#include "elastic/idle.h"
#include "elastic/state.h"

#include "suites.h"

#include <string.h>

#define NOW UINT64_C(5000000000)
#define SECOND UINT64_C(1000000)

static el_idle_t idle;

static void set_up(void)
{
    memset(&idle, 0, sizeof(idle));
}

START_TEST(one_process_holds_the_lease)
{
    ck_assert(el_idle_hold(&idle, 7, NOW));
    ck_assert(!el_idle_hold(&idle, 8, NOW));
    ck_assert(el_idle_hold(&idle, 7, NOW + SECOND));
    ck_assert(!el_idle_hold(&idle, 8, NOW + SECOND + EL_IDLE_LEASE - SECOND / 8));
    el_idle_release(&idle, 8);
    ck_assert(!el_idle_hold(&idle, 8, NOW + SECOND));
    el_idle_release(&idle, 7);
    ck_assert(el_idle_hold(&idle, 8, NOW + SECOND));
    ck_assert(!el_idle_hold(&idle, 7, NOW + SECOND));
}
END_TEST

START_TEST(what_has_gone_loses_it)
{
    ck_assert(el_idle_hold(&idle, 7, NOW));
    ck_assert(el_idle_hold(&idle, UINT32_MAX, NOW + EL_IDLE_LEASE));
    ck_assert(!el_idle_hold(&idle, 7, NOW + EL_IDLE_LEASE));
}
END_TEST

START_TEST(a_share_of_the_time_is_earned)
{
    el_idle_earn(&idle, NOW, 2, 0.1);
    ck_assert_int_eq(el_idle_credit(&idle), 0);
    el_idle_earn(&idle, NOW + SECOND / 10, 2, 0.1);
    ck_assert_int_eq(el_idle_credit(&idle), 20000000);
    el_idle_spend(&idle, 5000000);
    ck_assert_int_eq(el_idle_credit(&idle), 15000000);
}
END_TEST

START_TEST(no_more_is_saved_than_that_of_a_second)
{
    for (uint64_t now = NOW; now < NOW + 100 * SECOND; now += SECOND / 10) {
        el_idle_earn(&idle, now, 4, 0.5);
    }
    ck_assert_int_eq(el_idle_credit(&idle), 2000000000);
}
END_TEST

START_TEST(a_pause_earns_no_more_than_a_second)
{
    el_idle_earn(&idle, NOW, 1, 0.1);
    el_idle_spend(&idle, 1000000000);
    el_idle_earn(&idle, NOW + 3600 * SECOND, 1, 0.1);
    ck_assert_int_eq(el_idle_credit(&idle), -900000000);
    el_idle_earn(&idle, NOW + SECOND, 1, 0.1); /* by a clock that was read before */
    ck_assert_int_eq(el_idle_credit(&idle), -900000000);
}
END_TEST

/* However long calls are, in the long run they take the share. */
START_TEST(long_calls_are_made_up_for)
{
    uint64_t spent = 0, now;

    for (now = NOW; now < NOW + 600 * SECOND; now += SECOND / 10) {
        el_idle_earn(&idle, now, 2, 0.1);
        if (el_idle_credit(&idle) > 0) {
            el_idle_spend(&idle, 700000000);
            spent += 700000000;
        }
    }
    ck_assert_uint_le(spent, UINT64_C(120000000000) + 700000000);
    ck_assert_uint_ge(spent, UINT64_C(110000000000));
}
END_TEST

static const struct {
    const char *guards;
    el_control_mode_t mode;
    uint64_t load;
    bool spare;
} loads[] = {
    {"an idle machine", EL_CONTROL_STEP, 0, true},
    {"below the low threshold", EL_CONTROL_MIX, 499999, true},
    {"at it", EL_CONTROL_MIX, 500000, false},
    {"above", EL_CONTROL_MIX, 700000, false},
    {"no sample yet", EL_CONTROL_STEP, EL_STATE_NO_LOAD, false},
    {"no control", EL_CONTROL_OFF, 0, false},
};

START_TEST(time_is_spare_below_the_low_threshold)
{
    el_control_config_t control = {.mode = loads[_i].mode, .low = 0.5, .high = 0.8, .top = 8};

    ck_assert_msg(el_idle_spare(&control, loads[_i].load) == loads[_i].spare, "%s",
                  loads[_i].guards);
}
END_TEST

START_TEST(a_reset_leaves_it_to_nobody)
{
    el_idle_earn(&idle, NOW, 1, 1);
    el_idle_earn(&idle, NOW + SECOND, 1, 1);
    ck_assert(el_idle_hold(&idle, 7, NOW));
    el_idle_reset(&idle);
    ck_assert_int_eq(el_idle_credit(&idle), 0);
    ck_assert(el_idle_hold(&idle, 8, NOW));
    el_idle_earn(&idle, NOW + 2 * SECOND, 1, 1);
    ck_assert_int_eq(el_idle_credit(&idle), 0);
}
END_TEST

Suite *idle_suite(void)
{
    TCase *tc = tcase_create("idle");

    tcase_add_checked_fixture(tc, set_up, NULL);
    tcase_add_test(tc, one_process_holds_the_lease);
    tcase_add_test(tc, what_has_gone_loses_it);
    tcase_add_test(tc, a_share_of_the_time_is_earned);
    tcase_add_test(tc, no_more_is_saved_than_that_of_a_second);
    tcase_add_test(tc, a_pause_earns_no_more_than_a_second);
    tcase_add_test(tc, long_calls_are_made_up_for);
    tcase_add_loop_test(tc, time_is_spare_below_the_low_threshold, 0, ROWS(loads));
    tcase_add_test(tc, a_reset_leaves_it_to_nobody);
    return suite_of("idle", tc);
}
