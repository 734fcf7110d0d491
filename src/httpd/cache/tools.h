/* Two parts of the store that know no server: crypto.c, and threads for calls that may block. */
#ifndef ELASTIC_CACHE_TOOLS_H
#define ELASTIC_CACHE_TOOLS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * crypto.c: all that libcrypto does for the store. Keyed hashes name entries on this machine.
 * Entries that leave it have names that tell nothing of the body, and values that nobody without
 * the key reads or makes. Any thread. Functions return false if libcrypto fails, for instance for
 * lack of memory.
 */

/*
 * A keyed hash: AES-GMAC (NIST SP 800-38D), with one key and one nonce, as a universal hash: its
 * values are never shown. Bytes of the key and of a hash.
 */
#define EL_MAC_KEY 16
#define EL_MAC 16

/* Makes a context that hashes with `key`, for one thread at a time; NULL if it failed. */
void *el_mac_make(const unsigned char key[EL_MAC_KEY]);
void el_mac_free(void *mac);

/* Begins a hash; adds the next `nbytes` bytes, at `data`; ends it. */
bool el_mac_begin(void *mac);
bool el_mac_add(void *mac, const void *data, size_t nbytes);
bool el_mac_end(void *mac, unsigned char hash[EL_MAC]);

/*
 * Names are HMAC-SHA-256 (RFC 2104), and values are sealed by AES-256-GCM (NIST SP 800-38D). A
 * value has a key of its own, made of its name. So random nonces never get too many under one key,
 * and a value that is found under another name, or was put together of several, is none. Bytes of a
 * name.
 */
#define EL_SEAL_NAME 32

/* Bytes that a sealed value is longer than what it holds: a nonce before it, and a tag behind. */
#define EL_SEAL_NONCE 12
#define EL_SEAL_TAG 16
#define EL_SEAL_OVERHEAD (EL_SEAL_NONCE + EL_SEAL_TAG)

/* Bytes of a secret, at least. */
#define EL_SEAL_SECRET_LEAST 32

typedef struct {
    unsigned char names[32];
    unsigned char values[32];
    unsigned char fingerprints[EL_MAC_KEY]; /* of hashes, in place of a random one */
} el_seal_keys_t;

/* Derives the keys from `len` bytes of secret. */
bool el_seal_keys(const void *secret, size_t len, el_seal_keys_t *keys);

/* Makes the name outside of this machine; `own` is the one of `len` bytes in it. */
bool el_seal_name(const el_seal_keys_t *keys, const void *own, size_t len,
                  unsigned char name[EL_SEAL_NAME]);

/*
 * Seals `len` bytes for `name`, with a fresh nonce; `sealed` has room for EL_SEAL_OVERHEAD more.
 * They may be there already: plain == sealed + EL_SEAL_NONCE. The same holds for opening.
 */
bool el_seal_close(const el_seal_keys_t *keys, const unsigned char name[EL_SEAL_NAME],
                   const void *plain, size_t len, unsigned char *sealed);

/*
 * Opens `len` bytes that el_seal_close() made for `name`; `plain` has room for EL_SEAL_OVERHEAD
 * fewer. False too for anything else, and then nothing at `plain` may be used.
 */
bool el_seal_open(const el_seal_keys_t *keys, const unsigned char name[EL_SEAL_NAME],
                  const unsigned char *sealed, size_t len, unsigned char *plain);

/*
 * Bytes of the file of ElasticCacheKey, at most: more than any key has, and less than a file that
 * was named by mistake.
 */
#define EL_KEY_FILE_MOST 4096

/*
 * Reads that file at `path`, a secret that only the servers of a fleet have, and makes the keys of
 * all its bytes. NULL, or its fault, in words that follow the path.
 */
const char *el_key_file_read(const char *path, el_seal_keys_t *keys);

/*
 * workers.c: a few threads of a process for calls that may block for any time. A caller waits for a
 * bounded time; if the result comes later, the thread frees it. Tasks that nobody waits for delay
 * no call: of several threads one is left for calls, and if the only thread is busy with such a
 * task, a call is refused.
 *
 * Any thread, unless a function says otherwise. The threads never end: one may hang in a call for
 * ever. They take no signals, and need no cleanup when the process exits.
 */

/* Tasks that wait for a thread, at most: they hold the memory that they bring. */
#define EL_WORKERS_WAITING 8

/* The first member of each task's own structure. */
typedef struct el_task {
    void (*run)(struct el_task *task);     /* in a thread; may block */
    void (*discard)(struct el_task *task); /* frees it */

    /* The workers' own. */
    struct el_task *next;
    atomic_int state;
} el_task_t;

typedef struct {
    pthread_mutex_t lock;
    pthread_cond_t work; /* there is a task */
    pthread_cond_t done; /* a task is done that somebody waits for */
    el_task_t *first;    /* of those that wait for a thread */
    unsigned waiting;
    unsigned threads;
    unsigned posted; /* threads that run tasks that nobody waited for at the start */
} el_workers_t;

/* Starts up to `threads` threads, in a process that does not fork them away. False: not one. */
bool el_workers_start(el_workers_t *workers, unsigned threads);

typedef enum {
    EL_TASK_DONE,   /* it was run; the caller's */
    EL_TASK_LATE,   /* it was not; the workers' from now on */
    EL_TASK_REFUSED /* no thread will come to it soon; the caller's, and nothing was done */
} el_task_end_t;

/* Has a thread run `task`, before posted ones; waits `usec` µs at most. */
el_task_end_t el_workers_call(el_workers_t *workers, el_task_t *task, uint64_t usec);

/* Has a thread run and discard `task` at some time. False if too many wait: the caller's. */
bool el_workers_post(el_workers_t *workers, el_task_t *task);

/* In run(): true if nobody waits for the result any more. */
bool el_task_is_late(const el_task_t *task);

#endif
