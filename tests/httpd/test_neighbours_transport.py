"""Filters behind ours: mod_ratelimit, TLS, HTTP/2."""

import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from kit import bodies, check, decode, neighbours

BODY = bodies.html(30000)
LARGE = bodies.text(3 << 20)
# Long, and next to nothing once it is encoded.
HOLLOW = b"x" * (10 << 20)
OLD = 1_500_000_000
FILES = 24

PIECES_CGI = """\
head('Content-Type: text/html')
for piece in bodies.pieces(bodies.html(30000)):
    out(piece)
"""


def content(n):
    return b"%d " % n + bodies.text(20000 + 1000 * n)


@pytest.fixture(scope="module")
def server(httpd_shared, way):
    server = way.start(
        httpd_shared,
        way.at("x")
        + way.at("slow", "SetEnv rate-limit 200", "SetEnv rate-initial-burst 4",
                 filters=["RATE_LIMIT"])
        + way.at("rate", "SetEnv rate-limit 1000", filters=["RATE_LIMIT"]),
        modules=["ratelimit"], tls=True, h2=True,
        files={"hollow.html": HOLLOW, **{f"many/{n}.html": content(n) for n in range(FILES)}},
        cgi={"pieces.cgi": PIECES_CGI})
    server.write("a.html", BODY, OLD)
    server.write("large.html", LARGE, OLD)
    return server


# --- mod_ratelimit


def test_a_limited_body_is_whole(server, way):
    for coding in way.codings:
        for name in ("a.html", "pieces.cgi"):
            check.encoded(server.get(f"/slow/{name}", ae=coding), coding, BODY)


def test_the_rate_is_that_of_the_encoded_bytes(server, way):
    """1 MB a second: ten seconds for the identity."""
    for coding in way.codings:
        start = time.monotonic()
        check.encoded(server.get("/rate/hollow.html", ae=coding), coding, HOLLOW)
        assert time.monotonic() - start < 8


# --- every protocol


@neighbours.FEW_WAYS
@pytest.mark.protocols()
def test_every_protocol(server, way, protocol):
    for coding in way.codings:
        for path, body in (("a.html", BODY), ("pieces.cgi", BODY), ("large.html", LARGE)):
            answer = server.get(f"/x/{path}", ae=coding, protocol=protocol)
            check.encoded(answer, coding, body)
        head = server.head("/x/a.html", ae=coding, protocol=protocol)
        assert (head.status, head.coding, head.raw) == (200, coding, b"") and head.varies, head
        tag = head.headers["ETag"]
        again = server.get("/x/a.html", ae=coding, headers={"If-None-Match": tag},
                           protocol=protocol)
        check.not_modified(again, tag)
    check.plain(server.get("/x/a.html", protocol=protocol), BODY)


# --- HTTP/2: many streams of one connection


def parallel(server, paths, coding):
    """Fetches all at once over one connection. For each a line: [status, version, connections
    opened, Content-Encoding, Vary]; and the bodies as sent. Not over h2c: there curl's streams
    break each other."""
    url = f"https://127.0.0.1:{server.tls_port}"
    what = ("%{urlnum} %{http_code} %{http_version} %{num_connects} %header{content-encoding} "
            "%header{vary}\\n")
    with tempfile.TemporaryDirectory(prefix="elastic-parallel-") as folder:
        text = "".join(f'url = "{url}{path}"\noutput = "{folder}/{n}"\n'
                       for n, path in enumerate(paths))
        done = subprocess.run(
            ["curl", "-sS", "--http2", "-k", "-Z", "--parallel-max", "100", "-w", what, "-K", "-",
             "-H", f"Accept-Encoding: {coding}"],
            input=text, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        lines = dict(line.split(" ", 1) for line in done.stdout.splitlines())
        raw = [Path(folder, str(n)).read_bytes() for n in range(len(paths))]
    return [lines[str(n)].split() for n in range(len(paths))], raw


@neighbours.FEW_WAYS
@pytest.mark.protocols("h2")
def test_many_streams_at_once(server, way, protocol):
    for coding in way.codings:
        numbers = [n % FILES for n in range(4 * FILES)]
        lines, raw = parallel(server, [f"/x/many/{n}.html" for n in numbers], coding)
        for n, line, data in zip(numbers, lines, raw, strict=True):
            status, http, _, *fields = line
            assert (status, http, fields) == ("200", "2", [coding, "Accept-Encoding"]), line
            assert decode.decode(coding, data) == content(n)
        assert sum(int(line[2]) for line in lines) <= 2
