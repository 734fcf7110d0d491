"""Backends that speak HTTP/2: nghttpd, and another httpd."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from kit import bodies, check
from kit.h2origin import Nghttpd
from kit.proxied import EACH, EACH_OWN, EACH_WAY, config, start

LARGE = bodies.text(3 << 20)
SIZES = (0, 1, 700, 20000, 300000)

# Parts that wait for the file `go-N` before the next.
PARTS = """\
head('Content-Type: text/plain')
for n in range(3):
    out('part %d\\n' % n * 100 + '<%d>\\n' % n)
    for turn in range(1000):
        if n == 2 or os.path.exists(os.environ['KIT'] + '/docs/go-%d' % n):
            break
        time.sleep(0.01)
"""

TAGGED = """\
if '"x"' in os.environ.get('HTTP_IF_NONE_MATCH', ''):
    head('Status: 304 Not Modified', 'ETag: "x"')
else:
    head('Content-Type: text/plain', 'ETag: "x"')
    out(bodies.text(30000))
"""

@pytest.fixture(scope="module")
def server(httpd_shared):
    server = start(httpd_shared, "", ["proxy_http2"], start=False, tls=True, h2=True,
                          files={f"{size}.txt": bodies.text(size) for size in SIZES})
    server.write("large.txt", LARGE)
    origins = [Nghttpd(server.docs), Nghttpd(server.docs, "--no-content-length")]
    server.configure(config(origins[0].url) + config(origins[1].url, prefix="unsized-"))
    server.start()
    yield server
    for origin in origins:
        origin.stop()


@pytest.mark.smoke
@pytest.mark.protocols()
@EACH
def test_files(server, way, coding, protocol):
    for prefix in ("", "unsized-"):
        for name, body in (("20000", bodies.text(20000)), ("300000", bodies.text(300000)),
                           ("large", LARGE)):
            if name == "large" and protocol != "http/1.1":
                continue
            path = f"/{prefix}{way.name}/{name}.txt"
            get = server.get(path, ae=coding, protocol=protocol)
            check.encoded(get, coding, body)
            check.plain(server.get(path, protocol=protocol), body)
            check.head_of(get, server.head(path, ae=coding, protocol=protocol))
            since = {"If-Modified-Since": get.headers["Last-Modified"]}
            check.not_modified(server.get(path, ae=coding, headers=since, protocol=protocol))


@EACH_OWN
def test_small_files(server, way, coding):
    for size in (0, 1, 700):
        answer = server.get(way.path(f"{size}.txt"), ae=coding)
        check.plain(answer, bodies.text(size))
        assert server.reason(answer) == "small"
        answer = server.get(f"/unsized-{way.name}/{size}.txt", ae=coding)
        assert answer.status == 200 and answer.body == bodies.text(size) and answer.varies


@EACH
def test_what_is_missing(server, way, coding):
    answer = server.get(way.path("nowhere.txt"), ae=coding)
    assert answer.status == 404 and answer.complete
    assert b"404" in answer.body


@EACH_WAY
def test_many_at_a_time(server, way):
    """Streams of one connection to the backend, each with its own body and coding."""
    def ask(turn):
        size = (20000, 300000, 700)[turn % 3]
        ae = (*way.codings, None)[turn % (len(way.codings) + 1)]
        for _ in range(5):
            answer = server.get(way.path(f"{size}.txt"), ae=ae)
            check.whole(answer, ae if size > 700 else None, bodies.text(size))

    with ThreadPoolExecutor(9) as pool:
        list(pool.map(ask, range(9)))


# --- httpd as the backend


@pytest.fixture(scope="module")
def pair(httpd_shared):
    """(a proxy, the httpd behind it)"""
    backend = httpd_shared("", elastic=False, h2=True, cgi={"parts.cgi": PARTS,
                                                            "tagged.cgi": TAGGED})
    server = start(httpd_shared, config(f"h2c://127.0.0.1:{backend.port}"), ["proxy_http2"],
                   h2=True)
    return server, backend


# mod_http2 does not run under prefork: these tests ask by HTTP/2 too.
@pytest.mark.protocols("h2c")
@EACH
def test_a_part_is_decodable_before_the_next_is_made(pair, way, coding, protocol):
    server, backend = pair
    with server.stream(way.path("parts.cgi"), ae=coding, protocol=protocol) as stream:
        assert (stream.status, stream.coding) == (200, coding)
        for n in range(3):
            stream.wait_for(b"<%d>\n" % n, 10)
            backend.write(f"go-{n}", b"")
        body = stream.read_all()
    for n in range(3):
        (backend.docs / f"go-{n}").unlink()
    assert body == b"".join(b"part %d\n" % n * 100 + b"<%d>\n" % n for n in range(3))


@pytest.mark.protocols("h2c")
@EACH
def test_tags(pair, way, coding, protocol):
    server, _ = pair
    sent = server.get(way.path("tagged.cgi"), ae=coding, protocol=protocol)
    check.encoded(sent, coding, bodies.text(30000))
    tag = sent.headers["ETag"]
    assert tag == way.tagged("x", coding)
    answer = server.get(way.path("tagged.cgi"), ae=coding, headers={"If-None-Match": tag},
                        protocol=protocol)
    check.not_modified(answer, tag)
