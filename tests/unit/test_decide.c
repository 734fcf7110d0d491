#include "elastic/decide.h"
#include "suites.h"

/* A row is a 200 of 10000 bytes that would be compressed, with these differences. */
typedef struct {
    const char *label;
    const char *accept; /* NULL: gzip, br */
    const char *order;  /* initials of the codings, best first; NULL: gb */
    int status;         /* 0: 200 */
    bool off, unlisted, encoded, content_range, no_elastic, tls_compressed, no_transform, range;
    bool no_field, bypass, may_be_cached, head, force, stock;
    bool shared; /* client and server share a dictionary, for dcz */
    bool empty, no_min_size, streamed; /* streamed: only the bytes seen so far are known */
    size_t removed;
    uint64_t size;     /* 0: 10000 */
    uint64_t min_size; /* 0: 1329 */
    uint16_t q_behind;
    el_coding_t coding;
    el_reason_t reason;
    bool vary;
} row_t;

static el_facts_t facts_of(const row_t *row)
{
    const char *accept = row->no_field ? NULL : row->accept ? row->accept : "gzip, br";
    const char *order = row->order ? row->order : "gb";
    el_facts_t f = {
        .resource = {.status = row->status ? row->status : 200, .enabled = !row->off,
                     .type_listed = !row->unlisted, .has_encoding = row->encoded,
                     .has_content_range = row->content_range, .no_transform = row->no_transform,
                     .stock_order = row->stock},
        .demand = {.head = row->head, .range_requested = row->range,
                   .tls_compressed = row->tls_compressed, .env_refused = row->no_elastic,
                   .force = row->force, .order_count = strlen(order), .env_removed = row->removed,
                   .available = row->shared ? EL_DCZ : EL_IDENTITY, .q_behind = row->q_behind},
        .moment = {.bypass = row->bypass, .may_be_cached = row->may_be_cached,
                   .size_known = !row->streamed,
                   .size = row->size || row->empty ? row->size : 10000,
                   .min_size = row->min_size || row->no_min_size ? row->min_size : 1329},
    };

    el_accept_parse(accept, accept ? strlen(accept) : 0, &f.demand.accept);
    for (size_t i = 0; i < f.demand.order_count; i++) {
        f.demand.order[i] = order[i] == 'g' ? EL_GZIP : order[i] == 'b' ? EL_BR : EL_ZSTD;
    }
    return f;
}

#define SKIP(why, varies) .coding = EL_IDENTITY, .reason = EL_REASON_##why, .vary = (varies)
#define CODED(which) .coding = EL_##which, .reason = EL_REASON_NONE, .vary = true

static const row_t rows[] = {
    ROW(CODED(GZIP)), ROW(.order = "bg", CODED(BR)), ROW(.accept = "gzip;q=0.5, br", CODED(BR)),
    ROW(.accept = "zstd", .order = "gbz", CODED(ZSTD)), ROW(.status = 404, CODED(GZIP)),
    /* a shared dictionary */
    ROW(.accept = "gzip, br, dcz", .shared = true, CODED(DCZ)),
    ROW(.accept = "dcz", .shared = true, CODED(DCZ)), ROW(.accept = "gzip, dcz", CODED(GZIP)),
    ROW(.accept = "gzip", .shared = true, CODED(GZIP)),
    ROW(.accept = "gzip, dcz;q=0", .shared = true, CODED(GZIP)),
    ROW(.accept = "gzip, dcz;q=0.9", .shared = true, CODED(GZIP)),
    ROW(.accept = "dcz;q=0.9, identity", .shared = true, SKIP(NOT_ACCEPTABLE, true)),
    ROW(.accept = "*", .shared = true, CODED(GZIP)),
    ROW(.accept = "gzip, dcz", .shared = true, .size = 10, SKIP(SMALL, true)),
    /* each reason */
    ROW(.off = true, SKIP(OFF, false)), ROW(.status = 100, SKIP(STATUS, false)),
    ROW(.status = 199, SKIP(STATUS, false)), ROW(.status = 204, SKIP(STATUS, false)),
    ROW(.status = 205, SKIP(STATUS, false)), ROW(.status = 203, CODED(GZIP)),
    ROW(.status = 304, SKIP(STATUS, true)),
    ROW(.status = 206, .content_range = true, SKIP(RANGE, true)),
    ROW(.encoded = true, SKIP(ENCODED, false)), ROW(.unlisted = true, SKIP(TYPE, false)),
    ROW(.no_elastic = true, SKIP(ENV, false)),
    ROW(.tls_compressed = true, SKIP(TLS_COMPRESSION, false)),
    ROW(.no_transform = true, SKIP(NO_TRANSFORM, false)), ROW(.range = true, SKIP(RANGE, true)),
    /* codings removed by environment variables */
    ROW(.order = "", .removed = 2, SKIP(ENV, true)),
    ROW(.no_field = true, .order = "", .removed = 2, SKIP(ENV, true)),
    ROW(.accept = "gzip", .order = "b", .removed = 1, SKIP(ENV, true)),
    ROW(.accept = "zstd", .removed = 1, SKIP(ENV, true)),
    ROW(.no_field = true, .order = "b", .removed = 1, SKIP(NOT_ACCEPTABLE, true)),
    ROW(.order = "b", .removed = 1, CODED(BR)), ROW(.no_field = true, SKIP(NOT_ACCEPTABLE, true)),
    ROW(.accept = "zstd, deflate", SKIP(NOT_ACCEPTABLE, true)),
    ROW(.accept = "gzip;q=0.5, identity", SKIP(NOT_ACCEPTABLE, true)),
    ROW(.accept = "*;q=0", SKIP(NOT_ACCEPTABLE, true)),
    ROW(.order = "", SKIP(NOT_ACCEPTABLE, false)), ROW(.size = 1328, SKIP(SMALL, true)),
    ROW(.size = 1329, CODED(GZIP)), ROW(.bypass = true, SKIP(BYPASS, true)),
    /* a later filter's coding of higher or equal weight */
    ROW(.accept = "gzip;q=0.5, br", .order = "g", .q_behind = EL_Q_ONE, SKIP(NOT_ACCEPTABLE, true)),
    ROW(.q_behind = EL_Q_ONE, CODED(GZIP)),
    ROW(.head = true, .accept = "gzip;q=0.5, br", .order = "g", .q_behind = EL_Q_ONE,
        SKIP(NOT_ACCEPTABLE, true)),
    ROW(.head = true, .coding = EL_GZIP, .reason = EL_REASON_HEAD, .vary = true),
    /* the stock modules' order: reasons found before Vary */
    ROW(.stock = true, CODED(GZIP)), ROW(.stock = true, .size = 1328, SKIP(SMALL, false)),
    ROW(.stock = true, .order = "", .removed = 1, SKIP(ENV, false)),
    ROW(.stock = true, .order = "", SKIP(NOT_ACCEPTABLE, false)),
    ROW(.stock = true, .order = "b", .removed = 1, CODED(BR)),
    ROW(.stock = true, .unlisted = true, SKIP(TYPE, false)),
    ROW(.stock = true, .encoded = true, .size = 1, SKIP(ENCODED, false)),
    ROW(.stock = true, .status = 206, .content_range = true, SKIP(RANGE, false)),
    ROW(.stock = true, .range = true, SKIP(RANGE, true)),
    ROW(.stock = true, .no_field = true, SKIP(NOT_ACCEPTABLE, true)),
    ROW(.stock = true, .off = true, .size = 1, SKIP(OFF, false)),
    /* Vary of responses without a body of their own */
    ROW(.status = 304, .off = true, SKIP(OFF, false)),
    ROW(.status = 304, .unlisted = true, SKIP(STATUS, false)),
    ROW(.status = 304, .encoded = true, SKIP(STATUS, false)),
    ROW(.status = 304, .no_elastic = true, SKIP(STATUS, false)),
    ROW(.status = 304, .tls_compressed = true, SKIP(STATUS, false)),
    ROW(.status = 304, .no_transform = true, SKIP(STATUS, false)),
    ROW(.status = 304, .order = "", SKIP(STATUS, false)),
    ROW(.status = 304, .order = "", .removed = 1, SKIP(STATUS, true)),
    ROW(.status = 304, .no_field = true, SKIP(STATUS, true)),
    ROW(.status = 206, .content_range = true, .unlisted = true, SKIP(RANGE, false)),
    ROW(.status = 206, .content_range = true, .no_transform = true, SKIP(RANGE, false)),
    ROW(.status = 206, .content_range = true, .order = "", SKIP(RANGE, false)),
    ROW(.range = true, .order = "", SKIP(RANGE, false)),
    /* the order of the tests */
    ROW(.off = true, .status = 204, SKIP(OFF, false)),
    ROW(.status = 204, .content_range = true, SKIP(STATUS, false)),
    ROW(.content_range = true, .encoded = true, SKIP(RANGE, false)),
    ROW(.encoded = true, .unlisted = true, SKIP(ENCODED, false)),
    ROW(.unlisted = true, .no_elastic = true, SKIP(TYPE, false)),
    ROW(.no_elastic = true, .tls_compressed = true, SKIP(ENV, false)),
    ROW(.tls_compressed = true, .no_transform = true, SKIP(TLS_COMPRESSION, false)),
    ROW(.no_transform = true, .range = true, SKIP(NO_TRANSFORM, false)),
    ROW(.range = true, .order = "", .removed = 1, SKIP(RANGE, true)),
    ROW(.no_field = true, .size = 1, SKIP(NOT_ACCEPTABLE, true)),
    ROW(.accept = "gzip, dcz", .shared = true, .bypass = true, SKIP(BYPASS, true)),
    ROW(.bypass = true, .may_be_cached = true, CODED(GZIP)),
    ROW(.size = 1, .bypass = true, SKIP(SMALL, true)),
    ROW(.size = 1, .head = true, SKIP(SMALL, true)),
    /* sizes */
    ROW(.empty = true, SKIP(SMALL, true)), ROW(.empty = true, .min_size = 1, SKIP(SMALL, true)),
    ROW(.size = 1, .min_size = 1, CODED(GZIP)),
    ROW(.empty = true, .no_min_size = true, CODED(GZIP)),
    ROW(.streamed = true, .size = 5, CODED(GZIP)), ROW(.size = UINT64_C(1) << 32, CODED(GZIP)),
    /* a client that refuses identity */
    ROW(.accept = "gzip, identity;q=0", .size = 1, CODED(GZIP)),
    ROW(.accept = "gzip, identity;q=0", .empty = true, SKIP(SMALL, true)),
    ROW(.accept = "br, *;q=0", .size = 1, CODED(BR)),
    ROW(.accept = "gzip, identity;q=0", .bypass = true, CODED(GZIP)),
    ROW(.accept = "zstd, *;q=0", SKIP(NOT_ACCEPTABLE, true)),
    ROW(.accept = "gzip, identity;q=0.001", .size = 1, SKIP(SMALL, true)),
    /* force-gzip */
    ROW(.no_field = true, .force = true, CODED(GZIP)),
    ROW(.accept = "gzip;q=0", .force = true, CODED(GZIP)),
    ROW(.accept = "br", .force = true, CODED(BR)),
    ROW(.no_field = true, .order = "zbg", .force = true, CODED(GZIP)),
    ROW(.no_field = true, .order = "b", .force = true, SKIP(NOT_ACCEPTABLE, true)),
    ROW(.no_field = true, .force = true, .size = 1, SKIP(SMALL, true)),
};

CASE(decide);

EACH(decide, facts_give_a_decision, rows)
{
    el_facts_t facts = facts_of(row);
    el_decision_t got = el_decide(&facts);

    row_eq(got.reason, row->reason);
    row_eq(got.coding, row->coding);
    row_eq(got.vary, row->vary);
}

TEST(decide, what_is_behind_the_order_is_not_read)
{
    static const row_t forced = {.no_field = true, .order = "b", .force = true};
    el_facts_t facts = facts_of(&forced);

    facts.demand.order[1] = EL_GZIP;
    ck_assert_int_eq(el_decide(&facts).coding, EL_IDENTITY);
}

/* Tests against httpd check the names. */
TEST(decide, reasons_have_their_names_and_sentences)
{
    for (el_reason_t reason = EL_REASON_NONE + 1; reason < EL_REASON_COUNT; reason++) {
        ck_assert_uint_gt(strlen(el_reasons[reason].note), 1);
        ck_assert_uint_gt(strlen(el_reasons[reason].text), strlen(el_reasons[reason].note));
    }
}

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
