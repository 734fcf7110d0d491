/*
 * Fields of HTTP: content codings and Accept-Encoding, media types, structured fields and
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
 * Content codings (RFC 9110 §8.4.1). This table has all of their names and levels; this build may
 * still lack an engine for one of them.
 */

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

/* True if `coding` needs a dictionary that the client has. */
bool el_coding_needs_dictionary(el_coding_t coding);

/*
 * The coding named by the `len` bytes at `name`, by token or alias, in any case of letters.
 * EL_IDENTITY if it is no coding of the table (also for the word "identity"), or one that needs
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
 * `*len` 0, if none is left.
 */
bool el_encoding_pop(const char *list, size_t *len, const char **name, size_t *name_len);

/*
 * True if a body whose first `len` bytes are at `data` is encoded, whatever its header says: they
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

/*
 * Accept-Encoding (RFC 9110 §12.5.3). Weights are twice the thousandths of a qvalue (q=1 is 2000,
 * q=0.001 is 2), which leaves room for one value between a refusal and the least that a request can
 * write. One pass over the text: a hostile line of 64 KB costs no more than its bytes.
 */
#define EL_Q_ONE 2000

/*
 * Identity's weight if the request names neither `identity` nor `*`: acceptable, but below every
 * coding that the request lists (RFC 9110 §12.5.3 gives it no weight; a listed coding is asked
 * for).
 */
#define EL_Q_UNLISTED_IDENTITY 1

typedef struct {
    uint16_t q[EL_ALL_CODINGS]; /* 0 (refused) … EL_Q_ONE */
} el_accept_t;

/*
 * Reads the `len` bytes at `line` (several fields joined by commas; NULL if the request has
 * none) into `accept`.
 *
 * - No field, or an empty one: identity only.
 * - A coding's first mention counts, under its token or its alias; later ones are ignored.
 * - `*` is for every coding, and identity, that is not mentioned anywhere in the line; but not for
 *   one that needs a dictionary: a client that does not name it has none (RFC 9842 §6).
 * - A weight that the grammar does not allow (`q=`, `q=2`, `q=0.0000`) is ignored, as though
 *   absent: httpd's own test suite expects such members to be accepted.
 * - Members that are not `token [;parameters]` are skipped.
 */
void el_accept_parse(const char *line, size_t len, el_accept_t *accept);

/*
 * The best coding for `accept` among the `count` codings at `order`, which is the server's order of
 * preference among equal weights. A coding that weighs less than identity is never chosen; at equal
 * weight the coding wins. EL_IDENTITY if none is acceptable or identity is preferred.
 */
el_coding_t el_accept_choose(const el_accept_t *accept, const el_coding_t *order, size_t count);

/* True if the request takes `coding` at all (identity included). */
bool el_accept_takes(const el_accept_t *accept, el_coding_t coding);

// Media types (RFC 9110 §8.3.1) and the patterns of ElasticTypes: text/html, text/*,
// application/*+json.

/* The two names of a type or of a pattern: views into the text that they were read from. */
typedef struct {
    const char *type;
    const char *subtype;
    size_t type_len;
    size_t subtype_len;
} el_mediatype_t;

/*
 * Reads a Content-Type's value, with or without parameters, which are not looked at. False if it
 * is NULL or does not begin with a type.
 */
bool el_mediatype_read(const char *value, el_mediatype_t *type);

/*
 * Reads a pattern: type "/" subtype, both tokens of RFC 9110 §5.6.2, if the subtype may be "*"
 * or "*+suffix", and both may be "*". False if the text is none.
 */
bool el_mediatype_pattern(const char *value, el_mediatype_t *pattern);

/* True if `type` matches `pattern`. Letters match in any case. */
bool el_mediatype_match(const el_mediatype_t *pattern, const el_mediatype_t *type);

/* The patterns that are compressed if the configuration names none, and their number. */
extern const el_mediatype_t el_mediatype_defaults[];
extern const size_t el_mediatype_defaults_count;

/* True if one of them matches the type that a Content-Type's value, or NULL, begins with. */
bool el_mediatype_is_default(const char *value);

/*
 * Structured fields (RFC 9651): the types that dictionaries and ElasticExplain need. Parsing is
 * strict: a field is one item of the type, without parameters, and spaces around it.
 */

/* Reads a Byte Sequence (§3.3.5) of exactly `nbytes` into `bytes`. False: the field is none. */
bool el_structured_bytes(const char *field, uint8_t *bytes, size_t nbytes);

/*
 * Reads a String (§3.3.3) into `text`, without its quotes and escapes, and with a NUL. False if
 * the field is none, or with the NUL takes more than `room`, 1 or more; then `text` is "".
 */
bool el_structured_string(const char *field, char *text, size_t room);

/* True if a String can hold the text: printable ASCII. */
bool el_structured_can_hold(const char *text);

/* A Dictionary (§3.2) that is written into a piece of memory. */
typedef struct {
    char *text;  /* always a string; "" at first */
    size_t room; /* bytes, with the NUL; 1 or more */
    size_t len;
    bool short_of_room; /* some of it is missing */
} el_structured_writer_t;

/* Begins a Dictionary in the `room` bytes at `text`. */
el_structured_writer_t el_structured_begin(char *text, size_t room);

/* Adds a member with a String as its value; both are ones that can be held. */
void el_structured_add_string(el_structured_writer_t *writer, const char *key, const char *value);

/* Adds a member whose value is a Token or a number, as it is written. */
void el_structured_add_bare(el_structured_writer_t *writer, const char *key, const char *value);

/*
 * Adds parameters (§3.1.2) to the last member: as above; a character that no String holds is '?'.
 */
void el_structured_param_bare(el_structured_writer_t *writer, const char *key, const char *value);
void el_structured_param_string(el_structured_writer_t *writer, const char *key,
                                const char *value);

/*
 * Adds a member with an Inner List of Strings as its value: the words of `words`, between spaces.
 */
void el_structured_add_words(el_structured_writer_t *writer, const char *key, const char *words);

/* Cache-Control of a response (RFC 9111 §5.2.2): who may keep it, and for how long. */

typedef struct {
    bool no_store;
    bool no_cache;    /* with names of fields, too */
    bool only_mine;   /* private, with names of fields, too */
    bool has_max_age;
    uint64_t max_age; /* seconds */
} el_cache_control_t;

/*
 * Reads the field's value, all lines of it joined by commas. Names are compared without regard to
 * case. Of two durations the shorter one counts, and one that is no number is 0: a response is
 * never kept for longer than was meant.
 */
el_cache_control_t el_cache_control_parse(const char *field);

#endif
