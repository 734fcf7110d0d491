"""Limits of decoded request bodies: their size, and their size relative to the sent bytes."""

import zlib

import pytest

from kit import bodies, inflate
from kit.fpm import Fpm
from kit.inflate import CODINGS, WAYS, encode, post, post_chunks, read, refused

pytestmark = pytest.mark.rules

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


def ends(answer, size, is_allowed):
    if is_allowed:
        assert read(answer)["size"] == size
    else:
        refused(answer, 413)


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
            ends(post(server, path, sent, coding, protocol=protocol), size, size == LIMIT)


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
            ends(post(server, path, sent, coding), size, size == LIMIT)
    # Many members that decode to nothing only count as sent bytes.
    ends(post(server, path, encode(b"", coding) * 20000, coding), 0, True)


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
            ends(answer, size, size <= (LIMIT if spooled else 8 * LIMIT))
    finally:
        if fpm:
            fpm.stop()


@pytest.mark.parametrize("ask", [post, post_chunks])
@pytest.mark.parametrize("reader", ["origin", "sendcl", "force10"])
def test_limitrequestbody_does_not_hold_for_proxied_bodies_that_are_not_decoded(
        server, reader, ask):
    """It is httpd that sends them on, whatever their size."""
    sent = encode(bodies.noise(LIMIT + 1), "gzip")
    answer = ask(server, f"/core/plain/{reader}/echo", sent if ask is post else [sent])
    assert read(answer)["size"] == len(sent)


# --- the ratio


@pytest.mark.smoke
@EACH_WAY
@pytest.mark.parametrize("coding", CODINGS)
def test_the_default_ratio(server, way, coding):
    """200, four times in a row; the end counts as the last time."""
    for path, method, size, is_allowed in (
            ("echo.cgi", "POST", 3 * STRIDE, True), ("echo.cgi", "POST", 3 * STRIDE + 1, False),
            *((path, "POST", 20_000_000, False) for path in ("echo.cgi", "origin/echo")),
            ("dav/zeros", "PUT", 20_000_000, False)):
        sent = encode(bytes(size), coding)
        ends(post(server, f"/{way}/{path}", sent, coding, method=method), size, is_allowed)
    ends(post(server, f"/wide/{way}/echo.cgi", encode(bytes(9_000_000), coding), coding),
         9_000_000, True)


def _gzip(*pieces):
    """A member in which each piece can be decoded before the next comes."""
    raw = zlib.compressobj(9, wbits=31)
    return b"".join(raw.compress(piece) + raw.flush(zlib.Z_FULL_FLUSH) for piece in pieces) \
        + raw.flush()


# Strides that compress to about 2000 bytes and to a few; all bytes sent so far count. The limit is
# 20, which may be exceeded twice in a row.
LOW, HIGH = bodies.noise(2000) + bytes(STRIDE - 2000), bytes(STRIDE)


@EACH_WAY
@pytest.mark.parametrize("strides,is_allowed", [
    ([LOW] * 20, True), ([HIGH] * 2, True), ([HIGH] * 3, False),
    *(([HIGH] * 2 + [LOW] + [HIGH] * (2 + count) + [LOW], count == 2) for count in (2, 3))])
def test_a_later_row_counts_afresh(server, way, strides, is_allowed):
    ends(post(server, f"/ratio/{way}/echo.cgi", _gzip(*strides)), len(strides) * STRIDE, is_allowed)


@EACH_WAY
@OF_MEMBERS
def test_the_ratio_is_the_bodys_however_its_members_come(server, way, coding):
    """Two strides above the limit are allowed; seventeen members are more."""
    member = encode(bytes(1000), coding)
    for count in (16, 17):
        for size in (len(member), count * len(member)):
            answer = post_chunks(server, f"/ratio/{way}/echo.cgi",
                                 bodies.pieces(count * member, (size,)), coding)
            ends(answer, count * 1000, count == 16)


# --- the directives


@pytest.mark.parametrize("directive,least", [
    ("LimitRequestBody", 0), ("RatioLimit", 1), ("RatioBurst", 1)])
def test_values(httpd, directive, least):
    server = httpd("", start=False, records=("deflate",))
    line = f"DeflateInflate{directive} "
    for value in (least, least + 1, (1 << 63) - 1):
        server.configure(f"{line}{value}\n<Directory /x>\n{line}{value}\n</Directory>")
        assert server.configtest()[0], value
    for value in (least - 1, 1 << 63, "x", "", "1k", "1.5", "1 2"):
        server.configure(f"{line}{value}")
        ok, said = server.configtest()
        assert not ok and directive in said and "is not allowed; it takes" in said, (value, said)


def test_htaccess_alone_asks_for_it_and_merges(httpd):
    """Until a .htaccess file enables it, no request is inspected."""
    folders = {
        "": "ElasticInflate On\nDeflateInflateLimitRequestBody 1000\n",
        "sub/": "DeflateInflateLimitRequestBody 60000\nDeflateInflateRatioLimit 100000\n",
        "sub/deep/": "DeflateInflateRatioLimit 5\nDeflateInflateRatioBurst 1\n"}
    server = httpd("<Directory {docs}>\nAllowOverride All\n</Directory>\n",
                   records=("elastic", "deflate"), allow_log=("AH0",),
                   cgi={f"{folder}echo.cgi": inflate.ECHO for folder in folders})
    text, zeros = bodies.text(50000), bytes(60000)
    sent = encode(text, "gzip")
    inflate.is_body(read(post(server, "/echo.cgi", sent)), sent, "gzip")
    for folder, lines in folders.items():
        server.write(f"{folder}.htaccess", lines)
    for folder, body, is_allowed in (
            ("", text, False), ("sub/", text, True), ("sub/", zeros, True),
            ("sub/", zeros + b"x", False), ("sub/deep/", text, True), ("sub/deep/", zeros, False)):
        ends(post(server, f"/{folder}echo.cgi", encode(body, "gzip")), len(body), is_allowed)


def test_limits_without_the_record(httpd):
    """ElasticInflate uses the defaults of all limits."""
    server = httpd(f"ElasticInflate On\nLimitRequestBody {LIMIT}", allow_log=("AH0",),
                   cgi={"echo.cgi": inflate.ECHO})
    for body in (bodies.text(LIMIT), bodies.text(LIMIT + 1), bytes(5 * STRIDE)):
        ends(post(server, "/echo.cgi", encode(body, "gzip")), len(body), body == bodies.text(LIMIT))
