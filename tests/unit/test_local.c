/* Copies of entries in the process's own memory. */
#include "httpd/cache/local.h"
#include "suites.h"

#define MOST (64u * 1024)

static uint8_t bytes[MOST];

/* Makes numbers differ between tests that run in the same process. */
static uint32_t base;

static void set_up(void)
{
    if (base == 0) {
        el_local_open(MOST);
    }
    base += 1 << 16;
}

/* A name for each number; names spread over the slots. */
static el_name_t name_of(uint32_t number)
{
    el_name_t name = {.kind = EL_NAME_BODY, .coding = EL_GZIP, .pinned = EL_NAME_ADAPTIVE};

    number += base;
    memcpy(name.hash, &number, sizeof(number));
    return name;
}

static bool put(uint32_t number, size_t nbytes, uint32_t stamp, el_found_t *found)
{
    el_name_t name = name_of(number);
    el_entry_t entry = {.coding = EL_GZIP, .level = 6, .engine = "zlib", .in = 2 * nbytes,
                        .data = bytes, .nbytes = nbytes};

    memset(bytes, (int)number, nbytes);
    return el_local_put(&name, &entry, stamp, found);
}

CASE(local, .set_up = set_up, .timeout = 300);

static void check_found(const el_found_t *found, uint32_t number, size_t nbytes)
{
    ck_assert_uint_eq(found->entry.nbytes, nbytes);
    ck_assert_uint_eq(found->entry.in, 2 * nbytes);
    ck_assert_str_eq(found->entry.engine, "zlib");
    for (size_t i = 0; i < nbytes; i++) {
        ck_assert_uint_eq(found->entry.data[i], (uint8_t)number);
    }
}

/* True if the entry is found; checks its content. */
static bool is_there_within(uint32_t number, el_local_stamp_t stamp, size_t nbytes)
{
    el_name_t name = name_of(number);
    el_found_t found;
    bool there = el_local_get(&name, stamp, &found);

    if (there) {
        check_found(&found, number, nbytes > 0 ? nbytes : found.entry.nbytes);
        found.release(found.buffer);
    }
    return there;
}

static bool is_there(uint32_t number, uint32_t now)
{
    return is_there_within(number, (el_local_stamp_t){.now = now}, 0);
}

TEST(local, a_copy_is_found)
{
    el_found_t found;

    ck_assert(!is_there(1, 7) && put(1, 1000, 7, &found));
    check_found(&found, 1, 1000);
    found.release(found.buffer);
    ck_assert(is_there_within(1, (el_local_stamp_t){.now = 7}, 1000) && !is_there(2, 7));
    /* Changed entries are not found. */
    ck_assert(!is_there(1, 8) && !is_there(1, 6));
    ck_assert(put(1, 2000, 8, NULL) && is_there(1, 8) && !is_there(1, 7));
}

TEST(local, a_copy_may_have_an_age)
{
    ck_assert(put(1, 1000, UINT32_MAX, NULL));
    ck_assert(is_there_within(1, (el_local_stamp_t){.now = 0, .age = 1}, 1000));
    ck_assert(!is_there_within(1, (el_local_stamp_t){.now = 1, .age = 1}, 0));
}

TEST(local, what_is_sent_stays_readable)
{
    el_found_t found;

    ck_assert(put(1, 1000, 0, &found));
    for (uint32_t i = 2; i < 1000; i++) {
        put(i, 1000, 0, NULL);
    }
    check_found(&found, 1, 1000);
    found.release(found.buffer);
}

TEST(local, memory_is_bounded_and_used)
{
    unsigned there = 0;

    for (uint32_t i = 0; i < 1000; i++) {
        ck_assert(put(i, 1000, 0, NULL));
    }
    for (uint32_t i = 0; i < 1000; i++) {
        there += is_there(i, 0);
    }
    ck_assert(there <= MOST / 1000 && there > MOST / 1000 / 2);
    /* A large one does not evict all others. */
    ck_assert(put(1, 1000, 0, NULL) && !put(2, MOST / 2, 0, NULL) && is_there(1, 0));
}

TEST(local, what_is_only_sent_is_counted_too)
{
    static el_found_t found[64];
    unsigned sent = 0;

    while (sent < 64 && put(sent, MOST / 8, 0, &found[sent])) {
        sent++;
    }
    ck_assert_uint_eq(sent, 7);
    /* All are found, though nothing else fits. */
    for (unsigned i = 0; i < sent; i++) {
        ck_assert(is_there(i, 0));
    }
    for (unsigned i = 0; i < sent; i++) {
        found[i].release(found[i].buffer);
    }
    ck_assert(put(sent, MOST / 8, 0, NULL));
}

TEST(local, what_is_asked_for_stays)
{
    ck_assert(put(1, 1000, 0, NULL));
    for (uint32_t i = 2; i < 1000; i++) {
        ck_assert(is_there(1, 0) && put(i, 1000, 0, NULL));
    }
    ck_assert(is_there(1, 0));
}

CASE(local_threads, .set_up = set_up, .timeout = 300, .threads = true);

static _Atomic uint32_t seeds;

static void *use(void *unused)
{
    static _Thread_local uint8_t data[3000];
    uint32_t number = seeds++;

    for (int i = 0; i < 20000; i++) {
        el_name_t name = name_of(number % 64);
        el_entry_t entry = {.coding = EL_GZIP, .in = 1, .data = data, .nbytes = sizeof(data)};
        el_found_t found = {.buffer = NULL};

        memset(data, (int)(number % 64), sizeof(data));
        if (el_local_get(&name, (el_local_stamp_t){.now = 0}, &found)
            || el_local_put(&name, &entry, 0, &found)) {
            ck_assert_int_eq(memcmp(found.entry.data, data, sizeof(data)), 0);
            found.release(found.buffer);
        }
        number = number * 1664525 + 1013904223;
    }
    return unused;
}

TEST(local_threads, threads_may_use_it)
{
    threads_run(8, use, NULL);
}
