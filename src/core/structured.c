#include "elastic/structured.h"

#include <string.h>

/* Of the field, without the spaces around it. */
typedef struct {
    const char *at;
    const char *end;
} text_t;

/* Only spaces may be around an item (§4.2), no tabs. */
static text_t trimmed(const char *field)
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
    text_t text = trimmed(field);

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
    text_t rest = trimmed(field);
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
