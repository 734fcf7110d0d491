#include "httpd/filters/proxied.h"

/* The URL that mod_proxy sends the request to; "" where it does not. */
static const char *target_of(const request_rec *r)
{
    const char *name = r->proxyreq ? r->filename : r->handler, *origin;

    if (!name || strncmp(name, "proxy:", strlen("proxy:")) != 0) {
        return "";
    }
    name += strlen("proxy:");
    /* mod_proxy writes the path of a socket before the URL. */
    origin = strncasecmp(name, "unix:", strlen("unix:")) == 0 ? strchr(name, '|') : NULL;
    return origin ? origin + 1 : name;
}

/* By the scheme alone: clients choose what comes behind the origin's own part of the URL. */
static bool is_sent_by(const request_rec *r, const char *scheme)
{
    return strncasecmp(target_of(r), scheme, strlen(scheme)) == 0;
}

bool el_proxied_needs_length(const request_rec *r)
{
    return is_sent_by(r, "scgi:") || is_sent_by(r, "uwsgi:");
}

void el_proxied_want_length(request_rec *r, bool had_length)
{
    if (*target_of(r) && (had_length || is_sent_by(r, "fcgi:") || is_sent_by(r, "balancer:"))
        && !apr_table_get(r->subprocess_env, "proxy-sendchunks")
        && !apr_table_get(r->subprocess_env, "proxy-sendchunked")) {
        apr_table_setn(r->subprocess_env, "proxy-sendcl", "1");
    }
}

bool el_proxied_is_spooled(const request_rec *r)
{
    return *target_of(r)
           && (apr_table_get(r->subprocess_env, "proxy-sendcl")
               || apr_table_get(r->subprocess_env, "force-proxy-request-1.0"));
}
