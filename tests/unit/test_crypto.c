/* Sealed names and values, and files accepted as a key. */
#define _DEFAULT_SOURCE /* explicit_bzero(), mkdtemp() */

#include "failing.h"
#include "suites.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <sys/stat.h>
#include <unistd.h>

#define fstat(...) FAILS(-1, fstat(__VA_ARGS__))
#define read(...) FAILS(-1, read(__VA_ARGS__))
#define HMAC(...) FAILS(NULL, HMAC(__VA_ARGS__))
#define RAND_bytes(...) FAILS(0, RAND_bytes(__VA_ARGS__))
#define EVP_CIPHER_CTX_new() FAILS(NULL, EVP_CIPHER_CTX_new())
#define EVP_CIPHER_CTX_ctrl(...) FAILS(0, EVP_CIPHER_CTX_ctrl(__VA_ARGS__))
#define EVP_CipherInit_ex(...) FAILS(0, EVP_CipherInit_ex(__VA_ARGS__))
#define EVP_EncryptInit_ex(...) FAILS(0, EVP_EncryptInit_ex(__VA_ARGS__))
#define EVP_EncryptUpdate(...) FAILS(0, EVP_EncryptUpdate(__VA_ARGS__))
#define EVP_EncryptFinal_ex(...) FAILS(0, EVP_EncryptFinal_ex(__VA_ARGS__))
#define EVP_DecryptUpdate(...) FAILS(0, EVP_DecryptUpdate(__VA_ARGS__))
#define EVP_DecryptFinal_ex(...) FAILS(0, EVP_DecryptFinal_ex(__VA_ARGS__))
#include "httpd/cache/crypto.c"

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

TEST(seal, keys_and_names_depend_on_the_secret_alone)
{
    el_seal_keys_t same;
    unsigned char again[EL_SEAL_NAME];

    ck_assert(el_seal_keys(SECRET, strlen(SECRET), &same));
    ck_assert_mem_eq(&same, &keys, sizeof(keys));
    ck_assert_mem_ne(others.names, keys.names, sizeof(keys.names));
    ck_assert_mem_ne(others.values, keys.values, sizeof(keys.values));
    ck_assert_mem_ne(others.fingerprints, keys.fingerprints, sizeof(keys.fingerprints));
    ck_assert_mem_ne(keys.names, keys.values, sizeof(keys.values));
    ck_assert_mem_ne(keys.names, keys.fingerprints, sizeof(keys.fingerprints));
    ck_assert_mem_ne(name, other_name, EL_SEAL_NAME);
    ck_assert(el_seal_name(&keys, "one", 3, again) && memcmp(again, name, EL_SEAL_NAME) == 0);
    ck_assert(el_seal_name(&others, "one", 3, again) && memcmp(again, name, EL_SEAL_NAME) != 0);
}

/* RFC 4231, test case 1. Zeros after a key do not change it (RFC 2104). */
TEST(seal, a_name_is_an_hmac)
{
    static const unsigned char expected[EL_SEAL_NAME] = {
        0xb0, 0x34, 0x4c, 0x61, 0xd8, 0xdb, 0x38, 0x53, 0x5c, 0xa8, 0xaf, 0xce, 0xaf, 0x0b, 0xf1,
        0x2b, 0x88, 0x1d, 0xc2, 0x00, 0xc9, 0x83, 0x3d, 0xa7, 0x26, 0xe9, 0x37, 0x6c, 0x2e, 0x32,
        0xcf, 0xf7,
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
    ck_assert(el_seal_close(&keys, name, plain, *row, sealed));
    ck_assert(el_seal_open(&keys, name, sealed, *row + EL_SEAL_OVERHEAD, opened));
    ck_assert_mem_eq(opened, plain, *row);
}

/* Values differ each time, and a mixture of two sealed values is rejected. */
TEST(seal, a_value_is_sealed_in_another_way_each_time)
{
    unsigned char again[1000 + EL_SEAL_OVERHEAD];

    ck_assert(el_seal_close(&keys, name, plain, 1000, sealed));
    memcpy(again, sealed, sizeof(again));
    ck_assert(el_seal_close(&keys, name, plain, 1000, again));
    ck_assert_mem_ne(again, sealed, 12);
    ck_assert_mem_ne(again + 12, sealed + 12, 1000);
    ck_assert_mem_ne(sealed + 12, plain, 1000);
    memcpy(again + 500, sealed + 500, 500);
    ck_assert(!el_seal_open(&keys, name, again, sizeof(again), opened));
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
        sealed[at] ^= (unsigned char)(1u << at % 8);
        ck_assert_msg(!el_seal_open(&keys, name, sealed, nbytes, opened), "changed at %zu", at);
        sealed[at] ^= (unsigned char)(1u << at % 8);
    }
    ck_assert(el_seal_open(&keys, name, sealed, nbytes, opened));
}

/* Hashes four bytes in two parts. */
static bool hash(const unsigned char *key, const char *data, unsigned char out[EL_MAC])
{
    void *mac = el_mac_make(key);
    bool good = mac && el_mac_begin(mac) && el_mac_add(mac, data, 2) && el_mac_add(mac, data + 2, 2)
                && el_mac_add(mac, NULL, 0) && el_mac_end(mac, out);

    el_mac_free(mac);
    return good;
}

TEST(seal, a_hash_depends_on_the_key_and_the_data)
{
    unsigned char one[EL_MAC], again[EL_MAC], other[EL_MAC];

    ck_assert(hash(keys.names, "data", one) && hash(keys.names, "data", again));
    ck_assert(memcmp(one, again, EL_MAC) == 0);
    ck_assert(hash(others.names, "data", other) && memcmp(one, other, EL_MAC) != 0);
    ck_assert(hash(keys.names, "dato", other) && memcmp(one, other, EL_MAC) != 0);
}

TEST(seal, a_call_of_libcrypto_that_fails_is_noticed)
{
    unsigned char out[EL_MAC];
    el_seal_keys_t same;

    while (fail_next()) {
        ck_assert(ended(hash(keys.names, "data", out)));
    }
    while (fail_next()) {
        ck_assert(ended(el_seal_keys(SECRET, strlen(SECRET), &same)));
    }
    while (fail_next()) {
        ck_assert(ended(el_seal_name(&keys, "one", 3, name)));
    }
    while (fail_next()) {
        ck_assert(ended(el_seal_close(&keys, name, plain, LONG, sealed)));
    }
    while (fail_next()) {
        ck_assert(ended(el_seal_open(&keys, name, sealed, sizeof(sealed), opened)));
    }
    /* More than the library can take at once. */
    ck_assert(!el_seal_keys(SECRET, (size_t)INT_MAX + 1, &same));
    ck_assert(!el_mac_add(NULL, SECRET, (size_t)INT_MAX + 1));
    ck_assert(!el_seal_close(&keys, name, plain, (size_t)INT_MAX + 1, sealed));
    ck_assert(!el_seal_open(&keys, name, sealed, (size_t)INT_MAX + 1, opened));
}

static char folder[] = "/tmp/elastic-key-XXXXXX";
static char path[64];

static void set_up_file(void)
{
    strcpy(folder + strlen(folder) - 6, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/key", folder);
}

static void tear_down_file(void)
{
    unlink(path);
    rmdir(folder);
}

static void write_key(size_t nbytes, mode_t mode)
{
    char bytes[EL_KEY_FILE_MOST + 1];
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    memset(bytes, 'k', sizeof(bytes));
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, bytes, nbytes), (ssize_t)nbytes);
    ck_assert_int_eq(fchmod(fd, mode), 0);
    close(fd);
}

static const struct {
    const char *label;
    size_t nbytes;
    mode_t mode;
    const char *fault;
} files[] = {
    {"the least", 32, 0600, NULL},
    {"the most", EL_KEY_FILE_MOST, 0600, NULL},
    {"short by one", 31, 0600, "fewer than 32"},
    {"longer than any key", EL_KEY_FILE_MOST + 1, 0600, "more than 4096"},
    {"read by the group", 32, 0640, "chmod 600"},
};

CASE(key_file, .set_up = set_up_file, .tear_down = tear_down_file);

static el_seal_keys_t of_file;

EACH(key_file, a_file_is_checked, files)
{
    const char *fault;

    write_key(row->nbytes, row->mode);
    fault = el_key_file_read(path, &of_file);
    row_assert(row->fault ? fault && strstr(fault, row->fault) : !fault);
}

TEST(key_file, all_its_bytes_count)
{
    el_seal_keys_t longer;

    write_key(32, 0600);
    ck_assert_ptr_null(el_key_file_read(path, &of_file));
    write_key(33, 0600);
    ck_assert_ptr_null(el_key_file_read(path, &longer));
    ck_assert_mem_ne(&of_file, &longer, sizeof(longer));
}

static int next_fd(void)
{
    int fd = open("/", O_RDONLY);

    close(fd);
    return fd;
}

TEST(key_file, a_call_that_fails_is_a_fault_and_leaves_no_file_open)
{
    int before = next_fd();

    write_key(32, 0600);
    while (fail_next()) {
        ck_assert(ended(el_key_file_read(path, &of_file) == NULL));
        ck_assert_int_eq(next_fd(), before);
    }
}

TEST(key_file, what_is_no_file_is_refused)
{
    ck_assert_ptr_nonnull(strstr(el_key_file_read(path, &of_file), "No such file"));
    ck_assert_ptr_nonnull(strstr(el_key_file_read(folder, &of_file), "regular"));
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    ck_assert_ptr_nonnull(strstr(el_key_file_read(path, &of_file), "regular"));
}
