#include "httpd/dictionary/site.h"

#include "httpd/dictionary/folder.h"

#include "engines/engines.h"

#include "apr_strings.h"
#include "http_main.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Set with the configuration, and the same for all threads of a child. */
static bool any;

/* The whole of a regular file; NULL, and errno says why. EFBIG: it is none, empty or too large. */
static char *read_whole(const char *path, size_t *nbytes, apr_pool_t *pool)
{
    /* Nobody waits for a pipe of that name. */
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
 * What lies beside the file in br takes fewer bytes than what is compressed for each response. Only
 * what decodes to the file's bytes counts.
 */
static void read_small(server_rec *server, el_dictionary_file_t *file, apr_pool_t *pconf)
{
    const char *path = apr_pstrcat(pconf, file->path, ".br", NULL);
    const char *small = read_whole(path, &file->small_nbytes, pconf);
    bool none = !small && errno == ENOENT;
    const el_decoder_t *decoder = el_decoder_for(EL_BR);
    el_account_t account = {0};
    el_decoding_t *decoding = small && decoder ? decoder->open(&account) : NULL;
    /* With room for one more: it shows where the content goes on. */
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

static void read_file(server_rec *server, el_dictionary_file_t *file, apr_pool_t *pconf)
{
    char name[EL_FOLDER_NAME_ROOM];
    const char *bytes = read_whole(file->path, &file->nbytes, pconf);

    if (!bytes || !el_folder_hash(bytes, file->nbytes, file->hash)) {
        el_warn(server, bytes || errno == EFBIG ? 0 : errno,
                "ElasticDictionaryFile %s: the file cannot be read, has nothing in it or more than "
                "8 MB; it is not served", file->path);
        return;
    }
    el_folder_name(file->hash, name);
    file->url = apr_pstrcat(pconf, EL_SITE_FOLDER, apr_pstrndup(pconf, name, EL_SITE_DIGITS), NULL);
    /* No markup to any browser; and ElasticTypes has no bytes of unknown meaning. */
    file->type = memchr(bytes, '\0', file->nbytes) ? "application/octet-stream" : "text/plain";
    file->bytes = bytes;
    read_small(server, file, pconf);
    any = true;
}

static apr_status_t forget(void *unused)
{
    (void)unused;
    any = false;
    return APR_SUCCESS;
}

void el_site_files_read(server_rec *main_server, apr_pool_t *pconf)
{
    apr_pool_cleanup_register(pconf, NULL, forget, apr_pool_cleanup_null);
    for (server_rec *server = main_server; server; server = server->next) {
        const apr_array_header_t *files = el_server_of(server)->dictionary_files;

        for (int i = 0; files && i < files->nelts; i++) {
            el_dictionary_file_t *file = APR_ARRAY_IDX(files, i, el_dictionary_file_t *);

            /* Virtual hosts have those of the main server as well. */
            if (!file->tried) {
                file->tried = true;
                read_file(server, file, pconf);
            }
        }
    }
}

bool el_site_files_are_there(void)
{
    return any;
}

/* Where the port begins, with its colon; otherwise the end. */
static const char *port_in(const char *host)
{
    const char *colon = strrchr(host, ':');

    return colon && !strchr(colon, ']') ? colon : host + strlen(host);
}

/* Whether `host`, of the directive, is that of the origin. */
static bool is_host_of(const char *host, const char *origin)
{
    const char *name = strstr(origin, "://") + 3;
    const char *port = port_in(name), *wanted = port_in(host);
    size_t len = (size_t)(port - name);

    if (len != (size_t)(wanted - host) || strncasecmp(host, name, len) != 0) {
        return false;
    }
    if (!*port) {
        port = *origin == 'h' && origin[4] == 's' ? ":443" : ":80";
    }
    return !*wanted || strcmp(wanted, port) == 0;
}

bool el_site_file_is_for(const el_dictionary_file_t *file, const char *origin)
{
    bool found = !file->hosts;

    for (int i = 0; file->hosts && i < file->hosts->nelts && !found; i++) {
        found = is_host_of(APR_ARRAY_IDX(file->hosts, i, const char *), origin);
    }
    return file->bytes && found;
}

const el_dictionary_file_t *el_site_file_at(const server_rec *server, const char *origin,
                                            const char *url)
{
    const apr_array_header_t *files = el_server_of(server)->dictionary_files;

    /* As for links, the last one counts: two may be of one content. */
    for (int i = files ? files->nelts - 1 : -1; i >= 0; i--) {
        const el_dictionary_file_t *file = APR_ARRAY_IDX(files, i, const el_dictionary_file_t *);

        if (el_site_file_is_for(file, origin) && strcmp(file->url, url) == 0) {
            return file;
        }
    }
    return NULL;
}

const el_dictionary_file_t *el_site_file_of(const server_rec *server, const char *origin,
                                            const uint8_t hash[EL_DICTIONARY_HASH])
{
    for (; any && server; server = origin ? NULL : server->next) {
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
