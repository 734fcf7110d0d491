/* Repeated bodies, paths with repeated bodies, and popular encodings. */
#include "elastic/entry.h"
#include "suites.h"

static el_doorkeeper_t door;

CASE(bodies, ZEROED(door));

/* Notes numbered bodies. Returns how many were known. */
static unsigned note(uint64_t first, uint64_t end, uint32_t most)
{
    unsigned known = 0;

    for (uint64_t number = first; number < end; number++) {
        uint64_t seed = number;
        uint8_t hash[16];

        random_bytes(&seed, hash, sizeof(hash));
        known += el_doorkeeper_note(&door, hash, most);
    }
    return known;
}

TEST(bodies, what_was_seen_is_known_until_a_reset)
{
    ck_assert_uint_eq(note(0, 1000, EL_DOORKEEPER_MOST), 0);
    ck_assert_uint_eq(note(0, 1000, EL_DOORKEEPER_MOST), 1000);
    el_doorkeeper_reset(&door);
    ck_assert_uint_eq(note(1, 2, EL_DOORKEEPER_MOST), 0);
}

TEST(bodies, few_that_are_new_are_taken_for_known)
{
    ck_assert_uint_lt(note(0, 2 * EL_DOORKEEPER_MOST, EL_DOORKEEPER_MOST),
                      2 * EL_DOORKEEPER_MOST / 50);
}

static const uint32_t memories[] = {1000, EL_DOORKEEPER_MOST};

/* Nearly all are known after one filter is full, nearly none after two. */
EACH(bodies, what_is_long_ago_is_forgotten, memories)
{
    note(0, 100, *row);
    note(1000, 1000 + *row, *row);
    ck_assert_uint_ge(note(0, 100, *row), 95);
    note(1000000, 1000000 + 2 * *row + *row / 10, *row);
    ck_assert_uint_le(note(0, 100, *row), 10);
}

static el_sketch_t sketch;

CASE(paths, ZEROED(sketch));

/* The number of 1600 bodies that are hashed. */
static unsigned asked(const char *host, const char *path)
{
    unsigned count = 0;

    for (uint32_t turn = 0; turn < 1600; turn++) {
        count += el_sketch_asks(&sketch, el_sketch_key(host, path), turn);
    }
    return count;
}

/* Learns `bodies`, of which one in `every` was known; 0: none. */
static void learn(const char *host, const char *path, int bodies, int every)
{
    for (int i = 0; i < bodies; i++) {
        el_sketch_learn(&sketch, el_sketch_key(host, path), every > 0 && i % every == 0);
    }
}

static const struct {
    const char *label;
    struct {
        int bodies, every;
    } seen[2];
    unsigned least, most; /* hashed */
} histories[] = {
    {"the first are all hashed", {{0, 0}}, 1600, 1600},
    {"as long as they are few", {{15, 0}}, 1600, 1600},
    {"of what never repeats a sample is", {{16, 0}}, 95, 105},
    {"what repeats is hashed", {{1000, 20}}, 1600, 1600},
    {"but not what does so seldom", {{1000, 100}}, 0, 105},
    {"a path comes to repeat", {{1000, 0}, {10, 1}}, 1600, 1600},
    {"and ceases to", {{10, 1}, {1000, 0}}, 0, 105},
};
EACH(paths, a_path_is_hashed_as_it_repeats, histories)
{
    learn("host", "/path", row->seen[0].bodies, row->seen[0].every);
    learn("host", "/path", row->seen[1].bodies, row->seen[1].every);
    row_assert(asked("host", "/path") >= row->least);
    row_assert(asked("host", "/path") <= row->most);
    el_sketch_reset(&sketch);
    row_eq(asked("host", "/path"), 1600);
}

TEST(paths, a_sample_is_spread_over_every_round)
{
    learn("host", "/path", 100, 0);
    for (uint32_t round = 2; round < 40; round++) {
        for (uint32_t first = 0; first < round; first++) {
            unsigned count = 0;

            for (uint32_t turn = first; turn < 600 * round; turn += round) {
                count += el_sketch_asks(&sketch, el_sketch_key("host", "/path"), turn);
            }
            ck_assert_msg(count > 5, "%u of 600 at %u of each %u", count, first, round);
        }
    }
}

TEST(paths, a_new_path_is_as_its_host_is)
{
    for (int i = 0; i < 64; i++) {
        char path[16] = {'/', (char)('a' + i % 8), (char)('a' + i / 8)};

        learn("crawled", path, 1, 0);
        learn("busy", path, 2, 2);
    }
    ck_assert_uint_le(asked("crawled", "/new"), 420);
    ck_assert_uint_ge(asked("crawled", "/new"), 380);
    ck_assert_uint_eq(asked("busy", "/new"), 1600);
    ck_assert_uint_eq(asked("other", "/new"), 1600);
}

TEST(paths, many_paths_leave_a_busy_one_alone)
{
    for (int i = 0; i < 100000; i++) {
        char path[16];

        snprintf(path, sizeof(path), "/%d", i);
        learn("crawled", path, 1, 0);
        learn("busy", "/page", i % 50 == 0, 1);
    }
    ck_assert_uint_eq(asked("busy", "/page"), 1600);
}

/* Popular encodings: counted, forgotten, and taken once. */
#define LEAST EL_POPULAR_LEAST
#define HALF EL_POPULAR_HALF
#define NOW (100000u - 100000u % HALF)

static el_popular_t hot;

CASE(encodings, ZEROED(hot));

/* The item of a number, with a name like a keyed hash. */
static el_popular_item_t item_of(uint64_t number)
{
    el_popular_item_t item = {.nbytes = (uint32_t)number, .coding = EL_BR, .level = 11};

    random_bytes(&number, item.name.hash, sizeof(item.name.hash));
    return item;
}

static void ask_for(el_popular_item_t item, int times, uint32_t now)
{
    for (int i = 0; i < times; i++) {
        el_popular_note(&hot, &item, now);
    }
}

static void ask(uint64_t number, int times, uint32_t now)
{
    ask_for(item_of(number), times, now);
}

/* Takes an item at `now`. Returns its number; −1: none. */
static int64_t take(uint32_t now)
{
    el_popular_item_t item, expected;

    if (!el_popular_take(&hot, now, &item)) {
        return -1;
    }
    expected = item_of(item.nbytes);
    ck_assert_mem_eq(&item, &expected, sizeof(item));
    return item.nbytes;
}

TEST(encodings, one_encoding_is_taken_for_each_kind_of_clients)
{
    el_popular_item_t item = item_of(1), other = item, taken[2];

    other.coding = EL_GZIP;
    ask_for(item, 10, NOW);
    ask_for(other, 10, NOW);
    ck_assert(el_popular_take(&hot, NOW, &taken[0]) && el_popular_take(&hot, NOW, &taken[1]));
    ck_assert_int_eq(taken[0].coding + taken[1].coding, EL_BR + EL_GZIP);
    ck_assert(!el_popular_take(&hot, NOW, &item));
}

TEST(encodings, what_is_asked_for_most_is_taken_first_and_once)
{
    ck_assert_int_eq(take(NOW), -1);
    ask(1, 10, NOW);
    ask(2, 30, NOW);
    ask(3, 20, NOW);
    ck_assert(take(NOW) == 2 && take(NOW) == 3 && take(NOW) == 1 && take(NOW) == -1);
}

/* Requests at two times, and the item taken at a third. */
static const struct {
    const char *label;
    int times;
    uint32_t at;
    int times_later;
    uint32_t later, taken_at;
    int64_t taken;
} fadings[] = {
    {"at once", LEAST, NOW, 0, 0, NOW, 1},
    {"seldom is not enough", LEAST - 1, NOW, 0, 0, NOW, -1},
    {"until it was often", LEAST - 1, NOW, 1, NOW, NOW, 1},
    {"a half-life later half counts", 2 * LEAST, NOW, 0, 0, NOW + HALF, 1},
    {"and less than half is too little", 2 * LEAST - 1, NOW, 0, 0, NOW + HALF, -1},
    {"three of them", 8 * LEAST, NOW, 0, 0, NOW + 3 * HALF, 1},
    {"after a day nothing is left", 1000000, NOW, 0, 0, NOW + 86400, -1},
    {"nor after 32 half-lives", 1000000, NOW, 0, 0, NOW + 32 * HALF, -1},
    {"nor after 64", 1000000, NOW, 0, 0, NOW + 64 * HALF, -1},
    {"another process's earlier clock takes nothing away", 1000, NOW, 1, NOW - HALF, NOW - HALF, 1},
};
EACH(encodings, what_was_asked_for_is_forgotten, fadings)
{
    ask(1, row->times, row->at);
    ask(1, row->times_later, row->later);
    row_eq(take(row->taken_at), row->taken);
}

TEST(encodings, what_was_taken_in_vain_is_taken_again_after_an_hour)
{
    ask(1, 100, NOW);
    ck_assert_int_eq(take(NOW), 1);
    for (uint32_t now = NOW; now < NOW + 3 * 3600; now += HALF / 4) {
        ask(1, 50, now);
        ck_assert_int_eq(take(now), now != NOW && now % 3600 == NOW % 3600 ? 1 : -1);
    }
}

TEST(encodings, what_was_taken_in_vain_is_not_taken_again_until_it_was_forgotten)
{
    ask(1, 100, NOW);
    ask(2, 100, NOW);
    ck_assert_int_eq(take(NOW) + take(NOW), 1 + 2);
    ask(2, LEAST, NOW + 2 * HALF);
    ck_assert_int_eq(take(NOW + 2 * HALF), 2);
    for (uint32_t now = NOW; now < NOW + 20 * HALF; now += HALF / 4) {
        ask(1, 50, now);
        ck_assert_int_eq(take(now), -1);
    }
}

/* Item `number` of one set. */
static el_popular_item_t neighbour(uint64_t number)
{
    uint64_t key = number * EL_POPULAR_SETS + 5;
    el_popular_item_t item = {.nbytes = (uint32_t)number};

    memcpy(item.name.hash, &key, sizeof(key));
    return item;
}

TEST(encodings, names_of_one_time_displace_no_others_of_a_full_set)
{
    el_popular_item_t item;

    for (uint64_t number = 1; number <= EL_POPULAR_WAYS; number++) {
        ask_for(neighbour(number), 50, NOW);
    }
    for (uint64_t number = 100; number < 140; number++) {
        ask_for(neighbour(number), 1, NOW);
    }
    for (int i = 0; i < EL_POPULAR_WAYS; i++) {
        ck_assert(el_popular_take(&hot, NOW, &item));
        ck_assert_uint_le(item.nbytes, EL_POPULAR_WAYS);
    }
}

TEST(encodings, what_is_new_and_asked_for_more_takes_the_place_of_others)
{
    for (uint64_t number = 1; number <= 4 * EL_POPULAR_SETS * EL_POPULAR_WAYS; number++) {
        ask(number, LEAST, NOW);
    }
    ask(7777777, 100, NOW);
    ck_assert_int_eq(take(NOW), 7777777);
}

TEST(encodings, a_full_count_stays_full)
{
    ask(1, 1, NOW);
    for (int i = 0; i < EL_POPULAR_SETS * EL_POPULAR_WAYS; i++) {
        atomic_fetch_or(&hot.slot[i].asked, (1 << 26) - 1);
    }
    ask(1, 1, NOW);
    ck_assert_int_eq(take(NOW), 1);
}

static const bool of_key[] = {false, true};
EACH(encodings, an_item_that_two_wrote_is_not_taken, of_key)
{
    ask(1, 100, NOW);
    ask(2, 50, NOW);
    for (int i = 0; i < EL_POPULAR_SETS * EL_POPULAR_WAYS; i++) {
        if ((atomic_load(&hot.slot[i].asked) & 0xff) == 100) {
            atomic_fetch_xor(*row ? &hot.slot[i].key : &hot.slot[i].words[2], 64);
        }
    }
    ck_assert(take(NOW) == 2 && take(NOW) == -1);
}

CASE(encodings_threads, ZEROED(hot), .threads = true);

static void *note_and_take(void *unused)
{
    for (int i = 0; i < 20000; i++) {
        ask((uint64_t)(i % 1000) + 1, 1, NOW);
        if (i % 16 == 0) {
            take(NOW);
        }
    }
    return unused;
}

TEST(encodings_threads, threads_that_meet)
{
    threads_run(4, note_and_take, NULL);
}
