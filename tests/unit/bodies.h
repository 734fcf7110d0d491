/* Bodies for the tests of engines, the same on every machine. */
#ifndef ELASTIC_TESTS_BODIES_H
#define ELASTIC_TESTS_BODIES_H

#include <stddef.h>
#include <stdint.h>

typedef enum { BODY_TEXT, BODY_NOISE, BODY_ZEROS, BODY_KINDS } body_kind_t;

/* Fills `nbytes` at `body`: words in tags, what no encoder can make smaller, or zeros. */
void body_fill(body_kind_t kind, uint8_t *body, size_t nbytes);

#endif
