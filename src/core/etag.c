#include "elastic/etag.h"

#include "text.h"

#include <stdio.h>
#include <string.h>

static bool starts_weak(const char *text)
{
    return text[0] == 'W' && text[1] == '/';
}

/* The quoted part of `text`, its quotes included, and its length; NULL where it is not a tag. */
static const char *quoted_part(const char *text, size_t *len)
{
    const char *quoted = starts_weak(text) ? text + 2 : text;

    *len = strlen(quoted);
    return *len >= 2 && quoted[0] == '"' && quoted[*len - 1] == '"' ? quoted : NULL;
}

/* The same of a list's member, which is a tag by its making. */
static const char *member_quoted(const el_etag_t *tag, size_t *len)
{
    size_t prefix = tag->weak ? 2 : 0;

    *len = tag->len - prefix;
    return tag->text + prefix;
}

bool el_etag_encode(const char *tag, el_etag_mode_t mode, el_coding_t coding, char *out,
                    size_t size)
{
    const el_coding_info_t *info = el_coding_info(coding);
    size_t len;
    const char *quoted = quoted_part(tag, &len);

    if (mode == EL_ETAG_REMOVE) {
        out[0] = '\0';
        return false;
    }
    if (mode == EL_ETAG_KEEP || quoted == NULL || info == NULL) {
        snprintf(out, size, "%s", tag);
        return true;
    }
    snprintf(out, size, "%s%.*s%s\"", mode == EL_ETAG_WEAK || starts_weak(tag) ? "W/" : "",
             (int)(len - 1), quoted, info->tag_suffix);
    return true;
}

/* Moves over something that is not a tag: up to a comma, over commas within quotes. */
static const char *skip_garbage(const char *at)
{
    while (*at != '\0' && *at != ',') {
        if (*at == '"') {
            const char *close = strchr(at + 1, '"');

            at = close != NULL ? close : at + strlen(at) - 1;
        }
        at++;
    }
    return at;
}

bool el_etag_next(const char **cursor, el_etag_t *tag)
{
    const char *at = *cursor;

    while (*at != '\0') {
        bool weak = starts_weak(at);
        const char *quoted = weak ? at + 2 : at;
        const char *close = *quoted == '"' ? strchr(quoted + 1, '"') : NULL;

        if (close != NULL) {
            tag->text = at;
            tag->len = (size_t)(close + 1 - at);
            tag->weak = weak;
            *cursor = close + 1;
            return true;
        }
        at = *at == ',' || el_text_is_space(*at) ? at + 1 : skip_garbage(at);
    }
    *cursor = at;
    return false;
}

bool el_etag_same(const el_etag_t *tag, const char *other)
{
    size_t len, other_len;
    const char *quoted = member_quoted(tag, &len);
    const char *other_quoted = quoted_part(other, &other_len);

    return other_quoted != NULL && len == other_len && memcmp(quoted, other_quoted, len) == 0;
}

el_coding_t el_etag_coding(const el_etag_t *tag, size_t *base)
{
    size_t len;
    const char *quoted = member_quoted(tag, &len);

    for (unsigned i = EL_IDENTITY + 1; i < EL_CODINGS; i++) {
        const char *suffix = el_coding_info((el_coding_t)i)->tag_suffix;
        size_t suffix_len = strlen(suffix);

        if (len >= suffix_len + 2
            && memcmp(quoted + len - 1 - suffix_len, suffix, suffix_len) == 0) {
            *base = len - 1 - suffix_len;
            return (el_coding_t)i;
        }
    }
    return EL_IDENTITY;
}

size_t el_etag_bases(const char *list, const el_accept_t *accept, char *out, size_t size)
{
    static const char before[] = ", W/";
    size_t written = 0, base = 0, len;
    el_etag_t tag;

    while (el_etag_next(&list, &tag)) {
        el_coding_t coding = el_etag_coding(&tag, &base);
        size_t need = sizeof(before) - 1 + base + 1; /* and the closing quote */

        if (coding == EL_IDENTITY || !el_accept_takes(accept, coding)
            || need >= size - written) {
            continue;
        }
        memcpy(out + written, before, sizeof(before) - 1);
        memcpy(out + written + sizeof(before) - 1, member_quoted(&tag, &len), base);
        out[written + need - 1] = '"';
        written += need;
    }
    if (size > 0) {
        out[written] = '\0';
    }
    return written;
}

/* Whether `tag` is `current`, the identity's, with the suffix of a coding that `accept` takes. */
static bool is_encoded_from(const el_etag_t *tag, const char *current, const el_accept_t *accept)
{
    size_t base, len, current_len;
    const char *current_quoted = quoted_part(current, &current_len);
    el_coding_t coding = el_etag_coding(tag, &base);

    return coding != EL_IDENTITY && current_quoted != NULL && el_accept_takes(accept, coding)
        && base == current_len - 1
        && memcmp(member_quoted(tag, &len), current_quoted, base) == 0;
}

bool el_etag_named(const char *list, const char *current, const el_accept_t *accept,
                   el_etag_t *named)
{
    bool found = false;
    el_etag_t tag;

    while (el_etag_next(&list, &tag)) {
        if (el_etag_same(&tag, current)) {
            *named = tag;
            return true;
        }
        if (!found && is_encoded_from(&tag, current, accept)) {
            *named = tag;
            found = true;
        }
    }
    return found;
}
