#include "elastic/cookie.h"

#include "text.h"

bool el_cookie_name(const char *name)
{
    return *name && el_text_token(name, strlen(name)) == strlen(name);
}

/* The value of a pair, without the spaces around it; NULL where the pair has another name. */
static const char *value_of(const char *pair, const char *end, const char *name, size_t *len)
{
    size_t name_len = strlen(name);
    const char *value;

    while (pair < end && el_text_is_space(*pair)) {
        pair++;
    }
    while (pair < end && el_text_is_space(end[-1])) {
        end--;
    }
    if ((size_t)(end - pair) <= name_len || memcmp(pair, name, name_len) != 0
        || pair[name_len] != '=') {
        return NULL;
    }
    value = pair + name_len + 1;
    *len = (size_t)(end - value);
    return value;
}

const char *el_cookie_find(const char *field, const char *name, size_t *len)
{
    const char *found = NULL;
    size_t found_len = 0;

    for (;;) {
        size_t pair_len = strcspn(field, ";");
        const char *value = value_of(field, field + pair_len, name, len);

        if (value && found) {
            return NULL;
        }
        if (value) {
            found = value;
            found_len = *len;
        }
        if (!field[pair_len]) {
            break;
        }
        field += pair_len + 1;
    }
    *len = found_len;
    return found_len > 0 ? found : NULL;
}
