"""Limits of decoded request bodies: their size, and how much larger than sent they may be."""

import gzip
import zlib

import pytest

from kit import bodies, check, inflate
from kit.fpm import Fpm
from kit.inflate import WAYS, encode, post
from kit.origin import framed

# Reads all of it, says how much that was.
COUNT = """\
size = 0
while data := os.read(0, 65536):
    size += len(data)
head('Content-Type: text/plain')
out(str(size))
"""

LIMIT = 50000

# The ratio is looked at each time that so many bytes were decoded.
STRIDE = 8096

PLACES = """\
DavLockDB {root}/run/dav
<Location ~ "^/size/">
    DeflateInflateLimitRequestBody %d
</Location>
<Location ~ "^/core/">
    LimitRequestBody %d
</Location>
<Location ~ "^/zero/">
    LimitRequestBody %d
    DeflateInflateLimitRequestBody 0
</Location>
<Location ~ "^/wide/">
    DeflateInflateLimitRequestBody 10000000
    DeflateInflateRatioLimit 10000000
</Location>
<Location ~ "^/ratio/">
    DeflateInflateRatioLimit 20
    DeflateInflateRatioBurst 2
</Location>
<Location ~ "/dav/">
    Dav On
</Location>
""" % (LIMIT, LIMIT, LIMIT) + inflate.PLACES

NAMES = ("size", "core", "zero", "wide", "ratio", "none")


@pytest.fixture(scope="module")
def server(httpd_shared, origin):
    config = ""
    for name in NAMES:
        for way in WAYS:
            config += (f"ProxyPass /{name}/{way}/origin/ {origin.url}/\n"
                       f"Alias /{name}/{way}/dav/ {{root}}/dav/\n"
                       f"Alias /{name}/{way}/ {{docs}}/\n")
    server = httpd_shared(config + PLACES,
                          modules=["dav", "dav_fs", "proxy", "proxy_http", "allowmethods"],
                          records=("elastic", "deflate"), tls=True,
                          allow_log=("AH0", r"\[dav:error\].*\[413, #0\]"),
                          cgi={"count.cgi": COUNT}, files={"a.txt": bodies.text(1000)})
    for name in ("dav", "run"):
        (server.root / name).mkdir(exist_ok=True)
        (server.root / name).chmod(0o777)
    origin.route("/count", lambda e: e.respond(200, {}, str(len(e.body)).encode()))
    return server


def send(server, path, data, coding="gzip", method="POST", **kw):
    answer = post(server, path, encode(data, coding), coding, {"Depth": "0"}, method, **kw)
    assert answer.coding is None
    return answer


def passes(answer, size):
    check.whole(answer, None, str(size).encode())


EACH_WAY = pytest.mark.parametrize("way", WAYS)


@pytest.mark.smoke
@pytest.mark.protocols("http/1.1", "http/1.0", "tls")
@EACH_WAY
@pytest.mark.parametrize("coding", ["gzip", "br"])
@pytest.mark.parametrize("place", ["size", "core", "zero"])
def test_the_size_is_exact(server, protocol, way, coding, place):
    for reader in ("count.cgi", "origin/count"):
        path = f"/{place}/{way}/{reader}"
        passes(send(server, path, bodies.text(LIMIT), coding, protocol=protocol), LIMIT)
        for size in (LIMIT + 1, LIMIT + 8000, 30 * LIMIT):
            answer = send(server, path, bodies.text(size), coding, protocol=protocol)
            assert answer.status == 413, (reader, size, answer)


def _propfind(size):
    """A body that mod_dav parses, by httpd's own reader of XML."""
    head, tail = b'<?xml version="1.0"?><propfind xmlns="DAV:"><allprop/><!--', b"--></propfind>"
    return head + bodies.text(size - len(head) - len(tail)) + tail


@EACH_WAY
@pytest.mark.parametrize("place,method,coding,body,status", [
    ("size/{0}/dav/{0}", "PUT", "gzip", bodies.text, 201),
    ("size/{}/dav/", "PROPFIND", "br", _propfind, 207),
    ("size/{}/a.txt", "POST", "gzip", bodies.text, 200),  # which discards it
    # LimitRequestBody counts the decoded bytes, as well as the sent ones, which are more here.
    ("core/{}/count.cgi", "POST", "gzip", lambda size: bodies.noise(size - 100), 200)],
    ids=["put", "parsed", "discarded", "sent"])
def test_every_reader_has_the_limit(server, way, place, method, coding, body, status):
    path = "/" + place.format(way)
    assert send(server, path, body(LIMIT), coding, method).status == status
    assert send(server, path, body(LIMIT + 100), coding, method).status == 413
    if method == "PUT":
        assert (server.root / "dav" / way).read_bytes() == body(LIMIT)


def _members(coding, size, each):
    """A body of `size` bytes in members, or frames, of `each`."""
    return b"".join(encode(piece, coding) for piece in bodies.pieces(bodies.text(size), (each,)))


@EACH_WAY
@pytest.mark.parametrize("coding", [name for name in inflate.CODINGS if name != "br"])
def test_members_are_limited_as_one_body(server, way, coding):
    path = f"/size/{way}/count.cgi"
    for each in (100, 5000):
        passes(post(server, path, _members(coding, LIMIT, each), coding), LIMIT)
        for size in (LIMIT + 1, 3 * LIMIT):
            answer = post(server, path, _members(coding, size, each), coding)
            assert (answer.status, answer.coding) == (413, None), (size, answer)
    # Many that decode to nothing are many bytes, and no more.
    passes(post(server, path, encode(b"", coding) * 20000, coding), 0)


@EACH_WAY
@pytest.mark.parametrize("coding", [name for name in inflate.CODINGS if name != "br"])
def test_the_ratio_is_the_bodys_however_its_members_come(server, way, coding):
    """Twice a stride is free; seventeen members are more."""
    member = encode(bytes(1000), coding)
    for count, status in ((2 * STRIDE // 1000, 200), (2 * STRIDE // 1000 + 1, 413)):
        sent = member * count
        for size in (len(member), len(sent)):
            chunks = framed(bodies.pieces(sent, (size,)))
            with server.connect() as connection:
                connection.send(inflate.head(f"/ratio/{way}/count.cgi", Content_Encoding=coding,
                                             Transfer_Encoding="chunked") + chunks)
                answer = connection.read_response()
            assert answer.status == status, (count, size, answer)


@EACH_WAY
def test_codings_do_not_add_up(server, way):
    """Limits hold for what comes out of the last decoder."""
    for size, status in ((LIMIT, 200), (LIMIT + 1, 413)):
        sent = encode(bodies.text(size), "gzip", "gzip")
        answer = post(server, f"/size/{way}/count.cgi", sent, "gzip, gzip")
        assert (answer.status, answer.coding) == (status, None)
        if status == 200:
            passes(answer, LIMIT)


def _without_an_end(size):
    """A gzip header with a file name of `size` bytes: it decodes to nothing."""
    return b"\x1f\x8b\x08\x08\0\0\0\0\0\3" + b"a" * size


@EACH_WAY
@pytest.mark.parametrize("codings", [("gzip",), ("br",)], ids="-".join)
def test_what_comes_between_codings_is_weighed(server, way, codings):
    """However little comes out of the last decoder."""
    data = encode(_without_an_end(20_000_000), *codings)
    answer = post(server, f"/none/{way}/count.cgi", data, ", ".join(("gzip", *codings)))
    assert answer.status == 413 and answer.coding is None, answer


@EACH_WAY
def test_what_comes_between_codings_may_be_bursts(server, way):
    """24 KB, as of a body."""
    data = gzip.compress(_without_an_end(3 * 8096))
    answer = post(server, f"/none/{way}/count.cgi", data, "gzip, gzip")
    assert answer.status == 400 and answer.coding is None, answer  # it is cut short


# --- what mod_proxy writes to the disk, to find out its length

PAGE = "<?php echo strlen(file_get_contents('php://input'));"


@pytest.fixture(scope="module")
def spooling(httpd_shared, origin):
    """Bodies may be larger decoded than sent, but not on the server's disk."""
    server = httpd_shared("", start=False, modules=["proxy", "proxy_http", "proxy_fcgi"],
                          records=("elastic", "deflate"), allow_log=("AH0",),
                          cgi={"count.cgi": COUNT})
    fpm = Fpm(server.root)
    server.write("page.php", PAGE)
    places = "".join(f"ProxyPass /{way}/{name}/ {origin.url}/\n" for way in WAYS
                     for name in ("plain", "sendcl", "force10"))
    server.configure(
        f"LimitRequestBody {LIMIT}\nDeflateInflateLimitRequestBody {8 * LIMIT}\n{places}"
        "SetEnvIf Request_URI /sendcl/ proxy-sendcl\n"
        "SetEnvIf Request_URI /force10/ force-proxy-request-1.0\n"
        f"<FilesMatch php$>\nSetHandler \"{fpm.handler}\"\n</FilesMatch>\n"
        "AliasMatch ^/(?:elastic|deflate)/([a-z]*[.].*) {docs}/$1\n" + inflate.PLACES)
    server.start()
    origin.route("/count", lambda e: e.respond(200, {}, str(len(e.body)).encode()))
    yield server
    fpm.stop()


def _chunked(server, path, sent):
    with server.connect() as connection:
        connection.send(inflate.head(path, Content_Encoding="gzip", Transfer_Encoding="chunked")
                        + framed([sent]))
        return connection.read_response()


@pytest.mark.smoke
@EACH_WAY
@pytest.mark.parametrize("reader,ask,spooled", [
    ("plain/count", post, True),
    ("plain/count", _chunked, False),
    ("sendcl/count", _chunked, True),
    ("force10/count", _chunked, True),
    ("page.php", post, True),
    ("page.php", _chunked, True),
    ("count.cgi", post, False)])
def test_a_decoded_body_on_the_disk_is_below_limitrequestbody(spooling, way, reader, ask, spooled):
    for size, status in ((LIMIT, 200), (LIMIT + 1, 413 if spooled else 200),
                         (7 * LIMIT, 413 if spooled else 200), (8 * LIMIT + 1, 413)):
        answer = ask(spooling, f"/{way}/{reader}", encode(_dense(size), "gzip"))
        assert (answer.status, answer.coding) == (status, None), (size, answer)
        if status == 200:
            passes(answer, size)


def _dense(size):
    """Text that is sent in few bytes, but not in too few for the ratio."""
    return (bodies.noise(4000) * (size // 4000 + 1))[:size]


# --- the ratio


@pytest.mark.smoke
@EACH_WAY
@pytest.mark.parametrize("coding", inflate.CODINGS)
def test_the_default_ratio(server, way, coding):
    """200, four times in a row; the end is the last time."""
    passes(send(server, f"/none/{way}/count.cgi", bytes(3 * STRIDE), coding), 3 * STRIDE)
    answer = send(server, f"/none/{way}/count.cgi", bytes(3 * STRIDE + 1), coding)
    assert answer.status == 413
    for reader in ("count.cgi", "origin/count", "dav/zeros"):
        method = "PUT" if "dav" in reader else "POST"
        answer = send(server, f"/none/{way}/{reader}", bytes(20_000_000), coding, method=method)
        assert answer.status == 413, (reader, answer)
    passes(send(server, f"/wide/{way}/count.cgi", bytes(9_000_000), coding), 9_000_000)


def _slow_gzip(strides, gap):
    """A member whose strides of zeros each become `gap` bytes at least, sent as stored blocks of
    nothing: the ratio is known at each stride."""
    raw = zlib.compressobj(9, wbits=31)
    out = b""
    for size in strides:
        out += raw.compress(bytes(size)) + raw.flush(zlib.Z_FULL_FLUSH)
        out += b"\0\0\0\xff\xff" * (gap // 5)
    return out + raw.flush()


@EACH_WAY
def test_the_burst_is_counted_in_a_row(server, way):
    """At a ratio of about 12 nothing is too dense for a limit of 20; at about 80, thrice is."""
    def status(body):
        answer = post(server, f"/ratio/{way}/count.cgi", body)
        assert answer.coding is None
        return answer.status

    assert status(_slow_gzip([STRIDE] * 20, 700)) == 200
    assert status(_slow_gzip([STRIDE] * 3, 100)) == 413
    # Twice above, then below for good, over and over.
    assert status(_slow_gzip([STRIDE] * 2, 100)) == 200
    assert status(_slow_gzip([STRIDE] * 2, 100)[:-10] + b"\0\0\0\xff\xff" * 2000) == 400


@EACH_WAY
def test_a_later_row_counts_afresh(server, way):
    """Above the limit of 20 twice, below it, above it twice again, below it."""
    raw = zlib.compressobj(9, wbits=31)
    body, size = b"", 0
    for zeros in (2 * STRIDE, 4 * STRIDE):
        for piece in (bytes(zeros), bodies.noise(2000) + bytes(STRIDE - 2000)):
            body += raw.compress(piece) + raw.flush(zlib.Z_FULL_FLUSH)
            size += len(piece)
    body += raw.flush()
    passes(post(server, f"/ratio/{way}/count.cgi", body), size)


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
        cgi={"count.cgi": COUNT, "sub/count.cgi": COUNT, "sub/deep/count.cgi": COUNT})
    server.write("sub/.htaccess", "DeflateInflateLimitRequestBody 60000\n")
    server.write("sub/deep/.htaccess", "DeflateInflateRatioLimit 5\nDeflateInflateRatioBurst 1\n")
    data = bodies.text(50000)
    assert send(server, "/count.cgi", data).status == 413
    passes(send(server, "/sub/count.cgi", data), 50000)
    passes(send(server, "/sub/count.cgi", bytes(60000)), 60000)
    assert send(server, "/sub/count.cgi", bytes(60001)).status == 413
    passes(send(server, "/sub/deep/count.cgi", data), 50000)
    assert send(server, "/sub/deep/count.cgi", bytes(60000)).status == 413


def test_limits_without_the_record(httpd):
    """ElasticInflate has them all by their defaults."""
    server = httpd(f"ElasticInflate On\nLimitRequestBody {LIMIT}", allow_log=("AH0",),
                   cgi={"count.cgi": COUNT})
    passes(send(server, "/count.cgi", bodies.text(LIMIT)), LIMIT)
    assert send(server, "/count.cgi", bodies.text(LIMIT + 1)).status == 413
    assert send(server, "/count.cgi", bytes(5 * STRIDE)).status == 413
