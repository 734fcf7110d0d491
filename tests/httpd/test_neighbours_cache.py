"""mod_cache after our filter, on disk and in shared memory: each client gets its own coding."""

from concurrent.futures import ThreadPoolExecutor
import functools
import itertools

import pytest

from kit import bodies, cache, check, neighbours
from kit.cache import state

BODY = bodies.html(30000)
OLD = 1_500_000_000
LINES = cache.CONNECTIONS + "CacheHeader On\nCacheMaxExpire 600\n"
AGAIN = {"Cache-Control": "max-age=0"}  # makes the cache ask the server again
DISK = (cache.MODULES, cache.DISK + "CacheMaxFileSize 1000000\n")
SHARED = (["cache", "cache_socache", "socache_shmcb"],
          "CacheEnable socache /\nCacheSocache shmcb:{root}/run/cache(10000000)\n"
          "CacheSocacheMaxSize 1000000\n")


def start(httpd, way, store, quick, text="", place=(), modules=(), **kw):
    needed, lines = store
    server = way.start(httpd, f"{lines}{LINES}CacheQuickHandler {quick}\n"
                       + way.at("x", "Header set Cache-Control max-age=600", *place) + text,
                       modules=[*needed, *modules], **kw)
    cache.make_directory(server)
    server.write("a.html", BODY, OLD)
    return server


@pytest.fixture(scope="module", params=[(DISK, "On"), (DISK, "Off"), (SHARED, "On")],
                ids=["disk-On", "disk-Off", "socache-On"])
def server(httpd_shared, way, request):
    return start(httpd_shared, way, *request.param)


def is_right(answer, ae, body=BODY):
    check.negotiated(answer, ae if ae in ("gzip", "br") else None, body)


def test_each_client_gets_its_variant(server, way):
    clients = [*way.codings, None, "identity"]
    with server.connect() as client:
        for number, order in enumerate(itertools.permutations(clients)):
            path = f"/x/a.html?{number}"
            for ae in order:
                is_right(client.request(path, ae=ae), ae)
            for ae in order:
                is_right(cache.hit(client, path, ae), ae)


def test_a_variant_answers_other_requests(server, way):
    """Conditional requests and HEAD, until the file changes."""
    path, changed = "/x/asked.html", BODY[::-1]
    server.write("asked.html", BODY, OLD)
    with server.connect() as client:
        for coding in way.codings:
            get = cache.filled(client, path, coding)
            tag = get.headers["ETag"]
            again = client.request(path, ae=coding, headers={"If-None-Match": tag})
            assert (again.status, again.raw, again.headers["ETag"]) == (304, b"", tag), again
            assert again.varies and state(again) == "HIT", again
            other = client.request(path, ae="identity", headers={"If-None-Match": tag})
            check.plain(other, BODY)
            is_right(cache.hit(client, path, coding), coding)
            check.head_of(get, client.request(path, method="HEAD", ae=coding))
        server.write("asked.html", changed)
        for coding in (*way.codings, None):
            is_right(client.request(path, ae=coding, headers=AGAIN), coding, changed)
            is_right(cache.hit(client, path, coding), coding, changed)


@pytest.mark.parametrize("quick", ["On", "Off"])
def test_a_variant_is_revalidated(httpd, way, quick):
    """The server's 304 has the tag that the cache asked about, so the entry stays.
    mod_cache_socache loses the body of entries that it revalidates, encoded or not."""
    server = start(httpd, way, DISK, quick, "LogLevel cache:debug\n")
    with server.connect() as client:
        for coding in (*way.codings, None):
            cache.filled(client, "/x/a.html", coding)
            answer = client.request("/x/a.html", ae=coding, headers=AGAIN)
            is_right(answer, coding)
            assert state(answer) == "REVALIDATE", answer
            is_right(cache.hit(client, "/x/a.html", coding), coding)
    assert not server.log.lines("AH02473")  # "responded with an uncacheable 304"


@neighbours.FEW_WAYS
def test_fields_that_are_not_kept_and_another_vary_beside_ours(httpd, way):
    server = start(httpd, way, DISK, "On", "CacheIgnoreHeaders ETag Set-Cookie\n",
                   ["Header set Set-Cookie a=b", "Header append Vary Cookie"])
    with server.connect() as client:
        for cookie in ("a=1", "b=2"):
            for coding in (*way.codings, None):
                answer = cache.filled(client, "/x/a.html", coding, headers={"Cookie": cookie})
                is_right(answer, coding)
                assert answer.has_token("Vary", "Cookie")
                assert "ETag" not in answer.headers and "Set-Cookie" not in answer.headers, answer


@neighbours.FEW_WAYS
def test_a_stale_variant_for_want_of_a_better(httpd, way, origin):
    """The origin fails when its response is stale."""
    broken = []

    def answer(exchange):
        if broken:
            exchange.respond(503, {}, b"broken")
        else:
            exchange.respond(200, {"Content-Type": "text/html", "ETag": '"o"',
                                   "Cache-Control": "max-age=1"}, BODY)

    origin.route("/stale", answer)
    # Our filter also runs at the origin's place.
    server = start(httpd, way, DISK, "On", "CacheStaleOnError On\n"
                   f"<Location /p/>\nProxyPass {origin.url}/\n{way.lines}\n</Location>\n",
                   modules=["proxy", "proxy_http"], allow_log=["AH0079[0-9]"])
    clients = (*way.codings, None)
    with server.connect() as client:
        for coding in clients:
            is_right(client.request("/p/stale", ae=coding), coding)
        broken.append(True)

        def is_stale(coding):
            answer = client.request("/p/stale", ae=coding)
            is_right(answer, coding)
            return answer.headers.get("Warning", "").startswith("111 ")  # revalidation failed

        for coding in clients:
            server.wait_for(functools.partial(is_stale, coding), 30, f"a stale {coding}")


@neighbours.FEW_WAYS
def test_many_clients_at_once_while_one_fills_the_cache(httpd, way):
    server = start(httpd, way, DISK, "On",
                   "CacheLock On\nCacheLockPath {root}/cache/lock\nCacheLockMaxAge 5\n",
                   allow_log=[cache.MISSED])

    def fetch(ae):
        for _ in range(5):
            is_right(server.get("/x/a.html", ae=ae), ae)

    clients = (*way.codings, None) * 4
    with ThreadPoolExecutor(len(clients)) as pool:
        list(pool.map(fetch, clients))


def test_the_guard_against_cached_slices(httpd):
    """mod_cache hides Range while it revalidates; its answer is never a slice of an encoded
    body."""
    server = httpd(
        "Elastic On\n" + cache.DISK + "CacheDefaultExpire 0\nCacheMinExpire 0\n"
        "CacheIgnoreNoLastMod On\nCacheIgnoreCacheControl On\n",
        modules=cache.MODULES, files={"a.txt": BODY})
    cache.make_directory(server)
    with server.connect() as connection:
        check.plain(connection.request("/a.txt"), BODY)
        for ae in ("gzip", "br", "gzip", None):
            check.whole(connection.request("/a.txt", ae=ae), ae, BODY)
            part = connection.request("/a.txt", ae=ae, headers={"Range": "bytes=100-199"})
            if part.status == 206:
                check.plain(part, BODY[100:200], 206)
            else:
                assert part.status == 200 and part.body == BODY


@pytest.mark.parametrize("before", ["keep", "remove"])
def test_no_slice_of_what_was_cached_when_tags_did_not_show_the_coding(httpd, before):
    """mod_cache's entries on disk outlive the ElasticETag under which they were stored."""
    lines = ("Elastic On\nCacheHeader On\nCacheIgnoreNoLastMod On\nCacheDefaultExpire 3600\n"
             + cache.DISK)
    options = {"modules": cache.MODULES, "files": {"a.txt": BODY, "b.tgz": BODY}}
    archive = "AddEncoding x-gzip .tgz\n"
    server = httpd(lines + archive + f"ElasticETag {before}\n", **options)
    cache.make_directory(server)
    with server.connect() as connection:
        for path, ae in (("/a.txt", "gzip"), ("/b.tgz", None)):
            whole = cache.filled(connection, path, ae)
            assert whole.status == 200 and whole.coding in ("gzip", "x-gzip")
    server.configure(lines + archive)
    server.graceful()

    def part(path, ae):
        return server.get(path, ae=ae, headers={"Range": "bytes=100-199"})

    check.whole(part("/a.txt", "gzip"), "gzip", BODY)
    # A file that is encoded on disk is the same for all clients.
    assert part("/b.tgz", None).raw == BODY[100:200]
