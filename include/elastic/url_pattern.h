/*
 * The patterns that say for which URLs a dictionary is (RFC 9842 §2.1.1): the WHATWG's URL Pattern
 * of a path and a query, without groups of regular expressions.
 *
 * Fixed text; `*`, any text; `:name`, one segment of a path; `{…}`, a group; behind each of these
 * three `?`, `*` or `+`. Without a `?` that begins a query, any query matches. A path that does not
 * begin with `/` is relative to that of the dictionary. What a browser would have to change before
 * it compares (characters to be escaped, segments `.` and `..`) is refused, and so are hosts and
 * fragments: the origin is compared elsewhere.
 *
 * Pure; any thread.
 */
#ifndef ELASTIC_URL_PATTERN_H
#define ELASTIC_URL_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of the longest pattern. */
#define EL_URL_PATTERN_MOST 512

/* NULL where the pattern may be used; otherwise what is wrong with it, for people. */
const char *el_url_pattern_fault(const char *pattern);

/* Whether the pattern is relative to the directory of the dictionary's path. */
bool el_url_pattern_relative(const char *pattern);

/*
 * Whether the pattern of a dictionary whose path is `base` matches `target`, a path with its query, as
 * in a request. False for a pattern that may not be used, and where both paths are too long.
 */
bool el_url_pattern_match(const char *pattern, const char *base, const char *target);

#endif
