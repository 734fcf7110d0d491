#include "elastic/http.h"
#include "suites.h"

static const struct {
    const char *field;
    const char *hex; /* NULL: refused */
} sequences[] = {
    {":AAECAw==:", "00010203"}, {":+/zZ9w==:", "fbfcd9f7"}, {"  :AAECAw==: ", "00010203"},
    {"\t:AAECAw==:", NULL}, {":AAEC:", NULL}, {":AAECAwQ=:", NULL}, {":AAECAw:", NULL},
    {":AAECAw=:", NULL}, {":AAEC==Aw:", NULL}, {":AAECAx==:", NULL}, {":-_zZ9w==:", NULL},
    {":AAEC w==:", NULL}, {":AAECAw==", NULL}, {"AAECAw==:", NULL}, {":", NULL}, {"::", NULL},
    {"", NULL}, {":AAECAw==:;q=1", NULL}, {":AAECAw==:, :AAECAw==:", NULL}, {"\"AAECAw==\"", NULL},
};

CASE(structured);

EACH(structured, a_byte_sequence_is_read, sequences)
{
    uint8_t bytes[4] = {0};
    char hex[9];
    bool is_one = el_structured_bytes(row->field, bytes, sizeof(bytes));

    named_eq(row->field, is_one, row->hex != NULL);
    snprintf(hex, sizeof(hex), "%02x%02x%02x%02x", bytes[0], bytes[1], bytes[2], bytes[3]);
    named_str_eq(row->field, hex, is_one ? row->hex : hex);
}

static const struct {
    const char *field;
    const char *text; /* NULL: refused */
} strings[] = {
    {"\"abc\"", "abc"}, {"\"\"", ""}, {"\"a\\\"b\\\\\"", "a\"b\\"}, {" \"abc\"  ", "abc"},
    {"\" a \"", " a "}, {"\"1234567\"", "1234567"}, {"\"12345678\"", NULL}, {"\"\\n\"", NULL},
    {"\"abc\\\"", NULL}, {"\"a\"b\"", NULL}, {"\"a\x01\"", NULL}, {"\"a\x7f\"", NULL},
    {"\"\xc3\xa9\"", NULL}, {"\"abc", NULL}, {"\"", NULL}, {"abc", NULL}, {"\"abc\";q", NULL},
    {"\"a\", \"b\"", NULL}, {"", NULL},
};
EACH(structured, a_string_is_read, strings)
{
    char text[8] = "before";
    bool is_one = el_structured_string(row->field, text, sizeof(text));

    named_eq(row->field, is_one, row->text != NULL);
    named_str_eq(row->field, text, is_one ? row->text : "");
}

TEST(structured, a_dictionary_is_written)
{
    char text[200], small[8];
    el_structured_writer_t writer = el_structured_begin(text, sizeof(text));

    ck_assert_str_eq(text, "");
    el_structured_add_string(&writer, "match", "/a\"b\\c");
    el_structured_add_words(&writer, "match-dest", "  document  script ");
    el_structured_add_words(&writer, "none", "");
    ck_assert_str_eq(text,
                     "match=\"/a\\\"b\\\\c\", match-dest=(\"document\" \"script\"), none=()");
    ck_assert(!writer.short_of_room);

    writer = el_structured_begin(text, sizeof(text));
    el_structured_add_bare(&writer, "a", "token");
    el_structured_param_bare(&writer, "b", "1.5");
    el_structured_param_string(&writer, "c", "\"\\\n\xff~");
    el_structured_add_bare(&writer, "d", "2");
    ck_assert_str_eq(text, "a=token; b=1.5; c=\"\\\"\\\\??~\", d=2");

    writer = el_structured_begin(small, sizeof(small));
    el_structured_add_string(&writer, "id", "123");
    ck_assert(writer.short_of_room && strlen(small) < sizeof(small));
}

TEST(structured, what_a_string_can_hold_is_printable)
{
    ck_assert(el_structured_can_hold("") && el_structured_can_hold(" ~\"\\"));
    ck_assert(!el_structured_can_hold("a\n") && !el_structured_can_hold("\x7f"));
    ck_assert(!el_structured_can_hold("\xc3\xa9"));
}
