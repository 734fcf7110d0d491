"""Neighbours that change the body: theirs is what is encoded, all of it and once."""

import base64
import os

import pytest

from kit import bodies, check

BODY = bodies.html(30000)
PART = bodies.text(9000)
OLD = 1_500_000_000
LATIN = ("é à ü ß " * 4000).encode("latin-1")

SSI = (b"<html>" + bodies.text(3000) + b'<!--#set var="who" value="neighbour" -->'
       b'<!--#echo var="who" --><!--#include virtual="/plain/part.html" -->'
       b'<!--#include virtual="part.html" --><!--#include file="part.html" -->'
       b'<!--#include virtual="/plain/pieces.cgi?x" -->'
       b'<!--#if expr="v(\'who\') =~ /our/" -->yes<!--#else -->no<!--#endif --></html>')
SSI_BODY = (b"<html>" + bodies.text(3000) + b"neighbour" + PART * 3 + BODY + b"yes</html>")

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


@pytest.fixture(scope="module")
def server(httpd_shared, way):
    server = way.start(
        httpd_shared,
        "AddType text/html .shtml\nLuaOutputFilter UPPER_LUA {docs}/upper.lua upper\n"
        "ExtFilterDefine upper mode=output cmd=\"/usr/bin/tr a-z A-Z\"\n"
        "ExtFilterDefine html-only mode=output intype=text/html cmd=\"/usr/bin/tr a-z A-Z\"\n"
        + way.at("plain")
        + way.at("ssi", "Options +Includes", filters=["INCLUDES"])
        + way.at("bits", "Options +Includes", "XBitHack Full")
        + way.at("substitute", "Substitute s/server/SERVER/n", filters=["SUBSTITUTE"])
        + way.at("long-lines", "Substitute s/server/SERVER/n", "SubstituteMaxLineLength 1k",
                 filters=["SUBSTITUTE"])
        + way.at("sed", "OutputSed s/server/SERVER/g", filters=["Sed"])
        + way.at("external", filters=["upper"])
        + way.at("external-html", filters=["html-only"])
        + way.at("lua", filters=["UPPER_LUA"])
        + way.at("case", filters=["CaseFilter"])
        + way.at("several", "Substitute s/SERVER/server/n", filters=["upper", "SUBSTITUTE"])
        + way.at("charset", "CharsetSourceEnc ISO-8859-1", "CharsetDefault UTF-8")
        + way.at("xml", "xml2EncDefault iso-8859-1", filters=["xml2enc"])
        + way.at("buffer", "BufferSize 100000", filters=["BUFFER"])
        + way.at("data", filters=["DATA"])
        + way.at("reflect", "SetHandler reflector", "ReflectorHeader Content-Type"),
        modules=["include", "substitute", "sed", "ext_filter", "lua", "case_filter", "charset_lite",
                 "xml2enc", "buffer", "data", "reflector"],
        files={"a.html": BODY, "a.css": BODY, "a.png": BODY, "part.html": PART, "a.shtml": SSI,
               "wrong.shtml": b'<!--#include virtual="/nowhere" -->' + PART,
               "latin.txt": LATIN, "upper.lua": UPPER_LUA,
               "latin.html": b"<html><body>" + LATIN + b"</body></html>"},
        cgi={"pieces.cgi": PIECES_CGI})
    return server


# --- mod_include


def test_a_page_of_parts(server, way):
    """The parts are themselves in places where the filter is on."""
    way.encodes(server, "/ssi/a.shtml", SSI_BODY)
    check.plain(server.get("/ssi/a.shtml"), SSI_BODY)


def test_a_part_that_is_missing(server, way):
    server.expect_log("AH01374|unable to include")
    message = b"[an error occurred while processing this directive]"
    way.encodes(server, "/ssi/wrong.shtml", message + PART)


def test_a_page_by_its_bits(server, way):
    file = server.write("bits.html", SSI, OLD)
    os.chmod(file, 0o755)
    plain = server.get("/bits/bits.html")
    check.plain(plain, SSI_BODY)
    since = plain.headers["Last-Modified"]
    for coding, answer in way.each(server, "/bits/bits.html", SSI_BODY):
        assert answer.headers["Last-Modified"] == since and "ETag" not in answer.headers
        answer = server.get("/bits/bits.html", ae=coding, headers={"If-Modified-Since": since})
        check.empty(answer, 304)
        assert answer.varies or not way.seen, answer
    os.chmod(file, 0o644)
    check.encoded(server.get("/bits/bits.html", ae=coding), coding, SSI)


# --- filters named in front of ours


@pytest.mark.parametrize("place,path,expected", [
    ("substitute", "a.html", BODY.replace(b"server", b"SERVER")),
    ("substitute", "pieces.cgi", BODY.replace(b"server", b"SERVER")),
    ("sed", "a.html", BODY.replace(b"server", b"SERVER")),
    ("external", "a.html", BODY.upper()),
    ("external", "pieces.cgi", BODY.upper()),
    ("external-html", "a.html", BODY.upper()),
    ("external-html", "a.css", BODY),
    ("lua", "a.html", BODY.upper()),
    ("case", "a.html", BODY.upper()),
    ("several", "a.html", BODY.upper().replace(b"SERVER", b"server")),
    ("charset", "latin.txt", LATIN.decode("latin-1").encode()),
    ("xml", "latin.html",
     b"<html><body>" + LATIN.decode("latin-1").encode() + b"</body></html>"),
    ("buffer", "pieces.cgi", BODY),
    ("buffer", "a.html", BODY),
    ("data", "a.html", b"data:text/html;base64," + base64.b64encode(BODY)),
])
def test_what_they_make_is_encoded(server, way, place, path, expected):
    plain = server.get(f"/{place}/{path}")
    check.plain(plain, expected)
    for _, answer in way.each(server, f"/{place}/{path}", expected):
        check.same_header(plain, answer, "Content-Type", "Last-Modified")


def test_what_they_make_of_another_type(server, way):
    body = BODY.replace(b"server", b"SERVER")
    for coding in way.codings:
        answer = server.get("/substitute/a.png", ae=coding)
        if way.typed:
            check.plain(answer, body, varies=False)
        else:
            check.encoded(answer, coding, body)


def test_their_failure_is_visible(server, way):
    """mod_substitute refuses lines of more than 1 KB after the header may have gone."""
    for coding in way.codings:
        server.expect_log("AH01328")
        answer = server.get("/long-lines/a.html", ae=coding)
        assert answer.status == 500 or not answer.complete, answer


def test_a_body_that_comes_back(server, way):
    """mod_reflector sends the request's body down the response's filters."""
    way.encodes(server, "/reflect/", BODY, method="POST", body=BODY,
                headers={"Content-Type": "text/html"})
