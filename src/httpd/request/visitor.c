#include "httpd/request/request.h"

#include "httpd/dictionary/folder.h"

#include "apr_strings.h"
#include "http_config.h"
#include "http_core.h"
#include "http_log.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

EL_USE_LOG;

#define FIELD "Elastic-Visitor"

/* In httpd's run directory, with the beginning of its content. */
#define FILE_NAME "elastic.visitor"
#define TITLE "elastic-visitor 1\nsha256 "
#define DIGITS ((size_t)2 * EL_DICTIONARY_HASH)

/* A file counts for this many seconds after its last change. */
#define LASTS 900

/* If the clock was set back, a file may be this many seconds in the future. */
#define SKEW 60

/* A token's characters: at least 128 bits in hexadecimal digits. */
#define TOKEN_LEAST 32
#define TOKEN_MOST 128

/* In networks reserved for documentation, where no machine is (RFC 5737, RFC 3849). */
static char address4[] = "198.51.100.46";
static char address6[] = "2001:db8:198:51::46";

/* The file's path and the user who started httpd; set with the configuration. */
static const char *path;
static uid_t starter;

void el_visitor_configure(apr_pool_t *pconf)
{
    path = ap_runtime_dir_relative(pconf, FILE_NAME);
    starter = geteuid();
}

static bool visitor_is_one(const conn_rec *c)
{
    return c->client_ip == address4 || c->client_ip == address6;
}

/*
 * Returns the fault of the open file, or NULL. A lock proves that the process which wrote the file
 * still runs: the kernel removes it however a process ends.
 */
static const char *visitor_file_fault(int fd)
{
    struct flock held = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    time_t now = time(NULL);
    struct stat info;

    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)
        || (info.st_uid != 0 && info.st_uid != starter) || (info.st_mode & (S_IWGRP | S_IWOTH))) {
        return "others than who has started httpd may write to the file elastic.visitor";
    }
    if (info.st_mtime > now + SKEW || info.st_mtime + LASTS < now) {
        return "the file elastic.visitor is not of the last 15 minutes";
    }
    if (fcntl(fd, F_OFD_GETLK, &held) != 0 || held.l_type == F_UNLCK) {
        return "nobody has the file elastic.visitor locked";
    }
    return NULL;
}

static bool visitor_digits_of(const char *text, char digits[EL_FOLDER_NAME_ROOM])
{
    uint8_t hash[EL_DICTIONARY_HASH];

    if (!el_folder_hash(text, strlen(text), hash)) {
        return false;
    }
    el_folder_name(hash, digits);
    return true;
}

/* Returns why the token is refused, or NULL. The file is opened once for all checks. */
static const char *visitor_token_fault(const char *token)
{
    char text[sizeof(TITLE) + DIGITS], given[EL_FOLDER_NAME_ROOM];
    const char *wanted = text + strlen(TITLE);
    size_t len = strlen(token);
    unsigned different = 0;
    const char *fault;
    int fd;

    if (len < TOKEN_LEAST || len > TOKEN_MOST) {
        return "it is no token";
    }
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) {
        return "there is no file elastic.visitor that can be read";
    }
    fault = visitor_file_fault(fd);
    if (!fault) {
        bool read_all = read(fd, text, sizeof(text)) == (ssize_t)sizeof(text)
                        && memcmp(text, TITLE, strlen(TITLE)) == 0
                        && text[sizeof(text) - 1] == '\n' && visitor_digits_of(token, given);

        /* Compares in constant time, so that the time does not reveal a partly right guess. */
        for (size_t i = 0; read_all && i < DIGITS; i++) {
            different |= (unsigned char)wanted[i] ^ (unsigned char)given[i];
        }
        if (!read_all || different != 0) {
            fault = "it is not the token of the file elastic.visitor";
        }
    }
    close(fd);
    return fault;
}

/*
 * Gives the client its address, for the whole connection: later requests on it come from the same
 * client. The address gets an empty host name, so that no module looks it up.
 */
static bool visitor_become(conn_rec *c)
{
    bool six = strchr(c->client_ip, ':') != NULL;
    apr_sockaddr_t *address;

    if (visitor_is_one(c)) {
        return true;
    }
    if (apr_sockaddr_info_get(&address, six ? address6 : address4, six ? APR_INET6 : APR_INET,
                              c->client_addr->port, 0, c->pool) != APR_SUCCESS) {
        return false;
    }
    c->client_addr = address;
    c->client_ip = six ? address6 : address4;
    c->remote_host = apr_pstrdup(c->pool, "");
    c->double_reverse = -1;
    return true;
}

EL_RARE static void visitor_look(request_rec *r, const char *token)
{
    conn_rec *c = r->connection;
    /* By loopback, whose IPv4 has many addresses, or from an address of this machine to itself. */
    bool is_from_here = strncmp(c->client_ip, "127.", 4) == 0
                        || apr_sockaddr_equal(c->local_addr, c->client_addr);
    static const char *const fields[] = {"X-Forwarded-For", "Forwarded", "X-Real-IP", "Via"};
    char digits[EL_FOLDER_NAME_ROOM];
    const char *fault = NULL;
    bool passed_on = false;

    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]) && !passed_on; i++) {
        passed_on = apr_table_get(r->headers_in, fields[i]) != NULL;
    }
    if (!visitor_is_one(c) && !is_from_here) {
        fault = "the connection is not from this machine";
    } else if (passed_on) {
        /* A proxy in front would forward the token of any client. */
        fault = "a proxy has passed the request on";
    } else {
        fault = visitor_token_fault(token);
    }
    if (!fault && !visitor_become(c)) {
        fault = "the address cannot be made";
    }
    if (fault) {
        ap_log_rerror(APLOG_MARK, APLOG_INFO, 0, r, "elastic: Elastic-Visitor is not taken: %s",
                      fault);
        return;
    }
    /* Only a server that knows the token can answer this: it proves that httpd took the token. */
    if (visitor_digits_of(apr_pstrcat(r->pool, "taken ", token, NULL), digits)) {
        apr_table_set(r->err_headers_out, FIELD, digits);
    }
    el_visitor_keep(r);
    ap_log_rerror(APLOG_MARK, APLOG_INFO, 0, r,
                  "elastic: Elastic-Visitor is taken: the request is handled as one from %s",
                  c->client_ip);
}

int el_visitor_look(request_rec *r)
{
    const char *token = apr_table_get(r->headers_in, FIELD);

    if (token) {
        visitor_look(r, token);
        apr_table_unset(r->headers_in, FIELD);
    }
    return DECLINED;
}

void el_visitor_keep(request_rec *r)
{
    if (visitor_is_one(r->connection)) {
        r->useragent_addr = r->connection->client_addr;
        r->useragent_ip = r->connection->client_ip;
    }
}
