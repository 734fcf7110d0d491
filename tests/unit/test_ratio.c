#include "elastic/dictionary.h"
#include "suites.h"

#define HOUR 3600

static el_ratios_t ratios;

CASE(ratio, ZEROED(ratios));

static void update(int times, uint32_t key, uint64_t out, uint32_t now)
{
    for (int i = 0; i < times; i++) {
        el_ratio_update(&ratios, key, 10000, out, now);
    }
}

/* The mean at 1000 s, of at least one body. */
static uint32_t mean(uint32_t key)
{
    return el_ratio_mean(&ratios, key, 1, 1000);
}

TEST(ratio, a_mean_is_of_as_many_bodies_as_are_wanted)
{
    ck_assert_uint_eq(el_ratio_mean(&ratios, 7, 0, 1000), 0);
    update(1, 7, 100, 1000);
    ck_assert(mean(7) == 100 && mean(8) == 0 && mean(0) == 0);
    ck_assert_uint_eq(el_ratio_mean(&ratios, 7, 2, 1000), 0);
    update(1, 7, 120, 1000);
    ck_assert_uint_eq(el_ratio_mean(&ratios, 7, 2, 1000), 110);
}

TEST(ratio, a_key_does_not_change_another)
{
    const uint32_t same_place = 7 + (1u << 8);

    update(64, 7, 10000, 1000);
    ck_assert(mean(8) == 0 && mean(same_place) == 0);
    update(64, same_place, 2000, 1000);
    ck_assert(mean(7) == 10000 && mean(same_place) == 2000);
}

/* Measurements after 64 bodies. */
static const struct {
    const char *label;
    uint64_t before;
    int times;
    uint64_t out;
    uint32_t least, most;
} changes[] = {
    {"a change that lasts is followed", 10000, 10, 2500, 0, 9500},
    {"to its end", 10000, 1000, 2500, 0, 2700},
    {"one body changes little", 10000, 1, 1, 9900, 10000},
    {"a huge one as well", 9300, 1, 1000000000, 9300, 9500},
};
EACH(ratio, the_mean_follows, changes)
{
    update(64, 7, row->before, 1000);
    update(row->times, 7, row->out, 1000);
    row_assert(mean(7) >= row->least && mean(7) <= row->most);
}

TEST(ratio, old_measurements_do_not_count)
{
    update(64, 7, 10000, 1000);
    ck_assert_uint_eq(el_ratio_mean(&ratios, 7, 8, 1000 + HOUR / 2), 10000);
    ck_assert_uint_eq(el_ratio_mean(&ratios, 7, 8, 1000 + HOUR), 0);
    /* Some weight is left, so half of the bodies suffice. */
    update(4, 7, 10000, 1000 + HOUR);
    ck_assert_uint_eq(el_ratio_mean(&ratios, 7, 8, 1000 + HOUR), 10000);
    update(1, 8, 10000, 1000);
    ck_assert_uint_eq(el_ratio_mean(&ratios, 8, 1, 1000 + HOUR), 0);
    /* Another process's clock may be behind. */
    update(64, 9, 10000, 1600);
    ck_assert_uint_eq(el_ratio_mean(&ratios, 9, 8, 1600 - 3 * 16), 10000);
}

/* Pages are often numbered, and each has a ratio of each kind. */
TEST(ratio, keys_of_numbered_pages_do_not_meet)
{
    enum { KINDS = 3, PAGES = 200 };
    uint32_t keys[KINDS * PAGES];
    char page[32];

    for (unsigned i = 0; i < KINDS * PAGES; i++) {
        snprintf(page, sizeof(page), "/list?page=%u", i % PAGES);
        keys[i] = el_ratio_key("https://a.example", i / PAGES, page);
        ck_assert_uint_ne(keys[i], 0);
        for (unsigned j = 0; j < i; j++) {
            ck_assert_uint_ne(keys[i], keys[j]);
        }
    }
    ck_assert_uint_ne(el_ratio_key("https://b.example", 0, "/list?page=0"), keys[0]);
}

TEST(ratio, small_bodies_and_those_without_a_key_do_not_count)
{
    for (int i = 0; i < 64; i++) {
        el_ratio_update(&ratios, 7, EL_RATIO_LEAST - 1, 2000, 1000);
    }
    update(64, 0, 10000, 1000);
    ck_assert(mean(7) == 0 && mean(0) == 0);
}

TEST(ratio, a_full_place_replaces_the_key_with_the_least_weight)
{
    uint32_t key = 5;

    for (unsigned way = 0; way < EL_RATIO_WAYS; way++) {
        update(way == 1 ? 20 : 40, key + (way << 8), 10000, 1000);
    }
    update(10, key + (EL_RATIO_WAYS << 8), 10000, 1000);
    for (unsigned way = 0; way <= EL_RATIO_WAYS; way++) {
        ck_assert_uint_eq(mean(key + (way << 8)), way == 1 ? 0 : 10000);
    }
}
