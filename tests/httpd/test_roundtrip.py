"""Every body comes back byte for byte: both codings at every level, all sizes, all ways into the
filter."""

import pytest

from kit import at, bodies, check

GZIP_LEVELS = range(1, 10)
BR_LEVELS = range(0, 12)
SIZES = (0, 1, 2, 67, 68, 69, 1023, 1024, 1025, 1300, 1448, 1500, 8191, 8192, 8193, 65535, 65536,
         1 << 20, (1 << 20) + 1, 20 << 20)
# mod_proxy flushes where its backend pauses, and what is flushed is not held until its size is
# known.
FLUSHED = ("proxy-chunked", "proxy-close")
SCRIPTS = ("cgi", "odd")
WAYS = ("static", "cgi", "odd", "proxy", "proxy-chunked", "proxy-close")
# The threshold in this server's configuration; the tests of `auto` are elsewhere.
MIN_SIZE = 1024

# A page, and a body whose repetitions lie far apart.
LEVEL_FILES = {"levels.html": bodies.html(200000), "levels.txt": bodies.noise(5000) * 3}

CGI = """\
name, size = os.environ['QUERY_STRING'].split('-')
data = bodies.text(int(size))
pieces = [data] if name == 'cgi' else list(
    bodies.pieces(data) if len(data) < 1 << 18 else bodies.pieces(data, (65537, 7, 8191)))
head('Content-Type: text/plain')
for piece in pieces:
    out(piece)
"""


def _levels():
    for coding, levels in (("gzip", GZIP_LEVELS), ("br", BR_LEVELS)):
        for level in levels:
            yield coding, level


@pytest.fixture(scope="module")
def server(httpd_shared, origin):
    """One Alias for each level, pinned there."""
    pinned = "".join(at(f"{coding}-{level}", f"ElasticLevel {coding} {level}")
                     for coding, level in _levels())
    server = httpd_shared(
        f"Elastic On\nElasticMinSize {MIN_SIZE}\nElasticControl off\nElasticLevel gzip 1 4\n"
        f"ElasticLevel br 0 3\nProxyPass /origin/ {origin.url}/\n" + pinned,
        modules=["proxy", "proxy_http"], tls=True, h2=True,
        files=LEVEL_FILES)
    for size in SIZES:
        server.write(f"{size}.txt", bodies.text(size))
    server.cgi("body.cgi", CGI)
    origin.route("/fixed", lambda e: e.respond(200, {}, bodies.text(_query_size(e))))
    origin.route("/chunked", lambda e: e.chunked(200, {}, _pieces(_query_size(e))))
    origin.route("/close", lambda e: e.until_close(200, {}, [bodies.text(_query_size(e))]))
    return server


def _query_size(exchange):
    return int(exchange.path.partition("?")[2])


def _pieces(size):
    sizes = (1, 7, 1000, 8191, 3, 16385) if size < 1 << 18 else (65537, 1, 8191)
    return bodies.pieces(bodies.text(size), sizes)


def _ask(server, way, size, **kw):
    """The response; a small one of a script that had ended when its size was looked at."""
    return check.once(lambda: server.get(_path(way, size), **kw),
                      lambda answer: way not in SCRIPTS or size >= MIN_SIZE or not answer.coding)


def _check(answer, way, coding, size):
    if size >= MIN_SIZE or (way in FLUSHED and answer.coding):
        check.encoded(answer, coding, bodies.text(size))
    else:
        check.plain(answer, bodies.text(size))


def _path(way, size):
    return {"static": f"/{size}.txt",
            "cgi": f"/body.cgi?cgi-{size}",
            "odd": f"/body.cgi?odd-{size}",
            "proxy": f"/origin/fixed?{size}",
            "proxy-chunked": f"/origin/chunked?{size}",
            "proxy-close": f"/origin/close?{size}"}[way]


@pytest.mark.parametrize("coding,level", _levels())
def test_every_level(server, coding, level):
    for name, body in LEVEL_FILES.items():
        answer = server.get(f"/{coding}-{level}/{name}", ae=coding)
        check.encoded(answer, coding, body)
        assert len(answer.raw) < len(body)
        notes = server.notes(answer)
        assert notes["elastic-level"] == str(level)
        assert notes["elastic-coding"] == coding


@pytest.mark.parametrize("coding", ["gzip", "br"])
def test_higher_levels_do_what_is_expected_of_them(server, coding):
    """The level reaches the encoder: the floor's body is clearly larger than the ceiling's."""
    floor, ceiling = (1, 9) if coding == "gzip" else (0, 11)
    sizes = [len(server.get(f"/{coding}-{level}/levels.html", ae=coding).raw)
             for level in (floor, ceiling)]
    assert sizes[1] < sizes[0] * 0.97, sizes


@pytest.mark.smoke
@pytest.mark.parametrize("coding", ["gzip", "br"])
@pytest.mark.parametrize("way", WAYS)
def test_sizes(server, way, coding):
    for size in (s for s in SIZES if s <= 1 << 20):
        answer = _ask(server, way, size, ae=coding)
        _check(answer, way, coding, size)
        if answer.coding is None:
            assert server.reason(answer) == "small", size


@pytest.mark.protocols()
@pytest.mark.parametrize("way", WAYS)
def test_sizes_over_every_protocol(server, way, protocol):
    for size in (0, 1, MIN_SIZE - 1, MIN_SIZE, 8191, 8192, 8193, 65536, 1 << 20):
        answer = _ask(server, way, size, ae="gzip, br", protocol=protocol)
        _check(answer, way, "br", size)


@pytest.mark.parametrize("way,coding", [("static", "gzip"), ("static", "br"), ("cgi", "gzip"),
                                        ("odd", "br"), ("odd", "gzip"), ("proxy", "gzip"),
                                        ("proxy-chunked", "br"), ("proxy-close", "gzip")])
def test_20_megabytes(server, way, coding):
    answer = server.get(_path(way, 20 << 20), ae=coding)
    check.encoded(answer, coding, bodies.text(20 << 20))
    notes = server.notes(answer)
    assert int(notes["elastic-in"]) == 20 << 20
    assert int(notes["elastic-out"]) == len(answer.raw)


@pytest.mark.protocols("h2c", "tls", "http/1.0", "h2")
def test_20_megabytes_over_every_protocol(server, protocol):
    check.encoded(server.get(_path("static", 20 << 20), ae="gzip", protocol=protocol), "gzip",
                  bodies.text(20 << 20))


@pytest.mark.parametrize("coding", ["gzip", "br"])
def test_bodies_that_nothing_makes_smaller(server, coding):
    body = bodies.noise(300000)
    server.write("noise.txt", body)
    answer = server.get("/noise.txt", ae=coding)
    assert answer.body == body and answer.varies
    # Sent as it was, or with no more than the format's own few bytes for each block.
    assert len(answer.raw) <= len(body) + 100
    if answer.coding is None:
        assert server.reason(answer) == "not-smaller"


@pytest.mark.parametrize("coding", ["gzip", "br"])
def test_content_length_where_the_whole_body_was_in_hand(server, coding):
    for size in (MIN_SIZE, 8193, 65536, 1 << 20):
        answer = server.get(f"/{size}.txt", ae=coding)
        check.encoded(answer, coding, bodies.text(size))
        assert int(answer.headers["Content-Length"]) == len(answer.raw), size


@pytest.mark.parametrize("way", ["cgi", "odd", "proxy-chunked", "static"])
def test_no_content_length_for_what_was_streamed(server, way):
    answer = server.get(_path(way, (1 << 20) + 1), ae="gzip")
    check.encoded(answer, "gzip", bodies.text((1 << 20) + 1))
    assert "Content-Length" not in answer.headers
    assert answer.headers.get("Transfer-Encoding") == "chunked"


def test_http_1_0_keeps_the_connection_only_where_the_length_is_known(server):
    answer = server.get(_path("cgi", 2 << 20), ae="gzip", protocol="http/1.0")
    check.encoded(answer, "gzip", bodies.text(2 << 20))
    assert "Transfer-Encoding" not in answer.headers
    with server.connect("http/1.0") as connection:
        for _ in range(3):
            answer = connection.request("/65536.txt", ae="gzip",
                                        headers={"Connection": "keep-alive"})
            check.encoded(answer, "gzip", bodies.text(65536))
            assert int(answer.headers["Content-Length"]) == len(answer.raw)
