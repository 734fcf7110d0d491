#include "elastic/idle.h"

/* A lease's word: the process above, and below until when, in units of 1/16 s: for eight years. */
#define PID_SHIFT 32
#define UNTIL_MASK UINT64_C(0xffffffff)
#define UNIT (1000000 / 16)

#define SECOND_USEC 1000000
#define PPM 1000000.

bool el_idle_hold(el_idle_t *idle, uint32_t pid, uint64_t now)
{
    uint64_t held = atomic_load(&idle->lease);
    uint64_t mine = (uint64_t)pid << PID_SHIFT | ((now + EL_IDLE_LEASE) / UNIT & UNTIL_MASK);

    if (held >> PID_SHIFT != pid && held >> PID_SHIFT != 0 && (held & UNTIL_MASK) > now / UNIT) {
        return false;
    }
    return atomic_compare_exchange_strong(&idle->lease, &held, mine);
}

void el_idle_release(el_idle_t *idle, uint32_t pid)
{
    uint64_t held = atomic_load(&idle->lease);

    if (held >> PID_SHIFT == pid) {
        atomic_compare_exchange_strong(&idle->lease, &held, 0);
    }
}

/* Who is the first to earn, or comes after a pause, has the time of now on. */
void el_idle_earn(el_idle_t *idle, uint64_t now, double cpus, double share)
{
    uint64_t since = atomic_exchange(&idle->earned, now);
    uint64_t passed = since > 0 && now > since ? now - since : 0;
    int64_t most = (int64_t)(SECOND_USEC * 1000. * cpus * share);
    int64_t add = (int64_t)((double)(passed < SECOND_USEC ? passed : SECOND_USEC) * 1000. * cpus
                            * share);
    int64_t before = atomic_load(&idle->credit), after;

    do {
        after = before + add < most ? before + add : most;
    } while (!atomic_compare_exchange_weak(&idle->credit, &before, after));
}

void el_idle_spend(el_idle_t *idle, uint64_t nsec)
{
    atomic_fetch_sub(&idle->credit, (int64_t)nsec);
}

int64_t el_idle_credit(const el_idle_t *idle)
{
    return atomic_load(&idle->credit);
}

bool el_idle_spare(const el_control_config_t *control, uint64_t load_ppm)
{
    /* EL_STATE_NO_LOAD is more than any threshold. */
    return control->mode != EL_CONTROL_OFF && (double)load_ppm < control->low * PPM;
}

void el_idle_reset(el_idle_t *idle)
{
    atomic_store(&idle->lease, 0);
    atomic_store(&idle->earned, 0);
    atomic_store(&idle->credit, 0);
}
