#include "elastic/counters.h"

#include "suites.h"

#include <pthread.h>

static el_tally_t tally;

static void set_up_tally(void)
{
    memset(&tally, 0, sizeof(tally));
}

CASE(tallies, .set_up = set_up_tally);

TEST(tallies, a_series_is_found_by_coding_and_engine)
{
    for (int series = 0; series < EL_TALLY_SERIES_COUNT; series++) {
        const el_tally_series_info_t *info = el_tally_info((el_tally_series_t)series);

        ck_assert_int_eq(el_tally_find(info->coding, info->engine), series);
    }
    ck_assert_int_eq(el_tally_find(EL_BR, "zlib"), EL_TALLY_SERIES_COUNT);
    ck_assert_int_eq(el_tally_find(EL_GZIP, "other"), EL_TALLY_SERIES_COUNT);
}

TEST(tallies, bounds_rise_and_are_what_their_text_says)
{
    for (int kind = 0; kind < EL_TALLY_KINDS; kind++) {
        const el_tally_bound_t *bounds = el_tally_bounds((el_tally_kind_t)kind);

        for (int i = 0; i < EL_TALLY_BOUNDS; i++) {
            double said = strtod(bounds[i].text, NULL) * el_tally_scale((el_tally_kind_t)kind);

            ck_assert_double_eq_tol((double)bounds[i].most, said, 0.5);
            ck_assert(i == 0 || bounds[i].most > bounds[i - 1].most);
        }
    }
}

/* The class of the only body of `kind` that was encoded by gzip, -1 where there is none. */
static int only_class(el_tally_kind_t kind, uint64_t sum)
{
    el_tally_total_t total;
    int found = -1;

    el_tally_read(&tally, EL_GZIP, kind, &total);
    ck_assert_uint_eq(total.sum, sum);
    for (int class = 0; class <= EL_TALLY_BOUNDS; class++) {
        if (total.count[class] > 0) {
            ck_assert_int_eq(found, -1);
            ck_assert_uint_eq(total.count[class], 1);
            found = class;
        }
    }
    return found;
}

static const struct {
    el_tally_body_t body;
    int time, size; /* classes */
} bodies[] = {
    {{1, 1, 0}, 0, 0},
    {{512, 26, 10000}, 0, 0},
    {{513, 25, 10001}, 1, 1},
    {{1024, 512, 1000000000}, 10, 1},
    {{UINT64_C(1) << 40, 16777217, UINT64_C(1) << 60}, 12, 12},
    {{100, 200, 3000000000}, 11, 0},
    {{0, 20, 5}, 0, 0},
};

EACH(tallies, a_bound_belongs_to_its_class, bodies)
{
    const el_tally_body_t *body = &row->body;

    el_tally_add(&tally, 7, EL_TALLY_ZLIB, body);
    ck_assert_int_eq(only_class(EL_TALLY_TIME, body->nsec), row->time);
    ck_assert_int_eq(only_class(EL_TALLY_SIZE, body->in), row->size);
    ck_assert_uint_eq(el_tally_made(&tally, EL_TALLY_ZLIB, EL_TALLY_RESPONSES), 1);
    ck_assert_uint_eq(el_tally_made(&tally, EL_TALLY_ZLIB, EL_TALLY_IN), body->in);
    ck_assert_uint_eq(el_tally_made(&tally, EL_TALLY_ZLIB, EL_TALLY_OUT), body->out);
    ck_assert_uint_eq(el_tally_made(&tally, EL_TALLY_ISAL, EL_TALLY_RESPONSES), 0);
}

static const el_tally_series_t found[] = {EL_TALLY_FILE_GZIP, EL_TALLY_CACHED_GZIP};

EACH(tallies, what_was_not_encoded_has_a_size_and_no_time, found)
{
    el_tally_add(&tally, 0, *row, &(el_tally_body_t){10, 5, 7});
    ck_assert_int_eq(only_class(EL_TALLY_TIME, 0), -1);
    ck_assert_int_eq(only_class(EL_TALLY_SIZE, 10), 0);
    ck_assert_uint_eq(el_tally_made(&tally, *row, EL_TALLY_OUT), 5);
}

TEST(tallies, the_engines_of_a_coding_have_one_histogram)
{
    el_tally_total_t total;

    el_tally_add(&tally, 0, EL_TALLY_ZLIB, &(el_tally_body_t){10, 5, 7});
    el_tally_add(&tally, 0, EL_TALLY_ISAL, &(el_tally_body_t){20, 5, 7});
    el_tally_add(&tally, 0, EL_TALLY_BROTLI, &(el_tally_body_t){40, 5, 7});
    el_tally_read(&tally, EL_GZIP, EL_TALLY_SIZE, &total);
    ck_assert_uint_eq(total.sum, 30);
    ck_assert_uint_eq(total.count[0], 2);
}

TEST(tallies, all_processes_count_together)
{
    el_tally_total_t total;

    for (unsigned process = 0; process < 3 * EL_COUNTER_STRIPES; process++) {
        el_tally_add(&tally, process, EL_TALLY_ZSTD, &(el_tally_body_t){10, 5, 7});
    }
    el_tally_read(&tally, EL_ZSTD, EL_TALLY_SIZE, &total);
    ck_assert_uint_eq(total.sum, 30 * EL_COUNTER_STRIPES);
    ck_assert_uint_eq(el_tally_made(&tally, EL_TALLY_ZSTD, EL_TALLY_OUT), 15 * EL_COUNTER_STRIPES);
}

static el_counters_t counters;

static void set_up_counters(void)
{
    memset(&counters, 0, sizeof(counters));
}

/* A response of 1000 bytes in a process; where it was sampled it took `nsec`. */
static void count_response(unsigned process, uint64_t nsec)
{
    el_counters_add(&counters, process, EL_COUNT_BYTES_IN, 1000);
    if (nsec > 0) {
        el_counters_add(&counters, process, EL_COUNT_SAMPLED_IN, 1000);
        el_counters_add(&counters, process, EL_COUNT_SAMPLED_NSEC, nsec);
    }
}

CASE(cpu, .set_up = set_up_counters);

TEST(cpu, the_cpu_time_of_samples_stands_for_all_and_never_falls)
{
    ck_assert_uint_eq(el_counters_cpu_usec(&counters), 0);
    count_response(0, 0);
    ck_assert_uint_eq(el_counters_cpu_usec(&counters), 0);
    count_response(1, 50000);
    ck_assert_uint_eq(el_counters_cpu_usec(&counters), 100);
    count_response(2, 0);
    count_response(0, 0);
    ck_assert_uint_eq(el_counters_cpu_usec(&counters), 200);
    /* A quarter of the time: the estimate for all is 187 now. */
    count_response(1, 25000);
    ck_assert_uint_eq(el_counters_cpu_usec(&counters), 200);
    count_response(1, 75000);
    ck_assert_uint_eq(el_counters_cpu_usec(&counters), 300);
}

#define THREADS 3
#define ADDED 20000

static el_vhosts_t vhosts;
static unsigned places[EL_VHOSTS];

static void set_up_vhosts(void)
{
    memset(&vhosts, 0, sizeof(vhosts));
}

static uint64_t compressed(unsigned place)
{
    return el_vhosts_total(&vhosts, place, EL_VHOST_COMPRESSED);
}

CASE(hosts, .set_up = set_up_vhosts);

TEST(hosts, a_name_has_one_hash_whatever_its_case)
{
    ck_assert_uint_eq(el_vhosts_hash("WWW.Example.org"), el_vhosts_hash("www.example.org"));
    ck_assert_uint_ne(el_vhosts_hash("www.example.org"), el_vhosts_hash("www.example.net"));
    ck_assert_uint_ne(el_vhosts_hash(""), 0);
}

TEST(hosts, a_name_keeps_its_place_and_counts)
{
    const uint64_t before[] = {5, 6, 7}, after[] = {9, 7, 5};
    unsigned of_five, of_seven;

    el_vhosts_assign(&vhosts, before, 3, places);
    ck_assert(places[0] != places[1] && places[1] != places[2] && places[0] != places[2]);
    of_five = places[0];
    of_seven = places[2];
    for (unsigned process = 0; process < 2 * EL_COUNTER_STRIPES; process++) {
        el_vhosts_add(&vhosts, process, of_five, EL_VHOST_COMPRESSED, 2);
    }
    el_vhosts_assign(&vhosts, after, 3, places);
    ck_assert_uint_eq(places[1], of_seven);
    ck_assert_uint_eq(places[2], of_five);
    ck_assert_uint_eq(compressed(of_five), 4 * EL_COUNTER_STRIPES);
    ck_assert_uint_eq(compressed(places[0]), 0);
    ck_assert_uint_eq(el_vhosts_total(&vhosts, of_five, EL_VHOST_UNCOMPRESSED), 0);
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
        ck_assert_uint_lt(places[i], EL_VHOSTS);
        ck_assert(!taken[places[i]]);
        taken[places[i]] = true;
        ck_assert_uint_eq(compressed(places[i]), i == 3 ? 0 : names[i]);
    }
}

/* A child of before a restart, which counts on in the places that it knows. */
static void *count_on(void *number)
{
    unsigned process = *(unsigned *)number;

    for (unsigned i = 0; i < ADDED; i++) {
        el_vhosts_add(&vhosts, process, process, EL_VHOST_COMPRESSED, 1);
        el_vhosts_add(&vhosts, process, EL_VHOST_OTHER, EL_VHOST_BYTES_IN, 2);
    }
    return NULL;
}

CASE(hosts_threads, .set_up = set_up_vhosts, .threads = true);

TEST(hosts_threads, children_count_while_places_are_given)
{
    const uint64_t all[] = {5, 6, 7}, fewer[] = {5, 6, 8};
    unsigned numbers[THREADS];
    pthread_t threads[THREADS];

    el_vhosts_assign(&vhosts, all, 3, places);
    for (unsigned i = 0; i < THREADS; i++) {
        numbers[i] = places[i];
    }
    for (unsigned i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, count_on, &numbers[i]), 0);
    }
    for (unsigned i = 0; i < 100; i++) {
        el_vhosts_assign(&vhosts, i % 2 ? all : fewer, 3, places);
        ck_assert(places[0] == numbers[0] && places[1] == numbers[1]);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    /* Of names that stayed, nothing is lost. */
    ck_assert_uint_eq(compressed(numbers[0]), ADDED);
    ck_assert_uint_eq(compressed(numbers[1]), ADDED);
    ck_assert_uint_le(compressed(numbers[2]), ADDED);
    ck_assert_uint_eq(el_vhosts_total(&vhosts, EL_VHOST_OTHER, EL_VHOST_BYTES_IN),
                      2 * THREADS * ADDED);
}
