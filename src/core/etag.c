#include "elastic/etag.h"

#include "bytes.h"

#include <stdio.h>
#include <string.h>

/* As mod_deflate's INFLATE does. */
#define DECODED "-gunzip"

static bool etag_starts_weak(const char *text)
{
    return text[0] == 'W' && text[1] == '/';
}

/* The quoted part of `text`, with its quotes, and its length. NULL if `text` is not a tag. */
static const char *etag_quoted_part(const char *text, size_t *len)
{
    const char *quoted = etag_starts_weak(text) ? text + 2 : text;

    *len = strlen(quoted);
    return *len >= 2 && quoted[0] == '"' && quoted[*len - 1] == '"' ? quoted : NULL;
}

/* The same for a member of a list, which is always a tag. */
static const char *etag_member_quoted(const el_etag_t *tag, size_t *len)
{
    size_t prefix = tag->weak ? 2 : 0;

    *len = tag->len - prefix;
    return tag->text + prefix;
}

/* Appends `suffix` inside of the tag by `mode`; see el_etag_encode(). */
static bool etag_append(const char *tag, el_etag_mode_t mode, const char *suffix, char *out,
                        size_t size)
{
    size_t len, suffix_len = strlen(suffix);
    const char *quoted = etag_quoted_part(tag, &len);

    if (mode == EL_ETAG_REMOVE) {
        out[0] = '\0';
        return false;
    }
    if (mode == EL_ETAG_KEEP || quoted == NULL) {
        snprintf(out, size, "%s", tag);
        return true;
    }
    if (mode == EL_ETAG_WEAK || etag_starts_weak(tag)) {
        *out++ = 'W';
        *out++ = '/';
    }
    memcpy(out, quoted, len - 1);
    memcpy(out + len - 1, suffix, suffix_len);
    memcpy(out + len - 1 + suffix_len, "\"", sizeof("\""));
    return true;
}

bool el_etag_encode(const char *tag, el_etag_mode_t mode, el_coding_t coding, char *out,
                    size_t size)
{
    const el_coding_info_t *info = el_coding_info(coding);

    return etag_append(tag, info == NULL && mode != EL_ETAG_REMOVE ? EL_ETAG_KEEP : mode,
                       info != NULL ? info->tag_suffix : "", out, size);
}

bool el_etag_decode(const char *tag, el_etag_mode_t mode, char *out, size_t size)
{
    return etag_append(tag, mode, DECODED, out, size);
}

bool el_etag_next(const char **cursor, el_etag_t *tag)
{
    const char *at = *cursor;

    while (*at != '\0') {
        bool weak = etag_starts_weak(at);
        const char *quoted = weak ? at + 2 : at;
        const char *close = *quoted == '"' ? strchr(quoted + 1, '"') : NULL;

        if (close != NULL) {
            tag->text = at;
            tag->len = (size_t)(close + 1 - at);
            tag->weak = weak;
            *cursor = close + 1;
            return true;
        }
        if (*at == ',' || el_text_is_space(*at)) {
            at++;
            continue;
        }
        /* Not a tag: skip to the next comma outside of quotes. */
        for (; *at != '\0' && *at != ','; at++) {
            const char *other = *at == '"' ? strchr(at + 1, '"') : at;

            at = other != NULL ? other : at + strlen(at) - 1;
        }
    }
    *cursor = at;
    return false;
}

bool el_etag_same(const el_etag_t *tag, const char *other)
{
    size_t len, other_len;
    const char *quoted = etag_member_quoted(tag, &len);
    const char *other_quoted = etag_quoted_part(other, &other_len);

    return other_quoted != NULL && len == other_len && memcmp(quoted, other_quoted, len) == 0;
}

/* Removes `suffix` from the end of the first `*len` bytes of a quoted part. */
static bool etag_strip(const char *quoted, size_t *len, const char *suffix)
{
    size_t suffix_len = strlen(suffix);

    if (*len < suffix_len + 1 || memcmp(quoted + *len - suffix_len, suffix, suffix_len) != 0) {
        return false;
    }
    *len -= suffix_len;
    return true;
}

el_coding_t el_etag_coding(const el_etag_t *tag, size_t *base)
{
    size_t len;
    const char *quoted = etag_member_quoted(tag, &len);

    for (unsigned i = EL_IDENTITY + 1; i < EL_ALL_CODINGS; i++) {
        size_t rest = len - 1;

        if (etag_strip(quoted, &rest, el_coding_info((el_coding_t)i)->tag_suffix)) {
            *base = rest;
            return (el_coding_t)i;
        }
    }
    return EL_IDENTITY;
}

/* Length of the quoted part of `tag` before the suffixes that the rule takes; 0: it has none. */
static size_t etag_base_of(const el_etag_t *tag, const el_etag_rule_t *rule)
{
    size_t base = 0, len;
    const char *quoted = etag_member_quoted(tag, &len);
    el_coding_t coding = el_etag_coding(tag, &base);
    bool taken = coding != EL_IDENTITY && el_accept_takes(rule->accept, coding);

    if (!rule->decoded) {
        return taken ? base : 0;
    }
    base = taken ? base : len - 1;
    return etag_strip(quoted, &base, DECODED) ? base : 0;
}

/*
 * Digits of a long number. Microseconds since 1970 have 13 hexadecimal digits and hashes at least
 * 32. Numbers that people write are shorter: a date has eight.
 */
#define LONG_NUMBER 10

/* FileETag INode MTime Size. */
#define MOST_NUMBERS 3

/* SHA-1 in base64: 27 characters and a sign. */
#define DIGEST_LEN 28

static bool etag_is_numbers(const char *text, size_t len)
{
    size_t digits = 0, numbers = 1;
    bool has_long = false;

    for (size_t i = 0; i < len; i++) {
        if (text[i] == '-' && digits > 0) {
            digits = 0;
            numbers++;
        } else if (el_text_is_digit(text[i]) || (text[i] >= 'a' && text[i] <= 'f')) {
            digits++;
            has_long = has_long || digits == LONG_NUMBER;
        } else {
            return false;
        }
    }
    return digits > 0 && has_long && numbers <= MOST_NUMBERS;
}

bool el_etag_is_made(const char *text, size_t len)
{
    static const char base64[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    return etag_is_numbers(text, len)
           || (len == DIGEST_LEN && strspn(text, base64) == len - 1 && text[len - 1] == '=');
}

size_t el_etag_bases(const char *list, const el_etag_rule_t *rule, char *out, size_t size)
{
    const char *before = rule->strong ? ", " : ", W/";
    size_t before_len = strlen(before), written = 0, len;
    el_etag_t tag;

    while (el_etag_next(&list, &tag)) {
        size_t base = rule->strong && tag.weak ? 0 : etag_base_of(&tag, rule);
        size_t need = before_len + base + 1; /* with the closing quote */
        const char *quoted = etag_member_quoted(&tag, &len);

        if (base == 0 || !el_etag_is_made(quoted + 1, base - 1) || need >= size - written) {
            continue;
        }
        memcpy(out + written, before, before_len);
        memcpy(out + written + before_len, quoted, base);
        out[written + need - 1] = '"';
        written += need;
    }
    if (size > 0) {
        out[written] = '\0';
    }
    return written;
}

bool el_etag_made_from(const el_etag_t *tag, const char *current, const el_etag_rule_t *rule)
{
    size_t base = etag_base_of(tag, rule);
    size_t len, current_len;
    const char *current_quoted = etag_quoted_part(current, &current_len);

    return current_quoted != NULL && base == current_len - 1
        && memcmp(etag_member_quoted(tag, &len), current_quoted, base) == 0;
}

bool el_etag_named(const char *list, const char *current, const el_etag_rule_t *rule,
                   el_etag_t *named)
{
    bool found = false;
    el_etag_t tag;

    while (el_etag_next(&list, &tag)) {
        if (el_etag_same(&tag, current)) {
            *named = tag;
            return true;
        }
        if (!found && el_etag_made_from(&tag, current, rule)) {
            *named = tag;
            found = true;
        }
    }
    return found;
}

/* Moves behind `close`; `*text` and `*len` are the text in between. */
static bool etag_take_bracketed(const char **at, char close, const char **text, size_t *len)
{
    const char *end = strchr(*at, close);

    if (end == NULL) {
        return false;
    }
    *text = *at + 1;
    while (el_text_is_space(**text)) {
        ++*text;
    }
    *len = (size_t)(end - *text);
    *at = end + 1;
    return true;
}

/* Moves over one item of a list, or its end. `*found`: the item is a tag. */
static bool etag_step_within(el_etag_state_t *state, bool *found)
{
    const char *text, *cursor;
    size_t len;

    if (*state->at == ')') {
        state->within = state->negated = false;
        state->at++;
        return true;
    }
    if (strncmp(state->at, "Not", 3) == 0) {
        state->negated = true;
        state->at += 3;
        return true;
    }
    if (*state->at == '[' && etag_take_bracketed(&state->at, ']', &text, &len)) {
        cursor = text;
        *found = el_etag_next(&cursor, &state->tag) && state->tag.text == text
                 && state->tag.len == len;
    } else if (*state->at != '<' || !etag_take_bracketed(&state->at, '>', &text, &len)) {
        return false;
    }
    state->negated = *found && state->negated;
    return true;
}

bool el_etag_next_state(el_etag_state_t *state)
{
    bool found = false, valid = true;

    state->negated = false;
    while (valid && !found) {
        if (el_text_is_space(*state->at)) {
            state->at++;
        } else if (state->within) {
            valid = etag_step_within(state, &found);
        } else if (*state->at == '<') {
            valid = etag_take_bracketed(&state->at, '>', &state->uri, &state->uri_len);
        } else {
            valid = state->within = *state->at == '(';
            state->at += valid;
        }
    }
    return found;
}
