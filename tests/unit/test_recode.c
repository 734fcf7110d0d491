/* Encoding encoded bodies again. */
#include "encodings.h"

CASE(recode, .set_up = encodings_set_up, .tear_down = encodings_tear_down);

#define LENGTH 50000

/* Encodes text in `coding` at a low level. */
static el_encoded_t encode(el_coding_t coding, size_t length)
{
    el_setup_t low = {.level = 1, .size_hint = length};
    el_plan_t plan = el_engine_plan(coding, &low, true);

    body_fill(BODY_TEXT, body, length);
    return (el_encoded_t){coding, encoded, encode_whole(&plan, length, el_engine_bound(length)),
                          length};
}

static el_plan_t best(el_coding_t coding, size_t length)
{
    el_setup_t high = {.level = el_engine_top(coding), .size_hint = length};

    return el_engine_plan(coding, &high, true);
}

static void assert_recoded(el_coding_t from, el_coding_t to, size_t length)
{
    el_plan_t plan = best(to, length);
    el_encoded_t some = encode(from, length);
    size_t nbytes;
    uint8_t *made = el_recode(&some, &plan, &nbytes);

    ck_assert_ptr_nonnull(made);
    ck_assert(nbytes < some.nbytes || length == 1);
    memcpy(encoded, made, nbytes);
    assert_back(&plan, length, nbytes, "recoded");
    el_pool_buffer_release(made);
}

TEST(recode, a_body_becomes_smaller_in_its_coding_and_in_others)
{
    for (el_coding_t from = EL_GZIP; from < EL_CODINGS; from++) {
        for (el_coding_t to = EL_GZIP; to < EL_CODINGS; to++) {
            if (el_engine_for(from) && el_engine_for(to)) {
                assert_recoded(from, to, LENGTH);
            }
        }
    }
    assert_recoded(EL_GZIP, EL_GZIP, 1);
}

static const struct {
    const char *label;
    int length, cut, more;
    uint8_t flip;
} rows[] = {
    {"the body is longer than it says", -1, 0, 0, 0},
    {"shorter", 1, 0, 0, 0},
    {"bytes are missing", 0, 1, 0, 0},
    {"all bytes are", 0, LENGTH, 0, 0},
    {"bytes follow", 0, 0, 1, 0},
    {"a byte is wrong", 0, 0, 0, 0x55},
};
EACH(recode, what_is_not_what_it_says_is_not_encoded, rows)
{
    el_plan_t plan = best(EL_GZIP, LENGTH);
    el_encoded_t some = encode(EL_GZIP, LENGTH);
    size_t nbytes;

    some.length += (size_t)row->length;
    some.nbytes -= (size_t)row->cut < some.nbytes ? (size_t)row->cut : some.nbytes;
    encoded[some.nbytes] = 1;
    some.nbytes += (size_t)row->more;
    encoded[some.nbytes / 2] ^= row->flip;
    row_assert(!el_recode(&some, &plan, &nbytes));
}
