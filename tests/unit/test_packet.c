#include "elastic/decide.h"
#include "suites.h"

static const struct {
    const char *label;
    el_packet_t packet;
    size_t min_size;
} packets[] = {
    {"IPv4, nothing known", {.mss = 0, .mtu = 1500}, 1357},
    {"IPv6, nothing known", {.mss = 0, .mtu = 1500, .ipv6 = true}, 1337},
    {"a wire's MSS", {.mss = 1460, .mtu = 9000}, 1369},
    {"the least MSS", {.mss = 1, .mtu = 1500}, 1},
    {"jumbo frames", {.mss = 8948, .mtu = 1500}, 8857},
    {"the greatest MSS that is believed", {.mss = 9216, .mtu = 1500}, 9125},
    {"beyond it the MTU counts", {.mss = 9217, .mtu = 1500}, 1357},
    {"loopback", {.mss = 32768, .mtu = 1500}, 1357},
    {"the greatest MTU", {.mss = 0, .mtu = 65535}, 65392},
    {"an MTU without room", {.mss = 0, .mtu = 52}, 1},
    {"the response's header", {.mss = 1448, .header = 200}, 1157},
    {"a TLS record", {.mss = 1448, .header = 200, .tls = true}, 1128},
    {"HTTP/2 frames", {.mss = 1448, .header = 200, .http2 = true}, 1139},
    {"one byte of room", {.mss = 1448, .header = 1355}, 2},
    {"a header that fills the segment", {.mss = 1448, .header = 1356}, 1},
    {"a header of many segments", {.mss = 1448, .header = 100000}, 1},
    {"TLS makes the header fill it", {.mss = 1448, .header = 1330, .tls = true}, 1},
};

CASE(segments);

EACH(segments, a_connection_gives_the_least_body, packets)
{
    row_eq(el_packet_min_size(&row->packet), row->min_size);
}

static uint8_t input[EL_PADDING_RANDOM(EL_PADDING_MAX)];
static char text[EL_PADDING_MAX + 1];

static const size_t limits[] = {0, 1, 2, 3, 4, 5, 31, 32, 33, 100, EL_PADDING_MAX};

CASE(paddings);

EACH(paddings, the_bounds_are_reached_and_kept, limits)
{
    size_t most = *row, len = EL_PADDING_RANDOM(most);
    uint64_t state = 1;

    memset(input, 0, sizeof(input));
    ck_assert_uint_eq(el_padding_make(input, most, text), 0);
    ck_assert_str_eq(text, "");
    memset(input, 0xff, sizeof(input));
    ck_assert_uint_eq(el_padding_make(copy_of(input, len), most, text), most);
    ck_assert_uint_eq(strlen(text), most);
    for (int i = 0; i < 1000; i++) {
        random_bytes(&state, input, len);
        ck_assert_uint_le(el_padding_make(input, most, text), most);
    }
}

/* Each has 8 bits in HPACK's code and is a token character. */
TEST(paddings, each_character_is_one_byte_in_every_version_of_http)
{
    static const char characters[] = "XZ&*";
    size_t seen[4] = {0};
    uint64_t seed = 2;

    for (int i = 0; i < 1000; i++) {
        size_t len;

        random_bytes(&seed, input, EL_PADDING_RANDOM(100));
        len = el_padding_make(input, 100, text);
        ck_assert_uint_eq(strspn(text, characters), len);
        for (size_t k = 0; k < len; k++) {
            seen[strchr(characters, text[k]) - characters]++;
        }
    }
    for (int i = 0; i < 4; i++) {
        ck_assert_msg(seen[i] > 11000 && seen[i] < 14000, "'%c': %zu of 50000", characters[i],
                      seen[i]);
    }
}

/* Two dice: of 289 pairs of 0 … 16, one sums to 0, one to 32, and 17 to 16. */
TEST(paddings, the_shortest_and_the_longest_are_rare)
{
    enum { MOST = 32, ROUNDS = 289 * 200 };
    size_t seen[MOST + 1] = {0};
    uint64_t seed = 3;

    for (int i = 0; i < ROUNDS; i++) {
        random_bytes(&seed, input, EL_PADDING_RANDOM(MOST));
        seen[el_padding_make(input, MOST, text)]++;
    }
    for (size_t len = 0; len <= MOST; len++) {
        size_t expected = 200 * (len <= MOST / 2 ? len + 1 : MOST - len + 1);

        ck_assert_msg(seen[len] > expected / 2 && seen[len] < 2 * expected,
                      "%zu bytes: %zu times, not %zu", len, seen[len], expected);
    }
}
