#include "elastic/packet.h"

#include "suites.h"

static const struct {
    const char *guards;
    el_packet_t packet;
    size_t payload;
    size_t min_size;
} packets[] = {
    {"IPv4, nothing known", {.mss = 0, .mtu = 1500}, 1448, 1357},
    {"IPv6, nothing known", {.mss = 0, .mtu = 1500, .ipv6 = true}, 1428, 1337},
    {"an error for an MSS", {.mss = -1, .mtu = 1500}, 1448, 1357},
    {"a wire's MSS", {.mss = 1460, .mtu = 9000}, 1460, 1369},
    {"a wire's MSS says all of IPv6", {.mss = 1440, .mtu = 1500, .ipv6 = true}, 1440, 1349},
    {"the least MSS", {.mss = 1, .mtu = 1500}, 1, 1},
    {"jumbo frames", {.mss = 8948, .mtu = 1500}, 8948, 8857},
    {"the greatest MSS that is believed", {.mss = 9216, .mtu = 1500}, 9216, 9125},
    {"beyond it the MTU counts", {.mss = 9217, .mtu = 1500}, 1448, 1357},
    {"loopback", {.mss = 32768, .mtu = 1500}, 1448, 1357},
    {"loopback over IPv6", {.mss = 32748, .mtu = 1500, .ipv6 = true}, 1428, 1337},
    {"loopback with another MTU", {.mss = 32768, .mtu = 9000}, 8948, 8857},
    {"the least MTU", {.mss = 0, .mtu = 576}, 524, 433},
    {"the greatest MTU", {.mss = 0, .mtu = 65535}, 65483, 65392},
    {"an MTU without room", {.mss = 0, .mtu = 52}, 0, 1},
    {"no MTU", {.mss = 0, .mtu = 0, .ipv6 = true}, 0, 1},
    {"the response's header", {.mss = 1448, .header = 200}, 1448, 1157},
    {"a TLS record", {.mss = 1448, .header = 200, .tls = true}, 1448, 1128},
    {"HTTP/2 frames", {.mss = 1448, .header = 200, .http2 = true}, 1448, 1139},
    {"both", {.mss = 1448, .header = 200, .tls = true, .http2 = true}, 1448, 1110},
    {"one byte of room", {.mss = 1448, .header = 1355}, 1448, 2},
    {"a header that fills the segment", {.mss = 1448, .header = 1356}, 1448, 1},
    {"a header beyond the segment", {.mss = 1448, .header = 1357}, 1448, 1},
    {"a header of many segments", {.mss = 1448, .header = 100000}, 1448, 1},
    {"TLS makes the header fill it", {.mss = 1448, .header = 1330, .tls = true}, 1448, 1},
};

START_TEST(a_connection_gives_its_segment_and_the_least_body)
{
    ck_assert_msg(el_packet_payload(&packets[_i].packet) == packets[_i].payload, "%s: payload %zu",
                  packets[_i].guards, el_packet_payload(&packets[_i].packet));
    ck_assert_msg(el_packet_min_size(&packets[_i].packet) == packets[_i].min_size,
                  "%s: min_size %zu", packets[_i].guards, el_packet_min_size(&packets[_i].packet));
}
END_TEST

Suite *packet_suite(void)
{
    TCase *tc = tcase_create("packet");

    tcase_add_loop_test(tc, a_connection_gives_its_segment_and_the_least_body, 0, ROWS(packets));
    return suite_of("packet", tc);
}
