/* Which prepared dictionaries are kept, for how long and for whom. */
#include "bodies.h"
#include "prepare.h"
#include "suites.h"

#include "engines/engines.h"

#include <pthread.h>

#define MOST PREPARE_MOST
#define PAGE 60000

static el_dictionary_t *find(el_coding_t coding, unsigned number)
{
    return el_dictionary_find(coding, level_of(coding), hash_of(number));
}

CASE(prepared, .set_up = prepare_set_up, .tear_down = prepare_tear_down, .timeout = 240);

EACH(prepared, what_was_prepared_is_found, prepare_codings)
{
    el_dictionary_t *first, *second;

    if (!el_engine_for(*row)) {
        ck_assert_ptr_null(try_prepare(*row, 1, 1));
        return;
    }
    body_fill(BODY_TEXT, raw, PAGE);
    ck_assert_ptr_null(find(*row, 1));
    first = prepare(*row, PAGE, 1);
    ck_assert_uint_ge(el_dictionary_kept(), PAGE);
    ck_assert_ptr_eq(find(*row, 1), first);
    ck_assert_ptr_null(find(*row, 2));
    ck_assert_ptr_null(find(prepare_codings[*row == EL_DCB], 1));
    /* What another thread has prepared meanwhile serves this one, too. */
    second = try_prepare(*row, PAGE, 1);
    ck_assert_ptr_eq(second, first);
    el_dictionary_drain();
    ck_assert_ptr_eq(find(*row, 1), first);
    for (int users = 0; users < 4; users++) {
        el_dictionary_release(first);
    }
    el_dictionary_release(NULL);
}

/* It serves for others, too, until they are asked for often enough, and where there is no room. */
TEST(prepared, a_dictionary_is_prepared_for_a_level)
{
    el_dictionary_t *first, *other;

    if (!el_engine_for(EL_DCZ)) {
        return;
    }
    body_fill(BODY_TEXT, raw, PAGE);
    first = try_level(EL_DCZ, 3, PAGE, 1);
    ck_assert_int_eq(el_dictionary_level(first, 9), 3);
    for (int i = 0; i < EL_DICTIONARY_STANDS; i++) {
        other = el_dictionary_find(EL_DCZ, 9, hash_of(1));
        ck_assert_ptr_eq(other, first);
        el_dictionary_release(other);
    }
    ck_assert_ptr_null(el_dictionary_find(EL_DCZ, 9, hash_of(1)));
    el_dictionary_limit(el_dictionary_kept());
    ck_assert_ptr_eq(try_level(EL_DCZ, 9, PAGE, 1), first);
    el_dictionary_limit(SIZE_MAX);
    other = try_level(EL_DCZ, 9, PAGE, 1);
    ck_assert_ptr_ne(other, first);
    ck_assert_int_eq(el_dictionary_level(other, 3), 9);
    ck_assert_ptr_eq(el_dictionary_find(EL_DCZ, 9, hash_of(1)), other);
    ck_assert_ptr_eq(el_dictionary_find(EL_DCZ, 3, hash_of(1)), first);
    for (int users = 0; users < 3; users++) {
        el_dictionary_release(first);
    }
    el_dictionary_release(other);
    el_dictionary_release(other);
}

TEST(prepared, a_dictionary_that_is_too_large_at_a_level_has_the_lowest)
{
    el_dictionary_t *dictionary;

    if (!el_engine_for(EL_DCZ)) {
        return;
    }
    body_fill(BODY_TEXT, raw, PAGE);
    el_dictionary_limit(PAGE * 3);
    dictionary = try_level(EL_DCZ, 9, PAGE, 1);
    ck_assert_ptr_nonnull(dictionary);
    ck_assert_int_eq(dictionary->level, 1);
    el_dictionary_release(dictionary);
}

/* brotli prepares one for all. */
TEST(prepared, a_dictionary_of_brotli_is_for_all_levels)
{
    el_dictionary_t *dictionary;

    if (!el_engine_for(EL_DCB)) {
        return;
    }
    body_fill(BODY_TEXT, raw, PAGE);
    dictionary = try_level(EL_DCB, 5, PAGE, 1);
    ck_assert_ptr_eq(el_dictionary_find(EL_DCB, 9, hash_of(1)), dictionary);
    ck_assert_int_eq(el_dictionary_level(dictionary, 9), 9);
    el_dictionary_release(dictionary);
    el_dictionary_release(dictionary);
}

static const el_coding_t others[] = {EL_IDENTITY, EL_GZIP, EL_BR, EL_ZSTD, EL_ALL_CODINGS};

EACH(prepared, other_codings_have_no_dictionary, others)
{
    ck_assert_ptr_null(try_prepare(*row, 1, 1));
}

/* Three fit; the fourth drives out what was asked for longest ago, and is used by no body. */
EACH(prepared, the_longest_unused_goes_first, prepare_codings)
{
    el_dictionary_t *used;
    size_t each;

    if (!el_engine_for(*row)) {
        return;
    }
    body_fill(BODY_TEXT, raw, PAGE);
    used = prepare(*row, PAGE, 1);
    each = el_dictionary_kept();
    el_dictionary_limit(each * 10 / 3);
    el_dictionary_release(prepare(*row, PAGE, 2));
    el_dictionary_release(prepare(*row, PAGE, 3));
    el_dictionary_release(find(*row, 2));
    el_dictionary_release(prepare(*row, PAGE, 4));
    ck_assert_uint_le(el_dictionary_kept(), each * 10 / 3);
    ck_assert_ptr_null(find(*row, 3));
    ck_assert_ptr_eq(find(*row, 1), used);
    el_dictionary_release(used);
    el_dictionary_release(find(*row, 2));

    /* Where all are in use, there is no room, and they stay. */
    el_dictionary_limit(each * 3 / 2);
    ck_assert_ptr_null(try_prepare(*row, PAGE, 5));
    ck_assert_ptr_eq(find(*row, 1), used);
    el_dictionary_release(used);
    el_dictionary_release(used);
    el_dictionary_release(prepare(*row, PAGE, 5));
    ck_assert_ptr_null(find(*row, 1));

    /* What never fits drives nothing out. */
    ck_assert_ptr_null(try_prepare(*row, MOST, 6));
    el_dictionary_release(find(*row, 5));
    ck_assert_uint_ge(el_dictionary_kept(), PAGE);
}

#define THREADS 4

static void *use(void *number)
{
    const uint8_t *hash = (uint8_t *)number;

    for (int i = 0; i < 200; i++) {
        el_dictionary_t *dictionary = el_dictionary_find(EL_DCZ, level_of(EL_DCZ), hash);

        if (!dictionary) {
            dictionary = el_dictionary_prepare(EL_DCZ, level_of(EL_DCZ),
                                               &(el_dictionary_bytes_t){raw, 2000, hash});
        }
        ck_assert(!dictionary || memcmp(dictionary->hash, hash, EL_DICTIONARY_HASH) == 0);
        el_dictionary_release(dictionary);
    }
    return NULL;
}

/* With room for one or two, so that they drive each other's out. */
TEST(prepared, threads_share_what_is_kept)
{
    uint8_t hashes[THREADS][EL_DICTIONARY_HASH];
    pthread_t threads[THREADS];

    body_fill(BODY_TEXT, raw, 2000);
    el_dictionary_limit(100000);
    for (unsigned i = 0; i < THREADS; i++) {
        memcpy(hashes[i], hash_of(i / 2), EL_DICTIONARY_HASH);
        ck_assert_int_eq(pthread_create(&threads[i], NULL, use, hashes[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    ck_assert_uint_le(el_dictionary_kept(), 100000);
}
