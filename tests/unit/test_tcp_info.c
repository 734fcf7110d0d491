/* What the kernel's answer says of a connection, however long it is. */
#include "host/tcp_info.h"

#include "suites.h"

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#ifdef ELASTIC_WITH_TCP_RATE
#include <linux/tcp.h>

#define RATE_AT offsetof(struct tcp_info, tcpi_delivery_rate)
#define WHOLE sizeof(struct tcp_info)

static const struct {
    const char *guards;
    size_t len;
    uint64_t bytes; /* a second */
    bool limited, good;
} answers[] = {
    {"all of it", WHOLE, 125000, false, true},
    {"limited by the application", WHOLE, 125000, true, true},
    {"no longer than the rate", RATE_AT + 8, 125000, false, true},
    {"ends within the rate", RATE_AT + 7, 125000, false, false},
    {"ends before the rate", RATE_AT, 125000, false, false},
    {"of Linux 2.6", 104, 125000, false, false},
    {"nothing", 0, 125000, false, false},
    {"nothing was sent yet", WHOLE, 0, false, false},
    {"more than a double holds exactly", WHOLE, UINT64_MAX, false, true},
};

START_TEST(an_answer_is_read_as_far_as_it_goes)
{
    struct tcp_info info = {.tcpi_delivery_rate = answers[_i].bytes,
                            .tcpi_delivery_rate_app_limited = answers[_i].limited};
    el_tcp_rate_t rate = {-1, false};

    ck_assert_msg(el_tcp_rate_of(&info, answers[_i].len, &rate) == answers[_i].good, "%s",
                  answers[_i].guards);
    if (answers[_i].good) {
        ck_assert_double_eq(rate.rate, 8. * (double)answers[_i].bytes);
        ck_assert(rate.limited == answers[_i].limited);
    } else {
        ck_assert_double_eq(rate.rate, -1);
    }
}
END_TEST
#endif

/* Sockets that are no TCP, or have no peer yet. */
START_TEST(what_is_no_connection_has_no_rate)
{
    int ends[2], others[] = {socket(AF_INET, SOCK_STREAM, 0), socket(AF_INET, SOCK_DGRAM, 0), -1};
    el_tcp_rate_t rate;

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    ck_assert_int_eq(write(ends[0], "a", 1), 1);
    ck_assert(!el_tcp_rate(ends[0], &rate));
    for (int i = 0; i < ROWS(others); i++) {
        ck_assert(!el_tcp_rate(others[i], &rate));
        close(others[i]);
    }
    close(ends[0]);
    close(ends[1]);
}
END_TEST

Suite *tcp_info_suite(void)
{
    TCase *tc = tcase_create("tcp_info");

#ifdef ELASTIC_WITH_TCP_RATE
    tcase_add_loop_test(tc, an_answer_is_read_as_far_as_it_goes, 0, ROWS(answers));
#endif
    tcase_add_test(tc, what_is_no_connection_has_no_rate);
    return suite_of("tcp_info", tc);
}
