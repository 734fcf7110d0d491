#include "elastic/psi.h"

#include "text.h"

#include <stdint.h>
#include <string.h>

static const char prefix[] = "some avg10=";

/* `12.34` percent. The kernel writes two decimals; more would be taken, and fewer. */
static bool read_percent(const char *at, const char *end, double *share)
{
    const char *point;
    uint64_t whole, decimals;
    double unit = 1;

    if (!el_text_number(&at, end, &whole) || whole > 100) {
        return false;
    }
    *share = (double)whole;
    if (at < end && *at == '.') {
        point = ++at;
        if (!el_text_number(&at, end, &decimals)) {
            return false;
        }
        for (; point < at; point++) {
            unit *= 10;
        }
        *share += (double)decimals / unit;
    }
    /* A number at the end of the text may be cut, and is not taken. */
    if (at == end || *at != ' ' || *share > 100) {
        return false;
    }
    *share /= 100;
    return true;
}

bool el_psi_some(const char *text, size_t len, double *share)
{
    const size_t skip = sizeof(prefix) - 1;
    const char *end = text + len;
    double got;

    for (const char *at = text; at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));

        if ((size_t)(end - at) > skip && memcmp(at, prefix, skip) == 0) {
            if (!read_percent(at + skip, end, &got)) {
                return false;
            }
            *share = got;
            return true;
        }
        at = newline != NULL ? newline + 1 : end;
    }
    return false;
}
