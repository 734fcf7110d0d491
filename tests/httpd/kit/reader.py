"""A module of httpd that reads request bodies in ways that few handlers do; see _SOURCE.

    server = httpd(reader.load(tmp_path) + "SetHandler reader")
    server.get("/x?peek", method="POST", body=…)
"""

import shutil
import subprocess

from .process import build

_FRAME = r"""
#include "httpd.h"
#include "http_config.h"
#include "http_protocol.h"
#include "util_filter.h"
#include "apr_strings.h"
#include <stdlib.h>
#include <string.h>
%s
static void hooks(apr_pool_t *pool)
{
    ap_hook_handler(handler, NULL, NULL, APR_HOOK_MIDDLE);
}

AP_DECLARE_MODULE(%s) = {STANDARD20_MODULE_STUFF, NULL, NULL, NULL, NULL, NULL, hooks};
"""
_SOURCE = r"""
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

static int handler(request_rec *r)
{
    if (!r->handler || strcmp(r->handler, "reader") != 0) {
        return DECLINED;
    }
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
"""


def load(directory, name="reader", text=_SOURCE):
    """Builds a module with that handler, where httpd's children can read it; returns the line that
    loads it."""
    flags = subprocess.run(["pkg-config", "--cflags", "apr-1", "apr-util-1"], check=True, text=True,
                           capture_output=True).stdout.split()
    include = subprocess.run([shutil.which("apxs") or "apxs2", "-q", "INCLUDEDIR"], check=True,
                             text=True, capture_output=True).stdout.strip()
    path = build(directory, f"mod_{name}", _FRAME % (text, name), f"-I{include}", *flags)
    return f"LoadModule {name}_module {path}\n"
