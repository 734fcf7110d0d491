#include "elastic/decide.h"

#include "suites.h"

/* A row says how it differs from a 200 of 10000 bytes for which everything speaks. */
typedef struct {
    const char *label;
    const char *accept; /* NULL: gzip, br */
    const char *order;  /* initials of the codings, best first; NULL: gb */
    int status;         /* 0: 200 */
    bool off, unlisted, encoded, content_range, no_elastic, tls_compressed, no_transform, range;
    bool no_field, bypass, may_be_cached, head, force, stock;
    bool shared; /* a dictionary, whose coding is dcz */
    bool empty, no_min_size, streamed; /* streamed: of the size only what was seen is known */
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
    {"everything speaks for it", CODED(GZIP)},
    {"the server's order", .order = "bg", CODED(BR)},
    {"the client's wish", .accept = "gzip;q=0.5, br", CODED(BR)},
    {"a dictionary that is shared", .accept = "gzip, br, dcz", .shared = true, CODED(DCZ)},
    {"a dictionary alone", .accept = "dcz", .shared = true, CODED(DCZ)},
    {"a dictionary that the client has alone", .accept = "gzip, dcz", CODED(GZIP)},
    {"a difference that is not asked for", .accept = "gzip", .shared = true, CODED(GZIP)},
    {"a difference that is refused", .accept = "gzip, dcz;q=0", .shared = true, CODED(GZIP)},
    {"a difference that is liked less", .accept = "gzip, dcz;q=0.9", .shared = true, CODED(GZIP)},
    {"identity is liked more than a difference", .accept = "dcz;q=0.9, identity", .shared = true,
     SKIP(NOT_ACCEPTABLE, true)},
    {"a star is no dictionary", .accept = "*", .shared = true, CODED(GZIP)},
    {"a difference of a small body", .accept = "gzip, dcz", .shared = true, .size = 10,
     SKIP(SMALL, true)},
    {"zstd", .accept = "zstd", .order = "gbz", CODED(ZSTD)},
    {"an error page", .status = 404, CODED(GZIP)},
    /* each reason */
    {"off", .off = true, SKIP(OFF, false)},
    {"continue", .status = 100, SKIP(STATUS, false)},
    {"the last 1xx", .status = 199, SKIP(STATUS, false)},
    {"no content", .status = 204, SKIP(STATUS, false)},
    {"reset content", .status = 205, SKIP(STATUS, false)},
    {"203 has a body", .status = 203, CODED(GZIP)},
    {"not modified: the Vary of the 200", .status = 304, SKIP(STATUS, true)},
    {"partial content: the Vary of the 200", .status = 206, .content_range = true,
     SKIP(RANGE, true)},
    {"an encoding already", .encoded = true, SKIP(ENCODED, false)},
    {"another type", .unlisted = true, SKIP(TYPE, false)},
    {"no-elastic", .no_elastic = true, SKIP(ENV, false)},
    {"compression by TLS", .tls_compressed = true, SKIP(TLS_COMPRESSION, false)},
    {"no-transform", .no_transform = true, SKIP(NO_TRANSFORM, false)},
    {"a range is asked for", .range = true, SKIP(RANGE, true)},
    {"the environment took all", .order = "", .removed = 2, SKIP(ENV, true)},
    {"the environment took what the client asks for", .accept = "gzip", .order = "b", .removed = 1,
     SKIP(ENV, true)},
    {"the environment took the coding that is last in the table", .accept = "zstd", .removed = 1,
     SKIP(ENV, true)},
    {"the environment took one, the client asks for none", .no_field = true, .order = "b",
     .removed = 1, SKIP(NOT_ACCEPTABLE, true)},
    {"the environment took one, the other serves", .order = "b", .removed = 1, CODED(BR)},
    {"no field", .no_field = true, SKIP(NOT_ACCEPTABLE, true)},
    {"no coding that is enabled", .accept = "zstd, deflate", SKIP(NOT_ACCEPTABLE, true)},
    {"identity preferred", .accept = "gzip;q=0.5, identity", SKIP(NOT_ACCEPTABLE, true)},
    {"all refused", .accept = "*;q=0", SKIP(NOT_ACCEPTABLE, true)},
    {"no coding is enabled: nothing to vary", .order = "", SKIP(NOT_ACCEPTABLE, false)},
    {"a small body", .size = 1328, SKIP(SMALL, true)},
    {"a body of the minimum", .size = 1329, CODED(GZIP)},
    {"bypass", .bypass = true, SKIP(BYPASS, true)},
    {"a coding behind weighs more", .accept = "gzip;q=0.5, br", .order = "g", .q_behind = EL_Q_ONE,
     SKIP(NOT_ACCEPTABLE, true)},
    {"a coding behind weighs as much", .q_behind = EL_Q_ONE, CODED(GZIP)},
    {"HEAD is left to the better coding behind, too", .head = true, .accept = "gzip;q=0.5, br",
     .order = "g", .q_behind = EL_Q_ONE, SKIP(NOT_ACCEPTABLE, true)},
    {"HEAD says what GET would carry", .head = true, .coding = EL_GZIP, .reason = EL_REASON_HEAD,
     .vary = true},
    /* the stock modules' order: what they find out before Vary */
    {"stock: everything speaks for it", .stock = true, CODED(GZIP)},
    {"stock: a small body", .stock = true, .size = 1328, SKIP(SMALL, false)},
    {"stock: the environment took all", .stock = true, .order = "", .removed = 1, SKIP(ENV, false)},
    {"stock: a part of a body", .stock = true, .status = 206, .content_range = true,
     SKIP(RANGE, false)},
    {"stock: a range that is asked for", .stock = true, .range = true, SKIP(RANGE, true)},
    {"stock: no field", .stock = true, .no_field = true, SKIP(NOT_ACCEPTABLE, true)},
    {"stock: off comes first", .stock = true, .off = true, .size = 1, SKIP(OFF, false)},
    /* Vary of responses without a body of their own */
    {"304 where off", .status = 304, .off = true, SKIP(OFF, false)},
    {"304 of another type", .status = 304, .unlisted = true, SKIP(STATUS, false)},
    {"304 of an encoded body", .status = 304, .encoded = true, SKIP(STATUS, false)},
    {"304 with no-elastic", .status = 304, .no_elastic = true, SKIP(STATUS, false)},
    {"304 with TLS compression", .status = 304, .tls_compressed = true, SKIP(STATUS, false)},
    {"304 with no-transform", .status = 304, .no_transform = true, SKIP(STATUS, false)},
    {"304 without codings", .status = 304, .order = "", SKIP(STATUS, false)},
    {"304 whose codings the environment took", .status = 304, .order = "", .removed = 1,
     SKIP(STATUS, true)},
    {"304 to a client that takes none", .status = 304, .no_field = true, SKIP(STATUS, true)},
    {"206 of another type", .status = 206, .content_range = true, .unlisted = true,
     SKIP(RANGE, false)},
    {"206 with no-transform", .status = 206, .content_range = true, .no_transform = true,
     SKIP(RANGE, false)},
    {"206 without codings", .status = 206, .content_range = true, .order = "", SKIP(RANGE, false)},
    {"a range where no coding is enabled", .range = true, .order = "", SKIP(RANGE, false)},
    /* the order of the tests */
    {"off before status", .off = true, .status = 204, SKIP(OFF, false)},
    {"status before Content-Range", .status = 204, .content_range = true, SKIP(STATUS, false)},
    {"Content-Range before encoding", .content_range = true, .encoded = true, SKIP(RANGE, false)},
    {"encoding before type", .encoded = true, .unlisted = true, SKIP(ENCODED, false)},
    {"type before environment", .unlisted = true, .no_elastic = true, SKIP(TYPE, false)},
    {"environment before TLS", .no_elastic = true, .tls_compressed = true, SKIP(ENV, false)},
    {"TLS before no-transform", .tls_compressed = true, .no_transform = true,
     SKIP(TLS_COMPRESSION, false)},
    {"no-transform before range", .no_transform = true, .range = true, SKIP(NO_TRANSFORM, false)},
    {"range before environment's order", .range = true, .order = "", .removed = 1,
     SKIP(RANGE, true)},
    {"acceptance before size", .no_field = true, .size = 1, SKIP(NOT_ACCEPTABLE, true)},
    {"a difference in a bypass", .accept = "gzip, dcz", .shared = true, .bypass = true,
     SKIP(BYPASS, true)},
    {"bypass waits for the store", .bypass = true, .may_be_cached = true, CODED(GZIP)},
    {"size before bypass", .size = 1, .bypass = true, SKIP(SMALL, true)},
    {"size before HEAD", .size = 1, .head = true, SKIP(SMALL, true)},
    /* sizes */
    {"an empty body", .empty = true, SKIP(SMALL, true)},
    {"an empty body where the minimum is one", .empty = true, .min_size = 1, SKIP(SMALL, true)},
    {"one byte where the minimum is one", .size = 1, .min_size = 1, CODED(GZIP)},
    {"an empty body where there is no minimum", .empty = true, .no_min_size = true, CODED(GZIP)},
    {"few bytes of an unknown size", .streamed = true, .size = 5, CODED(GZIP)},
    {"beyond 32 bits", .size = UINT64_C(1) << 32, CODED(GZIP)},
    /* a client that refuses identity */
    {"identity refused: however small", .accept = "gzip, identity;q=0", .size = 1, CODED(GZIP)},
    {"identity refused: but not empty", .accept = "gzip, identity;q=0", .empty = true,
     SKIP(SMALL, true)},
    {"identity refused by the star", .accept = "br, *;q=0", .size = 1, CODED(BR)},
    {"identity refused: however busy", .accept = "gzip, identity;q=0", .bypass = true, CODED(GZIP)},
    {"identity refused, and every coding", .accept = "zstd, *;q=0", SKIP(NOT_ACCEPTABLE, true)},
    {"identity disliked is not refused", .accept = "gzip, identity;q=0.001", .size = 1,
     SKIP(SMALL, true)},
    /* force-gzip */
    {"forced: no field", .no_field = true, .force = true, CODED(GZIP)},
    {"forced: refused", .accept = "gzip;q=0", .force = true, CODED(GZIP)},
    {"forced: what is acceptable goes before", .accept = "br", .force = true, CODED(BR)},
    {"forced: gzip last in order", .no_field = true, .order = "zbg", .force = true, CODED(GZIP)},
    {"forced: gzip is not enabled", .no_field = true, .order = "b", .force = true,
     SKIP(NOT_ACCEPTABLE, true)},
    {"forced: size still counts", .no_field = true, .force = true, .size = 1, SKIP(SMALL, true)},
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

/* The names are in tests against httpd. */
TEST(decide, reasons_have_their_names_and_sentences)
{
    for (el_reason_t reason = EL_REASON_NONE + 1; reason < EL_REASON_COUNT; reason++) {
        ck_assert_uint_gt(strlen(el_reason_note(reason)), 1);
        ck_assert_uint_gt(strlen(el_reason_text(reason)), strlen(el_reason_note(reason)));
    }
}
