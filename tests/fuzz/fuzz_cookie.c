#include "elastic/cookie.h"

#include "fuzz.h"

/* The name is what comes before the first zero. What is found lies in the field, behind its name. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *zero = memchr(data, 0, size);
    size_t name_len = zero ? (size_t)(zero - data) : 0, len;
    char *name = fuzz_string(data, name_len);
    char *field = fuzz_string(data + name_len + (zero != NULL), size - name_len - (zero != NULL));
    const char *value = el_cookie_name(name) ? el_cookie_find(field, name, &len) : NULL;

    if (value) {
        MUST(len > 0 && value > field + name_len && value + len <= field + strlen(field));
        MUST(value[-1] == '=' && memcmp(value - 1 - name_len, name, name_len) == 0);
        MUST(!memchr(value, ';', len));
    }
    free(name);
    free(field);
    return 0;
}
