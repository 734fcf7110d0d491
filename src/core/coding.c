#include "elastic/coding.h"

#include "text.h"

#include <string.h>

static const el_coding_info_t table[EL_ALL_CODINGS] = {
    [EL_GZIP] = {
        .token = "gzip",
        .plain = EL_GZIP,
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
        .plain = EL_BR,
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
        .plain = EL_ZSTD,
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
    [EL_DCB] = {.token = "dcb", .tag_suffix = "-dcb", .plain = EL_BR},
    [EL_DCZ] = {.token = "dcz", .tag_suffix = "-dcz", .plain = EL_ZSTD},
};

const el_coding_info_t *el_coding_info(el_coding_t coding)
{
    if ((unsigned)coding >= EL_ALL_CODINGS || coding == EL_IDENTITY) {
        return NULL;
    }
    return &table[coding];
}

static bool is_named(const char *known, const char *name, size_t len)
{
    return known != NULL && strlen(known) == len && el_text_same(known, name, len);
}

bool el_coding_is_difference(el_coding_t coding)
{
    return coding == EL_DCB || coding == EL_DCZ;
}

el_coding_t el_coding_find_any(const char *name, size_t len)
{
    for (unsigned i = EL_IDENTITY + 1; i < EL_ALL_CODINGS; i++) {
        if (is_named(table[i].token, name, len) || is_named(table[i].alias, name, len)) {
            return (el_coding_t)i;
        }
    }
    return EL_IDENTITY;
}

el_coding_t el_coding_find(const char *name, size_t len)
{
    el_coding_t coding = el_coding_find_any(name, len);

    return el_coding_is_difference(coding) ? EL_IDENTITY : coding;
}
