/*
 * Cookies of a request (RFC 6265 §4.2).
 *
 * Pure; any thread.
 */
#ifndef ELASTIC_COOKIE_H
#define ELASTIC_COOKIE_H

#include <stdbool.h>
#include <stddef.h>

/* Whether `name` can be that of a cookie: a token. */
bool el_cookie_name(const char *name);

/*
 * The value of the cookie `name` in the field, with the quotes that it may have: `*len` bytes of the
 * field. NULL where there is none, it is empty, or several have the name, because it is not known
 * which of them counts.
 */
const char *el_cookie_find(const char *field, const char *name, size_t *len);

#endif
