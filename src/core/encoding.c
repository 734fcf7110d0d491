#include "elastic/encoding.h"

#include "text.h"

#include <string.h>

/* The end of the list without white space and commas. */
static size_t trimmed(const char *list, size_t len)
{
    while (len > 0 && (list[len - 1] == ',' || el_text_is_space(list[len - 1]))) {
        len--;
    }
    return len;
}

bool el_encoding_pop(const char *list, size_t *len, const char **name, size_t *name_len)
{
    static const char identity[] = "identity";

    while ((*len = trimmed(list, *len)) > 0) {
        size_t end = *len, start;

        while (*len > 0 && list[*len - 1] != ',') {
            --*len;
        }
        for (start = *len; el_text_is_space(list[start]); start++) {
        }
        *name = list + start;
        *name_len = end - start;
        *len = trimmed(list, *len);
        if (*name_len != sizeof(identity) - 1 || !el_text_same(*name, identity, *name_len)) {
            return true;
        }
    }
    return false;
}

bool el_encoding_is_magic(const char *data, size_t len)
{
    return (len >= 3 && memcmp(data, "\x1f\x8b\x08", 3) == 0)
           || (len >= 4 && memcmp(data, "\x28\xb5\x2f\xfd", 4) == 0);
}
