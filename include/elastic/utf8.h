/* Text that comes from clients, which may be any bytes. Pure; any thread. */
#ifndef ELASTIC_UTF8_H
#define ELASTIC_UTF8_H

#include <stddef.h>

/*
 * How many bytes the character of UTF-8 at `at` has, of 2 and more; 0 where there is none, as with
 * ASCII. By the table of RFC 3629 §4.
 */
size_t el_utf8_length(const char *at);

/* Bytes that el_utf8_show() may need for a text of `len` bytes. */
#define EL_UTF8_SHOWN_ROOM(len) (3 * (len) + 1)

/*
 * Writes `text` to `shown` so that a reader sees what it is: a percent sign, spaces, control characters,
 * bytes that are no character, and characters that cannot be seen or turn the direction of what follows
 * become %XX for each of their bytes (RFC 3986 §2.1). What is special in HTML stays.
 */
void el_utf8_show(const char *text, char *shown);

#endif
