#include "elastic/http.h"

#include "fuzz.h"

static const el_coding_t order[] = {EL_BR, EL_GZIP, EL_ZSTD};

/* Writes weights the plain way, thousandths of each coding by name; returns the length. */
static size_t write_line(const el_accept_t *a, char *line, size_t size)
{
    static const char *const names[EL_ALL_CODINGS] = {"identity", "gzip", "br", "zstd", "dcb",
                                                      "dcz"};
    size_t len = 0;

    for (int i = 0; i < EL_ALL_CODINGS; i++) {
        unsigned thousandths = a->q[i] / 2u;

        len += (size_t)snprintf(line + len, size - len, "%s%s;q=%u.%03u", i > 0 ? ", " : "",
                                names[i], thousandths / 1000, thousandths % 1000);
    }
    return len;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    el_accept_t a, again, joined;
    el_coding_t chosen;
    char line[160];
    char *twice;

    el_accept_parse((const char *)data, size, &a);
    for (int i = 0; i < EL_ALL_CODINGS; i++) {
        MUST(a.q[i] <= EL_Q_ONE);
        MUST(a.q[i] % 2 == 0 || (i == EL_IDENTITY && a.q[i] == EL_Q_UNLISTED_IDENTITY));
        MUST(el_accept_takes(&a, (el_coding_t)i) == (a.q[i] > 0));
    }

    chosen = el_accept_choose(&a, order, 3);
    for (int i = 0; i < 3 && chosen != EL_IDENTITY; i++) {
        MUST(a.q[chosen] > 0 && a.q[chosen] >= a.q[EL_IDENTITY]);
        MUST(a.q[chosen] >= a.q[order[i]]);
    }

    /* What was read, written out again, is read the same. */
    if (a.q[EL_IDENTITY] != EL_Q_UNLISTED_IDENTITY) {
        el_accept_parse(line, write_line(&a, line, sizeof(line)), &again);
        MUST(memcmp(&a, &again, sizeof(a)) == 0);
    }

    /* First mentions count, so the same list once more behind itself changes nothing. */
    if (memchr(data != NULL ? (const char *)data : "", '"', size) == NULL) {
        twice = malloc(2 * size + 1);
        MUST(twice != NULL);
        if (size > 0) {
            memcpy(twice, data, size);
            memcpy(twice + size + 1, data, size);
        }
        twice[size] = ',';
        el_accept_parse(twice, 2 * size + 1, &joined);
        MUST(memcmp(&a, &joined, sizeof(a)) == 0);
        free(twice);
    }
    return 0;
}
