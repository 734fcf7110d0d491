/*
 * Settings that are one number each: an array, and a bit for each number that a directive has set,
 * so that a merge takes them field by field and one directive resets no other. Which number means
 * what, and in which unit, says the enumeration of their owner.
 */
#ifndef ELASTIC_CONFIG_VALUES_H
#define ELASTIC_CONFIG_VALUES_H

#include <stdbool.h>
#include <stdint.h>

/* As many as the longest of these enumerations has. */
#define EL_VALUES_MAX 15

/* The first member of each settings structure, so that one function sets them all. */
typedef struct {
    uint32_t set; /* bit i: value i was set */
    unsigned slot; /* of a server: where shared/stats.c counts it */
    int64_t value[EL_VALUES_MAX];
} el_values_t;

static inline bool el_value_is_set(const el_values_t *values, unsigned i)
{
    return values->set & 1u << i;
}

/* The value, or `unset` where no directive has set it. */
static inline int64_t el_value(const el_values_t *values, unsigned i, int64_t unset)
{
    return el_value_is_set(values, i) ? values->value[i] : unset;
}

static inline void el_value_set(el_values_t *values, unsigned i, int64_t value)
{
    values->value[i] = value;
    values->set |= 1u << i;
}

/* Takes from the inner settings what is set there. */
static inline void el_values_merge(el_values_t *to, const el_values_t *from)
{
    for (unsigned i = 0; from->set >> i; i++) {
        if (el_value_is_set(from, i)) {
            el_value_set(to, i, from->value[i]);
        }
    }
}

#endif
