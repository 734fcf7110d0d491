#include "elastic/decide.h"

#include "suites.h"

/* A row says how it differs from a 200 of 10000 bytes for which everything speaks. */
typedef struct {
    const char *label;
    const char *accept; /* NULL: gzip, br */
    const char *order;  /* initials of the codings, best first; NULL: gb */
    int status;         /* 0: 200 */
    bool off, unlisted, encoded, content_range, no_elastic, tls_compressed, no_transform, range;
    bool bypass, may_be_cached, head, force, stock;
    bool shared; /* a dictionary, whose coding is dcz */
    size_t removed;
    bool sized;         /* the size is `size`; where not it is 10000 */
    bool streamed;      /* the size is not known, what was seen is */
    uint64_t size;
    uint64_t min_size;  /* 0: 1329 */
    bool no_min_size;
    uint16_t q_behind;
    el_coding_t coding;
    el_reason_t reason;
    bool vary;
} row_t;

#define NO_FIELD "\n"

static el_facts_t facts_of(const row_t *row)
{
    const char *accept = row->accept != NULL ? row->accept : "gzip, br";
    const char *order = row->order != NULL ? row->order : "gb";
    el_facts_t f = {
        .resource =
            {
                .status = row->status != 0 ? row->status : 200,
                .enabled = !row->off,
                .type_listed = !row->unlisted,
                .has_encoding = row->encoded,
                .has_content_range = row->content_range,
                .no_transform = row->no_transform,
                .stock_order = row->stock,
            },
        .demand =
            {
                .head = row->head,
                .range_requested = row->range,
                .tls_compressed = row->tls_compressed,
                .env_refused = row->no_elastic,
                .force = row->force,
                .order_count = strlen(order),
                .env_removed = row->removed,
                .available = row->shared ? EL_DCZ : EL_IDENTITY,
                .q_behind = row->q_behind,
            },
        .moment =
            {
                .bypass = row->bypass,
                .may_be_cached = row->may_be_cached,
                .size_known = !row->streamed,
                .size = row->sized ? row->size : 10000,
                .min_size = row->no_min_size ? 0 : row->min_size != 0 ? row->min_size : 1329,
            },
    };

    el_accept_parse(strcmp(accept, NO_FIELD) == 0 ? NULL : accept, strlen(accept), &f.demand.accept);
    for (size_t i = 0; i < f.demand.order_count; i++) {
        f.demand.order[i] = order[i] == 'g' ? EL_GZIP : order[i] == 'b' ? EL_BR : EL_ZSTD;
    }
    return f;
}

#define IDENTITY(why, varies) .coding = EL_IDENTITY, .reason = EL_REASON_##why, .vary = (varies)
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
     IDENTITY(NOT_ACCEPTABLE, true)},
    {"a star is no dictionary", .accept = "*", .shared = true, CODED(GZIP)},
    {"a difference of a small body", .accept = "gzip, dcz", .shared = true, .sized = true,
     .size = 10, IDENTITY(SMALL, true)},
    {"zstd", .accept = "zstd", .order = "gbz", CODED(ZSTD)},
    {"an error page", .status = 404, CODED(GZIP)},
    {"a server error", .status = 500, CODED(GZIP)},

    /* each reason */
    {"off", .off = true, IDENTITY(OFF, false)},
    {"continue", .status = 100, IDENTITY(STATUS, false)},
    {"the last 1xx", .status = 199, IDENTITY(STATUS, false)},
    {"no content", .status = 204, IDENTITY(STATUS, false)},
    {"reset content", .status = 205, IDENTITY(STATUS, false)},
    {"203 has a body", .status = 203, CODED(GZIP)},
    {"not modified: the Vary of the 200", .status = 304, IDENTITY(STATUS, true)},
    {"partial content: the Vary of the 200", .status = 206, .content_range = true,
     IDENTITY(RANGE, true)},
    {"an encoding already", .encoded = true, IDENTITY(ENCODED, false)},
    {"another type", .unlisted = true, IDENTITY(TYPE, false)},
    {"no-elastic", .no_elastic = true, IDENTITY(ENV, false)},
    {"compression by TLS", .tls_compressed = true, IDENTITY(TLS_COMPRESSION, false)},
    {"no-transform", .no_transform = true, IDENTITY(NO_TRANSFORM, false)},
    {"a range is asked for", .range = true, IDENTITY(RANGE, true)},
    {"the environment took all", .order = "", .removed = 2, IDENTITY(ENV, true)},
    {"the environment took what the client asks for", .accept = "gzip", .order = "b", .removed = 1,
     IDENTITY(ENV, true)},
    {"the environment took the coding that is last in the table", .accept = "zstd", .removed = 1,
     IDENTITY(ENV, true)},
    {"the environment took one, the client asks for none", .accept = NO_FIELD, .order = "b",
     .removed = 1, IDENTITY(NOT_ACCEPTABLE, true)},
    {"the environment took one, the other serves", .order = "b", .removed = 1, CODED(BR)},
    {"no field", .accept = NO_FIELD, IDENTITY(NOT_ACCEPTABLE, true)},
    {"no coding that is enabled", .accept = "zstd, deflate", IDENTITY(NOT_ACCEPTABLE, true)},
    {"identity preferred", .accept = "gzip;q=0.5, identity", IDENTITY(NOT_ACCEPTABLE, true)},
    {"all refused", .accept = "*;q=0", IDENTITY(NOT_ACCEPTABLE, true)},
    {"no coding is enabled: nothing to vary", .order = "", IDENTITY(NOT_ACCEPTABLE, false)},
    {"a small body", .sized = true, .size = 1328, IDENTITY(SMALL, true)},
    {"a body of the minimum", .sized = true, .size = 1329, CODED(GZIP)},
    {"bypass", .bypass = true, IDENTITY(BYPASS, true)},
    {"a coding behind weighs more", .accept = "gzip;q=0.5, br", .order = "g", .q_behind = EL_Q_ONE,
     IDENTITY(NOT_ACCEPTABLE, true)},
    {"a coding behind weighs as much", .q_behind = EL_Q_ONE, CODED(GZIP)},
    {"HEAD is left to the better coding behind, too", .head = true, .accept = "gzip;q=0.5, br",
     .order = "g", .q_behind = EL_Q_ONE, IDENTITY(NOT_ACCEPTABLE, true)},
    {"HEAD says what GET would carry", .head = true, .coding = EL_GZIP, .reason = EL_REASON_HEAD,
     .vary = true},

    /* the stock modules' order: what they find out before Vary */
    {"stock: everything speaks for it", .stock = true, CODED(GZIP)},
    {"stock: a small body", .stock = true, .sized = true, .size = 1328, IDENTITY(SMALL, false)},
    {"stock: small to a client that takes none", .stock = true, .sized = true, .size = 1,
     .accept = NO_FIELD, IDENTITY(SMALL, false)},
    {"stock: the environment took all", .stock = true, .order = "", .removed = 1,
     IDENTITY(ENV, false)},
    {"stock: a part of a body", .stock = true, .status = 206, .content_range = true,
     IDENTITY(RANGE, false)},
    {"stock: a range that is asked for", .stock = true, .range = true, IDENTITY(RANGE, true)},
    {"stock: no field", .stock = true, .accept = NO_FIELD, IDENTITY(NOT_ACCEPTABLE, true)},
    {"stock: off comes first", .stock = true, .off = true, .sized = true, .size = 1,
     IDENTITY(OFF, false)},

    /* Vary of responses without a body of their own */
    {"304 where off", .status = 304, .off = true, IDENTITY(OFF, false)},
    {"304 of another type", .status = 304, .unlisted = true, IDENTITY(STATUS, false)},
    {"304 of an encoded body", .status = 304, .encoded = true, IDENTITY(STATUS, false)},
    {"304 with no-elastic", .status = 304, .no_elastic = true, IDENTITY(STATUS, false)},
    {"304 with TLS compression", .status = 304, .tls_compressed = true, IDENTITY(STATUS, false)},
    {"304 with no-transform", .status = 304, .no_transform = true, IDENTITY(STATUS, false)},
    {"304 without codings", .status = 304, .order = "", IDENTITY(STATUS, false)},
    {"304 whose codings the environment took", .status = 304, .order = "", .removed = 1,
     IDENTITY(STATUS, true)},
    {"304 to a client that takes none", .status = 304, .accept = NO_FIELD, IDENTITY(STATUS, true)},
    {"206 of another type", .status = 206, .content_range = true, .unlisted = true,
     IDENTITY(RANGE, false)},
    {"206 with no-transform", .status = 206, .content_range = true, .no_transform = true,
     IDENTITY(RANGE, false)},
    {"206 of an encoded body", .status = 206, .content_range = true, .encoded = true,
     IDENTITY(RANGE, false)},
    {"206 without codings", .status = 206, .content_range = true, .order = "",
     IDENTITY(RANGE, false)},
    {"a range where no coding is enabled", .range = true, .order = "", IDENTITY(RANGE, false)},

    /* the order of the tests */
    {"off before status", .off = true, .status = 204, IDENTITY(OFF, false)},
    {"status before Content-Range", .status = 204, .content_range = true, IDENTITY(STATUS, false)},
    {"Content-Range before encoding", .content_range = true, .encoded = true,
     IDENTITY(RANGE, false)},
    {"encoding before type", .encoded = true, .unlisted = true, IDENTITY(ENCODED, false)},
    {"type before environment", .unlisted = true, .no_elastic = true, IDENTITY(TYPE, false)},
    {"environment before TLS", .no_elastic = true, .tls_compressed = true, IDENTITY(ENV, false)},
    {"TLS before no-transform", .tls_compressed = true, .no_transform = true,
     IDENTITY(TLS_COMPRESSION, false)},
    {"no-transform before range", .no_transform = true, .range = true,
     IDENTITY(NO_TRANSFORM, false)},
    {"range before environment's order", .range = true, .order = "", .removed = 1,
     IDENTITY(RANGE, true)},
    {"range before acceptance", .range = true, .accept = NO_FIELD, IDENTITY(RANGE, true)},
    {"acceptance before size", .accept = NO_FIELD, .sized = true, .size = 1,
     IDENTITY(NOT_ACCEPTABLE, true)},
    {"a difference in a bypass", .accept = "gzip, dcz", .shared = true, .bypass = true,
     IDENTITY(BYPASS, true)},
    {"bypass waits for the store", .bypass = true, .may_be_cached = true, CODED(GZIP)},
    {"size before bypass", .sized = true, .size = 1, .bypass = true, IDENTITY(SMALL, true)},
    {"bypass before HEAD", .bypass = true, .head = true, IDENTITY(BYPASS, true)},
    {"size before HEAD", .sized = true, .size = 1, .head = true, IDENTITY(SMALL, true)},

    /* sizes */
    {"an empty body", .sized = true, .size = 0, IDENTITY(SMALL, true)},
    {"an empty body where the minimum is one", .sized = true, .size = 0, .min_size = 1,
     IDENTITY(SMALL, true)},
    {"one byte where the minimum is one", .sized = true, .size = 1, .min_size = 1, CODED(GZIP)},
    {"an empty body where there is no minimum", .sized = true, .size = 0, .no_min_size = true,
     CODED(GZIP)},
    {"few bytes of an unknown size", .streamed = true, .sized = true, .size = 5, CODED(GZIP)},
    {"beyond 32 bits", .sized = true, .size = UINT64_C(1) << 32, CODED(GZIP)},

    /* a client that refuses identity */
    {"identity refused: however small", .accept = "gzip, identity;q=0", .sized = true, .size = 1,
     CODED(GZIP)},
    {"identity refused: but not empty", .accept = "gzip, identity;q=0", .sized = true, .size = 0,
     IDENTITY(SMALL, true)},
    {"identity refused by the star", .accept = "br, *;q=0", .sized = true, .size = 1, CODED(BR)},
    {"identity refused: however busy", .accept = "gzip, identity;q=0", .bypass = true,
     CODED(GZIP)},
    {"identity refused, and every coding", .accept = "zstd, *;q=0", IDENTITY(NOT_ACCEPTABLE, true)},
    {"identity disliked is not refused", .accept = "gzip, identity;q=0.001", .sized = true,
     .size = 1, IDENTITY(SMALL, true)},

    /* force-gzip */
    {"forced: no field", .accept = NO_FIELD, .force = true, CODED(GZIP)},
    {"forced: refused", .accept = "gzip;q=0", .force = true, CODED(GZIP)},
    {"forced: what is acceptable goes before", .accept = "br", .force = true, CODED(BR)},
    {"forced: gzip last in order", .accept = NO_FIELD, .order = "zbg", .force = true, CODED(GZIP)},
    {"forced: gzip is not enabled", .accept = NO_FIELD, .order = "b", .force = true,
     IDENTITY(NOT_ACCEPTABLE, true)},
    {"forced: size still counts", .accept = NO_FIELD, .force = true, .sized = true, .size = 1,
     IDENTITY(SMALL, true)},
};

CASE(decide);

EACH(decide, facts_give_a_decision, rows)
{
    el_facts_t facts = facts_of(&*row);
    el_decision_t got = el_decide(&facts);

    row_eq(got.reason, row->reason);
    row_eq(got.coding, row->coding);
    row_eq(got.vary, row->vary);
}

TEST(decide, what_is_behind_the_order_is_not_read)
{
    static const row_t forced = {.accept = NO_FIELD, .order = "b", .force = true};
    el_facts_t facts = facts_of(&forced);

    facts.demand.order[1] = EL_GZIP;
    ck_assert_int_eq(el_decide(&facts).coding, EL_IDENTITY);
}

static const char *const notes[EL_REASON_COUNT] = {
    [EL_REASON_NONE] = "",
    [EL_REASON_OFF] = "off",
    [EL_REASON_TYPE] = "type",
    [EL_REASON_SMALL] = "small",
    [EL_REASON_ENCODED] = "encoded",
    [EL_REASON_NOT_ACCEPTABLE] = "not-acceptable",
    [EL_REASON_ENV] = "env",
    [EL_REASON_NO_TRANSFORM] = "no-transform",
    [EL_REASON_RANGE] = "range",
    [EL_REASON_STATUS] = "status",
    [EL_REASON_HEAD] = "head",
    [EL_REASON_BYPASS] = "bypass",
    [EL_REASON_NOT_SMALLER] = "not-smaller",
    [EL_REASON_MEMORY] = "memory",
    [EL_REASON_TLS_COMPRESSION] = "tls-compression",
    [EL_REASON_ERROR] = "error",
};

TEST(decide, reasons_have_their_names_and_sentences)
{
    for (int i = 0; i < EL_REASON_COUNT; i++) {
        ck_assert_str_eq(el_reason_note((el_reason_t)i), notes[i]);
        ck_assert_uint_gt(strlen(el_reason_text((el_reason_t)i)), 5);
        ck_assert_str_ne(el_reason_text((el_reason_t)i), notes[i]);
    }
}
