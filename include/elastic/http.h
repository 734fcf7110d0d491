/*
 * HTTP fields: content codings and Accept-Encoding, media types, structured fields and
 * Cache-Control.
 *
 * Pure; any thread. Nothing is allocated.
 */
#ifndef ELASTIC_HTTP_H
#define ELASTIC_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Content codings (RFC 9110 §8.4.1). The table has all names and levels; this build may lack an
 * engine for a coding.
 */

typedef enum {
    EL_IDENTITY = 0, /* the unencoded body; has no row in the table */
    EL_GZIP,
    EL_BR,
    EL_ZSTD,
    EL_CODINGS, /* one past the last coding without a dictionary */
    EL_DCB = EL_CODINGS, /* compressed with the client's dictionary (RFC 9842), by brotli */
    EL_DCZ,              /* likewise by zstd */
    EL_ALL_CODINGS /* one past the last */
} el_coding_t;

typedef struct {
    const char *token;     /* the registered name, as in Content-Encoding */
    const char *alias;     /* an older name in requests, or NULL (RFC 9110 §8.4.1.3) */
    const char *tag_suffix; /* appended inside the entity tag of a dynamic encoding */

    el_coding_t base; /* its library's coding without a dictionary; may be this one */

    /* The rest is 0 for codings that need a dictionary. */
    const char *extension; /* of a precompressed file, with its dot */
    int level_min;         /* lowest level in a configuration */
    int level_max;         /* highest level in a configuration, in any build */
    int default_min;       /* ElasticLevel's default floor */
    int default_max;       /* ElasticLevel's default ceiling */
    int stock_level;       /* level of an httpd without this module; the controller starts there */
    el_coding_t stock;     /* coding of such an httpd: this one, or gzip */
} el_coding_info_t;

/* The row of `coding`; NULL for EL_IDENTITY and for anything out of range. */
const el_coding_info_t *el_coding_info(el_coding_t coding);

bool el_coding_needs_dictionary(el_coding_t coding);

/*
 * Finds the coding named by the `len` bytes at `name`, by token or alias, in any case of letters.
 * EL_IDENTITY for unknown names, for "identity", and for codings that need a dictionary.
 */
el_coding_t el_coding_find(const char *name, size_t len);

/* Likewise, with the codings that need a dictionary. */
el_coding_t el_coding_find_any(const char *name, size_t len);

/*
 * Takes the last coding, the outermost, off the list in Content-Encoding (RFC 9110 §8.4): `name`
 * and `name_len` are its token within `list`, and `*len` becomes the length of the list before it.
 * Skips empty members and `identity`. False, and `*len` 0, if there is none.
 */
bool el_encoding_pop(const char *list, size_t *len, const char **name, size_t *name_len);

/*
 * True if the first `len` bytes of a body are the magic number of gzip (RFC 1952 §2.3.1) or of a
 * zstd frame (RFC 8878 §3.1.1). No text begins with them, so the body is encoded even if its header
 * does not say so.
 */
bool el_encoding_is_magic(const char *data, size_t len);

/* Bytes of a SHA-256. */
#define EL_DICTIONARY_HASH 32

/* Bytes of the longest head: 40 of dcz (dcb has 36). */
#define EL_DICTIONARY_HEAD 40

/*
 * Writes the head of a dictionary-compressed body (RFC 9842 §4, §5) to `out`: a magic number and
 * the dictionary's hash, which decoders compare. The coding's stream follows it. Returns the head's
 * length.
 */
size_t el_dictionary_head(el_coding_t coding, const uint8_t hash[EL_DICTIONARY_HASH],
                          uint8_t out[EL_DICTIONARY_HEAD]);

/*
 * Accept-Encoding (RFC 9110 §12.5.3). Weights are twice the thousandths of a qvalue (q=1 is 2000,
 * q=0.001 is 2), so that one value lies between a refusal and the least qvalue. Parsing is one
 * pass: a hostile line of 64 KB costs no more than its bytes.
 */
#define EL_Q_ONE 2000

/*
 * Identity's weight if the request lists neither `identity` nor `*`: acceptable, but below every
 * listed coding. RFC 9110 §12.5.3 gives it no weight.
 */
#define EL_Q_UNLISTED_IDENTITY 1

typedef struct {
    uint16_t q[EL_ALL_CODINGS]; /* 0 (refused) … EL_Q_ONE */
} el_accept_t;

/*
 * Parses the `len` bytes at `line` (several fields joined by commas; NULL: no field) into `accept`.
 *
 * - No field, or an empty one: identity only.
 * - A coding's first mention counts, under its token or its alias.
 * - `*` stands for identity and all codings that are not listed, except for those that need a
 *   dictionary: a client that does not list them has none (RFC 9842 §6).
 * - A weight outside of the grammar (`q=`, `q=2`, `q=0.0000`) is ignored as if absent: httpd's own
 *   test suite expects such members to be accepted.
 * - Members that are not `token [;parameters]` are skipped.
 */
void el_accept_parse(const char *line, size_t len, el_accept_t *accept);

/*
 * The coding with the highest weight among the `count` codings at `order`; the first of equals
 * wins. A coding that weighs less than identity is never chosen; at equal weight it is. EL_IDENTITY
 * if no coding qualifies.
 */
el_coding_t el_accept_choose(const el_accept_t *accept, const el_coding_t *order, size_t count);

/* True if the request accepts `coding`, which may be EL_IDENTITY. */
bool el_accept_takes(const el_accept_t *accept, el_coding_t coding);

// Media types (RFC 9110 §8.3.1) and the patterns of ElasticTypes: text/html, text/*,
// application/*+json.

/* A type or a pattern; points into the text that it was read from. */
typedef struct {
    const char *type;
    const char *subtype;
    size_t type_len;
    size_t subtype_len;
} el_mediatype_t;

/*
 * Reads the type at the beginning of a Content-Type's value; ignores parameters. False if `value`
 * is NULL or does not begin with a type.
 */
bool el_mediatype_read(const char *value, el_mediatype_t *type);

/*
 * Reads a pattern: type "/" subtype, both tokens (RFC 9110 §5.6.2). The subtype may be "*" or
 * "*+suffix"; "*" as a type needs "*" as a subtype. False for other text.
 */
bool el_mediatype_pattern(const char *value, el_mediatype_t *pattern);

/* True if `type` matches `pattern`, in any case of letters. */
bool el_mediatype_match(const el_mediatype_t *pattern, const el_mediatype_t *type);

/* The patterns that apply if the configuration has none. */
extern const el_mediatype_t el_mediatype_defaults[];
extern const size_t el_mediatype_defaults_count;

/* True if a default pattern matches the value of Content-Type, or NULL. */
bool el_mediatype_is_default(const char *value);

/*
 * Structured fields (RFC 9651): the types that dictionaries and ElasticExplain need. A field must
 * be one item of the type, without parameters; spaces around it are allowed.
 */

/* Reads a Byte Sequence (§3.3.5) of exactly `nbytes` into `bytes`. False if it is not one. */
bool el_structured_bytes(const char *field, uint8_t *bytes, size_t nbytes);

/*
 * Reads a String (§3.3.3) into `text`, unescaped and terminated by a NUL. False, and "" in `text`,
 * if it is not a String or needs more than `room` bytes (1 or more).
 */
bool el_structured_string(const char *field, char *text, size_t room);

/* True if a String can hold `text`: printable ASCII. */
bool el_structured_can_hold(const char *text);

/* Writes a Dictionary (§3.2) into memory. */
typedef struct {
    char *text;  /* always terminated; "" at first */
    size_t room; /* bytes with the NUL, 1 or more */
    size_t len;
    bool short_of_room; /* something did not fit */
} el_structured_writer_t;

/* Begins a Dictionary in the `room` bytes at `text`. */
el_structured_writer_t el_structured_begin(char *text, size_t room);

/* Adds a member whose value is a String. The caller checks both texts. */
void el_structured_add_string(el_structured_writer_t *writer, const char *key, const char *value);

/* Adds a member whose value is a Token or a number, copied as it is. */
void el_structured_add_bare(el_structured_writer_t *writer, const char *key, const char *value);

/* Adds a parameter (§3.1.2) to the last member. Characters that a String cannot hold become '?'. */
void el_structured_param_bare(el_structured_writer_t *writer, const char *key, const char *value);
void el_structured_param_string(el_structured_writer_t *writer, const char *key,
                                const char *value);

/* Adds a member whose value is an Inner List of Strings: the words in `words`. */
void el_structured_add_words(el_structured_writer_t *writer, const char *key, const char *words);

/* Cache-Control of a response (RFC 9111 §5.2.2): who may store it, and for how long. */

typedef struct {
    bool no_store;
    bool no_cache;    /* also with field names */
    bool only_mine;   /* private, also with field names */
    bool has_max_age;
    uint64_t max_age; /* seconds */
} el_cache_control_t;

/*
 * Parses the field's value, with all lines joined by commas. Names match in any case of letters.
 * The shorter of two durations counts, and an invalid one counts as 0, so that a response is never
 * stored longer than intended.
 */
el_cache_control_t el_cache_control_parse(const char *field);

#endif
