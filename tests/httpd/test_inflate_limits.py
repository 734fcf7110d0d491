"""Limits of decoded request bodies: their size, and their size relative to the sent bytes."""

import gzip
import zlib

import pytest

from kit import bodies, inflate
from kit.fpm import Fpm
from kit.inflate import CODINGS, WAYS, encode, post, post_chunks, read, refused

LIMIT = 50000

# The ratio is checked after this many decoded bytes.
STRIDE = 8096

PLACES = {
    "size": f"DeflateInflateLimitRequestBody {LIMIT}", "core": f"LimitRequestBody {LIMIT}",
    "zero": f"LimitRequestBody {LIMIT}\nDeflateInflateLimitRequestBody 0",
    "disk": f"LimitRequestBody {LIMIT}\nDeflateInflateLimitRequestBody {8 * LIMIT}",
    "wide": "DeflateInflateLimitRequestBody 10000000\nDeflateInflateRatioLimit 10000000",
    "ratio": "DeflateInflateRatioLimit 20\nDeflateInflateRatioBurst 2",
}
EACH_WAY = pytest.mark.parametrize("way", WAYS)
OF_MEMBERS = pytest.mark.parametrize("coding", [name for name in CODINGS if name != "br"])


@pytest.fixture(scope="module")
def server(httpd_shared, origin, tmp_path_factory):
    return inflate.site(httpd_shared, origin, tmp_path_factory.mktemp("reader"), PLACES)


def passes(answer, size):
    assert read(answer)["size"] == size


# --- the size


@pytest.mark.smoke
@pytest.mark.protocols("http/1.1", "http/1.0", "tls")
@EACH_WAY
@pytest.mark.parametrize("coding", ["gzip", "br", "gzip, gzip"])
@pytest.mark.parametrize("place", ["size", "core", "zero"])
def test_the_size_is_exact(server, protocol, way, coding, place):
    """The output of the last decoder counts."""
    for reader in ("echo.cgi", "origin/echo"):
        path = f"/{place}/{way}/{reader}"
        for size in (LIMIT, LIMIT + 1, LIMIT + 8000, 30 * LIMIT):
            sent = encode(bodies.text(size), *coding.split(", "))
            answer = post(server, path, sent, coding, protocol=protocol)
            passes(answer, size) if size == LIMIT else refused(answer, 413)


def _propfind(size):
    """A body that mod_dav parses with httpd's own XML reader."""
    head, tail = b'<?xml version="1.0"?><propfind xmlns="DAV:"><allprop/><!--', b"--></propfind>"
    return head + bodies.text(size - len(head) - len(tail)) + tail


@EACH_WAY
@pytest.mark.parametrize("place,method,coding,body,status", [
    ("size/{0}/dav/{0}", "PUT", "gzip", bodies.text, 201),
    ("size/{}/dav/", "PROPFIND", "br", _propfind, 207),
    ("size/{}/a.txt", "POST", "gzip", bodies.text, 200),  # discards the body
    # LimitRequestBody counts the decoded bytes, and the sent ones, of which there are more here.
    ("core/{}/echo.cgi", "POST", "gzip", lambda size: bodies.noise(size - 100), 200)],
    ids=["put", "parsed", "discarded", "sent"])
def test_every_reader_has_the_limit(server, way, place, method, coding, body, status):
    path = "/" + place.format(way)
    for size, expected in ((LIMIT, status), (LIMIT + 100, 413)):
        sent = encode(body(size), coding)
        assert post(server, path, sent, coding, {"Depth": "0"}, method).status == expected
    if method == "PUT":
        assert (server.root / "dav" / way).read_bytes() == body(LIMIT)


@EACH_WAY
@OF_MEMBERS
def test_members_are_limited_as_one_body(server, way, coding):
    path = f"/size/{way}/echo.cgi"
    for each in (100, 5000):
        for size in (LIMIT, LIMIT + 1, 3 * LIMIT):
            sent = b"".join(encode(piece, coding)
                            for piece in bodies.pieces(bodies.text(size), (each,)))
            answer = post(server, path, sent, coding)
            passes(answer, size) if size == LIMIT else refused(answer, 413)
    # Many members that decode to nothing only count as sent bytes.
    passes(post(server, path, encode(b"", coding) * 20000, coding), 0)


@EACH_WAY
@pytest.mark.parametrize("coding", ["gzip", "br"])
def test_what_comes_between_codings_is_weighed(server, way, coding):
    """However little the last decoder outputs. 24 KB are allowed, as for a body."""
    for size, status in ((20_000_000, 413), (3 * STRIDE, 400)):  # without an end
        # A gzip header with a file name decodes to nothing.
        data = encode(b"\x1f\x8b\x08\x08\0\0\0\0\0\3" + b"a" * size, coding)
        refused(post(server, f"/{way}/echo.cgi", data, f"gzip, {coding}"), status)


@pytest.mark.smoke
@EACH_WAY
@pytest.mark.parametrize("reader,ask,spooled", [
    ("origin/echo", post, True), ("origin/echo", post_chunks, False),
    ("sendcl/echo", post_chunks, True), ("force10/echo", post_chunks, True),
    ("page.php", post, True), ("page.php", post_chunks, True), ("echo.cgi", post, False)])
def test_a_decoded_body_on_the_disk_is_below_limitrequestbody(server, way, reader, ask, spooled):
    """mod_proxy writes a body to disk to find out its length. Its decoded size must obey the limit
    of sent bodies."""
    fpm = Fpm(server.root) if reader == "page.php" else None
    try:
        for size in (LIMIT, LIMIT + 1, 7 * LIMIT, 8 * LIMIT + 1):
            # Few bytes are sent, but enough for the ratio.
            sent = encode((bodies.noise(4000) * (size // 4000 + 1))[:size], "gzip")
            answer = ask(server, f"/disk/{way}/{reader}", sent if ask is post else [sent])
            if size > (LIMIT if spooled else 8 * LIMIT):
                refused(answer, 413)
            else:
                passes(answer, size)
    finally:
        if fpm:
            fpm.stop()


# --- the ratio


@pytest.mark.smoke
@EACH_WAY
@pytest.mark.parametrize("coding", CODINGS)
def test_the_default_ratio(server, way, coding):
    """200, four times in a row; the end counts as the last time."""
    def ask(path, size, method="POST"):
        return post(server, path, encode(bytes(size), coding), coding, method=method)

    passes(ask(f"/{way}/echo.cgi", 3 * STRIDE), 3 * STRIDE)
    refused(ask(f"/{way}/echo.cgi", 3 * STRIDE + 1), 413)
    for path, method in (("echo.cgi", "POST"), ("origin/echo", "POST"), ("dav/zeros", "PUT")):
        refused(ask(f"/{way}/{path}", 20_000_000, method), 413)
    passes(ask(f"/wide/{way}/echo.cgi", 9_000_000), 9_000_000)


def _gzip(*pieces):
    """A member in which each piece can be decoded before the next comes."""
    raw = zlib.compressobj(9, wbits=31)
    return b"".join(raw.compress(piece) + raw.flush(zlib.Z_FULL_FLUSH) for piece in pieces) \
        + raw.flush()


# Strides that compress to about 2000 bytes and to a few; all bytes sent so far count. The limit is
# 20, which may be exceeded twice in a row.
LOW, HIGH = bodies.noise(2000) + bytes(STRIDE - 2000), bytes(STRIDE)


@EACH_WAY
@pytest.mark.parametrize("strides,status", [
    ([LOW] * 20, 200), ([HIGH] * 2, 200), ([HIGH] * 3, 413), ([HIGH] * 2 + [LOW] + [HIGH] * 4 + [LOW], 200),
    ([HIGH] * 2 + [LOW] + [HIGH] * 5 + [LOW], 413)],
    ids=["low", "two", "three", "two and two", "two and three"])
def test_a_later_row_counts_afresh(server, way, strides, status):
    answer = post(server, f"/ratio/{way}/echo.cgi", _gzip(*strides))
    passes(answer, len(strides) * STRIDE) if status == 200 else refused(answer, status)


@EACH_WAY
@OF_MEMBERS
def test_the_ratio_is_the_bodys_however_its_members_come(server, way, coding):
    """Two strides above the limit are allowed; seventeen members are more."""
    member = encode(bytes(1000), coding)
    for count in (2 * STRIDE // 1000, 2 * STRIDE // 1000 + 1):
        for size in (len(member), count * len(member)):
            answer = post_chunks(server, f"/ratio/{way}/echo.cgi",
                                 bodies.pieces(count * member, (size,)), coding)
            passes(answer, count * 1000) if count == 16 else refused(answer, 413)


# --- the directives


@pytest.mark.parametrize("directive,good,bad", [
    ("DeflateInflateLimitRequestBody", ["0", "1", "9223372036854775807"],
     ["-1", "x", "", "1k", "1 2", "9223372036854775808"]),
    ("DeflateInflateRatioLimit", ["1", "200", "2147483647"], ["0", "-1", "x", "", "1.5", "1 2"]),
    ("DeflateInflateRatioBurst", ["1", "3", "2147483647"], ["0", "-1", "x", "", "1.5", "1 2"]),
])
def test_values(httpd, directive, good, bad):
    server = httpd("", start=False, records=("deflate",))
    for value in good:
        server.configure(f"{directive} {value}\n<Directory /x>\n{directive} {value}\n</Directory>")
        assert server.configtest()[0], value
    for value in bad:
        server.configure(f"{directive} {value}")
        ok, said = server.configtest()
        assert not ok and directive in said and "is not allowed; it takes" in said, (value, said)


def test_htaccess_and_merges(httpd):
    server = httpd(
        "DeflateInflateLimitRequestBody 1000\nDeflateInflateRatioLimit 100000\n"
        "SetInputFilter DEFLATE\n<Directory {docs}>\nAllowOverride All\n</Directory>\n",
        records=("deflate",), allow_log=("AH0",),
        cgi={f"{folder}echo.cgi": inflate.ECHO for folder in ("", "sub/", "sub/deep/")})
    server.write("sub/.htaccess", "DeflateInflateLimitRequestBody 60000\n")
    server.write("sub/deep/.htaccess", "DeflateInflateRatioLimit 5\nDeflateInflateRatioBurst 1\n")
    text, zeros = bodies.text(50000), bytes(60000)
    for folder, body, status in (("", text, 413), ("sub/", text, 200), ("sub/", zeros, 200),
                                 ("sub/", zeros + b"x", 413), ("sub/deep/", text, 200),
                                 ("sub/deep/", zeros, 413)):
        answer = post(server, f"/{folder}echo.cgi", encode(body, "gzip"))
        passes(answer, len(body)) if status == 200 else refused(answer, status)


def test_limits_without_the_record(httpd):
    """ElasticInflate uses the defaults of all limits."""
    server = httpd(f"ElasticInflate On\nLimitRequestBody {LIMIT}", allow_log=("AH0",),
                   cgi={"echo.cgi": inflate.ECHO})
    passes(post(server, "/echo.cgi", encode(bodies.text(LIMIT), "gzip")), LIMIT)
    for body in (bodies.text(LIMIT + 1), bytes(5 * STRIDE)):
        refused(post(server, "/echo.cgi", encode(body, "gzip")), 413)
