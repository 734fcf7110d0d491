"""Other modules' filters beside ours: their output is encoded completely and once, their header
fields hold, and mod_ratelimit and HTTP/2 after ours send all of it."""

import base64
import contextlib
import gzip
import os
import time

import pytest

from kit import bodies, check, http2, neighbours
from kit.client import Request

BODY = bodies.html(30000)
PART = bodies.text(9000)
HOLLOW = b"x" * (10 << 20)  # long, but small once encoded
LATIN = ("é à ü ß " * 4000).encode("latin-1")
UTF8 = LATIN.decode("latin-1").encode()
MARKED = BODY.replace(b"server", b"SERVER")
OLD = 1_500_000_000
FILES = 24

SSI = (b"<html>" + bodies.text(3000) + b'<!--#set var="who" value="neighbour" -->'
       b'<!--#echo var="who" --><!--#include virtual="/plain/part.html" -->'
       b'<!--#include virtual="part.html" --><!--#include file="part.html" -->'
       b'<!--#include virtual="/plain/pieces.cgi?x" -->'
       b'<!--#if expr="v(\'who\') =~ /our/" -->yes<!--#else -->no<!--#endif --></html>')
SSI_BODY = b"<html>" + bodies.text(3000) + b"neighbour" + PART * 3 + BODY + b"yes</html>"

PIECES_CGI = """\
head('Content-Type: text/html')
for piece in bodies.pieces(bodies.html(30000)):
    out(piece)
"""

UPPER_LUA = b"""\
function upper(r)
    coroutine.yield()
    while bucket do
        coroutine.yield(string.upper(bucket))
    end
end
"""

# What sites do about the stock modules' tags, which never give a 304.
STRIP = 'RequestHeader edit If-None-Match "-(gzip|br)\\"" "\\""'
BOTH = 'RequestHeader edit If-None-Match "^(W/)?\\"(.*)-(gzip|br)\\"$" "\\"$2-$3\\", \\"$2\\""'

# {place: (filters before ours, directives)}
PLACES = {
    "plain": ([], []),
    "ssi": (["INCLUDES"], ["Options +Includes"]),
    "bits": ([], ["Options +Includes", "XBitHack Full"]),
    "substitute": (["SUBSTITUTE"], ["Substitute s/server/SERVER/n"]),
    "long-lines": (["SUBSTITUTE"], ["Substitute s/server/SERVER/n", "SubstituteMaxLineLength 1k"]),
    "sed": (["Sed"], ["OutputSed s/server/SERVER/g"]),
    "external": (["upper"], []),
    "external-html": (["html-only"], []),
    "lua": (["UPPER_LUA"], []),
    "case": (["CaseFilter"], []),
    "several": (["upper", "SUBSTITUTE"], ["Substitute s/SERVER/server/n"]),
    "charset": ([], ["CharsetSourceEnc ISO-8859-1", "CharsetDefault UTF-8"]),
    "xml": (["xml2enc"], ["xml2EncDefault iso-8859-1"]),
    "buffer": (["BUFFER"], ["BufferSize 100000"]),
    "data": (["DATA"], []),
    "reflect": ([], ["SetHandler reflector", "ReflectorHeader Content-Type"]),
    "slow": (["RATE_LIMIT"], ["SetEnv rate-limit 200", "SetEnv rate-initial-burst 4"]),
    "rate": (["RATE_LIMIT"], ["SetEnv rate-limit 1000"]),
    "set": ([], ["Header set Vary Cookie"]),
    "append": ([], ["Header append Vary Cookie"]),
    "merge": ([], ["Header merge Vary accept-encoding"]),
    "always": ([], ["Header always set Vary Cookie"]),
    "always-same": ([], ["Header always set Vary Accept-Encoding"]),
    "no-tag": ([], ["Header unset ETag", "CookieTracking On", "CookieName c"]),
    "edit-tag": ([], ['Header edit ETag "^(W/)?\\"" "$1\\"v1-"']),
    "strip-tag": ([], ['Header edit ETag "-(gzip|br)\\"$" "\\""']),
    "strip": ([], [STRIP]),
    "both": ([], [BOTH]),
    "saw": ([], ["Header set X-Saw expr=%{resp:Content-Encoding}"]),
    "no-accept": ([], ["RequestHeader unset Accept-Encoding"]),
    "expires": ([], ["ExpiresActive On", 'ExpiresByType text/html "access plus 1 hour"']),
}


@pytest.fixture(scope="module")
def server(httpd_shared, way):
    server = way.start(
        httpd_shared,
        "AddType text/html .shtml\nLuaOutputFilter UPPER_LUA {docs}/upper.lua upper\n"
        "ExtFilterDefine upper mode=output cmd=\"/usr/bin/tr a-z A-Z\"\n"
        "ExtFilterDefine html-only mode=output intype=text/html cmd=\"/usr/bin/tr a-z A-Z\"\n"
        + "".join(way.at(name, *lines, filters=filters)
                  for name, (filters, lines) in PLACES.items())
        + way.at("forced", f"RequestHeader set Accept-Encoding {way.codings[0]}"),
        modules=["include", "substitute", "sed", "ext_filter", "lua", "case_filter", "charset_lite",
                 "xml2enc", "buffer", "data", "reflector", "ratelimit", "expires", "usertrack"],
        tls=True, h2=True,
        files={"a.css": BODY, "a.png": BODY, "part.html": PART, "a.shtml": SSI,
               "wrong.shtml": b'<!--#include virtual="/nowhere" -->' + PART, "latin.txt": LATIN,
               "latin.html": b"<html><body>" + LATIN + b"</body></html>", "upper.lua": UPPER_LUA,
               "hollow.html": HOLLOW, **{f"many/{n}.html": content(n) for n in range(FILES)}},
        cgi={"pieces.cgi": PIECES_CGI})
    server.write("a.html", BODY, OLD)
    return server


def content(n):
    return b"%d " % n + bodies.text(20000 + 1000 * n)


# --- bodies


@pytest.mark.parametrize("path,expected", [
    ("ssi/a.shtml", SSI_BODY),  # its parts come from places where the filter is on, too
    ("substitute/a.html", MARKED), ("substitute/pieces.cgi", MARKED), ("sed/a.html", MARKED),
    ("external/a.html", BODY.upper()), ("external/pieces.cgi", BODY.upper()),
    ("external-html/a.html", BODY.upper()), ("external-html/a.css", BODY),
    ("lua/a.html", BODY.upper()), ("case/a.html", BODY.upper()),
    ("several/a.html", BODY.upper().replace(b"SERVER", b"server")),
    ("charset/latin.txt", UTF8), ("xml/latin.html", b"<html><body>" + UTF8 + b"</body></html>"),
    ("buffer/pieces.cgi", BODY), ("buffer/a.html", BODY),
    ("data/a.html", b"data:text/html;base64," + base64.b64encode(BODY)),
    ("slow/a.html", BODY), ("slow/pieces.cgi", BODY)])
def test_what_they_make_is_encoded(server, way, path, expected):
    plain = server.get(f"/{path}")
    check.plain(plain, expected)
    for _, answer in way.each(server, f"/{path}", expected):
        check.same_header(plain, answer, "Content-Type", "Last-Modified")


def test_what_they_make_of_another_type(server, way):
    for coding in way.codings:
        answer = server.get("/substitute/a.png", ae=coding)
        if way.typed:
            check.plain(answer, MARKED, varies=False)
        else:
            check.encoded(answer, coding, MARKED)


def test_a_body_that_comes_back(server, way):
    """mod_reflector sends the request's body through the response's filters."""
    way.encodes(server, "/reflect/", BODY, method="POST", body=BODY,
                headers={"Content-Type": "text/html"})


def test_a_page_by_its_bits(server, way):
    os.chmod(server.write("bits.html", SSI, OLD), 0o755)
    plain = server.get("/bits/bits.html")
    check.plain(plain, SSI_BODY)
    since = plain.headers["Last-Modified"]
    for coding, answer in way.each(server, "/bits/bits.html", SSI_BODY):
        assert answer.headers["Last-Modified"] == since and "ETag" not in answer.headers
        answer = server.get("/bits/bits.html", ae=coding, headers={"If-Modified-Since": since})
        check.empty(answer, 304)
        assert answer.varies or not way.seen, answer


def test_their_failure_is_visible(server, way):
    """A missing part; and mod_substitute refuses lines of more than 1 KB, perhaps after the header
    was sent."""
    server.expect_log("AH01374|unable to include|AH01328")
    message = b"[an error occurred while processing this directive]"
    way.encodes(server, "/ssi/wrong.shtml", message + PART)
    for coding in way.codings:
        answer = server.get("/long-lines/a.html", ae=coding)
        assert answer.status == 500 or not answer.complete, answer


# --- fields


@pytest.mark.parametrize("place,cookie", [
    ("append", True), ("always", True), ("set", True), ("merge", False), ("always-same", False)])
def test_vary_holds_both_names(server, way, place, cookie):
    """Named filters run before mod_headers, which has the last word."""
    for coding in way.codings:
        answer = server.get(f"/{place}/a.html", ae=coding)
        check.whole(answer, coding, BODY)
        names = answer.headers["Vary"].lower().replace(" ", "").split(",")
        ours = {"accept-encoding"} if way.last or place != "set" else set()
        assert set(names) == ours | ({"cookie"} if cookie else set()), answer
        if way.last or place == "merge":
            assert len(names) == len(set(names)), answer


@pytest.mark.parametrize("place", ["plain", "strip", "both", "edit-tag", "strip-tag"])
def test_recipes_for_304_do_no_harm(server, way, place):
    """httpd compares before mod_headers edits the field, and ELASTIC of Elastic On runs after
    it."""
    base = server.get("/plain/a.html").headers["ETag"].strip('"')
    base = f"v1-{base}" if place == "edit-tag" else base
    for coding, answer in way.each(server, f"/{place}/a.html", BODY):
        tag = answer.headers["ETag"]
        if place == "strip-tag" and not way.last:
            assert tag.removeprefix("W/") == f'"{base}"'
        else:
            assert tag == way.tagged(base, coding)
        again = server.get(f"/{place}/a.html", ae=coding, headers={"If-None-Match": tag})
        if place == "edit-tag" and not way.last:
            check.encoded(again, coding, BODY)
        else:
            check.empty(again, 304)
            assert again.varies or not way.seen or place == "strip-tag", again


def test_what_is_set_and_unset(server, way):
    for coding, answer in way.each(server, "/no-tag/a.html", BODY):
        assert "ETag" not in answer.headers and answer.headers["Set-Cookie"].startswith("c=")
        # Before our filter, mod_headers sees the handler's response.
        answer = server.get("/saw/a.html", ae=coding)
        assert answer.headers["X-Saw"] == ("" if way.last else coding)
        again = server.get("/expires/a.html", ae=coding, headers={
            "If-None-Match": server.get("/expires/a.html", ae=coding).headers["ETag"]})
        check.empty(again, 304)
        assert again.headers["Cache-Control"] == "max-age=3600" and again.varies


def test_requests_that_are_edited(server, way):
    check.plain(server.get("/no-accept/a.html", ae="gzip, br"), BODY)
    check.encoded(server.get("/forced/a.html"), way.codings[0], BODY)


# --- backends: links rewritten, gzip decoded first, encoded again

PAGE = ("<html><head><title>t</title></head><body><p>%s</p>"
        '<a href="http://backend.example/x">x</a> é</body></html>') % PART.decode()
LINKS = ("ProxyHTMLEnable On", "ProxyHTMLURLMap http://backend.example/ /p/",
         "ProxyHTMLLinks a href", "ProxyHTMLMeta On")


@pytest.fixture(scope="module")
def proxy(httpd_shared, way, origin):
    for name, charset, body in (("page", "utf-8", PAGE.encode()),
                                ("latin", "iso-8859-1", PAGE.encode("latin-1"))):
        fields = {"Content-Type": f"text/html; charset={charset}", "ETag": '"o"'}
        packed = gzip.compress(body, mtime=0)
        origin.route(f"/{name}", lambda e, fields=fields, body=body: e.chunked(
            200, fields, bodies.pieces(body)))
        origin.route(f"/zip/{name}", lambda e, fields=fields, packed=packed: e.respond(
            200, {**fields, "Content-Encoding": "gzip"}, packed))
    # INFLATE is mod_deflate's, or ours if our record of that name is loaded.
    stock = [] if "deflate" in way.records else ["deflate"]
    return way.start(
        httpd_shared, "".join(
            f"<Location /{at}>\nProxyPass {origin.url}/{to}\n" + "\n".join(
                [way.chain(*filters), *LINKS, *lines]) + "\n</Location>\n"
            for at, to, filters, lines in (
                ("page", "page", [], []), ("latin", "latin", [], []),
                ("zip", "zip", ["INFLATE"], []),
                ("unasked", "page", [], ["RequestHeader unset Accept-Encoding"]))),
        modules=["proxy", "proxy_http", "xml2enc", "proxy_html", *stock])


@pytest.mark.parametrize("path", ["page", "latin", "zip/page", "zip/latin"])
def test_links_are_rewritten(proxy, way, path):
    """mod_proxy_html converts every page to UTF-8."""
    plain = proxy.get(f"/{path}")
    check.plain(plain, plain.body)
    assert b'href="/p/x"' in plain.body and b"backend.example" not in plain.body
    assert PART in plain.body and "é".encode() in plain.body
    for _, answer in way.each(proxy, f"/{path}", plain.body):
        assert answer.headers["Content-Type"].lower() == "text/html;charset=utf-8"


def test_a_client_that_is_not_asked_gets_the_identity(proxy, way):
    """The recipe against encoding backends stops our filter, too."""
    for coding in way.codings:
        answer = proxy.get("/unasked", ae=coding)
        check.plain(answer, answer.body)
        assert b'href="/p/x"' in answer.body


# --- filters after ours


def test_the_rate_is_that_of_the_encoded_bytes(server, way):
    """1 MB a second: ten seconds for the identity."""
    for coding in way.codings:
        start = time.monotonic()
        check.encoded(server.get("/rate/hollow.html", ae=coding), coding, HOLLOW)
        assert time.monotonic() - start < 8


@neighbours.FEW_WAYS
@pytest.mark.protocols("h2c", "h2")
def test_many_streams_at_once(server, way, protocol):
    """On one connection."""
    secure = protocol == "h2"
    for coding in way.codings:
        with contextlib.closing(http2.Client(
                ("127.0.0.1", server.tls_port if secure else server.port), secure)) as client:
            numbers = [n % FILES for n in range(4 * FILES)]
            answers = client.exchange([Request("GET", f"/plain/many/{n}.html", (
                ("Accept-Encoding", coding),)) for n in numbers])
            for n, answer in zip(numbers, answers, strict=True):
                check.encoded(answer, coding, content(n))
