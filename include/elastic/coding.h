/*
 * Content codings (RFC 9110 §8.4.1): the one table of their names and levels, the lists of
 * Content-Encoding, and what an encoded body begins with.
 *
 * A coding that is known here may still lack an engine in this build: ask engine.h. Everything else
 * (Accept-Encoding, tags, precompressed files, directives, status) reads its names from this table.
 *
 * All functions are pure and may be called from any thread.
 */
#ifndef ELASTIC_CODING_H
#define ELASTIC_CODING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
    EL_IDENTITY = 0, /* the body as it is; never an entry of the table */
    EL_GZIP,
    EL_BR,
    EL_ZSTD,
    EL_CODINGS, /* one past the last that needs the body alone: what levels are chosen among */
    EL_DCB = EL_CODINGS, /* compressed with a dictionary of the client (RFC 9842), by brotli */
    EL_DCZ,              /* the same by zstd */
    EL_ALL_CODINGS /* one past the last */
} el_coding_t;

typedef struct {
    const char *token;     /* the registered name, as in Content-Encoding */
    const char *alias;     /* an older name that requests may use, or NULL (RFC 9110 §8.4.1.3) */
    const char *tag_suffix; /* what a dynamic coding appends inside an entity tag */

    el_coding_t base; /* that of the same library without a dictionary: it, or its like */

    /* The rest is 0 for a coding that needs a dictionary. */
    const char *extension; /* of a precompressed file, with its dot */
    int level_min;         /* the lowest level that a user may write */
    int level_max;         /* the highest level that a user may write, whatever is built in */
    int default_min;       /* ElasticLevel's default floor */
    int default_max;       /* ElasticLevel's default ceiling */
    int stock_level;       /* what an httpd without this module uses; the controller starts there */
    el_coding_t stock;     /* what such an httpd would have sent: this coding, or gzip */
} el_coding_info_t;

/* The row of `coding`; NULL for EL_IDENTITY and for anything out of range. */
const el_coding_info_t *el_coding_info(el_coding_t coding);

/* Whether `coding` needs a dictionary that the client has. */
bool el_coding_needs_dictionary(el_coding_t coding);

/*
 * The coding named by the `len` bytes at `name`, by token or alias, in any case of letters.
 * EL_IDENTITY where it is no coding of the table (also for the word "identity"), or one that needs
 * a dictionary.
 */
el_coding_t el_coding_find(const char *name, size_t len);

/* The same among all codings. */
el_coding_t el_coding_find_any(const char *name, size_t len);

/*
 * Content-Encoding (RFC 9110 §8.4) is a list of codings in the order in which they were applied, so
 * that the last one is the outermost. Takes that one off the first `*len` bytes of `list`: `name`
 * and `name_len` are its token, a view into the list, and `*len` the length of what is before it,
 * without the comma. Empty members and `identity`, which is no coding, are passed over. False, and
 * `*len` 0, where none is left.
 */
bool el_encoding_pop(const char *list, size_t *len, const char **name, size_t *name_len);

/*
 * Whether a body whose first `len` bytes are at `data` is encoded, whatever its header says: they
 * are the magic number of gzip (RFC 1952 §2.3.1) or of a zstd frame (RFC 8878 §3.1.1). No text
 * begins so.
 */
bool el_encoding_is_magic(const char *data, size_t len);

/* Bytes of a SHA-256. */
#define EL_DICTIONARY_HASH 32

/* Bytes of the longest head: 36 for dcb, 40 for dcz. */
#define EL_DICTIONARY_HEAD 40

/*
 * Writes the head of a body that is encoded against a dictionary (RFC 9842 §4, §5) to `out`: what
 * kind `coding` is, and the dictionary's hash, which the decoder compares with its own. The
 * coding's stream follows. Returns its bytes.
 */
size_t el_dictionary_head(el_coding_t coding, const uint8_t hash[EL_DICTIONARY_HASH],
                          uint8_t out[EL_DICTIONARY_HEAD]);

#endif
