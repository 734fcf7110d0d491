#include "prepare.h"

#include "engines/engines.h"
#include "engines/pool.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

const el_coding_t prepare_codings[2] = {EL_DCB, EL_DCZ};

uint8_t *raw;

void prepare_set_up(void)
{
    raw = malloc(PREPARE_MOST);
    el_dictionary_limit(SIZE_MAX);
}

void prepare_tear_down(void)
{
    el_pool_drain();
    el_dictionary_drain();
    ck_assert_uint_eq(el_dictionary_kept(), 0);
    free(raw);
}

const uint8_t *hash_of(unsigned number)
{
    static uint8_t hash[EL_DICTIONARY_HASH];

    memset(hash, (int)number, sizeof(hash));
    hash[0] = (uint8_t)~number;
    return hash;
}

int level_of(el_coding_t coding)
{
    const el_engine_t *engine = el_engine_for(coding);

    return engine ? engine->level_min : 1;
}

el_dictionary_t *try_level(el_coding_t coding, int level, size_t nbytes, unsigned number)
{
    return el_dictionary_prepare(coding, level,
                                 &(el_dictionary_bytes_t){raw, nbytes, hash_of(number)});
}

el_dictionary_t *try_prepare(el_coding_t coding, size_t nbytes, unsigned number)
{
    return try_level(coding, level_of(coding), nbytes, number);
}

el_dictionary_t *prepare(el_coding_t coding, size_t nbytes, unsigned number)
{
    el_dictionary_t *dictionary = try_prepare(coding, nbytes, number);

    ck_assert_ptr_nonnull(dictionary);
    return dictionary;
}
