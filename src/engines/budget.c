#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#endif

#include "engines/budget.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

static el_in_flight_t *held; /* NULL: nothing is counted */
static el_holder_t *holder;
static uint64_t most;
static bool only_requests;

static _Thread_local bool refused;

/* In a copy of the process, which counts nothing. */
static void budget_close(void)
{
    held = NULL;
}

void el_budget_open(el_in_flight_t *of, uint64_t limit, bool requests)
{
    static bool is_watched;

    held = of;
    most = limit;
    only_requests = requests;
    if (held) {
        holder = el_in_flight_enter(held, (uint32_t)getpid());
        is_watched = is_watched || pthread_atfork(NULL, NULL, budget_close) == 0;
    }
}

static bool is_counted(const el_account_t *account)
{
    return held && !account->idle && (account->of_request || !only_requests);
}

/* False where it is refused. */
static bool count(const el_account_t *account, size_t nbytes)
{
    if (!is_counted(account)) {
        return true;
    }
    if (account->committed) {
        el_in_flight_add(held, holder, (int64_t)nbytes);
        return true;
    }
    if (!el_in_flight_take(held, holder, nbytes, most)) {
        refused = true;
        return false;
    }
    return true;
}

bool el_budget_take(el_account_t *account, size_t nbytes)
{
    bool taken = count(account, nbytes);

    account->nbytes += taken ? nbytes : 0;
    return taken;
}

void el_budget_give(el_account_t *account, size_t nbytes)
{
    if (is_counted(account)) {
        el_in_flight_add(held, holder, -(int64_t)nbytes);
    }
    account->nbytes -= nbytes;
}

bool el_budget_wake(el_account_t *account)
{
    account->idle = false;
    account->idle = !count(account, account->nbytes);
    return !account->idle;
}

void el_budget_rest(el_account_t *account)
{
    if (is_counted(account)) {
        el_in_flight_add(held, holder, -(int64_t)account->nbytes);
    }
    account->idle = true;
    account->committed = false;
}

bool el_budget_take_refusal(void)
{
    bool was = refused;

    refused = false;
    return was;
}

/*
 * Blocks of this size and more are mapped, which takes a call of the kernel: each of zlib's tables
 * is as large. Sanitizers check the blocks of malloc() only.
 */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MAPPED_MIN ((size_t)-1)
#else
#define MAPPED_MIN ((size_t)64 * 1024)
#endif

/* What a block begins with. */
typedef union {
    size_t nbytes; /* with this */
    max_align_t align;
} head_t;

static head_t *map(size_t nbytes)
{
    void *block = mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return block == MAP_FAILED ? NULL : block;
}

void *el_memory_acquire(void *account, size_t nbytes)
{
    size_t whole = nbytes + sizeof(head_t);
    head_t *head;

    if (whole < nbytes || !el_budget_take(account, whole)) {
        return NULL;
    }
    head = whole < MAPPED_MIN ? malloc(whole) : map(whole);
    if (!head) {
        el_budget_give(account, whole);
        return NULL;
    }
    head->nbytes = whole;
    return head + 1;
}

void el_memory_release(void *account, void *memory)
{
    head_t *head = memory;

    if (!memory) {
        return;
    }
    head--;
    el_budget_give(account, head->nbytes);
    if (head->nbytes < MAPPED_MIN) {
        free(head);
    } else {
        munmap(head, head->nbytes);
    }
}

void *el_context_allocate(size_t nbytes)
{
    el_account_t account = {0};
    el_context_t *context;

    if (!el_budget_take(&account, nbytes)) {
        return NULL;
    }
    context = calloc(1, nbytes);
    if (!context) {
        el_budget_give(&account, nbytes);
        return NULL;
    }
    context->account = account;
    return context;
}

void el_context_deallocate(el_context_t *context)
{
    el_budget_give(&context->account, context->account.nbytes);
    free(context);
}

void el_memory_trim(void)
{
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}
