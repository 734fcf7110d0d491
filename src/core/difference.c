#include "elastic/difference.h"

#include <string.h>

/* Of dcz: the frame that decoders of zstd skip (RFC 8878 §3.1.2), with its length of 32. */
static const uint8_t dcz_magic[] = {0x5e, 0x2a, 0x4d, 0x18, 0x20, 0x00, 0x00, 0x00};
static const uint8_t dcb_magic[] = {0xff, 0x44, 0x43, 0x42};

size_t el_difference_head(el_coding_t coding, const uint8_t hash[EL_DICTIONARY_HASH],
                          uint8_t out[EL_DIFFERENCE_HEAD])
{
    const uint8_t *magic = coding == EL_DCB ? dcb_magic : dcz_magic;
    size_t len = coding == EL_DCB ? sizeof(dcb_magic) : sizeof(dcz_magic);

    memcpy(out, magic, len);
    memcpy(out + len, hash, EL_DICTIONARY_HASH);
    return len + EL_DICTIONARY_HASH;
}
