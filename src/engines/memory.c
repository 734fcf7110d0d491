#define _GNU_SOURCE
#include "engines/memory.h"

#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

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
    size_t mapped_nbytes; /* with this; 0: malloc() gave it */
    max_align_t align;
} head_t;

static head_t *map(size_t nbytes)
{
    void *block = mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return block == MAP_FAILED ? NULL : block;
}

void *el_memory_acquire(size_t nbytes)
{
    size_t whole = nbytes + sizeof(head_t);
    head_t *head;

    if (whole < nbytes) {
        return NULL;
    }
    head = whole < MAPPED_MIN ? malloc(whole) : map(whole);
    if (!head) {
        return NULL;
    }
    head->mapped_nbytes = whole < MAPPED_MIN ? 0 : whole;
    return head + 1;
}

void el_memory_release(void *opaque, void *memory)
{
    head_t *head = memory;

    (void)opaque;
    if (!memory) {
        return;
    }
    head--;
    if (head->mapped_nbytes > 0) {
        munmap(head, head->mapped_nbytes);
    } else {
        free(head);
    }
}

void el_memory_trim(void)
{
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}
