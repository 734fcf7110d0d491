#include "elastic/http.h"

#include "bytes.h"

#include <string.h>

static const el_coding_info_t table[EL_ALL_CODINGS] = {
    [EL_GZIP] = {
        .token = "gzip",
        .base = EL_GZIP,
        .alias = "x-gzip",
        .tag_suffix = "-gzip",
        .extension = ".gz",
        .level_min = 1,
        .level_max = 12, /* libdeflate's highest; zlib ends at 9 */
        .default_min = 1,
        .default_max = 9,
        .stock_level = 6, /* zlib's Z_DEFAULT_COMPRESSION */
        .stock = EL_GZIP,
    },
    [EL_BR] = {
        .token = "br",
        .base = EL_BR,
        .alias = NULL,
        .tag_suffix = "-br",
        .extension = ".br",
        .level_min = 0,
        .level_max = 11,
        .default_min = 0,
        .default_max = 6, /* brotli's higher ones are meant for compressing files once */
        .stock_level = 5,
        .stock = EL_BR,
    },
    [EL_ZSTD] = {
        .token = "zstd",
        .base = EL_ZSTD,
        .alias = NULL,
        .tag_suffix = "-zstd",
        .extension = ".zst",
        .level_min = 1,
        .level_max = 19, /* 20 and above use windows that browsers refuse (RFC 9659) */
        .default_min = 1,
        .default_max = 9,
        .stock_level = 3, /* the library's default */
        .stock = EL_GZIP,
    },
    [EL_DCB] = {.token = "dcb", .tag_suffix = "-dcb", .base = EL_BR},
    [EL_DCZ] = {.token = "dcz", .tag_suffix = "-dcz", .base = EL_ZSTD},
};

const el_coding_info_t *el_coding_info(el_coding_t coding)
{
    if ((unsigned)coding >= EL_ALL_CODINGS || coding == EL_IDENTITY) {
        return NULL;
    }
    return &table[coding];
}

bool el_coding_needs_dictionary(el_coding_t coding)
{
    return coding == EL_DCB || coding == EL_DCZ;
}

el_coding_t el_coding_find_any(const char *name, size_t len)
{
    for (unsigned i = EL_IDENTITY + 1; i < EL_ALL_CODINGS; i++) {
        if (el_text_is(name, len, table[i].token)
            || (table[i].alias && el_text_is(name, len, table[i].alias))) {
            return (el_coding_t)i;
        }
    }
    return EL_IDENTITY;
}

el_coding_t el_coding_find(const char *name, size_t len)
{
    el_coding_t coding = el_coding_find_any(name, len);

    return el_coding_needs_dictionary(coding) ? EL_IDENTITY : coding;
}

/* Length without trailing blanks and commas. */
static size_t http_trimmed(const char *list, size_t len)
{
    while (len > 0 && (list[len - 1] == ',' || el_text_is_space(list[len - 1]))) {
        len--;
    }
    return len;
}

bool el_encoding_pop(const char *list, size_t *len, const char **name, size_t *name_len)
{
    while ((*len = http_trimmed(list, *len)) > 0) {
        size_t end = *len, start;

        while (*len > 0 && list[*len - 1] != ',') {
            --*len;
        }
        for (start = *len; el_text_is_space(list[start]); start++) {
        }
        *name = list + start;
        *name_len = end - start;
        *len = http_trimmed(list, *len);
        if (!el_text_is(*name, *name_len, "identity")) {
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

/* dcz begins with a skippable zstd frame (RFC 8878 §3.1.2) of length 32. */
static const uint8_t dcz_magic[] = {0x5e, 0x2a, 0x4d, 0x18, 0x20, 0x00, 0x00, 0x00};
static const uint8_t dcb_magic[] = {0xff, 0x44, 0x43, 0x42};

size_t el_dictionary_head(el_coding_t coding, const uint8_t hash[EL_DICTIONARY_HASH],
                          uint8_t out[EL_DICTIONARY_HEAD])
{
    const uint8_t *magic = coding == EL_DCB ? dcb_magic : dcz_magic;
    size_t len = coding == EL_DCB ? sizeof(dcb_magic) : sizeof(dcz_magic);

    memcpy(out, magic, len);
    memcpy(out + len, hash, EL_DICTIONARY_HASH);
    return len + EL_DICTIONARY_HASH;
}

typedef struct {
    const char *at;
    const char *end;
} cursor_t;

/* The weights found so far, and a flag for each coding that was mentioned. */
typedef struct {
    uint16_t q[EL_ALL_CODINGS];
    bool named[EL_ALL_CODINGS];
    uint16_t star;
    bool star_named;
} found_t;

static bool http_is_at(const cursor_t *c, char wanted)
{
    return c->at < c->end && *c->at == wanted;
}

/* Moves behind a quoted string. False, and at the end, if it is not closed. */
static bool http_skip_quoted(cursor_t *c)
{
    for (c->at++; c->at < c->end; c->at++) {
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

/* Most digits of a qvalue's fraction (RFC 9110 §12.4.2). */
#define QVALUE_DIGITS 3

/* Parses a qvalue of exactly `len` bytes. False if it is invalid. */
static bool http_read_qvalue(const char *text, size_t len, uint16_t *q)
{
    unsigned value, unit = EL_Q_ONE;

    if (len == 0 || (text[0] != '0' && text[0] != '1')
        || (len > 1 && (text[1] != '.' || len > 2 + QVALUE_DIGITS))) {
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
 * Reads a parameter after its semicolon: nothing, `name`, `name=`, `name=token` or `name="string"`,
 * with whitespace anywhere between. False for other text. The first valid weight is stored in `q`.
 */
static bool http_read_parameter(cursor_t *c, bool *weighed, uint16_t *q)
{
    const char *name, *value;
    size_t name_len;

    el_text_skip_space(&c->at, c->end);
    name = c->at;
    name_len = el_text_token(name, (size_t)(c->end - name));
    c->at += name_len;
    el_text_skip_space(&c->at, c->end);
    if (name_len == 0 || !http_is_at(c, '=')) {
        return true;
    }
    c->at++;
    el_text_skip_space(&c->at, c->end);
    if (http_is_at(c, '"')) {
        return http_skip_quoted(c);
    }
    value = c->at;
    c->at += el_text_token(value, (size_t)(c->end - value));
    if (!*weighed && name_len == 1 && el_text_lower(*name) == 'q') {
        *weighed = http_read_qvalue(value, (size_t)(c->at - value), q);
    }
    return true;
}

/* Reads one member of the list, up to its comma, and stores it if it is well-formed. */
static void http_read_member(cursor_t *c, found_t *found)
{
    const char *name = c->at;
    size_t len = el_text_token(name, (size_t)(c->end - name));
    bool good = true, weighed = false;
    uint16_t q = EL_Q_ONE;

    c->at += len;
    el_text_skip_space(&c->at, c->end);
    while (good && http_is_at(c, ';')) {
        c->at++;
        good = http_read_parameter(c, &weighed, &q);
        el_text_skip_space(&c->at, c->end);
    }
    if (good && (c->at == c->end || *c->at == ',')) {
        el_coding_t coding = el_coding_find_any(name, len);

        if (len == 1 && *name == '*') {
            found->star = found->star_named ? found->star : q;
            found->star_named = true;
        } else if ((coding != EL_IDENTITY || el_text_is(name, len, "identity"))
                   && !found->named[coding]) {
            found->named[coding] = true;
            found->q[coding] = q;
        }
    }
    /* Skip to the comma outside of quotes. */
    while (c->at < c->end && *c->at != ',') {
        if (*c->at == '"') {
            http_skip_quoted(c);
        } else {
            c->at++;
        }
    }
}

void el_accept_parse(const char *line, size_t len, el_accept_t *accept)
{
    found_t found;

    memset(&found, 0, sizeof(found));
    if (line != NULL) {
        cursor_t c = {line, line + len};

        while (c.at < c.end) {
            if (*c.at == ',' || el_text_is_space(*c.at)) {
                c.at++;
            } else {
                http_read_member(&c, &found);
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

#define NAMES(type, subtype) {type, subtype, sizeof(type) - 1, sizeof(subtype) - 1}

/* docs/manual/directives.md gives the reason for each. */
const el_mediatype_t el_mediatype_defaults[] = {
    NAMES("text", "*"),
    NAMES("application", "javascript"),
    NAMES("application", "json"),
    NAMES("application", "*+json"),
    NAMES("application", "xml"),
    NAMES("application", "*+xml"),
    NAMES("application", "xhtml+xml"),
    NAMES("application", "x-javascript"),
    NAMES("application", "manifest+json"),
    NAMES("application", "ecmascript"),
    NAMES("application", "wasm"),
    NAMES("application", "x-tar"),
    NAMES("application", "json-seq"),
    NAMES("application", "*+json-seq"),
    NAMES("application", "x-ndjson"),
    NAMES("application", "ndjson"),
    NAMES("application", "jsonl"),
    NAMES("application", "yaml"),
    NAMES("application", "x-yaml"),
    NAMES("application", "*+yaml"),
    NAMES("application", "toml"),
    NAMES("application", "graphql"),
    NAMES("application", "sql"),
    NAMES("application", "xml-dtd"),
    NAMES("application", "n-triples"),
    NAMES("application", "n-quads"),
    NAMES("application", "trig"),
    NAMES("application", "sparql-query"),
    NAMES("application", "vnd.apple.mpegurl"),
    NAMES("application", "x-mpegurl"),
    NAMES("application", "x-ns-proxy-autoconfig"),
    NAMES("application", "x-sh"),
    NAMES("application", "rtf"),
    NAMES("application", "postscript"),
    NAMES("application", "vnd.ms-fontobject"),
    NAMES("application", "x-font-ttf"),
    NAMES("application", "x-font-otf"),
    NAMES("audio", "mpegurl"),
    NAMES("audio", "x-mpegurl"),
    NAMES("audio", "x-scpls"),
    NAMES("font", "otf"),
    NAMES("font", "ttf"),
    NAMES("font", "collection"),
    NAMES("font", "sfnt"),
    NAMES("image", "svg+xml"),
    NAMES("image", "bmp"),
    NAMES("image", "x-ms-bmp"),
    NAMES("image", "x-icon"),
    NAMES("image", "vnd.microsoft.icon"),
    NAMES("model", "*+json"),
    NAMES("model", "*+xml"),
    NAMES("model", "gltf-binary"),
    NAMES("model", "obj"),
    NAMES("model", "mtl"),
    NAMES("model", "stl"),
};
/* Numbers of successive rows with the same type, which is compared only once. */
static const uint8_t rows_of_type[] = {1, 36, 3, 4, 5, 6};

const size_t el_mediatype_defaults_count =
    sizeof(el_mediatype_defaults) / sizeof(el_mediatype_defaults[0]);

/* Splits the two tokens around a slash at the beginning of `value`. A NUL ends a token. */
static bool http_split(const char *value, el_mediatype_t *names)
{
    names->type = value;
    names->type_len = el_text_token(value, SIZE_MAX);
    if (names->type_len == 0 || value[names->type_len] != '/') {
        return false;
    }
    names->subtype = value + names->type_len + 1;
    names->subtype_len = el_text_token(names->subtype, SIZE_MAX);
    return names->subtype_len > 0;
}

bool el_mediatype_read(const char *value, el_mediatype_t *type)
{
    return value != NULL && http_split(value + strspn(value, " \t"), type);
}

bool el_mediatype_pattern(const char *value, el_mediatype_t *pattern)
{
    const char *name;
    size_t len, first;
    bool any_type;

    if (!http_split(value, pattern) || pattern->subtype[pattern->subtype_len] != '\0') {
        return false;
    }
    name = pattern->subtype;
    len = pattern->subtype_len;
    any_type = memchr(pattern->type, '*', pattern->type_len) != NULL;
    if (len == 1 && *name == '*') {
        return !any_type || pattern->type_len == 1;
    }
    /* A star is only allowed alone and before "+suffix". */
    first = len > 2 && name[1] == '+' ? 1 : 0;
    return !any_type && !memchr(name + first, '*', len - first);
}

static inline bool http_subtype_matches(const el_mediatype_t *pattern, const el_mediatype_t *type)
{
    const char *end = type->subtype + type->subtype_len;
    size_t len = pattern->subtype_len;

    if (*pattern->subtype != '*') {
        return len == type->subtype_len && el_text_same(pattern->subtype, type->subtype, len);
    }
    /* "*" matches any subtype, "*+suffix" one with text before the suffix. */
    len--;
    return type->subtype_len > len && el_text_same(pattern->subtype + 1, end - len, len);
}

bool el_mediatype_match(const el_mediatype_t *pattern, const el_mediatype_t *type)
{
    return (*pattern->type == '*'
            || (pattern->type_len == type->type_len
                && el_text_same(pattern->type, type->type, type->type_len)))
           && http_subtype_matches(pattern, type);
}

/* True if `value` begins with the type of `pattern` and a slash. */
static bool http_has_type_of(const el_mediatype_t *pattern, const char *value)
{
    const char *type = pattern->type;

    while (*type && el_text_lower(*value) == *type) {
        value++;
        type++;
    }
    return !*type && *value == '/';
}

/* Reads and matches like the two functions above, but compares each type only once. */
bool el_mediatype_is_default(const char *value)
{
    const el_mediatype_t *pattern = el_mediatype_defaults;
    char first;

    value = value ? value : "";
    /* Not strspn(): its call takes longer than this loop, which usually ends at once. */
    while (el_text_is_space(*value)) {
        value++;
    }
    first = el_text_lower(*value);
    for (size_t run = 0; run < sizeof(rows_of_type); pattern += rows_of_type[run++]) {
        if (first == *pattern->type && http_has_type_of(pattern, value)) {
            el_mediatype_t type = {.subtype = value + pattern->type_len + 1};

            type.subtype_len = el_text_token(type.subtype, SIZE_MAX);
            for (size_t row = 0; row < rows_of_type[run]; row++) {
                if (http_subtype_matches(&pattern[row], &type)) {
                    return true;
                }
            }
        }
    }
    return false;
}

typedef struct {
    const char *at;
    const char *end;
} text_t;

/* Finds the text between two `mark`s. Only spaces, no tabs, may surround them (§4.2). */
static bool http_find_item(const char *field, char mark, text_t *item)
{
    item->at = field + strspn(field, " ");
    item->end = item->at + strlen(item->at);
    while (item->end > item->at && item->end[-1] == ' ') {
        item->end--;
    }
    if (item->end - item->at < 2 || *item->at != mark || item->end[-1] != mark) {
        return false;
    }
    item->at++;
    item->end--;
    return true;
}

/* Base64 (RFC 4648 §4). Unused bits must be 0, so that equal bytes have one spelling. */
bool el_structured_bytes(const char *field, uint8_t *bytes, size_t nbytes)
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned held = 0, held_bits = 0;
    size_t n = 0;
    text_t text;

    /* Four characters for each three bytes, the last ones padded. */
    if (!http_find_item(field, ':', &text)
        || (size_t)(text.end - text.at) != (nbytes + 2) / 3 * 4) {
        return false;
    }
    for (; text.at < text.end && *text.at != '='; text.at++) {
        const char *found = *text.at ? strchr(alphabet, *text.at) : NULL;

        if (!found || n == nbytes) {
            return false;
        }
        held = held << 6 | (unsigned)(found - alphabet);
        held_bits += 6;
        if (held_bits >= 8) {
            held_bits -= 8;
            bytes[n++] = (uint8_t)(held >> held_bits);
            held &= (1u << held_bits) - 1;
        }
    }
    while (text.at < text.end && *text.at == '=') {
        text.at++;
    }
    return text.at == text.end && n == nbytes && held == 0;
}

static bool http_is_printable(char c)
{
    return c >= 0x20 && c < 0x7f;
}

bool el_structured_string(const char *field, char *text, size_t room)
{
    size_t n = 0;
    text_t rest;
    bool good = http_find_item(field, '"', &rest);

    while (good && rest.at < rest.end) {
        char c = *rest.at++;

        if (c == '\\') {
            good = rest.at < rest.end && (*rest.at == '"' || *rest.at == '\\');
            c = good ? *rest.at++ : c;
        } else {
            good = http_is_printable(c) && c != '"';
        }
        good = good && n + 1 < room;
        if (good) {
            text[n++] = c;
        }
    }
    text[good ? n : 0] = '\0';
    return good;
}

bool el_structured_can_hold(const char *text)
{
    while (http_is_printable(*text)) {
        text++;
    }
    return *text == '\0';
}

el_structured_writer_t el_structured_begin(char *text, size_t room)
{
    text[0] = '\0';
    return (el_structured_writer_t){.text = text, .room = room};
}

static void http_put(el_structured_writer_t *writer, char c)
{
    if (writer->len + 1 >= writer->room) {
        writer->short_of_room = true;
        return;
    }
    writer->text[writer->len++] = c;
    writer->text[writer->len] = '\0';
}

static void http_put_text(el_structured_writer_t *writer, const char *text)
{
    for (; *text; text++) {
        http_put(writer, *text);
    }
}

/* Writes `before`, the key and `=`. */
static void http_put_key(el_structured_writer_t *writer, const char *before, const char *key)
{
    http_put_text(writer, before);
    http_put_text(writer, key);
    http_put(writer, '=');
}

/* The separator before a member. */
static const char *http_comma(const el_structured_writer_t *writer)
{
    return writer->len > 0 ? ", " : "";
}

static void http_put_string(el_structured_writer_t *writer, const char *text, size_t len)
{
    http_put(writer, '"');
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '"' || text[i] == '\\') {
            http_put(writer, '\\');
        }
        http_put(writer, http_is_printable(text[i]) ? text[i] : '?');
    }
    http_put(writer, '"');
}

void el_structured_add_string(el_structured_writer_t *writer, const char *key, const char *value)
{
    http_put_key(writer, http_comma(writer), key);
    http_put_string(writer, value, strlen(value));
}

void el_structured_add_bare(el_structured_writer_t *writer, const char *key, const char *value)
{
    http_put_key(writer, http_comma(writer), key);
    http_put_text(writer, value);
}

void el_structured_param_bare(el_structured_writer_t *writer, const char *key, const char *value)
{
    http_put_key(writer, "; ", key);
    http_put_text(writer, value);
}

void el_structured_param_string(el_structured_writer_t *writer, const char *key,
                                const char *value)
{
    http_put_key(writer, "; ", key);
    http_put_string(writer, value, strlen(value));
}

void el_structured_add_words(el_structured_writer_t *writer, const char *key, const char *words)
{
    bool first = true;

    http_put_key(writer, http_comma(writer), key);
    http_put(writer, '(');
    for (words += strspn(words, " "); *words; words += strspn(words, " ")) {
        size_t len = strcspn(words, " ");

        if (!first) {
            http_put(writer, ' ');
        }
        http_put_string(writer, words, len);
        words += len;
        first = false;
    }
    http_put(writer, ')');
}

/* Longer durations count as this one (RFC 9111 §1.2.2). */
#define SECONDS_MOST ((UINT64_C(1) << 31) - 1)

typedef struct {
    const char *name;
    size_t name_len;
    const char *value; /* without quotes; NULL: none */
    size_t value_len;
} directive_t;

/* Takes the next directive, and any other text before the next comma. False at the end. */
static bool http_next_directive(const char **field, directive_t *directive)
{
    const char *at = *field + strspn(*field, " \t,");

    *directive = (directive_t){.name = at, .name_len = el_text_token(at, strlen(at))};
    at += directive->name_len;
    if (*at == '=' && at[1] == '"') {
        directive->value = at += 2;
        while (*at && *at != '"') {
            at += *at == '\\' && at[1] ? 2 : 1;
        }
        directive->value_len = (size_t)(at - directive->value);
        at += *at == '"';
    } else if (*at == '=') {
        directive->value = ++at;
        directive->value_len = el_text_token(at, strlen(at));
    }
    *field = at + strcspn(at, ",");
    return directive->name_len > 0 || **field;
}

static bool http_is_named(const directive_t *directive, const char *name)
{
    return el_text_is(directive->name, directive->name_len, name);
}

el_cache_control_t el_cache_control_parse(const char *field)
{
    el_cache_control_t control = {0};
    directive_t directive;

    while (http_next_directive(&field, &directive)) {
        control.no_store |= http_is_named(&directive, "no-store");
        control.no_cache |= http_is_named(&directive, "no-cache");
        control.only_mine |= http_is_named(&directive, "private");
        if (http_is_named(&directive, "max-age")) {
            const char *at = directive.value, *end = at ? at + directive.value_len : NULL;
            uint64_t seconds = 0;

            /* An invalid value counts as 0: stale. */
            if (!el_text_number(&at, end, &seconds) || at != end) {
                seconds = 0;
            }
            seconds = seconds < SECONDS_MOST ? seconds : SECONDS_MOST;
            if (!control.has_max_age || seconds < control.max_age) {
                control.max_age = seconds;
            }
            control.has_max_age = true;
        }
    }
    return control;
}
