/* Which files are taken for a key. */
#define _XOPEN_SOURCE 700 /* mkdtemp() */

#include "httpd/cache/crypto.h"

#include "suites.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/elastic-key-XXXXXX";
static char path[64];

static void set_up(void)
{
    strcpy(folder + strlen(folder) - 6, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/key", folder);
}

static void tear_down(void)
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
    {"for reading only", 32, 0400, NULL},
    {"the most", EL_KEY_FILE_MOST, 0600, NULL},
    {"short by one", 31, 0600, "fewer than 32"},
    {"empty", 0, 0600, "fewer than 32"},
    {"longer than any key", EL_KEY_FILE_MOST + 1, 0600, "more than 4096"},
    {"read by the group", 32, 0640, "chmod 600"},
    {"read by all", 32, 0604, "chmod 600"},
    {"written by the group", 32, 0620, "chmod 600"},
};

CASE(key_file, .set_up = set_up, .tear_down = tear_down);

EACH(key_file, a_file_is_checked, files)
{
    el_seal_keys_t keys;
    const char *fault;

    write_key(row->nbytes, row->mode);
    fault = el_key_file_read(path, &keys);
    if (row->fault) {
        ck_assert_msg(fault && strstr(fault, row->fault), "%s: %s", row->label, fault);
    } else {
        row_assert(!fault);
    }
}

TEST(key_file, all_its_bytes_count)
{
    el_seal_keys_t shorter, longer;

    write_key(32, 0600);
    ck_assert_ptr_null(el_key_file_read(path, &shorter));
    write_key(33, 0600);
    ck_assert_ptr_null(el_key_file_read(path, &longer));
    ck_assert_mem_ne(&shorter, &longer, sizeof(shorter));
}

TEST(key_file, what_is_no_file_is_refused)
{
    el_seal_keys_t keys;

    ck_assert_ptr_nonnull(strstr(el_key_file_read(path, &keys), "No such file"));
    ck_assert_ptr_nonnull(strstr(el_key_file_read(folder, &keys), "regular"));
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    ck_assert_ptr_nonnull(strstr(el_key_file_read(path, &keys), "regular"));
}
