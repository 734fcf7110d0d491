#include "elastic/etag.h"

#include "fuzz.h"

/* The rule of an `accept`, and what else is set of it. */
#define RULE(...) (&(const el_etag_rule_t){.accept = __VA_ARGS__})

static void check_tag(const el_etag_t *tag, const char *list, size_t size)
{
    size_t prefix = tag->weak ? 2 : 0;
    size_t base = 0;

    MUST(tag->text >= list && tag->text + tag->len <= list + size);
    MUST(tag->len >= prefix + 2);
    MUST(tag->text[prefix] == '"' && tag->text[tag->len - 1] == '"');
    MUST(memchr(tag->text + prefix + 1, '"', tag->len - prefix - 2) == NULL);
    if (el_etag_coding(tag, &base) != EL_IDENTITY) {
        MUST(base >= 1 && base < tag->len - prefix);
    }
}

/* Every tag of the list is there; the cursor always moves on. */
static void check_list(const char *list, size_t size)
{
    const char *cursor = list;
    const char *last = list;
    el_etag_t tag;

    while (el_etag_next(&cursor, &tag)) {
        MUST(cursor > last && cursor <= list + size);
        check_tag(&tag, list, size);
        last = cursor;
    }
    MUST(*cursor == '\0');
}

/* The bases fit, are a list of weak tags, and each names the member that it was made from. */
static void check_bases(const char *list, size_t size, const el_accept_t *accept)
{
    size_t room = 2 * size + 1;
    char *bases = malloc(room);
    const char *cursor = bases;
    size_t written, tight;
    el_etag_t tag, named;

    MUST(bases != NULL);
    written = el_etag_bases(list, RULE(accept), bases, room);
    MUST(written < room && strlen(bases) == written);
    while (el_etag_next(&cursor, &tag)) {
        char *identity = fuzz_string((const uint8_t *)tag.text, tag.len);

        MUST(tag.weak && el_etag_is_made(tag.text + 3, tag.len - 4));
        MUST(el_etag_named(list, identity, RULE(accept), &named));
        free(identity);
    }
    for (tight = 0; tight < 40 && tight < written; tight++) {
        char small[40];

        MUST(el_etag_bases(list, RULE(accept), small, tight) < (tight > 0 ? tight : 1));
    }
    free(bases);
}

/* The same of what INFLATE decoded; both together fit into three times the list. */
static void check_decoded(const char *list, size_t size, const el_accept_t *accept)
{
    size_t room = 3 * size + 1, written;
    char *bases = malloc(room);
    const char *cursor;
    el_etag_t tag, named;

    MUST(bases != NULL);
    written = el_etag_bases(list, RULE(accept), bases, room);
    cursor = bases + written;
    written += el_etag_bases(list, RULE(accept, .decoded = true), bases + written, room - written);
    MUST(written < room);
    while (el_etag_next(&cursor, &tag)) {
        char *identity = fuzz_string((const uint8_t *)tag.text, tag.len);

        MUST(tag.weak && el_etag_named(list, identity, RULE(accept, .decoded = true), &named));
        free(identity);
    }
    free(bases);
}

/* Those for If-Match are strong, and of strong tags; both kinds fit into twice the list. */
static void check_strong(const char *list, size_t size, const el_accept_t *accept)
{
    size_t room = 2 * size + 1, written;
    char *bases = malloc(room);
    const char *cursor;
    el_etag_t tag, named;

    MUST(bases != NULL);
    written = el_etag_bases(list, RULE(accept, .strong = true), bases, room);
    MUST(written + el_etag_bases(list, RULE(accept, .decoded = true, .strong = true),
                                 bases + written, room - written) < room);
    cursor = bases;
    while (el_etag_next(&cursor, &tag)) {
        char *identity = fuzz_string((const uint8_t *)tag.text, tag.len);

        MUST(!tag.weak && (el_etag_named(list, identity, RULE(accept), &named)
                           || el_etag_named(list, identity, RULE(accept, .decoded = true),
                                            &named)));
        free(identity);
    }
    free(bases);
}

/* Whatever WebDAV's If speaks of lies in it, and it comes to an end. */
static void check_states(const char *field, size_t size)
{
    el_etag_state_t state = {.at = field};
    const char *last = field;

    while (el_etag_next_state(&state)) {
        MUST(state.at > last && state.at <= field + size);
        check_tag(&state.tag, last, (size_t)(state.at - last));
        MUST(state.uri == NULL
             || (state.uri > field && state.uri + state.uri_len < field + size));
        last = state.at;
    }
    MUST(state.at <= field + size);
}

/* A tag that is encoded is still one tag, and names its identity. */
static void check_encode(const char *tag, size_t size, const el_accept_t *accept)
{
    el_etag_t first, named;
    const char *cursor = tag;
    bool is_tag = el_etag_next(&cursor, &first) && first.text == tag && *cursor == '\0';

    for (int mode = EL_ETAG_WEAK; mode <= EL_ETAG_REMOVE; mode++) {
        for (int coding = EL_GZIP; coding < EL_ALL_CODINGS; coding++) {
            char *out = malloc(size + EL_ETAG_GROWTH);
            bool kept;

            MUST(out != NULL);
            kept = el_etag_encode(tag, (el_etag_mode_t)mode, (el_coding_t)coding, out,
                                  size + EL_ETAG_GROWTH);
            MUST(kept == (mode != EL_ETAG_REMOVE));
            MUST(strlen(out) < size + EL_ETAG_GROWTH);
            MUST(!kept || !is_tag || el_etag_named(out, tag, RULE(accept), &named));
            free(out);
        }
    }
}

/* The first byte chooses what the request accepts. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const accepts[] = {"*", "gzip", "br, zstd;q=0", ""};
    const char *line = accepts[size > 0 ? data[0] % 4 : 0];
    char *text = fuzz_string(size > 0 ? data + 1 : data, size > 0 ? size - 1 : 0);
    el_accept_t accept, all;

    el_accept_parse(line, strlen(line), &accept);
    el_accept_parse("*, dcb, dcz", 11, &all);
    check_list(text, strlen(text));
    check_states(text, strlen(text));
    check_bases(text, strlen(text), &accept);
    check_decoded(text, strlen(text), &accept);
    check_strong(text, strlen(text), &accept);
    check_encode(text, strlen(text), &all);
    free(text);
    return 0;
}
