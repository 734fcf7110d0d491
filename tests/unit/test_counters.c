#include "elastic/counters.h"
#include "suites.h"

static el_tally_t tally;

CASE(tallies, ZEROED(tally));

TEST(tallies, a_series_is_found_by_coding_and_engine)
{
    for (int series = 0; series < EL_TALLY_SERIES_COUNT; series++) {
        const el_tally_series_info_t *info = &el_tally_info[series];

        ck_assert_int_eq(el_tally_find(info->coding, info->engine), series);
    }
    ck_assert_int_eq(el_tally_find(EL_BR, "zlib"), EL_TALLY_SERIES_COUNT);
    ck_assert_int_eq(el_tally_find(EL_GZIP, "other"), EL_TALLY_SERIES_COUNT);
}

TEST(tallies, bounds_rise_and_are_what_their_text_says)
{
    for (el_tally_kind_t kind = 0; kind < EL_TALLY_KINDS; kind++) {
        const el_tally_bound_t *bounds = el_tally_bounds[kind];

        for (int i = 0; i < EL_TALLY_BOUNDS; i++) {
            double said = strtod(bounds[i].text, NULL) * el_tally_scale[kind];

            ck_assert_double_eq_tol((double)bounds[i].most, said, 0.5);
            ck_assert(i == 0 || bounds[i].most > bounds[i - 1].most);
        }
    }
}

/* The class of the only gzip body counted in `kind`; -1: none. */
static int only_class(el_tally_kind_t kind, uint64_t sum)
{
    el_tally_total_t total;
    int found = -1;

    el_tally_read(&tally, EL_GZIP, kind, &total);
    ck_assert_uint_eq(total.sum, sum);
    for (int class = 0; class <= EL_TALLY_BOUNDS; class++) {
        if (total.count[class] > 0) {
            ck_assert(found == -1 && total.count[class] == 1);
            found = class;
        }
    }
    return found;
}

/* Bodies that were not encoded for their response have a size and no time. */
static const struct {
    el_tally_series_t series;
    el_tally_body_t body;
    int time, size; /* classes; -1: none */
} bodies[] = {
    {EL_TALLY_ZLIB, {1, 1, 0}, 0, 0},
    {EL_TALLY_ZLIB, {512, 26, 10000}, 0, 0},
    {EL_TALLY_ZLIB, {513, 25, 10001}, 1, 1},
    {EL_TALLY_ZLIB, {1024, 512, 1000000000}, 10, 1},
    {EL_TALLY_ZLIB, {UINT64_C(1) << 40, 16777217, UINT64_C(1) << 60}, 12, 12},
    {EL_TALLY_ZLIB, {100, 200, 3000000000}, 11, 0},
    {EL_TALLY_ZLIB, {0, 20, 5}, 0, 0},
    {EL_TALLY_FILE_GZIP, {10, 5, 7}, -1, 0},
    {EL_TALLY_CACHED_GZIP, {10, 5, 7}, -1, 0},
};
EACH(tallies, a_bound_belongs_to_its_class, bodies)
{
    const el_tally_body_t *body = &row->body;

    el_tally_add(&tally, 7, row->series, body);
    ck_assert_int_eq(only_class(EL_TALLY_TIME, row->time < 0 ? 0 : body->nsec), row->time);
    ck_assert_int_eq(only_class(EL_TALLY_SIZE, body->in), row->size);
    ck_assert_uint_eq(el_tally_made(&tally, row->series, EL_TALLY_RESPONSES), 1);
    ck_assert_uint_eq(el_tally_made(&tally, row->series, EL_TALLY_IN), body->in);
    ck_assert_uint_eq(el_tally_made(&tally, row->series, EL_TALLY_OUT), body->out);
    ck_assert_uint_eq(el_tally_made(&tally, EL_TALLY_ISAL, EL_TALLY_RESPONSES), 0);
}

TEST(tallies, engines_of_a_coding_and_all_processes_count_together)
{
    el_tally_total_t total;

    el_tally_add(&tally, 0, EL_TALLY_ZLIB, &(el_tally_body_t){10, 5, 7});
    el_tally_add(&tally, 0, EL_TALLY_ISAL, &(el_tally_body_t){20, 5, 7});
    el_tally_add(&tally, 0, EL_TALLY_BROTLI, &(el_tally_body_t){40, 5, 7});
    for (unsigned process = 0; process < 3 * EL_COUNTER_STRIPES; process++) {
        el_tally_add(&tally, process, EL_TALLY_ZSTD, &(el_tally_body_t){10, 5, 7});
    }
    el_tally_read(&tally, EL_GZIP, EL_TALLY_SIZE, &total);
    ck_assert(total.sum == 30 && total.count[0] == 2);
    el_tally_read(&tally, EL_ZSTD, EL_TALLY_SIZE, &total);
    ck_assert_uint_eq(total.sum, 30 * EL_COUNTER_STRIPES);
    ck_assert_uint_eq(el_tally_made(&tally, EL_TALLY_ZSTD, EL_TALLY_OUT), 15 * EL_COUNTER_STRIPES);
}

static el_counters_t counters;

CASE(cpu, ZEROED(counters));

/* Responses of 1000 bytes; nsec above 0: sampled. */
static const struct {
    unsigned process;
    uint64_t nsec, usec;
} responses[] = {
    {0, 0, 0}, {1, 50000, 100}, {2, 0, 150}, {0, 0, 200},
    {1, 25000, 200}, /* a quarter of the time: the estimate for all is now 187 */
    {1, 75000, 300},
};

TEST(cpu, the_cpu_time_of_samples_stands_for_all_and_never_falls)
{
    ck_assert_uint_eq(el_counters_cpu_usec(&counters), 0);
    for (int i = 0; i < ROWS(responses); i++) {
        unsigned process = responses[i].process;

        el_counters_add(&counters, process, EL_COUNT_BYTES_IN, 1000);
        if (responses[i].nsec > 0) {
            el_counters_add(&counters, process, EL_COUNT_SAMPLED_IN, 1000);
            el_counters_add(&counters, process, EL_COUNT_SAMPLED_NSEC, responses[i].nsec);
        }
        ck_assert_uint_eq(el_counters_cpu_usec(&counters), responses[i].usec);
    }
}

static el_vhosts_t vhosts;
static unsigned places[EL_VHOSTS];

CASE(hosts, ZEROED(vhosts));

static uint64_t compressed(unsigned place)
{
    return el_vhosts_total(&vhosts, place, EL_VHOST_COMPRESSED);
}

TEST(hosts, a_name_keeps_its_place_and_counts)
{
    const uint64_t before[] = {el_vhosts_hash("WWW.Example.org"), el_vhosts_hash(""), 7};
    const uint64_t after[] = {9, 7, el_vhosts_hash("www.example.org")};
    unsigned of_first, of_last;

    el_vhosts_assign(&vhosts, before, 3, places);
    ck_assert(before[0] != before[1] && before[1] != 0);
    ck_assert(places[0] != places[1] && places[1] != places[2] && places[0] != places[2]);
    of_first = places[0];
    of_last = places[2];
    for (unsigned process = 0; process < 2 * EL_COUNTER_STRIPES; process++) {
        el_vhosts_add(&vhosts, process, of_first, EL_VHOST_COMPRESSED, 2);
    }
    el_vhosts_assign(&vhosts, after, 3, places);
    ck_assert(places[1] == of_last && places[2] == of_first);
    ck_assert_uint_eq(compressed(of_first), 4 * EL_COUNTER_STRIPES);
    ck_assert_uint_eq(compressed(places[0]), 0);
    ck_assert_uint_eq(el_vhosts_total(&vhosts, of_first, EL_VHOST_UNCOMPRESSED), 0);
}

TEST(hosts, a_full_table_takes_the_places_of_names_that_are_gone)
{
    uint64_t names[EL_VHOSTS];
    bool taken[EL_VHOSTS] = {false};

    for (unsigned i = 0; i < EL_VHOSTS; i++) {
        names[i] = i + 1;
    }
    el_vhosts_assign(&vhosts, names, EL_VHOSTS, places);
    for (unsigned i = 0; i < EL_VHOSTS; i++) {
        el_vhosts_add(&vhosts, 0, places[i], EL_VHOST_COMPRESSED, names[i]);
    }
    names[3] = 99;
    el_vhosts_assign(&vhosts, names, EL_VHOSTS, places);
    for (unsigned i = 0; i < EL_VHOSTS; i++) {
        ck_assert(places[i] < EL_VHOSTS && !taken[places[i]]);
        taken[places[i]] = true;
        ck_assert_uint_eq(compressed(places[i]), i == 3 ? 0 : names[i]);
    }
}

CASE(hosts_threads, ZEROED(vhosts), .tags = "threads");

#define THREADS 3
#define ADDED 20000

/* A child from before a restart: keeps counting in its old slots. */
static void *count_on(void *number)
{
    unsigned place = *(unsigned *)number;

    for (unsigned i = 0; i < ADDED; i++) {
        el_vhosts_add(&vhosts, place, place, EL_VHOST_COMPRESSED, 1);
        el_vhosts_add(&vhosts, place, EL_VHOST_OTHER, EL_VHOST_BYTES_IN, 2);
    }
    return NULL;
}

/* Hosts that keep their slots lose no counts. */
TEST(hosts_threads, children_count_while_places_are_given)
{
    const uint64_t all[] = {5, 6, 7}, fewer[] = {5, 6, 8};
    unsigned known[THREADS];
    threads_t threads;

    el_vhosts_assign(&vhosts, all, 3, places);
    memcpy(known, places, sizeof(known));
    threads = threads_start(THREADS, count_on, known, sizeof(known[0]));
    for (unsigned i = 0; i < 100; i++) {
        el_vhosts_assign(&vhosts, i % 2 ? all : fewer, 3, places);
        ck_assert(places[0] == known[0] && places[1] == known[1]);
    }
    threads_join(&threads);
    ck_assert(compressed(known[0]) == ADDED && compressed(known[1]) == ADDED);
    ck_assert_uint_le(compressed(known[2]), ADDED);
    ck_assert_uint_eq(el_vhosts_total(&vhosts, EL_VHOST_OTHER, EL_VHOST_BYTES_IN),
                      2 * THREADS * ADDED);
}

static el_history_t history;

CASE(history, ZEROED(history));

TEST(history, a_minute_has_the_means_of_its_samples)
{
    el_history_point_t point;

    ck_assert(!el_history_get(&history, 7, &point));
    el_history_add(&history, 7, (el_history_point_t){0.2, 1, 0});
    el_history_add(&history, 7, (el_history_point_t){0.4, 0, 0});
    ck_assert(el_history_get(&history, 7, &point));
    ck_assert_double_eq_tol(point.load, 0.3, 1e-6);
    ck_assert_double_eq_tol(point.position, 0.5, 1e-6);
    ck_assert(!el_history_get(&history, 8, &point));
}

TEST(history, an_hour_later_a_minute_is_forgotten)
{
    el_history_point_t point;

    for (uint64_t minute = 1; minute <= 3 * EL_HISTORY_MINUTES; minute++) {
        el_history_add(&history, minute, (el_history_point_t){(double)minute / 1000, 0, 0});
    }
    for (uint64_t minute = 1; minute <= 3 * EL_HISTORY_MINUTES; minute++) {
        bool there = minute > 2 * EL_HISTORY_MINUTES;

        ck_assert_int_eq(el_history_get(&history, minute, &point), there);
        if (there) {
            ck_assert_double_eq_tol(point.load, (double)minute / 1000, 1e-6);
        }
    }
}

/* Whatever was saved since the last sample, even if that was minutes ago, or bodies grew. */
TEST(history, a_minute_has_the_bytes_saved_until_its_last_sample)
{
    static const struct {
        uint64_t minute;
        double saved;  /* since the start */
        double within; /* the minute, so far */
    } samples[] = {{1, 100, 100}, {1, 150, 150}, {2, 150, 0}, {5, 900, 750}, {6, 880, -20},
                   {1 + EL_HISTORY_MINUTES, 881, 1}};
    el_history_point_t point;

    for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
        el_history_add(&history, samples[i].minute, (el_history_point_t){0, 0, samples[i].saved});
        ck_assert(el_history_get(&history, samples[i].minute, &point));
        ck_assert_double_eq_tol(point.saved, samples[i].within, 1e-6);
    }
}

TEST(history, a_day_has_what_was_not_counted_before_it)
{
    el_history_begin(&history, 7, (uint64_t[EL_PAST_COUNTS]){10, 20, 30, 40});
    ck_assert_uint_eq(history.before[EL_PAST_IN], 0);
    el_history_begin(&history, 8, (uint64_t[EL_PAST_COUNTS]){11, 21, 31, 41});
    ck_assert_uint_eq(history.before[EL_PAST_IN], 21);
    ck_assert_uint_eq(history.before[EL_PAST_CPU], 41);
    el_history_begin(&history, 8, (uint64_t[EL_PAST_COUNTS]){5, 5, 5, 5});
    ck_assert_uint_eq(history.before[EL_PAST_IN], 21);
    el_history_begin(&history, 9, (uint64_t[EL_PAST_COUNTS]){6, 6, 6, 6});
    ck_assert_uint_eq(history.before[EL_PAST_IN], 27);
    ck_assert_uint_eq(history.before[EL_PAST_TIME], 17);
}
