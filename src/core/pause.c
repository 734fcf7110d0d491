#include "elastic/pause.h"

/* The word: how many pauses there were in a row, and in the bits above, when the last one ends. */
#define COUNT_BITS 8
#define COUNT_MASK ((UINT64_C(1) << COUNT_BITS) - 1)

/* So many make the longest pause; there is nothing to count beyond it. */
#define COUNT_MOST 16

static uint64_t length_of(uint64_t count)
{
    uint64_t length = EL_PAUSE_FIRST << (count - 1);

    return length < EL_PAUSE_MOST ? length : EL_PAUSE_MOST;
}

static uint64_t next_count(uint64_t word)
{
    uint64_t count = word & COUNT_MASK;

    return count < COUNT_MOST ? count + 1 : COUNT_MOST;
}

static uint64_t word_of(uint64_t count, uint64_t end)
{
    return end << COUNT_BITS | count;
}

el_pause_state_t el_pause_at(el_pause_t *pause, uint64_t now, el_pause_ticket_t *ticket)
{
    uint64_t word = atomic_load_explicit(&pause->word, memory_order_relaxed);
    uint64_t count, trial;

    *ticket = word;
    if (word == 0) {
        return EL_PAUSE_NONE;
    }
    if (now < word >> COUNT_BITS) {
        return EL_PAUSE_ON;
    }
    count = next_count(word);
    trial = word_of(count, now + length_of(count));
    if (!atomic_compare_exchange_strong(&pause->word, &word, trial)) {
        return EL_PAUSE_ON;
    }
    *ticket = trial;
    return EL_PAUSE_TRIAL;
}

uint64_t el_pause_failed(el_pause_t *pause, el_pause_ticket_t ticket, uint64_t now)
{
    /* A trial has counted already, in case that nothing is ever heard of it. */
    uint64_t count = ticket ? ticket & COUNT_MASK : 1;
    uint64_t length = length_of(count);

    return atomic_compare_exchange_strong(&pause->word, &ticket, word_of(count, now + length))
               ? length
               : 0;
}

void el_pause_worked(el_pause_t *pause, el_pause_ticket_t ticket)
{
    atomic_compare_exchange_strong(&pause->word, &ticket, 0);
}
