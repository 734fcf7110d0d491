"""Kinds of responses: without a body, cut into any buckets, redirected within, of errors, already
encoded."""

import gzip

import pytest

from kit import at, bodies, check, env

BODY = bodies.html(30000)

STATUS_CGI = """\
status = os.environ['QUERY_STRING']
sys.stdin.buffer.read(int(os.environ.get('CONTENT_LENGTH') or 0))
head('Status: ' + status + ' Told', 'Content-Type: text/html', 'ETag: "e"')
if status not in ('204', '304'):
    out(bodies.html(30000))
os.close(1)
"""

ENCODED_CGI = """\
import gzip
name = os.environ['QUERY_STRING']
head('Content-Type: text/html', 'Content-Encoding: ' + name)
data = bodies.html(30000)
out(gzip.compress(data, mtime=0) if name in ('gzip', 'x-gzip') else data)
"""


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
    server = httpd_shared(
        # A length is that of a level.
        "Elastic On\nElasticControl off\n"
        "DirectoryIndex index.html\nErrorDocument 404 /errors/missing.html\n"
        f"ProxyPass /origin/ {origin.url}/\n"
        "RewriteEngine On\nRewriteRule ^/inside$ /page.html [PT]\n"
        "<Directory {docs}>\nRewriteEngine On\n"
        "RewriteRule ^internal$ /page.html [L]\n</Directory>\n"
        "AddEncoding x-gzip .gz\nAddHandler send-as-is .asis\n"
        + at("cut", "SetOutputFilter BUCKETEER"),
        modules=["rewrite", "proxy", "proxy_http", "bucketeer", "asis"], tls=True,
        h2=True,
        files={"page.html": BODY, "dir/index.html": BODY, "errors/missing.html": BODY,
               "tiny.html": b"<p>tiny", "nothing.html": b"", "noise.json": bodies.noise(20000),
               "large.txt": bodies.text(1_100_000),
               "packed.html.gz": gzip.compress(BODY, mtime=0),
               "as.asis": b"Content-Type: text/html\n\n" + BODY,
               **{f"{name}.txt": data for name, (_, data) in CUTS.items()}},
        cgi={"status.cgi": STATUS_CGI, "encoded.cgi": ENCODED_CGI,
             "untyped.cgi": "head('X-None: 1')\nout('x' * 9000)\n",
             # Its body ends at once, however long the script takes to exit.
             "closing.cgi": "head('Content-Type: text/html')\nout(bodies.html(30000))\n"
                            "os.close(1)\n",
             "nothing.cgi": "head('Content-Type: text/html')\n",
             "silent.cgi": "pass\n"})
    html = {"Content-Type": "text/html"}
    origin.route("/head", lambda e: e.respond(200, {**html, "ETag": '"o"'}, BODY))
    origin.route("/packed", lambda e: e.respond(
        200, {**html, "Content-Encoding": "gzip"}, gzip.compress(BODY, mtime=0)))
    origin.route("/trailers", lambda e: e.send(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"%x\r\n%s\r\n0\r\nX-Trailer: 1\r\n\r\n" % (len(BODY), BODY)))
    return server


# --- HEAD


@pytest.mark.smoke
@pytest.mark.protocols()
@pytest.mark.parametrize("path", ["/page.html", "/status.cgi?200", "/origin/head"])
@pytest.mark.parametrize("ae", ["gzip", "br", None])
def test_head_has_gets_header_and_no_body(server, protocol, path, ae):
    get, head = check.once(lambda: (server.get(path, ae=ae, protocol=protocol),
                                    server.head(path, ae=ae, protocol=protocol)),
                           check.same_length)
    check.head_of(get, head, "Accept-Ranges")
    check.whole(get, ae, BODY)
    if path == "/page.html":
        check.same_header(get, head, "Content-Length")


def test_head_of_a_script_has_the_length_of_a_body_that_get_encodes_whole(server):
    get, head = (check.once(lambda ask=ask: ask("/closing.cgi", ae="gzip"),
                            lambda answer: "Content-Length" in answer.headers)
                 for ask in (server.get, server.head))
    check.encoded(get, "gzip", BODY)
    assert head.headers["Content-Length"] == str(len(get.raw))


@pytest.mark.parametrize("ae", ["gzip", "br"])
@pytest.mark.parametrize("path,coding,length", [
    ("/tiny.html", None, "7"), ("/nothing.html", None, "0"), ("/missing", "encoded", None),
    ("/noise.json", None, "20000"), ("/large.txt", "encoded", None)])
def test_head_says_what_get_would_say(server, path, coding, length, ae):
    """What is too small, what does not shrink, an error's document, and what is a stream."""
    get, head = server.get(path, ae=ae), server.head(path, ae=ae)
    assert get.coding == (ae if coding else None)
    check.head_of(get, head, "Accept-Ranges")
    # httpd leaves out the length 0 of a HEAD.
    assert get.headers.get("Content-Length") == length or path == "/missing"
    if path != "/nothing.html":
        check.same_header(get, head, "Content-Length")


def test_head_is_no_compressed_response(server):
    for path in ("/page.html", "/large.txt"):
        notes = server.notes(server.head(path, ae="gzip"))
        assert notes["elastic-reason"] == "head" and "elastic-out" not in notes
    assert server.reason(server.head("/noise.json", ae="gzip")) == "not-smaller"


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


# --- statuses


@pytest.mark.smoke
@pytest.mark.protocols()
@pytest.mark.parametrize("status", [204, 304])
def test_statuses_without_a_body(server, protocol, status):
    answer = server.get(f"/status.cgi?{status}", ae="gzip", protocol=protocol)
    assert answer.status == status and answer.raw == b"" and answer.complete
    assert answer.coding is None
    if protocol not in env.HTTP2:
        assert "Transfer-Encoding" not in answer.headers
    assert answer.varies == (status == 304)


@pytest.mark.parametrize("status", [200, 201, 202, 203, 400, 403, 404, 409, 410, 422, 500, 503])
def test_statuses_with_a_body_are_compressed(server, status):
    check.encoded(server.get(f"/status.cgi?{status}", ae="gzip"), "gzip", BODY, status)


def test_post_is_compressed(server):
    answer = server.get("/status.cgi?200", ae="br", method="POST", body=b"a=b")
    check.encoded(answer, "br", BODY)


@pytest.mark.smoke
@pytest.mark.parametrize("coding", ["gzip", "br"])
@pytest.mark.parametrize("name", CUTS)
def test_bodies_cut_into_any_buckets(server, name, coding):
    check.encoded(server.get(f"/cut/{name}.txt", ae=coding), coding, bodies.text(CUTS[name][0]))


def test_as_is_files_are_compressed(server):
    check.encoded(server.get("/as.asis", ae="br"), "br", BODY)


def test_a_response_without_a_type_passes(server):
    check.whole(server.get("/untyped.cgi", ae="gzip"), None, b"x" * 9000)


@pytest.mark.parametrize("ae", ["gzip", "br", None])
def test_a_script_that_writes_no_body_or_nothing(server, ae):
    nothing = check.once(lambda: server.get("/nothing.cgi", ae=ae),
                         lambda answer: answer.coding is None)
    check.plain(nothing, b"")
    server.expect_log("End of script output before headers")
    assert server.get("/silent.cgi", ae=ae).status == 500


# --- made within the server


@pytest.mark.parametrize("path", ["/dir/", "/internal", "/inside"])
@pytest.mark.parametrize("coding", ["gzip", "br"])
def test_internal_redirects_are_compressed_once(server, path, coding):
    answer = server.get(path, ae=coding)
    check.encoded(answer, coding, BODY)
    assert server.notes(answer)["elastic-coding"] == coding


@pytest.mark.smoke
@pytest.mark.protocols()
def test_error_documents_of_ours_are_compressed(server, protocol):
    check.encoded(server.get("/missing", ae="gzip", protocol=protocol), "gzip", BODY, 404)


# --- already encoded


@pytest.mark.smoke
@pytest.mark.parametrize("path", ["/packed.html.gz", "/encoded.cgi?gzip", "/encoded.cgi?x-gzip",
                                  "/origin/packed"])
@pytest.mark.parametrize("ae", ["gzip", "br", None])
def test_what_is_encoded_is_not_encoded_again(server, path, ae):
    answer = server.get(path, ae=ae)
    assert answer.coding in ("gzip", "x-gzip") and answer.body == BODY
    assert server.reason(answer) == "encoded"


def test_trailers_of_a_backend_do_no_harm(server):
    check.encoded(server.get("/origin/trailers", ae="gzip"), "gzip", BODY)
