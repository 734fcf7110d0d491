/*
 * The text in which a monitoring system reads metrics: which of its two formats a scraper takes, and
 * how a label's value is written. OpenMetrics 1.0, or the text format 0.0.4 of Prometheus.
 *
 * Pure; any thread.
 */
#ifndef ELASTIC_EXPOSITION_H
#define ELASTIC_EXPOSITION_H

#include <stddef.h>

typedef enum { EL_EXPOSITION_TEXT, EL_EXPOSITION_OPEN } el_exposition_t;

/* The media type of a format, with its parameters. */
const char *el_exposition_type(el_exposition_t format);

/*
 * The format for a request whose Accept is `accept`, or NULL: what it names with the higher weight,
 * OpenMetrics where both are equal (RFC 9110 §12.5.1); `otherwise`, where it names none of the two.
 */
el_exposition_t el_exposition_choose(const char *accept, el_exposition_t otherwise);

/* Bytes that el_exposition_escape() may need for a value of `len` bytes. */
#define EL_EXPOSITION_ROOM(len) (2 * (len) + 1)

/*
 * Writes `value` to `text` as it stands between a label's quotes: backslash, quote and newline are
 * escaped, and a byte that belongs to no character of UTF-8 becomes a question mark.
 */
void el_exposition_escape(const char *value, char *text);

#endif
