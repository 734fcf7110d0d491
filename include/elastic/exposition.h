/*
 * The text in which a monitoring system reads metrics, Prometheus's text format 0.0.4: how the value of
 * a label is written. Pure; any thread.
 */
#ifndef ELASTIC_EXPOSITION_H
#define ELASTIC_EXPOSITION_H

#include <stddef.h>

/* Bytes that el_exposition_escape() may need for a value of `len` bytes. */
#define EL_EXPOSITION_ROOM(len) (2 * (len) + 1)

/*
 * Writes `value` to `text` as it stands between a label's quotes: backslash, quote and newline are
 * escaped, and a byte that belongs to no character of UTF-8 becomes a question mark.
 */
void el_exposition_escape(const char *value, char *text);

#endif
