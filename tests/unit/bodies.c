#include "bodies.h"

#include <string.h>

/* A linear congruential generator (Knuth's MMIX); its upper bits are good enough here. */
static uint32_t next(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*state >> 33);
}

static void fill_text(uint8_t *body, size_t nbytes)
{
    static const char *const words[] = {
        "<p class=\"a\">", "</p>\n", "the ", "server ", "of ", "directive ", "<a href=\"", "\">",
        "</a>", "compression ", "to ", "module ", "a ", "response ", "is ", "and ", "header ",
        "level ", "42", "<li>", "</li>\n", "for ", "request ", "in ", "configured ", "by ",
        "Apache ",
    };
    uint64_t state = nbytes;
    size_t used = 0;

    while (used < nbytes) {
        const char *word = words[next(&state) % (sizeof(words) / sizeof(words[0]))];
        size_t len = strlen(word);

        if (next(&state) % 8 == 0) {
            body[used++] = (uint8_t)('a' + next(&state) % 26);
            continue;
        }
        len = len < nbytes - used ? len : nbytes - used;
        memcpy(body + used, word, len);
        used += len;
    }
}

void body_fill(body_kind_t kind, uint8_t *body, size_t nbytes)
{
    uint64_t state = 1;

    switch (kind) {
    case BODY_TEXT:
        fill_text(body, nbytes);
        break;
    case BODY_NOISE:
        for (size_t i = 0; i < nbytes; i++) {
            body[i] = (uint8_t)next(&state);
        }
        break;
    default:
        memset(body, 0, nbytes);
    }
}
