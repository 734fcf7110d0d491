/* Prepared dictionaries: what is kept, how long, and for which requests. */
#include "encodings.h"

CASE(prepared, .set_up = encodings_set_up, .tear_down = encodings_tear_down, .timeout = 240);

#define PAGE 60000

static el_dictionary_t *find(const el_engine_t *engine, unsigned number)
{
    return el_dictionary_find(engine->coding, engine->level_min, hash_of(number));
}

/* Ends the use of several bodies. */
static void release(el_dictionary_t *dictionary, int users)
{
    while (users-- > 0) {
        el_dictionary_release(dictionary);
    }
}

EACH_DIFFERENCE(prepared, what_was_prepared_is_found)
{
    el_dictionary_t *first;

    ck_assert_ptr_null(find(engine, 1));
    first = prepare(engine, PAGE, 1);
    ck_assert_uint_ge(el_dictionary_kept(), PAGE);
    ck_assert_ptr_eq(find(engine, 1), first);
    ck_assert_ptr_null(find(engine, 2));
    ck_assert_ptr_null(el_dictionary_find(engine->coding == EL_DCB ? EL_DCZ : EL_DCB,
                                          engine->level_min, hash_of(1)));
    /* Another thread prepared it meanwhile: both share it. */
    ck_assert_ptr_eq(prepare(engine, PAGE, 1), first);
    el_dictionary_drain();
    ck_assert_ptr_eq(find(engine, 1), first);
    release(first, 4);
    el_dictionary_release(NULL);
}

/*
 * If levels have tables of their own, a dictionary for another level serves a few times, and if
 * there is no room. brotli has one for all levels.
 */
EACH_DIFFERENCE(prepared, a_dictionary_is_prepared_for_a_level)
{
    el_dictionary_t *first, *other;

    body_fill(BODY_TEXT, raw, PAGE);
    first = try_prepare(engine, 3, PAGE, 1);
    ck_assert_int_eq(el_dictionary_level(first, 9), engine->by_level ? 3 : 9);
    for (int i = 0; i < EL_DICTIONARY_STANDS; i++) {
        ck_assert_ptr_eq(el_dictionary_find(engine->coding, 9, hash_of(1)), first);
    }
    release(first, EL_DICTIONARY_STANDS);
    other = el_dictionary_find(engine->coding, 9, hash_of(1));
    ck_assert_ptr_eq(other, engine->by_level ? NULL : first);
    release(other, 1);
    el_dictionary_limit(el_dictionary_kept());
    ck_assert_ptr_eq(try_prepare(engine, 9, PAGE, 1), first);
    el_dictionary_limit(SIZE_MAX);
    other = try_prepare(engine, 9, PAGE, 1);
    ck_assert((other != first) == engine->by_level);
    ck_assert_int_eq(el_dictionary_level(other, 3), engine->by_level ? 9 : 3);
    ck_assert_ptr_eq(el_dictionary_find(engine->coding, 9, hash_of(1)), other);
    ck_assert_ptr_eq(el_dictionary_find(engine->coding, 3, hash_of(1)), first);
    release(first, 3);
    release(other, 2);

    /* Too large at its level: prepared for the lowest. */
    el_dictionary_limit(PAGE * 3);
    el_dictionary_drain();
    other = try_prepare(engine, 9, PAGE, 1);
    ck_assert(!engine->by_level || (other && other->level == 1));
    el_dictionary_release(other);
}

static const el_coding_t others[] = {EL_IDENTITY, EL_GZIP, EL_BR, EL_ZSTD, EL_ALL_CODINGS};
EACH(prepared, other_codings_have_no_dictionary, others)
{
    ck_assert_ptr_null(
        el_dictionary_prepare(*row, 1, &(el_dictionary_bytes_t){raw, 1, hash_of(1)}));
}

/* Three fit. The fourth evicts the one that is unused for longest. */
EACH_DIFFERENCE(prepared, the_longest_unused_goes_first)
{
    el_dictionary_t *used = prepare(engine, PAGE, 1);
    size_t each = el_dictionary_kept();

    el_dictionary_limit(each * 10 / 3);
    el_dictionary_release(prepare(engine, PAGE, 2));
    el_dictionary_release(prepare(engine, PAGE, 3));
    el_dictionary_release(find(engine, 2));
    el_dictionary_release(prepare(engine, PAGE, 4));
    ck_assert_uint_le(el_dictionary_kept(), each * 10 / 3);
    ck_assert_ptr_null(find(engine, 3));
    ck_assert_ptr_eq(find(engine, 1), used);
    el_dictionary_release(used);
    el_dictionary_release(find(engine, 2));

    /* If all are in use, there is no room, and they stay. */
    el_dictionary_limit(each * 3 / 2);
    ck_assert_ptr_null(try_prepare(engine, engine->level_min, PAGE, 5));
    ck_assert_ptr_eq(find(engine, 1), used);
    release(used, 2);
    el_dictionary_release(prepare(engine, PAGE, 5));
    ck_assert_ptr_null(find(engine, 1));

    /* A dictionary that never fits evicts nothing. */
    ck_assert_ptr_null(try_prepare(engine, engine->level_min, MOST, 6));
    el_dictionary_release(find(engine, 5));
    ck_assert_uint_ge(el_dictionary_kept(), PAGE);
}

/* Nor does one that would need the place of a used one. Sizes are estimated beforehand. */
EACH_DIFFERENCE(prepared, where_there_can_be_no_room_nothing_is_driven_out)
{
    el_dictionary_t *used = prepare(engine, MOST / 2, 1), *idle;
    size_t large = el_dictionary_kept();

    idle = prepare(engine, PAGE, 2);
    el_dictionary_release(idle);
    el_dictionary_limit(el_dictionary_kept() + large / 4);
    ck_assert_ptr_null(try_prepare(engine, engine->level_min, MOST / 2, 3));
    ck_assert_ptr_eq(find(engine, 2), idle);
    el_dictionary_release(idle);
    el_dictionary_release(used);
}

#define THREADS 4

static void *use(void *hash)
{
    for (int i = 0; i < 200; i++) {
        el_dictionary_t *dictionary = el_dictionary_find(EL_DCZ, 1, hash);

        if (!dictionary) {
            dictionary = el_dictionary_prepare(EL_DCZ, 1,
                                               &(el_dictionary_bytes_t){raw, 2000, hash});
        }
        ck_assert(!dictionary || memcmp(dictionary->hash, hash, EL_DICTIONARY_HASH) == 0);
        el_dictionary_release(dictionary);
    }
    return NULL;
}

/* With room for one or two, so that threads evict each other's. */
TEST(prepared, threads_share_what_is_kept)
{
    uint8_t hashes[THREADS][EL_DICTIONARY_HASH];
    threads_t threads;

    body_fill(BODY_TEXT, raw, 2000);
    el_dictionary_limit(100000);
    for (unsigned i = 0; i < THREADS; i++) {
        memcpy(hashes[i], hash_of(i / 2), EL_DICTIONARY_HASH);
    }
    threads = threads_start(THREADS, use, hashes, sizeof(hashes[0]));
    threads_join(&threads);
    ck_assert_uint_le(el_dictionary_kept(), 100000);
}
