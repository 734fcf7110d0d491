/* Names and values that leave the machine. */
#include "httpd/cache/crypto.h"

#include "suites.h"

#define SECRET "0123456789abcdef0123456789abcdef"
#define LONG 100000

static el_seal_keys_t keys, others;
static unsigned char name[EL_SEAL_NAME], other_name[EL_SEAL_NAME];
static unsigned char plain[LONG], sealed[LONG + EL_SEAL_OVERHEAD], opened[LONG];

static void set_up(void)
{
    ck_assert(el_seal_keys(SECRET, strlen(SECRET), &keys));
    ck_assert(el_seal_keys(SECRET "x", strlen(SECRET "x"), &others));
    ck_assert(el_seal_name(&keys, "one", 3, name));
    ck_assert(el_seal_name(&keys, "two", 3, other_name));
    for (size_t i = 0; i < LONG; i++) {
        plain[i] = (unsigned char)(i * i >> 3);
    }
}

CASE(seal, .set_up = set_up);

TEST(seal, a_secret_makes_the_same_keys_everywhere)
{
    el_seal_keys_t again;

    ck_assert(el_seal_keys(SECRET, strlen(SECRET), &again));
    ck_assert_mem_eq(&again, &keys, sizeof(keys));
    ck_assert_mem_ne(others.names, keys.names, sizeof(keys.names));
    ck_assert_mem_ne(others.values, keys.values, sizeof(keys.values));
    ck_assert_mem_ne(others.fingerprints, keys.fingerprints, sizeof(keys.fingerprints));
    ck_assert_mem_ne(keys.names, keys.values, sizeof(keys.values));
    ck_assert_mem_ne(keys.names, keys.fingerprints, sizeof(keys.fingerprints));
}

TEST(seal, a_name_depends_on_the_key)
{
    unsigned char again[EL_SEAL_NAME];

    ck_assert_mem_ne(name, other_name, EL_SEAL_NAME);
    ck_assert(el_seal_name(&keys, "one", 3, again));
    ck_assert_mem_eq(again, name, EL_SEAL_NAME);
    ck_assert(el_seal_name(&others, "one", 3, again));
    ck_assert_mem_ne(again, name, EL_SEAL_NAME);
}

/* RFC 4231, test case 1; zeros behind a key do not change it (RFC 2104). */
TEST(seal, a_name_is_an_hmac)
{
    static const unsigned char expected[EL_SEAL_NAME] = {
        0xb0, 0x34, 0x4c, 0x61, 0xd8, 0xdb, 0x38, 0x53,
        0x5c, 0xa8, 0xaf, 0xce, 0xaf, 0x0b, 0xf1, 0x2b,
        0x88, 0x1d, 0xc2, 0x00, 0xc9, 0x83, 0x3d, 0xa7,
        0x26, 0xe9, 0x37, 0x6c, 0x2e, 0x32, 0xcf, 0xf7,
    };
    el_seal_keys_t known = {{0}, {0}, {0}};
    unsigned char got[EL_SEAL_NAME];

    memset(known.names, 0x0b, 20);
    ck_assert(el_seal_name(&known, "Hi There", 8, got));
    ck_assert_mem_eq(got, expected, sizeof(expected));
}

static const size_t lengths[] = {0, 1, 15, 16, 17, 4096, LONG};

EACH(seal, what_was_sealed_is_opened, lengths)
{
    size_t len = *row;

    ck_assert(el_seal_close(&keys, name, plain, len, sealed));
    ck_assert(el_seal_open(&keys, name, sealed, len + EL_SEAL_OVERHEAD, opened));
    ck_assert_mem_eq(opened, plain, len);
}

TEST(seal, the_same_value_never_looks_the_same)
{
    unsigned char again[EL_SEAL_OVERHEAD + 64];

    ck_assert(el_seal_close(&keys, name, plain, 64, sealed));
    ck_assert(el_seal_close(&keys, name, plain, 64, again));
    ck_assert_mem_ne(again, sealed, 12);
    ck_assert_mem_ne(again + 12, sealed + 12, 64);
    ck_assert_mem_ne(sealed + 12, plain, 64);
}

TEST(seal, anything_else_is_not_opened)
{
    size_t len = 1000, nbytes = len + EL_SEAL_OVERHEAD;

    ck_assert(el_seal_close(&keys, name, plain, len, sealed));
    ck_assert_msg(!el_seal_open(&others, name, sealed, nbytes, opened), "another key");
    ck_assert_msg(!el_seal_open(&keys, other_name, sealed, nbytes, opened), "another name");
    for (size_t short_of = 0; short_of < nbytes; short_of += 7) {
        ck_assert_msg(!el_seal_open(&keys, name, sealed, short_of, opened), "cut");
    }
    ck_assert_msg(!el_seal_open(&keys, name, sealed + 1, nbytes - 1, opened), "without its begin");
    for (size_t at = 0; at < nbytes; at++) {
        sealed[at] ^= 1u << at % 8;
        ck_assert_msg(!el_seal_open(&keys, name, sealed, nbytes, opened), "changed at %zu", at);
        sealed[at] ^= 1u << at % 8;
    }
    ck_assert(el_seal_open(&keys, name, sealed, nbytes, opened));
}

/* As by a reader between whose pieces a writer came. */
TEST(seal, halves_of_two_are_none)
{
    unsigned char second[1000 + EL_SEAL_OVERHEAD];

    ck_assert(el_seal_close(&keys, name, plain, 1000, sealed));
    ck_assert(el_seal_close(&keys, name, plain, 1000, second));
    memcpy(second + 500, sealed + 500, 500);
    ck_assert(!el_seal_open(&keys, name, second, sizeof(second), opened));
}
