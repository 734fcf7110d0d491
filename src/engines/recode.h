/* An encoded body, encoded anew. Any thread. */
#ifndef ELASTIC_ENGINES_RECODE_H
#define ELASTIC_ENGINES_RECODE_H

#include "elastic/engine.h"

/* A whole body, encoded. */
typedef struct {
    el_coding_t coding;
    const uint8_t *data;
    size_t nbytes;
    size_t length; /* bytes of it decoded */
} el_encoded_t;

/*
 * Decodes `body` and encodes it by `plan`, whose engine may be of another coding: `*nbytes`, in a
 * buffer of the pool (engines/pool.h), which the caller releases. NULL where it is not what it
 * says, the engine failed, or memory is short.
 */
uint8_t *el_recode(const el_encoded_t *body, const el_plan_t *plan, size_t *nbytes);

#endif
