#include "elastic/accept.h"

#include "text.h"

#include <string.h>

/* What is left of the line. */
typedef struct {
    const char *at;
    const char *end;
} cursor_t;

/* The weights found so far, each with whether it was mentioned at all. */
typedef struct {
    uint16_t q[EL_ALL_CODINGS];
    bool named[EL_ALL_CODINGS];
    uint16_t star;
    bool star_named;
} found_t;

static bool at_end(const cursor_t *c)
{
    return c->at == c->end;
}

static bool at_char(const cursor_t *c, char wanted)
{
    return !at_end(c) && *c->at == wanted;
}

static void skip_space(cursor_t *c)
{
    el_text_skip_space(&c->at, c->end);
}

static size_t take_token(cursor_t *c)
{
    size_t len = el_text_token(c->at, (size_t)(c->end - c->at));

    c->at += len;
    return len;
}

/* Moves behind the quoted string that begins here. False, and at the end, where it never closes. */
static bool skip_quoted(cursor_t *c)
{
    for (c->at++; !at_end(c); c->at++) {
        if (*c->at == '"') {
            c->at++;
            return true;
        }
        if (*c->at == '\\' && c->at + 1 < c->end) {
            c->at++;
        }
    }
    return false;
}

/* Moves to the comma that ends this member; commas within quotes do not. */
static void skip_member(cursor_t *c)
{
    while (!at_end(c) && *c->at != ',') {
        if (*c->at == '"') {
            skip_quoted(c);
        } else {
            c->at++;
        }
    }
}

/* The fraction of a qvalue has at most this many digits (RFC 9110 §12.4.2). */
#define QVALUE_DIGITS 3

/* Reads a qvalue of exactly `len` bytes. False where the grammar has no such one. */
static bool read_qvalue(const char *text, size_t len, uint16_t *q)
{
    unsigned value, unit = EL_Q_ONE;

    if (len == 0 || (text[0] != '0' && text[0] != '1')) {
        return false;
    }
    if (len > 1 && (text[1] != '.' || len > 2 + QVALUE_DIGITS)) {
        return false;
    }
    value = (unsigned)(text[0] - '0') * unit;
    for (size_t i = 2; i < len; i++) {
        if (!el_text_is_digit(text[i])) {
            return false;
        }
        unit /= 10;
        value += (unsigned)(text[i] - '0') * unit;
    }
    if (value > EL_Q_ONE) {
        return false;
    }
    *q = (uint16_t)value;
    return true;
}

/*
 * Reads what follows a semicolon: nothing, `name`, `name=`, `name=token` or `name="string"`, with
 * whitespace anywhere between. The first weight that is one goes to `q`. False where it is none of
 * these.
 */
static bool read_parameter(cursor_t *c, bool *weighed, uint16_t *q)
{
    const char *name, *value;
    size_t name_len, value_len;

    skip_space(c);
    name = c->at;
    name_len = take_token(c);
    skip_space(c);
    if (name_len == 0 || !at_char(c, '=')) {
        return true;
    }
    c->at++;
    skip_space(c);
    if (at_char(c, '"')) {
        return skip_quoted(c);
    }
    value = c->at;
    value_len = take_token(c);
    if (!*weighed && name_len == 1 && el_text_lower(*name) == 'q') {
        *weighed = read_qvalue(value, value_len, q);
    }
    return true;
}

static void note_member(found_t *found, const char *name, size_t len, uint16_t q)
{
    el_coding_t coding = el_coding_find_any(name, len);

    if (len == 1 && *name == '*') {
        if (!found->star_named) {
            found->star_named = true;
            found->star = q;
        }
        return;
    }
    if (coding == EL_IDENTITY && !el_text_is(name, len, "identity")) {
        return;
    }
    if (!found->named[coding]) {
        found->named[coding] = true;
        found->q[coding] = q;
    }
}

/* Reads one member of the list, up to its comma, and notes it if it is well-formed. */
static void read_member(cursor_t *c, found_t *found)
{
    const char *name = c->at;
    size_t name_len = take_token(c);
    uint16_t q = EL_Q_ONE;
    bool weighed = false;
    bool good = name_len > 0;

    skip_space(c);
    while (good && at_char(c, ';')) {
        c->at++;
        good = read_parameter(c, &weighed, &q);
        skip_space(c);
    }
    if (good && (at_end(c) || at_char(c, ','))) {
        note_member(found, name, name_len, q);
    }
    skip_member(c);
}

void el_accept_parse(const char *line, size_t len, el_accept_t *accept)
{
    found_t found;

    memset(&found, 0, sizeof(found));
    if (line != NULL) {
        cursor_t c = {line, line + len};

        while (!at_end(&c)) {
            if (at_char(&c, ',') || el_text_is_space(*c.at)) {
                c.at++;
            } else {
                read_member(&c, &found);
            }
        }
    }
    for (unsigned i = 0; i < EL_ALL_CODINGS; i++) {
        if (found.named[i]) {
            accept->q[i] = found.q[i];
        } else if (found.star_named && !el_coding_needs_dictionary((el_coding_t)i)) {
            accept->q[i] = found.star;
        } else {
            accept->q[i] = i == EL_IDENTITY ? EL_Q_UNLISTED_IDENTITY : 0;
        }
    }
}

el_coding_t el_accept_choose(const el_accept_t *accept, const el_coding_t *order, size_t count)
{
    el_coding_t best = EL_IDENTITY;

    for (size_t i = 0; i < count; i++) {
        uint16_t q = accept->q[order[i]];

        if (q == 0 || q < accept->q[EL_IDENTITY]) {
            continue;
        }
        if (best == EL_IDENTITY || q > accept->q[best]) {
            best = order[i];
        }
    }
    return best;
}

bool el_accept_takes(const el_accept_t *accept, el_coding_t coding)
{
    return accept->q[coding] > 0;
}
