/* Bodies, encoded by the engines, and decoded by the libraries' own decoders. */
#ifndef ELASTIC_TESTS_ENCODINGS_H
#define ELASTIC_TESTS_ENCODINGS_H

#include "engines/engines.h"
#include "engines/library.h"
#include "engines/memory.h"

#include "suites.h"

#define MOST (1024 * 1024 + 17)
#define ROOM (2 * MOST)

extern uint8_t body[MOST], encoded[ROOM], back[MOST + 1];
extern uint8_t raw[MOST]; /* bytes of the next dictionary */

/* Fixtures: set_up removes limits and kept memory; tear_down finds no dictionary in use. */
void encodings_set_up(void);
void encodings_tear_down(void);

/* Tables for EACH_OF(): the engines without a dictionary, and the codings with one. */
extern const size_t plain[5];
extern const el_coding_t differences[2];

#define EACH_OF(case, test, table, of)                                                             \
    static void test##_of(const el_engine_t *engine);                                              \
    EACH(case, test, table)                                                                        \
    {                                                                                              \
        if (of(*row)) {                                                                            \
            test##_of(of(*row));                                                                   \
        }                                                                                          \
    }                                                                                              \
    static void test##_of(const el_engine_t *engine)
#define EACH_ENGINE(case, test) EACH_OF(case, test, plain, el_engine_at)
#define EACH_DIFFERENCE(case, test) EACH_OF(case, test, differences, el_engine_for)

typedef enum { BODY_TEXT, BODY_NOISE, BODY_ZEROS, BODY_KINDS } body_kind_t;

/* Fills in tagged words, incompressible noise, or zeros; the same on every machine. */
void body_fill(body_kind_t kind, uint8_t *bytes, size_t nbytes);

/* Encodes `body` in one call into `room` bytes of `encoded`; 0 if it does not fit. */
size_t encode_whole(const el_plan_t *plan, size_t nbytes, size_t room);

typedef struct {
    size_t nbytes; /* bytes decoded */
    bool ended;    /* the coding's own end was reached, with valid checksums and no byte after it */
    bool failed;
} decoded_t;

/* Decodes as far as possible, with the largest window that RFCs 9659 and 9842 allow. */
decoded_t decode(const el_plan_t *plan, el_span_t span);

/* Asserts that `encoded` decodes to `nbytes` of `body`. */
void assert_back(const el_plan_t *plan, size_t nbytes, size_t encoded_nbytes, const char *how);

/* Encodes `body` by step(), in pieces like a file's. Returns the bytes of `encoded`. */
size_t encode_stream(const el_plan_t *plan, size_t nbytes);

/*
 * Asserts that `encoded` decodes to `nbytes` of `body`, and early if it has more than four
 * segments: some text after two segments, half of it after three quarters.
 */
void assert_usable(const el_plan_t *plan, size_t nbytes, size_t encoded_nbytes);

/* Asserts that a whole body that does not fit changes nothing behind the room. */
void assert_rooms_kept(const el_plan_t *plan, const size_t *rooms, size_t count);

/* Streams text through a context in many ways, with the length known and unknown. */
void assert_streams(const el_plan_t *plan, size_t most);

/* Stands for a dictionary's SHA-256; engines do not check it. Valid until the next call. */
const uint8_t *hash_of(unsigned number);

/* Prepares `nbytes` of `raw`; NULL on failure. The caller releases it. */
el_dictionary_t *try_prepare(const el_engine_t *engine, int level, size_t nbytes, unsigned number);

/* Fills `raw` with text and prepares it for the lowest level; must succeed. */
el_dictionary_t *prepare(const el_engine_t *engine, size_t nbytes, unsigned number);

#endif
