#include "httpd/state/vhosts.h"

#include "httpd/config/settings.h"
#include "httpd/state/shared.h"

#include "apr_lib.h"
#include "apr_strings.h"

static const char other[] = "other";

/* 2^64 times the golden ratio - 1: it spreads addresses. */
#define SPREAD UINT64_C(11400714819323198485)

typedef struct {
    const server_rec *server; /* NULL: nobody is here */
    unsigned place;
} seat_t;

/*
 * Written in post_config, read-only afterwards. Each response asks for its server's place: half of the
 * seats or more are empty, so that most are found at once. (The settings have no room for it: virtual
 * hosts without directives of this module share those of the main server.)
 */
static struct {
    seat_t *seat;
    unsigned bits; /* of the number of seats */
} seats;
static const char *name_of_place[EL_VHOSTS + 1];

/* That of `server`, or the empty one where it is not there. */
static seat_t *seat_of(const server_rec *server)
{
    size_t mask = ((size_t)1 << seats.bits) - 1;
    size_t i = (size_t)((uint64_t)(uintptr_t)server * SPREAD >> (64 - seats.bits));

    while (seats.seat[i].server && seats.seat[i].server != server) {
        i = (i + 1) & mask;
    }
    return &seats.seat[i];
}

static void make_seats(int servers, apr_pool_t *pool)
{
    seats.bits = 1;
    while (1 << seats.bits < 2 * servers) {
        seats.bits++;
    }
    seats.seat = apr_pcalloc(pool, sizeof(*seats.seat) << seats.bits);
}

static const char *name_of(const server_rec *server, apr_pool_t *pool)
{
    char *name = apr_pstrdup(pool, server->server_hostname ? server->server_hostname : "");

    for (char *at = name; *at; at++) {
        *at = (char)apr_tolower(*at);
    }
    return name;
}

/* The different names of the configuration, in its order; at most `most`. */
typedef struct {
    size_t count, most;
    const char *name[EL_VHOSTS];
    uint64_t hash[EL_VHOSTS];
} names_t;

/* The number of `name` among the names, which may be a new one; EL_VHOSTS where it has none. */
static size_t number_of(names_t *names, const char *name)
{
    size_t i = 0;

    while (i < names->count && strcmp(names->name[i], name) != 0) {
        i++;
    }
    if (i == names->count && i < names->most && strcmp(name, other) != 0) {
        names->name[i] = name;
        names->hash[i] = el_vhosts_hash(name);
        names->count++;
    }
    return i < names->count ? i : EL_VHOSTS;
}

/* The main server and its virtual hosts in the order of the configuration: httpd has the last first. */
static apr_array_header_t *in_order(server_rec *main_server, apr_pool_t *pool)
{
    apr_array_header_t *servers = apr_array_make(pool, 16, sizeof(server_rec *));
    server_rec **first;

    for (server_rec *server = main_server; server; server = server->next) {
        APR_ARRAY_PUSH(servers, server_rec *) = server;
    }
    first = (server_rec **)servers->elts;
    for (int i = 1, j = servers->nelts - 1; i < j; i++, j--) {
        server_rec *server = first[i];

        first[i] = first[j];
        first[j] = server;
    }
    return servers;
}

void el_vhosts_open(server_rec *main_server, apr_pool_t *pconf)
{
    names_t names = {.most = el_server_vhosts(el_server_of(main_server))};
    unsigned places[EL_VHOSTS] = {0};
    const apr_array_header_t *servers = in_order(main_server, pconf);

    memset(name_of_place, 0, sizeof(name_of_place));
    make_seats(servers->nelts, pconf);
    for (int i = 0; i < servers->nelts; i++) {
        const server_rec *server = APR_ARRAY_IDX(servers, i, server_rec *);
        size_t number = number_of(&names, name_of(server, pconf));

        *seat_of(server) = (seat_t){server, (unsigned)number};
        if (number == EL_VHOSTS) {
            name_of_place[EL_VHOST_OTHER] = other;
        }
    }
    el_vhosts_assign(el_shared.vhosts, names.hash, names.count, places);
    for (size_t i = 0; i < (size_t)1 << seats.bits; i++) {
        seat_t *seat = &seats.seat[i];
        bool is_named = seat->server && seat->place < names.count;

        seat->place = is_named ? places[seat->place] : EL_VHOST_OTHER;
    }
    for (size_t i = 0; i < names.count; i++) {
        name_of_place[places[i]] = names.name[i];
    }
}

void el_vhosts_compressed(const server_rec *server, uint64_t in, uint64_t out)
{
    unsigned place = seat_of(server)->place;

    el_shared_count_vhost(place, EL_VHOST_COMPRESSED, 1);
    el_shared_count_vhost(place, EL_VHOST_BYTES_IN, in);
    el_shared_count_vhost(place, EL_VHOST_BYTES_OUT, out);
}

void el_vhosts_counted(const server_rec *server, el_vhost_count_t count)
{
    el_shared_count_vhost(seat_of(server)->place, count, 1);
}

const char *el_vhosts_name(unsigned place)
{
    return name_of_place[place];
}
