/* Dictionaries for the tests of engines: of the bytes at `raw`, the same on every machine. */
#ifndef ELASTIC_TESTS_PREPARE_H
#define ELASTIC_TESTS_PREPARE_H

#include "engines/dictionary.h"

#define PREPARE_MOST (1024 * 1024 + 17)

/* Those that a dictionary can be prepared for. */
extern const el_coding_t prepare_codings[2];

/* The bytes of the next dictionary, room for PREPARE_MOST; a fixture makes and frees it. */
extern uint8_t *raw;

/* The fixture: nothing is kept, and nothing limits it; at the end nothing may be in use. */
void prepare_set_up(void);
void prepare_tear_down(void);

/* A hash: what the engines do with it does not depend on its being one. Valid until the next. */
const uint8_t *hash_of(unsigned number);

/* The lowest level: where memory is short, there is none below. */
int level_of(el_coding_t coding);

/* `raw` as a dictionary for a level; NULL where that cannot be. The caller releases it. */
el_dictionary_t *try_level(el_coding_t coding, int level, size_t nbytes, unsigned number);

/* The same for the lowest level. */
el_dictionary_t *try_prepare(el_coding_t coding, size_t nbytes, unsigned number);

/* The same; a test fails where that cannot be. */
el_dictionary_t *prepare(el_coding_t coding, size_t nbytes, unsigned number);

#endif
