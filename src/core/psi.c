#include "elastic/psi.h"

#include "text.h"

#include <stdint.h>

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
    /* A number at the end of the line may be cut by the text's end, and is not taken. */
    if (at == end || *at != ' ' || *share > 100) {
        return false;
    }
    *share /= 100;
    return true;
}

bool el_psi_some(const char *text, size_t len, double *share)
{
    const char *at, *end;
    double got;

    if (!el_text_line(text, len, "some avg10=", &at, &end) || !read_percent(at, end, &got)) {
        return false;
    }
    *share = got;
    return true;
}
