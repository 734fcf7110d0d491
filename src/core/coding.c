#include "elastic/coding.h"

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
