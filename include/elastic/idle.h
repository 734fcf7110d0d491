/*
 * Idle CPU time: what of it may be used to improve kept encodings, and which process does.
 *
 * One process has the right, by a lease that it renews; what has gone loses it after EL_IDLE_LEASE.
 * What may be used is a share of the machine, which is earned with the time that passes, and saved
 * for a second: a call that takes longer than there was is made up for before the next.
 *
 * In shared memory; lock-free; any process; no clock.
 */
#ifndef ELASTIC_IDLE_H
#define ELASTIC_IDLE_H

#include "elastic/control.h"

#include <stdatomic.h>

/* Microseconds for which a lease holds; it is renewed ten times a second. */
#define EL_IDLE_LEASE 2000000

/* Zeroed, nobody's, with nothing to spend. */
typedef struct el_idle {
    _Atomic uint64_t lease;  /* the process, and until when */
    _Atomic uint64_t earned; /* µs: up to when it was earned */
    _Atomic int64_t credit;  /* ns that may be spent; below 0: what is owed */
} el_idle_t;

/*
 * Renews the lease of the process `pid`, above 0, at `now` (µs); takes it where nobody has it.
 * Whether it has it then.
 */
bool el_idle_hold(el_idle_t *idle, uint32_t pid, uint64_t now);

/* Gives it back; nothing happens where `pid` has it not. */
void el_idle_release(el_idle_t *idle, uint32_t pid);

/* Earns `share` (0 … 1) of the time of `cpus` since the last call, at most that of a second. */
void el_idle_earn(el_idle_t *idle, uint64_t now, double cpus, double share);

/* `nsec` of CPU time were used. */
void el_idle_spend(el_idle_t *idle, uint64_t nsec);

/* Nanoseconds that may be used now; 0 or less: none. */
int64_t el_idle_credit(const el_idle_t *idle);

/*
 * Whether CPU time is spare, by the last load in millionths (EL_STATE_NO_LOAD: not known): where the
 * controller moves levels, and the load is below the threshold under which effort goes up.
 */
bool el_idle_spare(const el_control_config_t *control, uint64_t load_ppm);

/* Back to nobody, and nothing to spend. */
void el_idle_reset(el_idle_t *idle);

#endif
