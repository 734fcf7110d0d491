"""Every body comes back byte for byte: both codings at every level, all sizes, all ways into the
filter."""

import pytest

from kit import at, bodies, check

LEVELS = {"gzip": range(1, 10), "br": range(0, 12)}
CODINGS = pytest.mark.parametrize("coding", LEVELS)
# This server's threshold; `auto` has its own tests.
MIN_SIZE = 1024
SIZES = (0, 1, 68, MIN_SIZE - 1, MIN_SIZE, MIN_SIZE + 1, 1448, 8191, 8192, 8193, 65535, 65536,
         1 << 20)
WAYS = {"static": "/{}.txt", "cgi": "/body.cgi?cgi-{}", "odd": "/body.cgi?odd-{}",
        "proxy": "/origin/fixed?{}", "proxy-chunked": "/origin/chunked?{}",
        "proxy-close": "/origin/close?{}"}
EACH_WAY = pytest.mark.parametrize("way", WAYS)

# A page, and a body whose repetitions are far apart.
LEVEL_FILES = {"levels.html": bodies.html(200000), "levels.txt": bodies.noise(5000) * 3}

CGI = """\
name, size = os.environ['QUERY_STRING'].split('-')
data = bodies.text(int(size))
head('Content-Type: text/plain')
for piece in [data] if name == 'cgi' else bodies.pieces(data, (1, 7, 1000, 65537)):
    out(piece)
"""


@pytest.fixture(scope="module")
def server(httpd_shared, origin):
    """One Alias for each level, pinned there."""
    server = httpd_shared(
        f"Elastic On\nElasticMinSize {MIN_SIZE}\nElasticControl off\nElasticLevel gzip 1 4\n"
        f"ElasticLevel br 0 3\nProxyPass /origin/ {origin.url}/\n" + "".join(
            at(f"{coding}-{level}", f"ElasticLevel {coding} {level}")
            for coding, levels in LEVELS.items() for level in levels),
        modules=["proxy", "proxy_http"], tls=True, h2=True, cgi={"body.cgi": CGI},
        files={**LEVEL_FILES, "noise.txt": bodies.noise(300000),
               **{f"{size}.txt": bodies.text(size) for size in (*SIZES, (1 << 20) + 1, 20 << 20)}})

    def text(exchange):
        return bodies.text(int(exchange.path.partition("?")[2]))

    origin.route("/fixed", lambda e: e.respond(200, {}, text(e)))
    origin.route("/chunked", lambda e: e.chunked(200, {}, bodies.pieces(text(e), (65537, 1, 8191))))
    origin.route("/close", lambda e: e.until_close(200, {}, [text(e)]))
    return server


def check_size(server, way, size, ae, coding, protocol="http/1.1"):
    """A script's small body may have ended when its size is read. mod_proxy flushes if its backend
    pauses, and a flushed body is not held until its size is known."""
    flushed = way in ("proxy-chunked", "proxy-close")
    answer = check.once(lambda: server.get(WAYS[way].format(size), ae=ae, protocol=protocol),
                        lambda answer: size >= MIN_SIZE or flushed or not answer.coding)
    if size >= MIN_SIZE or (flushed and answer.coding):
        check.encoded(answer, coding, bodies.text(size))
        # The whole body was available.
        assert way != "static" or answer.headers["Content-Length"] == str(len(answer.raw))
    else:
        check.plain(answer, bodies.text(size))
        assert server.reason(answer) == "small", size


@CODINGS
def test_higher_levels_do_what_is_expected_of_them(server, coding):
    """Each level reaches the encoder: the lowest level's body is clearly larger than the
    highest's."""
    sizes = {}
    for level in LEVELS[coding]:
        for name, body in LEVEL_FILES.items():
            answer = server.get(f"/{coding}-{level}/{name}", ae=coding)
            check.encoded(answer, coding, body)
            assert len(answer.raw) < len(body)
            notes = server.notes(answer)
            assert (notes["elastic-level"], notes["elastic-coding"]) == (str(level), coding)
            sizes.setdefault(name, []).append(len(answer.raw))
    assert sizes["levels.html"][-1] < sizes["levels.html"][0] * 0.97, sizes


@pytest.mark.smoke
@CODINGS
@EACH_WAY
def test_sizes(server, way, coding):
    for size in SIZES:
        check_size(server, way, size, coding, coding)


@pytest.mark.protocols("h2c", "tls", "http/1.0", "h2")
@EACH_WAY
def test_sizes_over_every_protocol(server, way, protocol):
    for size in (0, 1, MIN_SIZE - 1, MIN_SIZE, 8191, 8192, 8193, 65536, 1 << 20):
        check_size(server, way, size, "gzip, br", "br", protocol)


@pytest.mark.parametrize("way,coding", [("static", "br"), ("cgi", "gzip"), ("odd", "br"),
                                        ("odd", "gzip"), ("proxy", "gzip"),
                                        ("proxy-chunked", "br"), ("proxy-close", "gzip")])
def test_20_megabytes(server, way, coding):
    answer = server.get(WAYS[way].format(20 << 20), ae=coding)
    check.encoded(answer, coding, bodies.text(20 << 20))
    notes = server.notes(answer)
    assert int(notes["elastic-in"]) == 20 << 20
    assert int(notes["elastic-out"]) == len(answer.raw)


@pytest.mark.protocols()
def test_20_megabytes_over_every_protocol(server, protocol):
    answer = server.get(WAYS["static"].format(20 << 20), ae="gzip", protocol=protocol)
    check.encoded(answer, "gzip", bodies.text(20 << 20))


@CODINGS
def test_bodies_that_nothing_makes_smaller(server, coding):
    answer = server.get("/noise.txt", ae=coding)
    assert answer.body == bodies.noise(300000) and answer.varies
    # Sent uncompressed, or with only the format's few bytes for each block.
    assert len(answer.raw) <= 300000 + 100
    assert server.reason(answer) == (None if answer.coding else "not-smaller")


@pytest.mark.parametrize("way", ["cgi", "odd", "proxy-chunked", "static"])
def test_no_content_length_for_what_was_streamed(server, way):
    answer = server.get(WAYS[way].format((1 << 20) + 1), ae="gzip")
    check.encoded(answer, "gzip", bodies.text((1 << 20) + 1))
    assert "Content-Length" not in answer.headers
    assert answer.headers.get("Transfer-Encoding") == "chunked"
