#include "elastic/http.h"

#include "text.h"

#include <string.h>

static const el_coding_info_t table[EL_ALL_CODINGS] = {
    [EL_GZIP] = {
        .token = "gzip",
        .base = EL_GZIP,
        .alias = "x-gzip",
        .tag_suffix = "-gzip",
        .extension = ".gz",
        .level_min = 1,
        .level_max = 12, /* libdeflate's best; zlib ends at 9 */
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
        .default_max = 6, /* beyond it brotli is made for files that are compressed once */
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
        .level_max = 19, /* 20 and above want windows that browsers refuse (RFC 9659) */
        .default_min = 1,
        .default_max = 9,
        .stock_level = 3, /* the library's own default */
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

/* The end of the list without white space and commas. */
static size_t trimmed(const char *list, size_t len)
{
    while (len > 0 && (list[len - 1] == ',' || el_text_is_space(list[len - 1]))) {
        len--;
    }
    return len;
}

bool el_encoding_pop(const char *list, size_t *len, const char **name, size_t *name_len)
{
    while ((*len = trimmed(list, *len)) > 0) {
        size_t end = *len, start;

        while (*len > 0 && list[*len - 1] != ',') {
            --*len;
        }
        for (start = *len; el_text_is_space(list[start]); start++) {
        }
        *name = list + start;
        *name_len = end - start;
        *len = trimmed(list, *len);
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

/* Of dcz: the frame that decoders of zstd skip (RFC 8878 §3.1.2), with its length of 32. */
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

#define NAMES(type, subtype) {type, subtype, sizeof(type) - 1, sizeof(subtype) - 1}

/* docs/manual/directives.md says why each is here. */
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
/* How many rows in a run are of one type, which is compared once for them. */
static const uint8_t rows_of_type[] = {1, 36, 3, 4, 5, 6};

const size_t el_mediatype_defaults_count =
    sizeof(el_mediatype_defaults) / sizeof(el_mediatype_defaults[0]);

/*
 * Splits what `value` begins with, two tokens around a slash; what follows is not looked at. NUL is
 * no part of a token.
 */
static bool split(const char *value, el_mediatype_t *names)
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

static bool is_star(const char *name, size_t len)
{
    return len == 1 && *name == '*';
}

static bool has_star(const char *name, size_t len)
{
    return memchr(name, '*', len) != NULL;
}

/* "*+suffix", where the suffix is not empty. */
static bool is_star_suffix(const char *name, size_t len)
{
    return len > 2 && name[0] == '*' && name[1] == '+';
}

static const char *after_space(const char *value)
{
    while (el_text_is_space(*value)) {
        value++;
    }
    return value;
}

bool el_mediatype_read(const char *value, el_mediatype_t *type)
{
    return value != NULL && split(after_space(value), type);
}

bool el_mediatype_pattern(const char *value, el_mediatype_t *pattern)
{
    if (!split(value, pattern) || pattern->subtype[pattern->subtype_len] != '\0') {
        return false;
    }
    if (is_star(pattern->subtype, pattern->subtype_len)) {
        return is_star(pattern->type, pattern->type_len)
               || !has_star(pattern->type, pattern->type_len);
    }
    if (has_star(pattern->type, pattern->type_len)) {
        return false;
    }
    if (is_star_suffix(pattern->subtype, pattern->subtype_len)) {
        return !has_star(pattern->subtype + 1, pattern->subtype_len - 1);
    }
    return !has_star(pattern->subtype, pattern->subtype_len);
}

static inline bool subtype_matches(const el_mediatype_t *pattern, const el_mediatype_t *type)
{
    const char *end = type->subtype + type->subtype_len;
    size_t len = pattern->subtype_len;

    if (*pattern->subtype != '*') {
        return len == type->subtype_len && el_text_same(pattern->subtype, type->subtype, len);
    }
    /* What is behind the star: nothing, or a suffix that something precedes. */
    len--;
    return type->subtype_len > len && el_text_same(pattern->subtype + 1, end - len, len);
}

static bool type_matches(const el_mediatype_t *pattern, const el_mediatype_t *type)
{
    return *pattern->type == '*'
           || (pattern->type_len == type->type_len
               && el_text_same(pattern->type, type->type, type->type_len));
}

bool el_mediatype_match(const el_mediatype_t *pattern, const el_mediatype_t *type)
{
    return type_matches(pattern, type) && subtype_matches(pattern, type);
}

/* Whether `value` begins with the type of `pattern` and a slash. */
static bool has_type_of(const el_mediatype_t *pattern, const char *value)
{
    const char *type = pattern->type;

    while (*type && el_text_lower(*value) == *type) {
        value++;
        type++;
    }
    return !*type && *value == '/';
}

/* As el_mediatype_read() and el_mediatype_match() with each, but that a type is compared once. */
bool el_mediatype_is_default(const char *value)
{
    const el_mediatype_t *pattern = el_mediatype_defaults;
    char first;

    value = value ? after_space(value) : "";
    first = el_text_lower(*value);
    for (size_t run = 0; run < sizeof(rows_of_type); pattern += rows_of_type[run++]) {
        if (first == *pattern->type && has_type_of(pattern, value)) {
            el_mediatype_t type = {.subtype = value + pattern->type_len + 1};

            type.subtype_len = el_text_token(type.subtype, SIZE_MAX);
            for (size_t row = 0; row < rows_of_type[run]; row++) {
                if (subtype_matches(&pattern[row], &type)) {
                    return true;
                }
            }
            return false;
        }
    }
    return false;
}

/* Of the field, without the spaces around it. */
typedef struct {
    const char *at;
    const char *end;
} text_t;

/* Only spaces may be around an item (§4.2), no tabs. */
static text_t without_spaces(const char *field)
{
    text_t text = {field, field + strlen(field)};

    while (text.at < text.end && *text.at == ' ') {
        text.at++;
    }
    while (text.end > text.at && text.end[-1] == ' ') {
        text.end--;
    }
    return text;
}

/* Takes `mark` off both ends. False where it is not there twice. */
static bool take_marks(text_t *text, char mark)
{
    if (text->end - text->at < 2 || *text->at != mark || text->end[-1] != mark) {
        return false;
    }
    text->at++;
    text->end--;
    return true;
}

/* The six bits that a character of base64 stands for (RFC 4648 §4); -1: none. */
static int bits_of(char c)
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *found = c ? strchr(alphabet, c) : NULL;

    return found ? (int)(found - alphabet) : -1;
}

/* Bits that are no part of a byte must be zero: so equal bytes have one spelling. */
static bool decode(text_t text, uint8_t *bytes, size_t nbytes)
{
    unsigned held = 0, held_bits = 0;
    size_t n = 0;

    for (; text.at < text.end && *text.at != '='; text.at++) {
        int bits = bits_of(*text.at);

        if (bits < 0 || n == nbytes) {
            return false;
        }
        held = held << 6 | (unsigned)bits;
        held_bits += 6;
        if (held_bits >= 8) {
            held_bits -= 8;
            bytes[n++] = (uint8_t)(held >> held_bits);
            held &= (1u << held_bits) - 1;
        }
    }
    for (; text.at < text.end && *text.at == '='; text.at++) {
    }
    return text.at == text.end && n == nbytes && held == 0;
}

bool el_structured_bytes(const char *field, uint8_t *bytes, size_t nbytes)
{
    text_t text = without_spaces(field);

    /* With its padding base64 has four characters for each three bytes that have begun. */
    return take_marks(&text, ':') && (size_t)(text.end - text.at) == (nbytes + 2) / 3 * 4
           && decode(text, bytes, nbytes);
}

static bool is_printable(char c)
{
    return c >= 0x20 && c < 0x7f;
}

/* The next character of a string, behind its escape. False: there is none that may be there. */
static bool take_character(text_t *text, char *c)
{
    *c = *text->at++;
    if (*c == '\\') {
        if (text->at == text->end || (*text->at != '"' && *text->at != '\\')) {
            return false;
        }
        *c = *text->at++;
        return true;
    }
    return is_printable(*c) && *c != '"';
}

bool el_structured_string(const char *field, char *text, size_t room)
{
    text_t rest = without_spaces(field);
    size_t n = 0;
    bool good = take_marks(&rest, '"');

    while (good && rest.at < rest.end) {
        good = n + 1 < room && take_character(&rest, &text[n]);
        n += good;
    }
    text[good ? n : 0] = '\0';
    return good;
}

bool el_structured_can_hold(const char *text)
{
    while (is_printable(*text)) {
        text++;
    }
    return *text == '\0';
}

el_structured_writer_t el_structured_begin(char *text, size_t room)
{
    text[0] = '\0';
    return (el_structured_writer_t){.text = text, .room = room};
}

static void put(el_structured_writer_t *writer, char c)
{
    if (writer->len + 1 >= writer->room) {
        writer->short_of_room = true;
        return;
    }
    writer->text[writer->len++] = c;
    writer->text[writer->len] = '\0';
}

static void put_text(el_structured_writer_t *writer, const char *text)
{
    for (; *text; text++) {
        put(writer, *text);
    }
}

static void put_key(el_structured_writer_t *writer, const char *key)
{
    put_text(writer, writer->len > 0 ? ", " : "");
    put_text(writer, key);
    put(writer, '=');
}

static void put_parameter(el_structured_writer_t *writer, const char *key)
{
    put_text(writer, "; ");
    put_text(writer, key);
    put(writer, '=');
}

static void put_string(el_structured_writer_t *writer, const char *text, size_t len)
{
    put(writer, '"');
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '"' || text[i] == '\\') {
            put(writer, '\\');
        }
        put(writer, is_printable(text[i]) ? text[i] : '?');
    }
    put(writer, '"');
}

void el_structured_add_string(el_structured_writer_t *writer, const char *key, const char *value)
{
    put_key(writer, key);
    put_string(writer, value, strlen(value));
}

void el_structured_add_bare(el_structured_writer_t *writer, const char *key, const char *value)
{
    put_key(writer, key);
    put_text(writer, value);
}

void el_structured_param_bare(el_structured_writer_t *writer, const char *key, const char *value)
{
    put_parameter(writer, key);
    put_text(writer, value);
}

void el_structured_param_string(el_structured_writer_t *writer, const char *key,
                                const char *value)
{
    put_parameter(writer, key);
    put_string(writer, value, strlen(value));
}

void el_structured_add_words(el_structured_writer_t *writer, const char *key, const char *words)
{
    bool first = true;

    put_key(writer, key);
    put(writer, '(');
    for (words += strspn(words, " "); *words; words += strspn(words, " ")) {
        size_t len = strcspn(words, " ");

        if (!first) {
            put(writer, ' ');
        }
        put_string(writer, words, len);
        words += len;
        first = false;
    }
    put(writer, ')');
}

/* The longest duration that is told from others (RFC 9111 §1.2.2). */
#define SECONDS_MOST ((UINT64_C(1) << 31) - 1)

typedef struct {
    const char *name;
    size_t name_len;
    const char *value; /* without its quotes; NULL: none */
    size_t value_len;
} directive_t;

static bool is_between(char c)
{
    return el_text_is_space(c) || c == ',';
}

/* The value behind the `=`, a token or a quoted string. */
static const char *take_value(const char *at, directive_t *member)
{
    bool quoted = *at == '"';

    at += quoted;
    member->value = at;
    if (!quoted) {
        member->value_len = el_text_token(at, strlen(at));
        return at + member->value_len;
    }
    while (*at && *at != '"') {
        at += *at == '\\' && at[1] ? 2 : 1;
    }
    member->value_len = (size_t)(at - member->value);
    return *at ? at + 1 : at;
}

/*
 * The next_member member of the list; false at its end. What is none is passed over up to the next_member comma.
 */
static bool next_member(const char **field, directive_t *member)
{
    const char *at = *field;

    *member = (directive_t){0};
    while (is_between(*at)) {
        at++;
    }
    member->name = at;
    member->name_len = el_text_token(at, strlen(at));
    at += member->name_len;
    if (*at == '=') {
        at = take_value(at + 1, member);
    }
    *field = at + strcspn(at, ",");
    return member->name_len > 0 || **field;
}

static bool is_named(const directive_t *member, const char *name)
{
    return el_text_is(member->name, member->name_len, name);
}

static uint64_t seconds_of(const directive_t *member)
{
    const char *at = member->value;
    const char *end = at ? at + member->value_len : NULL;
    uint64_t seconds;

    if (!at || !el_text_number(&at, end, &seconds) || at != end) {
        return 0;
    }
    return seconds < SECONDS_MOST ? seconds : SECONDS_MOST;
}

static void shorten(el_cache_control_t *control, uint64_t seconds)
{
    control->max_age = control->has_max_age && control->max_age < seconds ? control->max_age
                                                                          : seconds;
    control->has_max_age = true;
}

el_cache_control_t el_cache_control_parse(const char *field)
{
    el_cache_control_t control = {0};
    directive_t member;

    while (next_member(&field, &member)) {
        control.no_store |= is_named(&member, "no-store");
        control.no_cache |= is_named(&member, "no-cache");
        control.only_mine |= is_named(&member, "private");
        if (is_named(&member, "max-age")) {
            shorten(&control, seconds_of(&member));
        }
    }
    return control;
}
