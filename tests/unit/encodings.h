/* Bodies, what engines make of them, and what the libraries' own decoders make of that. */
#ifndef ELASTIC_TESTS_ENCODINGS_H
#define ELASTIC_TESTS_ENCODINGS_H

#include "engines/engines.h"
#include "engines/library.h"
#include "engines/memory.h"

#include "suites.h"

#define MOST (1024 * 1024 + 17)
#define ROOM (2 * MOST)

extern uint8_t body[MOST], encoded[ROOM], back[MOST + 1];
extern uint8_t raw[MOST]; /* the bytes of the next dictionary */

/* The fixture: nothing is kept or limited; at the end no dictionary is in use. */
void encodings_set_up(void);
void encodings_tear_down(void);

/* A test of each `engine` of this build that needs no dictionary; of each that does. */
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

/* Words in tags, what no encoder can make smaller, or zeros; the same on every machine. */
void body_fill(body_kind_t kind, uint8_t *bytes, size_t nbytes);

/* `body` at once into `room` bytes of `encoded`; 0 where it does not fit. */
size_t encode_whole(const el_plan_t *plan, size_t nbytes, size_t room);

typedef struct {
    size_t nbytes; /* decoded */
    bool ended;    /* the coding's own end was seen, with checks passed, and no byte after it */
    bool failed;
} decoded_t;

/* As much as there is of what `plan` made, with no larger window than RFCs 9659 and 9842 allow. */
decoded_t decode(const el_plan_t *plan, el_span_t span);

/* `nbytes` of `encoded` become as many of `body` as there are. */
void assert_back(const el_plan_t *plan, size_t nbytes, size_t encoded_nbytes, const char *how);

/* `body` by step(), in pieces as those of a file; bytes of `encoded`. */
size_t encode_stream(const el_plan_t *plan, size_t nbytes);

/*
 * `encoded` becomes `nbytes` of `body`, and can be used as it comes if it is more than four
 * segments: there is text after two of them, and half of it after three quarters.
 */
void assert_usable(const el_plan_t *plan, size_t nbytes, size_t encoded_nbytes);

/* A whole body that does not fit leaves what is behind each of the rooms as it is. */
void assert_rooms_kept(const el_plan_t *plan, const size_t *rooms, size_t count);

/* Streams text through a context in many ways, also with the length known. */
void assert_streams(const el_plan_t *plan, size_t most);

/* A hash: what the engines do with it does not depend on its being one. Valid until the next. */
const uint8_t *hash_of(unsigned number);

/* `nbytes` of `raw` as a dictionary; NULL where that cannot be. The caller releases it. */
el_dictionary_t *try_prepare(const el_engine_t *engine, int level, size_t nbytes, unsigned number);

/* The same for the lowest level, which succeeds; `raw` is text. */
el_dictionary_t *prepare(const el_engine_t *engine, size_t nbytes, unsigned number);

#endif
