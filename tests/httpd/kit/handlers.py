"""A module of httpd whose handlers answer with a file, or read request bodies, in ways that few
handlers do; see _SOURCE.

    server = httpd(handlers.load(tmp_path) + "SetHandler pieces")
    server.get("/page.txt?shut,pieces=3,length=50000")
    server = httpd(handlers.load(tmp_path) + "SetHandler reader")
    server.get("/x?peek", method="POST", body=…)
"""

import shutil
import subprocess

from .process import build

_SOURCE = r"""
#include "httpd.h"
#include "http_config.h"
#include "http_protocol.h"
#include "util_filter.h"
#include "apr_strings.h"

#include <stdlib.h>
#include <string.h>

/* A word of the query, or the number behind it; -1 where it is not there. */
static long ask(const request_rec *r, const char *word)
{
    const char *at = r->args ? strstr(r->args, word) : NULL;

    return at ? atol(at + strlen(word)) : -1;
}

/* A bucket that has nothing for who does not wait, as Phusion Passenger's: a piece at a time. */
typedef struct {
    request_rec *r;
    const char *data;
    apr_size_t left, piece;
    apr_time_t pause;
} late_t;

static apr_bucket *make_late(late_t *late, apr_bucket_alloc_t *alloc);

static apr_status_t read_late(apr_bucket *e, const char **data, apr_size_t *len,
                              apr_read_type_e block)
{
    late_t *late = e->data;
    apr_size_t nbytes = late->left < late->piece ? late->left : late->piece;

    if (block == APR_NONBLOCK_READ) {
        return APR_EAGAIN;
    }
    if (nbytes == 0) {
        apr_bucket_immortal_make(e, "", 0);
    } else {
        apr_bucket_heap_make(e, late->data, nbytes, NULL);
        APR_BUCKET_INSERT_AFTER(e, make_late(late, e->list));
    }
    if (late->pause > 0 && nbytes < late->left) {
        apr_sleep(late->pause);
    }
    late->data += nbytes;
    late->left -= nbytes;
    return apr_bucket_read(e, data, len, block);
}

static const apr_bucket_type_t late_type = {
    "LATE", 5, APR_BUCKET_DATA, apr_bucket_destroy_noop, read_late, apr_bucket_setaside_notimpl,
    apr_bucket_split_notimpl, apr_bucket_copy_notimpl,
};

static apr_bucket *make_bucket(const apr_bucket_type_t *type, void *data, apr_size_t length,
                               apr_bucket_alloc_t *alloc)
{
    apr_bucket *e = apr_bucket_alloc(sizeof(*e), alloc);

    APR_BUCKET_INIT(e);
    e->free = apr_bucket_free;
    e->list = alloc;
    e->type = type;
    e->data = data;
    e->start = 0;
    e->length = length;
    return e;
}

static apr_bucket *make_late(late_t *late, apr_bucket_alloc_t *alloc)
{
    return make_bucket(&late_type, late, (apr_size_t)-1, alloc);
}

/* A bucket that has less than it says, and does not say so when it is read. */
static apr_status_t read_boast(apr_bucket *e, const char **data, apr_size_t *len,
                               apr_read_type_e block)
{
    *data = e->data;
    *len = strlen(e->data);
    return APR_SUCCESS;
}

static const apr_bucket_type_t boast_type = {
    "BOAST", 5, APR_BUCKET_DATA, apr_bucket_destroy_noop, read_boast, apr_bucket_setaside_noop,
    apr_bucket_split_notimpl, apr_bucket_copy_notimpl,
};

/* Passes a piece of the file on, and takes away what it is made of when that returns. */
static void pass(request_rec *r, const char *data, apr_off_t at, apr_size_t nbytes)
{
    conn_rec *c = r->connection;
    apr_bucket_brigade *bb = apr_brigade_create(r->pool, c->bucket_alloc);
    apr_pool_t *pool = r->pool;
    apr_file_t *file = NULL;
    char *copy = NULL;

    if (ask(r, "shut") >= 0 || ask(r, "pool") >= 0) {
        if (ask(r, "pool") >= 0) {
            apr_pool_create(&pool, r->pool);
        }
        apr_file_open(&file, r->filename, APR_READ, APR_OS_DEFAULT, pool);
        apr_brigade_insert_file(bb, file, at, nbytes, pool);
    } else if (ask(r, "boast") >= 0) {
        copy = apr_pstrmemdup(r->pool, data, nbytes);
        APR_BRIGADE_INSERT_TAIL(bb, make_bucket(&boast_type, copy, nbytes + 1000, c->bucket_alloc));
        copy = NULL;
        if (at + nbytes == r->finfo.size) {
            APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_eos_create(c->bucket_alloc));
        }
    } else {
        copy = apr_pmemdup(r->pool, data, nbytes);
        APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_transient_create(copy, nbytes, c->bucket_alloc));
    }
    if (ask(r, "flush") >= 0) {
        APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_flush_create(c->bucket_alloc));
    }
    ap_pass_brigade(r->output_filters, bb);
    apr_brigade_cleanup(bb);
    if (pool != r->pool) {
        apr_pool_destroy(pool);
    } else if (file) {
        apr_file_close(file);
    } else if (copy) {
        memset(copy, 'X', nbytes);
    }
}

static int answer(request_rec *r)
{
    long pieces = ask(r, "pieces="), length = ask(r, "length=");
    apr_size_t nbytes = r->finfo.size, piece;
    apr_file_t *file;
    char *data;

    ap_set_content_type(r, ask(r, "events") >= 0 ? "text/event-stream" : "text/plain");
    data = apr_palloc(r->pool, nbytes + 1);
    if (apr_file_open(&file, r->filename, APR_READ, APR_OS_DEFAULT, r->pool) != APR_SUCCESS
        || apr_file_read_full(file, data, nbytes, NULL) != APR_SUCCESS) {
        return HTTP_NOT_FOUND;
    }
    apr_file_close(file);
    if (length >= 0) {
        ap_set_content_length(r, length);
    }
    piece = pieces > 1 ? (nbytes + pieces - 1) / pieces : nbytes;
    if (ask(r, "late") >= 0) {
        apr_bucket_brigade *bb = apr_brigade_create(r->pool, r->connection->bucket_alloc);
        late_t *late = apr_palloc(r->pool, sizeof(*late));

        *late = (late_t){r, data, nbytes, piece, apr_time_from_msec(ask(r, "pause="))};
        APR_BRIGADE_INSERT_TAIL(bb, make_late(late, bb->bucket_alloc));
        APR_BRIGADE_INSERT_TAIL(bb, apr_bucket_eos_create(bb->bucket_alloc));
        ap_pass_brigade(r->output_filters, bb);
        return OK;
    }
    for (apr_size_t at = 0; at < nbytes; at += piece) {
        pass(r, data + at, at, nbytes - at < piece ? nbytes - at : piece);
    }
    return OK;
}

/* One read; what was read is printed where `show` is, and counted. */
static apr_status_t take(request_rec *r, ap_input_mode_t mode, apr_read_type_e block,
                         apr_off_t most, int show, apr_off_t *total, int *eos)
{
    apr_bucket_brigade *bb = apr_brigade_create(r->pool, r->connection->bucket_alloc);
    apr_status_t rv = ap_get_brigade(r->input_filters, bb, mode, block, most);
    apr_off_t got = 0;

    for (apr_bucket *e = APR_BRIGADE_FIRST(bb); rv == APR_SUCCESS && e != APR_BRIGADE_SENTINEL(bb);
         e = APR_BUCKET_NEXT(e)) {
        const char *data;
        apr_size_t len;

        *eos = *eos || APR_BUCKET_IS_EOS(e);
        if (!APR_BUCKET_IS_METADATA(e)) {
            rv = apr_bucket_read(e, &data, &len, APR_BLOCK_READ);
            got += len;
            if (show) {
                ap_rwrite(data, len, r);
            }
        }
    }
    if (got > most) {
        ap_rprintf(r, "[%ld where %ld were asked for]", (long)got, (long)most);
    }
    *total += got;
    return rv;
}

/* Looks ahead thrice, then reads, seven bytes at a time. */
static void peek(request_rec *r)
{
    apr_off_t total = 0, ignored = 0;
    int eos = 0;

    take(r, AP_MODE_SPECULATIVE, APR_BLOCK_READ, 5, 1, &ignored, &eos);
    ap_rputs("|", r);
    take(r, AP_MODE_SPECULATIVE, APR_BLOCK_READ, 3, 1, &ignored, &eos);
    ap_rputs("|", r);
    take(r, AP_MODE_SPECULATIVE, APR_BLOCK_READ, 20000, 0, &ignored, &eos);
    eos = 0;
    take(r, AP_MODE_READBYTES, APR_BLOCK_READ, 7, 1, &total, &eos);
    while (!eos && take(r, AP_MODE_READBYTES, APR_BLOCK_READ, 7, 0, &total, &eos) == APR_SUCCESS) {
    }
    ap_rprintf(r, "|%ld", (long)total);
}

/* Says at once how much there is before it has to wait: of one read that may wait, or of reads that
   may not, until there is nothing. */
static void eager(request_rec *r, apr_read_type_e block)
{
    apr_off_t total = 0;
    int eos = 0, told = 0;
    apr_status_t rv = APR_SUCCESS;

    while (!eos && (rv == APR_SUCCESS || APR_STATUS_IS_EAGAIN(rv))) {
        rv = take(r, AP_MODE_READBYTES, block, 1000, 0, &total, &eos);
        if (!told && (block == APR_BLOCK_READ || APR_STATUS_IS_EAGAIN(rv))) {
            told = 1;
            ap_rprintf(r, "%ld|", (long)total);
            ap_rflush(r);
        }
        if (APR_STATUS_IS_EAGAIN(rv)) {
            apr_sleep(5000);
        }
    }
    /* Behind the end there is nothing but the end. */
    eos = 0;
    take(r, AP_MODE_READBYTES, APR_NONBLOCK_READ, 1000, 0, &total, &eos);
    ap_rprintf(r, "%ld %d", (long)total, eos);
}

/* As modules of httpd 1.3 do it. */
static void old(request_rec *r)
{
    char block[1000];
    long got, total = 0;

    if (ap_setup_client_block(r, REQUEST_CHUNKED_DECHUNK) == OK && ap_should_client_block(r)) {
        while ((got = ap_get_client_block(r, block, sizeof(block))) > 0) {
            total += got;
        }
    }
    ap_rprintf(r, "%ld", total);
}

/* Takes no notice of an error. */
static void careless(request_rec *r)
{
    apr_off_t total = 0;
    int eos = 0, failures = 0;

    while (!eos && failures < 3) {
        failures += take(r, AP_MODE_READBYTES, APR_BLOCK_READ, 1000, 0, &total, &eos)
                    != APR_SUCCESS;
    }
    ap_rprintf(r, "%d", failures);
}

static int read_body(request_rec *r)
{
    ap_set_content_type(r, "text/plain");
    if (!strcmp(r->args, "peek")) {
        peek(r);
    } else if (!strcmp(r->args, "block")) {
        eager(r, APR_BLOCK_READ);
    } else if (!strcmp(r->args, "nonblock")) {
        eager(r, APR_NONBLOCK_READ);
    } else if (!strcmp(r->args, "old")) {
        old(r);
    } else {
        careless(r);
    }
    return OK;
}

static int handler(request_rec *r)
{
    if (r->handler && strcmp(r->handler, "reader") == 0) {
        return read_body(r);
    }
    /* For what is no file, and whatever the handler's name, as Phusion Passenger. */
    if (ask(r, "made=") > 0) {
        ap_set_content_type(r, "text/plain");
        for (long words = ask(r, "made="); words > 0; words--) {
            ap_rputs("made ", r);
        }
        return OK;
    }
    return r->handler && strcmp(r->handler, "pieces") == 0 ? answer(r) : DECLINED;
}

static void hooks(apr_pool_t *pool)
{
    ap_hook_handler(handler, NULL, NULL, APR_HOOK_MIDDLE);
}

AP_DECLARE_MODULE(handlers) = {STANDARD20_MODULE_STUFF, NULL, NULL, NULL, NULL, NULL, hooks};
"""


def load(directory):
    """Builds the module where httpd's children can read it; returns the line that loads it."""
    flags = subprocess.run(["pkg-config", "--cflags", "apr-1", "apr-util-1"], check=True, text=True,
                           capture_output=True).stdout.split()
    include = subprocess.run([shutil.which("apxs") or "apxs2", "-q", "INCLUDEDIR"], check=True,
                             text=True, capture_output=True).stdout.strip()
    path = build(directory, "mod_handlers", _SOURCE, f"-I{include}", *flags)
    return f"LoadModule handlers_module {path}\n"
