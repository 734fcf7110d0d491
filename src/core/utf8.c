#include "elastic/utf8.h"

#include <stdbool.h>
#include <stdint.h>

size_t el_utf8_length(const char *text)
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

/* The number of the character whose `len` bytes, 2 and more, are at `text`. */
static uint32_t number_of(const char *text, size_t len)
{
    uint32_t number = (unsigned char)*text & (0xffu >> (len + 1));

    for (size_t i = 1; i < len; i++) {
        number = number << 6 | ((unsigned char)text[i] & 0x3f);
    }
    return number;
}

/*
 * Control characters of ISO 8859 and the no-break space; what joins, turns or separates (Unicode's
 * category Cf, lines and spaces in U+2000 to U+206F); the mark of byte order; what stands for nothing.
 */
static bool is_hidden(uint32_t number)
{
    return number <= 0xa0 || number == 0xad || number == 0x061c || number == 0x180e
           || (number >= 0x2000 && number <= 0x200f) || (number >= 0x2028 && number <= 0x202f)
           || (number >= 0x205f && number <= 0x206f) || number == 0x3000 || number == 0xfeff
           || (number >= 0xfff0 && number <= 0xffff) || number >= 0xe0000;
}

void el_utf8_show(const char *text, char *shown)
{
    static const char digits[] = "0123456789ABCDEF";

    while (*text) {
        size_t len = el_utf8_length(text);
        bool plain = len > 0 ? !is_hidden(number_of(text, len))
                             : *text > ' ' && *text < 0x7f && *text != '%';

        len = len > 0 ? len : 1;
        for (size_t i = 0; i < len; i++) {
            unsigned char byte = (unsigned char)*text++;

            if (plain) {
                *shown++ = (char)byte;
            } else {
                *shown++ = '%';
                *shown++ = digits[byte >> 4];
                *shown++ = digits[byte & 15];
            }
        }
    }
    *shown = 0;
}
