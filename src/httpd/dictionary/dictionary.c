#include "httpd/dictionary/dictionaries.h"

#include "httpd/dictionary/folder.h"
#include "httpd/shared/shared.h"

#include "engines/engines.h"
#include "host/process.h"

#include "apr_strings.h"
#include "http_core.h"
#include "http_log.h"
#include "http_main.h"
#include "unixd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

EL_USE_LOG;

/* Hexadecimal digits of the hash in a file's URL. */
#define URL_DIGITS 32

/* Seconds between two warnings of a process. */
#define QUIET 60

/* Set with the configuration, then constant in all threads of a child. */
static el_folder_t folder = {.fd = -1};
static const char *folder_path;
static bool any_file; /* a file of ElasticDictionaryFile was read */

/* --- the files of ElasticDictionaryFile */

/*
 * Reads a regular file whole. NULL on failure, with errno set; EFBIG: it is not a regular file,
 * empty or too large.
 */
static char *dictionary_read(const char *path, size_t *nbytes, apr_pool_t *pool)
{
    /* O_NONBLOCK: do not wait for a pipe. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    char *bytes = NULL;
    struct stat info;
    ssize_t n = 1;

    if (fd < 0) {
        return NULL;
    }
    *nbytes = 0;
    errno = EFBIG;
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0
        && info.st_size <= EL_FOLDER_FILE_MOST) {
        bytes = apr_palloc(pool, (size_t)info.st_size);
        while (*nbytes < (size_t)info.st_size && n > 0) {
            n = read(fd, bytes + *nbytes, (size_t)info.st_size - *nbytes);
            *nbytes += n > 0 ? (size_t)n : 0;
        }
        bytes = *nbytes == (size_t)info.st_size ? bytes : NULL;
    }
    close(fd);
    return bytes;
}

/*
 * Reads the file's .br if there is one: it is smaller than compressing for each response. It must
 * decode to the file's bytes.
 */
static void dictionary_load_small(server_rec *server, el_dictionary_file_t *file,
                                  apr_pool_t *pconf)
{
    const char *path = apr_pstrcat(pconf, file->path, ".br", NULL);
    const char *small = dictionary_read(path, &file->small_nbytes, pconf);
    bool none = !small && errno == ENOENT;
    const el_decoder_t *decoder = el_decoder_for(EL_BR);
    el_account_t account = {0};
    el_decoding_t *decoding = small && decoder ? decoder->open(&account) : NULL;
    /* One byte more shows if the decoded body is longer. */
    uint8_t *bytes = malloc(file->nbytes + 1);
    el_span_t span = {(const uint8_t *)small, file->small_nbytes, bytes, file->nbytes + 1};

    if (decoding && bytes && decoder->step(decoding, &span) == EL_DECODE_ENDED
        && span.in_nbytes == 0 && span.out_nbytes_avail == 1
        && memcmp(bytes, file->bytes, file->nbytes) == 0) {
        file->small = small;
    } else if (!none && decoder) {
        el_warn(server, 0, "ElasticDictionaryFile %s: it is not that file in br; it is not sent",
                path);
    }
    if (decoding) {
        decoder->close(decoding);
    }
    free(bytes);
}

static void dictionary_load(server_rec *server, el_dictionary_file_t *file, apr_pool_t *pconf)
{
    char name[EL_FOLDER_NAME_ROOM];
    const char *bytes = dictionary_read(file->path, &file->nbytes, pconf);

    if (!bytes || !el_folder_hash(bytes, file->nbytes, file->hash)) {
        el_warn(server, bytes || errno == EFBIG ? 0 : errno,
                "ElasticDictionaryFile %s: the file cannot be read, has nothing in it or more than "
                "8 MB; it is not served", file->path);
        return;
    }
    el_folder_name(file->hash, name);
    file->url = apr_pstrcat(pconf, EL_SITE_FOLDER, apr_pstrndup(pconf, name, URL_DIGITS), NULL);
    /* Browsers show neither as markup. ElasticTypes does not list application/octet-stream. */
    file->type = memchr(bytes, '\0', file->nbytes) ? "application/octet-stream" : "text/plain";
    file->bytes = bytes;
    dictionary_load_small(server, file, pconf);
    any_file = true;
}

/* The port with its colon, or the end of `host`. */
static const char *dictionary_port(const char *host)
{
    const char *colon = strrchr(host, ':');

    return colon && !strchr(colon, ']') ? colon : host + strlen(host);
}

bool el_site_file_is_for(const el_dictionary_file_t *file, const char *origin)
{
    const char *name = strstr(origin, "://") + 3, *port = dictionary_port(name);
    size_t len = (size_t)(port - name);
    bool found = !file->hosts;

    if (!*port) {
        port = strncmp(origin, "https", 5) == 0 ? ":443" : ":80";
    }
    for (int i = 0; file->hosts && i < file->hosts->nelts && !found; i++) {
        const char *host = APR_ARRAY_IDX(file->hosts, i, const char *);
        const char *wanted = dictionary_port(host);

        found = len == (size_t)(wanted - host) && strncasecmp(host, name, len) == 0
                && (!*wanted || strcmp(wanted, port) == 0);
    }
    return file->bytes && found;
}

/*
 * The server's file with this SHA-256 for `origin`; NULL: none. Without an origin: a file of any
 * server for any origin.
 */
static const el_dictionary_file_t *dictionary_file_of(const server_rec *server, const char *origin,
                                                      const uint8_t hash[EL_DICTIONARY_HASH])
{
    for (; any_file && server; server = origin ? NULL : server->next) {
        const apr_array_header_t *files = el_server_of(server)->dictionary_files;

        for (int i = files ? files->nelts - 1 : -1; i >= 0; i--) {
            const el_dictionary_file_t *file =
                APR_ARRAY_IDX(files, i, const el_dictionary_file_t *);

            if (file->bytes && memcmp(file->hash, hash, EL_DICTIONARY_HASH) == 0
                && (!origin || el_site_file_is_for(file, origin))) {
                return file;
            }
        }
    }
    return NULL;
}

/* --- configuration and folder */

static apr_status_t dictionary_forget(void *unused)
{
    (void)unused;
    any_file = false;
    el_folder_close(&folder);
    return APR_SUCCESS;
}

void el_dictionaries_check(server_rec *main_server, apr_pool_t *pconf)
{
    const el_dictionary_store_t *store = el_server_of(main_server)->dictionary_store;
    bool any_rule = false;
    el_folder_t opened;

    if (el_warnings_are_early()) {
        return;
    }
    apr_pool_cleanup_register(pconf, NULL, dictionary_forget, apr_pool_cleanup_null);
    for (server_rec *server = main_server; server; server = server->next) {
        const apr_array_header_t *files = el_server_of(server)->dictionary_files;

        any_rule = any_rule || el_server_of(server)->dictionary_rules;
        for (int i = 0; files && i < files->nelts; i++) {
            el_dictionary_file_t *file = APR_ARRAY_IDX(files, i, el_dictionary_file_t *);

            /* Virtual hosts inherit the main server's files: load each file once. */
            if (!file->tried) {
                file->tried = true;
                dictionary_load(server, file, pconf);
            }
        }
    }
    if (!store) {
        if (any_rule) {
            el_warn(main_server, 0,
                    "ElasticDictionary has no effect without ElasticDictionaryStore");
        }
    } else if (!el_folder_open(&opened, store->folder, store->most)) {
        el_warn(main_server, errno,
                "ElasticDictionaryStore %s: the folder cannot be read; no dictionaries are used",
                store->folder);
    } else {
        if (!el_folder_may_write(&opened, ap_unixd_config.user_id, ap_unixd_config.group_id)
            && geteuid() == 0) {
            el_warn(main_server, 0,
                    "ElasticDictionaryStore %s: the user %s may not write to the folder; chown it "
                    "to that user", store->folder, ap_unixd_config.user_name);
        }
        el_folder_close(&opened);
    }
}

void el_dictionaries_open(server_rec *main_server)
{
    const el_dictionary_store_t *store = el_server_of(main_server)->dictionary_store;

    if (store && el_folder_open(&folder, store->folder, store->most)) {
        folder_path = store->folder;
    }
}

bool el_dictionaries_are_open(void)
{
    return folder.fd >= 0 || any_file;
}

size_t el_dictionaries_most(void)
{
    return folder.fd >= 0 ? el_folder_file_most(&folder) : 0;
}

/* --- the dictionaries */

bool el_dictionaries_keep(const el_dictionary_entry_t *entry, const void *bytes, size_t nbytes)
{
    /* el_clock_sec() at which this process may log a fault again. */
    static atomic_uint_least64_t quiet_until;
    uint8_t hash[EL_DICTIONARY_HASH];
    uint64_t now, until;
    int error;

    if (folder.fd < 0 || !el_folder_hash(bytes, nbytes, hash)) {
        return false;
    }
    if (el_folder_put(&folder, hash, bytes, nbytes, entry)) {
        return true;
    }
    error = errno;
    el_shared_count(EL_COUNT_DICTIONARY_FAULTS, 1);
    now = el_clock_sec();
    until = atomic_load(&quiet_until);
    if (now >= until && atomic_compare_exchange_strong(&quiet_until, &until, now + QUIET)) {
        ap_log_error(APLOG_MARK, APLOG_WARNING, error, ap_server_conf,
                     "elastic: ElasticDictionaryStore %s: a dictionary cannot be written; "
                     "responses are sent without it", folder_path);
    }
    return false;
}

el_dictionary_reason_t el_dictionaries_find(const server_rec *server,
                                            const uint8_t hash[EL_DICTIONARY_HASH],
                                            const el_dictionary_request_t *request,
                                            el_dictionary_entry_t *entry)
{
    const el_dictionary_file_t *file = dictionary_file_of(server, request->origin, hash);
    el_dictionary_reason_t reason = EL_DICTIONARY_UNKNOWN, kept;

    if (file) {
        /*
         * Valid for each origin of its hosts for as long as it is configured: a browser may have it
         * from a shared cache that asked this server only once.
         */
        memset(entry, 0, sizeof(*entry));
        apr_cpystrn(entry->origin, request->origin, sizeof(entry->origin));
        apr_cpystrn(entry->path, file->url, sizeof(entry->path));
        apr_cpystrn(entry->match, file->rule.match, sizeof(entry->match));
        apr_cpystrn(entry->dest, file->rule.dest, sizeof(entry->dest));
        entry->expires = UINT64_MAX;
        reason = el_dictionary_entry_fits(entry, request);
    }
    if (reason != EL_DICTIONARY_USED && folder.fd >= 0) {
        /* Another rule may have given out the same content. */
        kept = el_folder_find(&folder, hash, request, entry);
        reason = kept == EL_DICTIONARY_UNKNOWN ? reason : kept;
    }
    return reason;
}

el_dictionary_reason_t el_dictionaries_prepare(const uint8_t hash[EL_DICTIONARY_HASH],
                                               el_coding_t coding, int level,
                                               el_dictionary_t **dictionary)
{
    el_dictionary_bytes_t whole = {.hash = hash};
    const el_dictionary_file_t *file;
    uint8_t *bytes = NULL;
    bool damaged = false;

    *dictionary = el_dictionary_find(coding, level, hash);
    if (*dictionary) {
        return EL_DICTIONARY_USED;
    }
    file = dictionary_file_of(ap_server_conf, NULL, hash);
    if (file) {
        whole.bytes = (const uint8_t *)file->bytes;
        whole.nbytes = file->nbytes;
    } else if (folder.fd >= 0) {
        whole.bytes = bytes = el_folder_read(&folder, hash, &whole.nbytes, &damaged);
    }
    if (damaged) {
        char name[EL_FOLDER_NAME_ROOM];

        el_folder_name(hash, name);
        el_shared_count(EL_COUNT_DICTIONARY_FAULTS, 1);
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, ap_server_conf,
                     "elastic: ElasticDictionaryStore %s: the dictionary %s is damaged, and was "
                     "removed", folder_path, name);
    }
    if (!whole.bytes) {
        return EL_DICTIONARY_UNKNOWN;
    }
    *dictionary = el_dictionary_prepare(coding, level, &whole);
    free(bytes);
    return *dictionary ? EL_DICTIONARY_USED : EL_DICTIONARY_UNPREPARED;
}
