#include "httpd/response/origin.h"

#include "elastic/dictionary.h"

#include "apr_strings.h"
#include "http_core.h"
#include "http_protocol.h"
#include "http_vhost.h"

/* Also where a proxy in front has told httpd so: SetEnvIf X-Forwarded-Proto https HTTPS=on. */
static bool is_https(request_rec *r)
{
    const char *told = apr_table_get(r->subprocess_env, "HTTPS");

    return strcmp(ap_http_scheme(r), "https") == 0 || (told && strcasecmp(told, "on") == 0);
}

/* An address of the virtual host, or a name: httpd compares ports with each of the two. */
static bool is_served(request_rec *r, const char *host)
{
    return ap_matches_request_vhost(r, host, r->connection->local_addr->port)
           || ap_matches_request_vhost(r, host, r->server->port);
}

static bool comes_from_here(const request_rec *r)
{
    const char *ip = r->connection->client_ip;

    return ip && (strncmp(ip, "127.", 4) == 0 || strcmp(ip, "::1") == 0
                  || strncmp(ip, "::ffff:127.", 11) == 0);
}

/* The request that the client has sent, of which httpd may have made another internally. */
static request_rec *sent(request_rec *r)
{
    while (r->prev) {
        r = r->prev;
    }
    return r;
}

const char *el_origin_of(request_rec *of)
{
    request_rec *r = sent(of);
    bool https = is_https(r);
    apr_port_t usual = https ? 443 : 80;
    apr_port_t port = r->parsed_uri.port_str ? r->parsed_uri.port : usual;
    const char *host = r->hostname, *origin;

    if (!host || !*host
        || (https ? !is_served(r, host) : !comes_from_here(r))) {
        return NULL;
    }
    if (strchr(host, ':') && *host != '[') {
        host = apr_pstrcat(r->pool, "[", host, "]", NULL);
    }
    origin = apr_pstrcat(r->pool, https ? "https://" : "http://", host, NULL);
    if (port != usual) {
        origin = apr_psprintf(r->pool, "%s:%u", origin, (unsigned)port);
    }
    return strlen(origin) < EL_ORIGIN_ROOM && el_dictionary_origin_secure(origin) ? origin : NULL;
}

const char *el_origin_target(request_rec *r)
{
    const char *target = sent(r)->unparsed_uri;

    /* Of an absolute URL, as proxies get it. */
    if (target && *target != '/') {
        const char *host = strstr(target, "://");

        target = host ? strchr(host + 3, '/') : NULL;
    }
    return target ? target : "/";
}
