/*
 * Cache-Control of a response (RFC 9111 §5.2.2): who may keep it, and for how long a browser may
 * use what it kept.
 *
 * Pure; any thread.
 */
#ifndef ELASTIC_CACHE_CONTROL_H
#define ELASTIC_CACHE_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    bool no_store;
    bool no_cache;    /* with names of fields, too */
    bool only_mine;   /* private, with names of fields, too */
    bool has_max_age;
    uint64_t max_age; /* seconds */
} el_cache_control_t;

/*
 * What the field's value says, all lines of it joined by commas. Names are compared without regard
 * to case; of two durations the shorter one counts, and one that is no number is 0, so that a
 * response is never kept for longer than was meant.
 */
el_cache_control_t el_cache_control_parse(const char *field);

#endif
