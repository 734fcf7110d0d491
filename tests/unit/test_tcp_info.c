/* The kernel's TCP numbers, in structures of any length. */
#include "host/machine.h"
#include "suites.h"

#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>
#include <unistd.h>

CASE(tcp_info);

#ifdef ELASTIC_WITH_TCP_RATE
#include <linux/tcp.h>

#define RATE_AT offsetof(struct tcp_info, tcpi_delivery_rate)
#define WHOLE sizeof(struct tcp_info)

static const struct {
    const char *label;
    size_t len;
    uint64_t bytes; /* a second */
    bool limited, good;
} answers[] = {
    {"all of it", WHOLE, 125000, false, true},
    {"limited by the application", WHOLE, 125000, true, true},
    {"no longer than the rate", RATE_AT + 8, 125000, false, true},
    {"ends within the rate", RATE_AT + 7, 125000, false, false},
    {"nothing", 0, 125000, false, false},
    {"nothing was sent yet", WHOLE, 0, false, false},
    {"more than a double holds exactly", WHOLE, UINT64_MAX, false, true},
};
EACH(tcp_info, an_answer_is_read_as_far_as_it_goes, answers)
{
    struct tcp_info info = {.tcpi_delivery_rate = row->bytes,
                            .tcpi_delivery_rate_app_limited = row->limited};
    el_tcp_rate_t rate = {-1, false};

    row_eq(el_tcp_rate_of(&info, row->len, &rate), row->good);
    row_assert(rate.rate == (row->good ? 8. * (double)row->bytes : -1));
    row_eq(rate.limited, (row->good && row->limited));
}
#endif

/* Sockets without TCP or without a peer. */
TEST(tcp_info, what_is_no_connection_has_no_rate)
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
