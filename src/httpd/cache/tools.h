/* Parts of the cache that do not know httpd: cryptography, and threads for blocking calls. */
#ifndef ELASTIC_CACHE_TOOLS_H
#define ELASTIC_CACHE_TOOLS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * crypto.c: everything that the cache does with libcrypto. Keyed hashes name entries on this
 * machine. On other machines, names reveal nothing about the body, and only holders of the key can
 * read or make values. Any thread. Functions return false if libcrypto fails or lacks memory.
 */

/*
 * A keyed hash: AES-GMAC (NIST SP 800-38D) with one key and one nonce, used as a universal hash.
 * Its values must stay secret. The sizes of the key and of a hash in bytes.
 */
#define EL_MAC_KEY 16
#define EL_MAC 16

/* Makes a context for hashes with `key`; one thread at a time uses it. NULL if that fails. */
void *el_mac_make(const unsigned char key[EL_MAC_KEY]);
void el_mac_free(void *mac);

/* Begin a hash; add `nbytes` bytes; end it. */
bool el_mac_begin(void *mac);
bool el_mac_add(void *mac, const void *data, size_t nbytes);
bool el_mac_end(void *mac, unsigned char hash[EL_MAC]);

/*
 * Names are HMAC-SHA-256 (RFC 2104), values are sealed with AES-256-GCM (NIST SP 800-38D). Each
 * value has a key derived from its name. So no key gets too many random nonces, and a value that
 * was moved to another name, or joined from several, is rejected. The size of a name in bytes.
 */
#define EL_SEAL_NAME 32

/* Sealing adds these bytes: a nonce before the value and a tag after it. */
#define EL_SEAL_NONCE 12
#define EL_SEAL_TAG 16
#define EL_SEAL_OVERHEAD (EL_SEAL_NONCE + EL_SEAL_TAG)

/* The least bytes of a secret. */
#define EL_SEAL_SECRET_LEAST 32

typedef struct {
    unsigned char names[32];
    unsigned char values[32];
    unsigned char fingerprints[EL_MAC_KEY]; /* key of fingerprints, instead of a random one */
} el_seal_keys_t;

bool el_seal_keys(const void *secret, size_t len, el_seal_keys_t *keys);

/* Computes the name for other machines from the `len` bytes of this machine's name. */
bool el_seal_name(const el_seal_keys_t *keys, const void *own, size_t len,
                  unsigned char name[EL_SEAL_NAME]);

/*
 * Seals `len` bytes for `name` with a fresh nonce into `sealed`, which is EL_SEAL_OVERHEAD bytes
 * longer. May work in place: plain == sealed + EL_SEAL_NONCE. So may opening.
 */
bool el_seal_close(const el_seal_keys_t *keys, const unsigned char name[EL_SEAL_NAME],
                   const void *plain, size_t len, unsigned char *sealed);

/*
 * Opens `len` bytes that el_seal_close() made for `name` into `plain`, which is EL_SEAL_OVERHEAD
 * bytes shorter. False for anything else; `plain` must not be used then.
 */
bool el_seal_open(const el_seal_keys_t *keys, const unsigned char name[EL_SEAL_NAME],
                  const unsigned char *sealed, size_t len, unsigned char *plain);

/* The largest file of ElasticCacheKey in bytes: above any key, below most wrong files. */
#define EL_KEY_FILE_MOST 4096

/*
 * Reads the secret of a fleet's servers from `path`, and derives the keys from all its bytes.
 * Returns NULL, or the fault as text to follow the path.
 */
const char *el_key_file_read(const char *path, el_seal_keys_t *keys);

/*
 * workers.c: a few threads for calls that may block for any time. A caller waits for a bounded
 * time; a later result is freed by the thread. Posted tasks do not delay calls: one of several
 * threads stays free for calls, and if the only thread is busy with a posted task, calls are
 * refused.
 *
 * Any thread, unless a function says otherwise. The threads never end, because they may hang in a
 * call. They take no signals and need no cleanup at exit.
 */

/* The most tasks that wait for a thread; they hold memory meanwhile. */
#define EL_WORKERS_WAITING 8

/* Must be the first member of a task's structure. */
typedef struct el_task {
    void (*run)(struct el_task *task);     /* on a worker's thread; may block */
    void (*discard)(struct el_task *task); /* frees the task */

    /* For workers.c only. */
    struct el_task *next;
    atomic_int state;
} el_task_t;

typedef struct {
    pthread_mutex_t lock;
    pthread_cond_t work; /* a task is queued */
    pthread_cond_t done; /* a called task is done */
    el_task_t *first;    /* of the queue */
    unsigned waiting;
    unsigned threads;
    unsigned posted; /* threads that run posted tasks */
} el_workers_t;

/* Starts up to `threads` threads in the process that will use them. False: none started. */
bool el_workers_start(el_workers_t *workers, unsigned threads);

typedef enum {
    EL_TASK_DONE,   /* it ran; the caller owns it */
    EL_TASK_LATE,   /* not in time; the workers own it */
    EL_TASK_REFUSED /* no thread is free; the caller owns it, it did not run */
} el_task_end_t;

/* Runs `task` on a thread, before posted tasks, and waits at most `usec` µs. */
el_task_end_t el_workers_call(el_workers_t *workers, el_task_t *task, uint64_t usec);

/* Queues `task` to be run and discarded. False if too many wait: the caller keeps it. */
bool el_workers_post(el_workers_t *workers, el_task_t *task);

/* For use in run(): true if the caller no longer waits. */
bool el_task_is_late(const el_task_t *task);

#endif
