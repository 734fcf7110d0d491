#include "httpd/state/paths.h"

#include "httpd/state/shared.h"

#include "elastic/decide.h"
#include "host/clock.h"

/* µs after which what was noted counts half. */
#define ERA UINT64_C(3600000000)

/*
 * Each process notes so many responses one by one, so that a server with few of them shows what they
 * were; then one in EVERY, because noting one takes cache lines of other processes.
 */
#define EXACT 256
#define EVERY 16

/* 2^32 times the golden ratio - 1: its multiples are spread evenly, whatever a site's rounds are. */
#define SPREAD 2654435769u

/* How many responses the next one stands for; 0: it is not noted. */
static unsigned turn(void)
{
    static _Atomic uint32_t responses;
    uint32_t n = atomic_fetch_add_explicit(&responses, 1, memory_order_relaxed);

    if (n < EXACT) {
        return 1;
    }
    return n * SPREAD < UINT32_MAX / EVERY ? EVERY : 0;
}

static void note(el_top_kind_t kind, const request_rec *r, uint64_t weight)
{
    while (r->prev) {
        r = r->prev;
    }
    if (r->uri && weight > 0) {
        el_top_fade(&el_shared.top[kind], el_clock_usec() / ERA + 1);
        el_top_add(&el_shared.top[kind], r->server->server_hostname, r->uri, weight);
    }
}

/* Whether the body could have been encoded, but for what the client or the server wanted then. */
static bool is_plain(const request_rec *r)
{
    const char *note = apr_table_get(r->notes, "elastic-reason");

    for (int reason = 0; note && reason < EL_REASON_COUNT; reason++) {
        if (strcmp(note, el_reason_note((el_reason_t)reason)) == 0) {
            return el_reason_is_loss((el_reason_t)reason);
        }
    }
    return false;
}

int el_paths_log(request_rec *r)
{
    unsigned weight = turn();
    const request_rec *last = r;

    if (weight == 0) {
        return OK;
    }
    while (last->next) {
        last = last->next;
    }
    note(EL_TOP_ASKED, r, weight);
    if (last->bytes_sent > 0 && is_plain(last)) {
        note(EL_TOP_PLAIN, r, weight * (uint64_t)last->bytes_sent);
    }
    return OK;
}

void el_paths_worked(const request_rec *r, uint64_t nsec)
{
    note(EL_TOP_CPU, r, nsec);
}
