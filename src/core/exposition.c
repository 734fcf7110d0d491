#include "elastic/exposition.h"

#include "text.h"

/* The weight 1. */
#define ONE 1000

/* What a field says of one format: its weight, and whether it names it. */
typedef struct {
    const char *name; /* its media type without parameters */
    bool named;
    uint16_t q;
} wish_t;

const char *el_exposition_type(el_exposition_t format)
{
    return format == EL_EXPOSITION_OPEN
               ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
               : "text/plain; version=0.0.4; charset=utf-8";
}

/* The end of the member at `at`: its comma, but none within quotes, or the end of the text. */
static const char *end_of_member(const char *at)
{
    bool quoted = false;

    for (; *at && (quoted || *at != ','); at++) {
        if (quoted && *at == '\\' && at[1]) {
            at++;
        } else if (*at == '"') {
            quoted = !quoted;
        }
    }
    return at;
}

static const char *skip_space(const char *at, const char *end)
{
    while (at < end && el_text_is_space(*at)) {
        at++;
    }
    return at;
}

/* The weight among the parameters from `at` to `end`; all of it where there is none. */
static uint16_t read_weight(const char *at, const char *end)
{
    uint16_t q = ONE;

    while (at < end) {
        if (*at++ != ';') {
            continue;
        }
        at = skip_space(at, end);
        if (end - at > 2 && el_text_lower(at[0]) == 'q' && at[1] == '=') {
            size_t len = el_text_token(at + 2, (size_t)(end - at - 2));

            return el_text_qvalue(at + 2, len, ONE, &q) ? q : ONE;
        }
    }
    return q;
}

/* Of several members that name it, the highest weight: they differ in the version. */
static void read_member(wish_t *wish, const char *at, const char *end)
{
    size_t len = strlen(wish->name);
    const char *rest = at + len;
    uint16_t q;

    if ((size_t)(end - at) < len || !el_text_same(at, wish->name, len)) {
        return;
    }
    rest = skip_space(rest, end);
    if (rest < end && *rest != ';') {
        return;
    }
    q = read_weight(rest, end);
    wish->q = wish->named && wish->q > q ? wish->q : q;
    wish->named = true;
}

el_exposition_t el_exposition_choose(const char *accept, el_exposition_t otherwise)
{
    wish_t open = {.name = "application/openmetrics-text"};
    wish_t text = {.name = "text/plain"};

    for (const char *at = accept; at && *at;) {
        const char *end = end_of_member(at);

        at = skip_space(at, end);
        read_member(&open, at, end);
        read_member(&text, at, end);
        at = *end ? end + 1 : end;
    }
    if (!open.named && !text.named) {
        return otherwise;
    }
    return open.q > 0 && open.q >= text.q ? EL_EXPOSITION_OPEN : EL_EXPOSITION_TEXT;
}

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
