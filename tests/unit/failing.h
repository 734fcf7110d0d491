/*
 * Calls that fail in turn. A test includes a source file behind macros of the calls that it makes:
 *
 *     #define pread(...) FAILS(-1, pread(__VA_ARGS__))
 *
 * `while (fail_next())` runs its body with the first of these calls failing, then the second, until
 * none is left that could. ended() takes the result of a function, and later calls work again.
 */
#ifndef ELASTIC_TESTS_FAILING_H
#define ELASTIC_TESTS_FAILING_H

#include <errno.h>
#include <stdbool.h>

static long fail_at;  /* calls until one fails; 0: none */
static long fail_nth; /* the one that fails in this turn; 0: no turn has begun */
static bool has_failed;

static inline bool fails(void)
{
    bool now = fail_at > 0 && --fail_at == 0;

    has_failed = has_failed || now;
    errno = now ? EIO : errno;
    return now;
}

#define FAILS(value, call) (fails() ? (value) : (call))

static inline bool fail_next(void)
{
    bool more = fail_nth == 0 || has_failed;

    fail_at = fail_nth = more ? fail_nth + 1 : 0;
    has_failed = false;
    return more;
}

/* True if the function was good exactly if no call failed. */
static inline bool ended(bool good)
{
    fail_at = 0;
    return good != has_failed;
}

#endif
