#include "elastic/entry.h"

#include "elastic/cost.h"
#include "fuzz.h"

static void check(const el_name_t *name, const el_entry_t *got, const uint8_t *bytes, size_t size)
{
    MUST(got->coding > EL_IDENTITY && got->coding < EL_CODINGS && got->coding == name->coding);
    MUST(got->level >= 0 && got->level < EL_COST_LEVELS);
    MUST(name->pinned == EL_NAME_ADAPTIVE || name->pinned == got->level);
    MUST(got->in > 0 && got->nbytes > 0);
    MUST(got->data == bytes + EL_ENTRY_HEAD && got->nbytes == size - EL_ENTRY_HEAD);
    MUST(memchr(got->engine, '\0', EL_ENTRY_ENGINE) != NULL && got->engine[0] != '\0');
}

/*
 * A checksum is what no fuzzer finds: what it made is read as it is; and its fields are written as an
 * entry, with a right one.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const el_entry_t plain = {.coding = EL_GZIP, .level = 1, .engine = "zlib", .in = 1};
    el_name_t name;
    el_entry_t got, again;
    uint8_t *bytes, *copy;

    if (size < sizeof(name) + EL_ENTRY_HEAD + 1) {
        MUST(!el_entry_parse(&(el_name_t){.kind = EL_NAME_BODY}, data, size, &got));
        return 0;
    }
    memcpy(&name, data, sizeof(name));
    size -= sizeof(name);
    bytes = malloc(size);
    copy = malloc(size);
    MUST(bytes != NULL && copy != NULL);
    memcpy(bytes, data + sizeof(name), size);
    if (el_entry_parse(&name, bytes, size, &got)) {
        check(&name, &got, bytes, size);
        el_entry_write(&name, &got, copy);
        MUST(el_entry_parse(&name, copy, size, &again) && again.level == got.level);
    }
    again = plain;
    again.coding = (el_coding_t)(bytes[0] % EL_CODINGS);
    again.level = bytes[1];
    again.in = bytes[2];
    again.data = bytes + EL_ENTRY_HEAD;
    again.nbytes = size - EL_ENTRY_HEAD;
    name.coding = bytes[3];
    name.pinned = bytes[4];
    memcpy(again.engine, bytes + 5, sizeof(again.engine));
    el_entry_write(&name, &again, copy);
    if (el_entry_parse(&name, copy, size, &got)) {
        check(&name, &got, copy, size);
        MUST(got.level == again.level && got.coding == again.coding && got.in == again.in);
        MUST(memcmp(got.data, again.data, got.nbytes) == 0);
    }
    free(copy);
    free(bytes);
    return 0;
}
