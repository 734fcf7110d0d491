"""Kinds of responses: without a body, in all sorts of buckets, redirected internally, errors,
encoded already."""

import gzip

import pytest

from kit import at, bodies, check, env

pytestmark = pytest.mark.rules

BODY = bodies.html(30000)

PACKED = gzip.compress(BODY, mtime=0)
CGI = {
    "status.cgi": """\
status = os.environ['QUERY_STRING']
sys.stdin.buffer.read(int(os.environ.get('CONTENT_LENGTH') or 0))
whole(b"" if status in ('204', '304') else bodies.html(30000),
      'Status: ' + status + ' Told', 'Content-Type: text/html', 'ETag: "e"')
""",
    "encoded.cgi": """\
import gzip
head('Content-Type: text/html', 'Content-Encoding: ' + os.environ['QUERY_STRING'])
out(gzip.compress(bodies.html(30000), mtime=0))
""",
    "untyped.cgi": "head('X-None: 1')\nout('x' * 9000)\n",
    "nothing.cgi": "whole(b'', 'Content-Type: text/html')\n", "silent.cgi": "pass\n"}

# mod_bucketeer ends a bucket at \x02 and a brigade at \x10, and flushes at \x06.
CUTS = {
    "buckets": (3000, b"\x02".join(bodies.pieces(bodies.text(3000), (1, 40, 999)))),
    "brigades": (30000, b"\x10".join(bodies.pieces(bodies.text(30000), (1, 40, 9999)))),
    "flushes": (30000, b"\x06".join(bodies.pieces(bodies.text(30000), (1, 40, 9999)))),
    "mixed": (30000, b"\x06\x06\x02\x10\x06"
              + b"\x10\x02\x06".join(bodies.pieces(bodies.text(30000)))),
}


@pytest.fixture(scope="module")
def server(httpd_shared, origin):
    html = {"Content-Type": "text/html"}
    origin.route("/head", lambda e: e.respond(200, {**html, "ETag": '"o"'}, BODY))
    origin.route("/packed", lambda e: e.respond(200, {**html, "Content-Encoding": "gzip"}, PACKED))
    origin.route("/trailers", lambda e: e.send(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"%x\r\n%s\r\n0\r\nX-Trailer: 1\r\n\r\n" % (len(BODY), BODY)))
    return httpd_shared(
        # A length is only known at a fixed level.
        "Elastic On\nElasticControl off\n"
        "DirectoryIndex index.html\nErrorDocument 404 /errors/missing.html\n"
        f"ProxyPass /origin/ {origin.url}/\n"
        "RewriteEngine On\nRewriteRule ^/inside$ /page.html [PT]\n"
        "<Directory {docs}>\nRewriteEngine On\n"
        "RewriteRule ^internal$ /page.html [L]\n</Directory>\n"
        "AddEncoding x-gzip .gz\nAddHandler send-as-is .asis\nAddType application/x-httpd-cgi .x\n"
        + at("cut", "SetOutputFilter BUCKETEER"),
        modules=["rewrite", "proxy", "proxy_http", "bucketeer", "asis"], tls=True, h2=True,
        cgi={**CGI, "typed.x": CGI["status.cgi"]},
        files={"page.html": BODY, "dir/index.html": BODY, "errors/missing.html": BODY,
               "tiny.html": b"<p>tiny", "nothing.html": b"", "noise.json": bodies.noise(20000),
               "large.txt": bodies.text(1_100_000), "packed.html.gz": PACKED,
               "as.asis": b"Content-Type: text/html\n\n" + BODY,
               **{f"{name}.txt": data for name, (_, data) in CUTS.items()}})


# Encoded responses, however they were made: (path, status, body).
ENCODED = [
    *((f"/status.cgi?{status}", status, BODY) for status in (200, 203, 404, 410, 500)),
    *((f"/cut/{name}.txt", 200, bodies.text(size)) for name, (size, _) in CUTS.items()),
    # Made inside the server: by redirects, for errors, from files with their own header.
    *((path, 200, BODY) for path in ("/dir/", "/internal", "/inside", "/as.asis")),
    ("/missing", 404, BODY),
    ("/typed.x?200", 200, BODY),  # by mod_cgi, because of its type; the answer has another one
    ("/origin/trailers", 200, BODY),
]


@pytest.mark.smoke
@pytest.mark.parametrize("coding", ["gzip", "br"])
@pytest.mark.parametrize("path,status,body", ENCODED, ids=[row[0] for row in ENCODED])
def test_statuses_with_a_body_are_compressed(server, path, status, body, coding):
    answer = server.get(path, ae=coding)
    check.encoded(answer, coding, body, status)
    assert server.notes(answer)["elastic-coding"] == coding
    if "cgi" in path:
        posted = server.get(path, ae=coding, method="POST", body=b"a=b")
        check.encoded(posted, coding, body, status)


@pytest.mark.smoke
@pytest.mark.parametrize("path", ["/packed.html.gz", "/encoded.cgi?gzip", "/encoded.cgi?x-gzip",
                                  "/origin/packed"])
@pytest.mark.parametrize("ae", ["gzip", "br", None])
def test_what_is_encoded_is_not_encoded_again(server, path, ae):
    answer = server.get(path, ae=ae)
    assert answer.coding in ("gzip", "x-gzip") and answer.body == BODY
    assert server.reason(answer) == "encoded"


@pytest.mark.parametrize("ae", ["gzip", "br", None])
def test_a_script_without_a_type_a_body_or_anything(server, ae):
    check.whole(server.get("/untyped.cgi", ae=ae), None, b"x" * 9000)
    nothing = check.once(lambda: server.get("/nothing.cgi", ae=ae),
                         lambda answer: answer.coding is None)
    check.plain(nothing, b"")
    server.expect_log("End of script output before headers")
    assert server.get("/silent.cgi", ae=ae).status == 500


@pytest.mark.smoke
@pytest.mark.protocols()
@pytest.mark.parametrize("path,status", [
    ("/status.cgi?204", 204), ("/status.cgi?304", 304), ("/missing", 404)])
def test_statuses_over_every_protocol(server, protocol, path, status):
    answer = server.get(path, ae="gzip", protocol=protocol)
    if status == 404:
        check.encoded(answer, "gzip", BODY, 404)
    else:
        check.empty(answer, status)
        assert protocol in env.HTTP2 or "Transfer-Encoding" not in answer.headers
        assert answer.varies == (status == 304)


@pytest.mark.smoke
@pytest.mark.protocols()
@pytest.mark.parametrize("path", ["/page.html", "/status.cgi?200", "/origin/head"])
@pytest.mark.parametrize("ae", ["gzip", "br", None])
def test_head_has_gets_header_and_no_body(server, protocol, path, ae):
    get, head = check.once(lambda: (server.get(path, ae=ae, protocol=protocol),
                                    server.head(path, ae=ae, protocol=protocol)),
                           check.same_length)
    # mod_http2 of httpd 2.4.71 gives HEAD some of the body of a script that nobody encodes.
    if protocol in env.HTTP2 and path.startswith("/status.cgi") and not ae:
        assert head.raw in BODY
        head.pieces.clear()
    check.head_of(get, head, "Accept-Ranges")
    check.whole(get, ae, BODY)
    if path == "/page.html":
        check.same_header(get, head, "Content-Length")


def test_head_of_a_script_has_the_length_of_a_body_that_get_encodes_whole(server):
    """Whole: with the length of a file of the same bytes. A script that a busy machine interrupts
    is encoded in pieces, and may have another length."""
    length = server.get("/page.html", ae="gzip").headers["Content-Length"]
    get, head = (check.once(lambda ask=ask: ask("/status.cgi?200", ae="gzip"),
                            lambda answer: answer.headers.get("Content-Length") == length)
                 for ask in (server.get, server.head))
    check.encoded(get, "gzip", BODY)
    assert get.headers["Content-Length"] == head.headers["Content-Length"] == length


@pytest.mark.parametrize("ae", ["gzip", "br"])
@pytest.mark.parametrize("path,coded,length,reason", [
    ("/tiny.html", False, "7", "small"), ("/nothing.html", False, "0", "small"),
    ("/missing", True, None, "head"), ("/noise.json", False, "20000", "not-smaller"),
    ("/large.txt", True, None, "head"), ("/page.html", True, None, "head")])
def test_head_says_what_get_would_say(server, path, coded, length, reason, ae):
    """Small bodies, bodies that do not shrink, error documents and streams. HEAD is no compressed
    response."""
    get, head = server.get(path, ae=ae), server.head(path, ae=ae)
    assert get.coding == (ae if coded else None)
    check.head_of(get, head, "Accept-Ranges")
    assert length is None or get.headers["Content-Length"] == length
    assert path != "/large.txt" or "Content-Length" not in get.headers
    if path != "/nothing.html":  # httpd omits the length 0 for HEAD
        check.same_header(get, head, "Content-Length")
    notes = server.notes(head)
    assert notes["elastic-reason"] == reason and "elastic-out" not in notes


@pytest.mark.parametrize("method,path,status", [
    *(("HEAD", path, 200) for path in ("/page.html", "/status.cgi?200", "/origin/head")),
    ("GET", "/status.cgi?204", 204), ("GET", "/status.cgi?304", 304),
    ("OPTIONS", "/page.html", 200), ("TRACE", "/page.html", 200),
    ("DELETE", "/page.html", 405), ("PUT", "/page.html", 405)])
def test_the_next_response_begins_where_one_ended(server, method, path, status):
    with server.connect() as connection:
        answer = connection.request(path, method, "gzip")
        assert answer.status == status and answer.complete
        assert answer.coding is None or method == "HEAD" or answer.body
        for coding in ("gzip", "br"):
            check.encoded(connection.request("/page.html", "GET", coding), coding, BODY)
