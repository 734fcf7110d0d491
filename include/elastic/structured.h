/*
 * Structured fields (RFC 9651): the few types that compression dictionaries and ElasticExplain
 * need.
 *
 * Parsing is strict: what is not exactly one item of the type, and the spaces around it, is none.
 * So is an item with parameters, which no field read here gives a meaning.
 *
 * Pure; any thread.
 */
#ifndef ELASTIC_STRUCTURED_H
#define ELASTIC_STRUCTURED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads a Byte Sequence (§3.3.5) of exactly `nbytes` into `bytes`. False: the field is none. */
bool el_structured_bytes(const char *field, uint8_t *bytes, size_t nbytes);

/*
 * Reads a String (§3.3.3) into `text`, without its quotes and escapes, and with a NUL. False where
 * the field is none, or with the NUL takes more than `room`, 1 or more; then `text` is "".
 */
bool el_structured_string(const char *field, char *text, size_t room);

/* Whether a String can hold the text: printable ASCII. */
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

#endif
