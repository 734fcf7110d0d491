#include "elastic/exposition.h"

#include <string.h>

/*
 * How many bytes the character of UTF-8 at `text` has, of 2 and more; 0 where there is none. By the
 * table of RFC 3629 §4.
 */
static size_t utf8_length(const char *text)
{
    static const struct {
        unsigned char first, last; /* of the first byte */
        unsigned char least, most; /* of the second one */
        size_t len;
    } rows[] = {
        {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3},
        {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
        {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
    };
    const unsigned char *at = (const unsigned char *)text;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        size_t n = 2;

        if (*at < rows[i].first || *at > rows[i].last || at[1] < rows[i].least
            || at[1] > rows[i].most) {
            continue;
        }
        while (n < rows[i].len && at[n] >= 0x80 && at[n] <= 0xbf) {
            n++;
        }
        return n == rows[i].len ? n : 0;
    }
    return 0;
}

void el_exposition_escape(const char *value, char *text)
{
    while (*value) {
        size_t len = 1;

        if (*value == '\\' || *value == '"' || *value == '\n') {
            *text++ = '\\';
            *text++ = *value == '\n' ? 'n' : *value;
        } else if ((unsigned char)*value < 0x80) {
            *text++ = *value;
        } else {
            len = utf8_length(value);
            if (len == 0) {
                *text++ = '?';
                len = 1;
            } else {
                memcpy(text, value, len);
                text += len;
            }
        }
        value += len;
    }
    *text = 0;
}
