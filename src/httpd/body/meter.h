/* The time that an encoder takes for one response. */
#ifndef ELASTIC_BODY_METER_H
#define ELASTIC_BODY_METER_H

#include "httpd/shared/stats.h"

/* The clocks around the calls of an encoder. */
typedef struct {
    el_usage_t used;
    uint64_t began_elapsed;
    uint64_t began_cpu;
} el_meter_t;

/* A fresh one; of one response in sixteen CPU time is taken, the first of a process among them. */
el_meter_t el_meter_create(void);

/* Around each call of the encoder. */
void el_meter_start(el_meter_t *meter);
void el_meter_stop(el_meter_t *meter);

/* Makes `meter`, a fresh one, go on after `before`, whose time is not that of the encoder. */
void el_meter_go_on(el_meter_t *meter, const el_meter_t *before);

#endif
