#include "elastic/structured.h"

#include "suites.h"

static const struct {
    const char *label;
    const char *field;
    const char *hex; /* NULL: refused */
} sequences[] = {
    {"four bytes", ":AAECAw==:", "00010203"},
    {"all of the alphabet's ends", ":+/zZ9w==:", "fbfcd9f7"},
    {"spaces around", "  :AAECAw==: ", "00010203"},
    {"a tab around is no space", "\t:AAECAw==:", NULL},
    {"fewer bytes", ":AAEC:", NULL},
    {"more bytes", ":AAECAwQ=:", NULL},
    {"no padding", ":AAECAw:", NULL},
    {"half of the padding", ":AAECAw=:", NULL},
    {"padding in the middle", ":AAEC==Aw:", NULL},
    {"bits that are no part of a byte", ":AAECAx==:", NULL},
    {"the alphabet of URLs", ":-_zZ9w==:", NULL},
    {"a space inside", ":AAEC w==:", NULL},
    {"no colon at the end", ":AAECAw==", NULL},
    {"no colon at the beginning", "AAECAw==:", NULL},
    {"one colon", ":", NULL},
    {"nothing inside", "::", NULL},
    {"nothing", "", NULL},
    {"a parameter", ":AAECAw==:;q=1", NULL},
    {"a list of two", ":AAECAw==:, :AAECAw==:", NULL},
    {"a String", "\"AAECAw==\"", NULL},
};

CASE(structured);

EACH(structured, a_byte_sequence_is_read, sequences)
{
    uint8_t bytes[4] = {0};
    char hex[9];
    bool read = el_structured_bytes(row->field, bytes, sizeof(bytes));

    snprintf(hex, sizeof(hex), "%02x%02x%02x%02x", bytes[0], bytes[1], bytes[2], bytes[3]);
    row_eq(read, (row->hex != NULL));
    ck_assert_msg(!read || strcmp(hex, row->hex) == 0, "%s: %s", row->label,
                  hex);
}

static const struct {
    const char *label;
    const char *field;
    const char *text; /* NULL: refused */
} strings[] = {
    {"a word", "\"abc\"", "abc"},
    {"no character", "\"\"", ""},
    {"escapes", "\"a\\\"b\\\\\"", "a\"b\\"},
    {"spaces around", " \"abc\"  ", "abc"},
    {"spaces inside", "\" a \"", " a "},
    {"as many as there is room for", "\"1234567\"", "1234567"},
    {"more than there is room for", "\"12345678\"", NULL},
    {"an escape of another character", "\"\\n\"", NULL},
    {"an escape of the last quote", "\"abc\\\"", NULL},
    {"a quote inside", "\"a\"b\"", NULL},
    {"a control character", "\"a\x01\"", NULL},
    {"a delete", "\"a\x7f\"", NULL},
    {"a byte above ASCII", "\"\xc3\xa9\"", NULL},
    {"no quote at the end", "\"abc", NULL},
    {"one quote", "\"", NULL},
    {"a token", "abc", NULL},
    {"a parameter", "\"abc\";q", NULL},
    {"a list of two", "\"a\", \"b\"", NULL},
    {"nothing", "", NULL},
};

EACH(structured, a_string_is_read, strings)
{
    char text[8] = "before";
    bool read = el_structured_string(row->field, text, sizeof(text));
    const char *wanted = row->text;

    row_eq(read, (wanted != NULL));
    row_str_eq(text, wanted ? wanted : "");
}

TEST(structured, a_dictionary_is_written)
{
    char text[80];
    el_structured_writer_t writer = el_structured_begin(text, sizeof(text));

    ck_assert_str_eq(text, "");
    el_structured_add_string(&writer, "match", "/a\"b\\c");
    el_structured_add_words(&writer, "match-dest", "  document  script ");
    el_structured_add_words(&writer, "none", "");
    ck_assert_str_eq(text,
                     "match=\"/a\\\"b\\\\c\", match-dest=(\"document\" \"script\"), none=()");
    ck_assert(!writer.short_of_room);
}

TEST(structured, a_member_has_parameters)
{
    char text[200];
    el_structured_writer_t writer = el_structured_begin(text, sizeof(text));

    el_structured_add_bare(&writer, "a", "token");
    el_structured_param_bare(&writer, "b", "1.5");
    el_structured_param_string(&writer, "c", "\"\\\n\xff~");
    el_structured_add_bare(&writer, "d", "2");
    ck_assert_str_eq(text, "a=token; b=1.5; c=\"\\\"\\\\??~\", d=2");
}

TEST(structured, what_has_no_room_is_told)
{
    char text[8];
    el_structured_writer_t writer = el_structured_begin(text, sizeof(text));

    el_structured_add_string(&writer, "id", "123");
    ck_assert(writer.short_of_room);
    ck_assert_uint_lt(strlen(text), sizeof(text));
}

TEST(structured, what_a_string_can_hold_is_printable)
{
    ck_assert(el_structured_can_hold(""));
    ck_assert(el_structured_can_hold(" ~\"\\"));
    ck_assert(!el_structured_can_hold("a\n"));
    ck_assert(!el_structured_can_hold("\x7f"));
    ck_assert(!el_structured_can_hold("\xc3\xa9"));
}
