"""Kinds of responses: without a body, made of subrequests, redirected within, of errors, already
encoded."""

import gzip

import pytest

from kit import bodies, check, env

BODY = bodies.html(30000)

STATUS_CGI = """\
status = os.environ['QUERY_STRING']
sys.stdin.buffer.read(int(os.environ.get('CONTENT_LENGTH') or 0))
head('Status: ' + status + ' Told', 'Content-Type: text/html', 'ETag: "e"')
if status not in ('204', '304'):
    out(bodies.html(30000))
"""

ENCODED_CGI = """\
import gzip
name = os.environ['QUERY_STRING']
head('Content-Type: text/html', 'Content-Encoding: ' + name)
data = bodies.html(30000)
out(gzip.compress(data, mtime=0) if name in ('gzip', 'x-gzip') else data)
"""


@pytest.fixture(scope="module")
def server(httpd_shared, origin):
    server = httpd_shared(
        "Elastic On\nDirectoryIndex index.html\nErrorDocument 404 /errors/missing.html\n"
        f"ProxyPass /origin/ {origin.url}/\n"
        "Redirect 302 /moved http://127.0.0.1/elsewhere\n"
        "RewriteEngine On\nRewriteRule ^/inside$ /page.html [PT]\n"
        "<Directory {docs}>\nOptions +Includes\nRewriteEngine On\n"
        "RewriteRule ^internal$ /page.html [L]\n</Directory>\n"
        "AddOutputFilter INCLUDES .shtml\nAddType text/html .shtml\n"
        "<Directory {docs}/secret>\nRequire all denied\n</Directory>\n"
        "AddEncoding x-gzip .gz\n",
        modules=["include", "rewrite", "proxy", "proxy_http"], tls=True, h2=True,
        files={"page.html": BODY, "dir/index.html": BODY, "errors/missing.html": BODY,
               "secret/a.html": BODY, "tiny.html": b"<p>tiny", "nothing.html": b"",
               "packed.html.gz": gzip.compress(BODY, mtime=0),
               "part.html": BODY[:9000],
               "whole.shtml": b"<html>" + bodies.text(3000)
                              + b'<!--#include virtual="/part.html" -->'
                              + b'<!--#include virtual="/status.cgi?200" --></html>'},
        cgi={"status.cgi": STATUS_CGI, "encoded.cgi": ENCODED_CGI})
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
    get = server.get(path, ae=ae, protocol=protocol)
    head = server.head(path, ae=ae, protocol=protocol)
    assert head.status == 200 and head.raw == b"" and head.complete
    check.same_header(get, head, "Content-Encoding", "Vary", "ETag", "Content-Type",
                      "Accept-Ranges")
    assert get.coding == ae and get.body == BODY
    length = head.headers.get("Content-Length")
    assert length is None or length == get.headers.get("Content-Length")


@pytest.mark.parametrize("path", ["/tiny.html", "/nothing.html", "/missing"])
def test_head_of_what_is_not_compressed(server, path):
    get, head = server.get(path, ae="gzip"), server.head(path, ae="gzip")
    assert head.raw == b"" and head.complete and head.status == get.status
    check.same_header(get, head, "Content-Encoding", "Vary", "Content-Type")
    if path == "/tiny.html":
        assert head.coding is None and head.headers.get("Content-Length") == "7"


def test_head_runs_no_encoder(server):
    head = server.head("/page.html", ae="gzip")
    notes = server.notes(head)
    assert notes["elastic-reason"] == "head" and "elastic-out" not in notes


def test_the_connection_stays_in_step_after_head(server):
    with server.connect() as connection:
        for path in ("/page.html", "/status.cgi?200", "/origin/head"):
            assert connection.request(path, "HEAD", "gzip").status == 200
            check.encoded(connection.request("/page.html", "GET", "gzip"), "gzip", BODY)


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


def test_the_connection_stays_in_step_after_204_and_304(server):
    with server.connect() as connection:
        for status in (204, 304):
            assert connection.request(f"/status.cgi?{status}", ae="gzip").status == status
            check.encoded(connection.request("/page.html", ae="br"), "br", BODY)


# --- made within the server


@pytest.mark.smoke
@pytest.mark.parametrize("coding", ["gzip", "br"])
def test_a_page_of_subrequests_is_one_body(server, coding):
    whole = b"<html>" + bodies.text(3000) + BODY[:9000] + BODY + b"</html>"
    check.encoded(server.get("/whole.shtml", ae=coding), coding, whole)


@pytest.mark.parametrize("path", ["/dir/", "/internal", "/inside"])
@pytest.mark.parametrize("coding", ["gzip", "br"])
def test_internal_redirects_are_compressed_once(server, path, coding):
    answer = server.get(path, ae=coding)
    check.encoded(answer, coding, BODY)
    assert server.notes(answer)["elastic-coding"] == coding


@pytest.mark.smoke
@pytest.mark.protocols()
def test_error_documents_of_ours_are_compressed(server, protocol):
    answer = server.get("/missing", ae="gzip", protocol=protocol)
    check.encoded(answer, "gzip", BODY, 404)


def test_canned_error_pages_pass(server):
    server.expect_log("AH01630")
    answer = server.get("/secret/a.html", ae="gzip")
    assert (answer.status, answer.coding) == (403, None)
    assert b"Forbidden" in answer.body


def test_redirects_pass(server):
    answer = server.get("/moved", ae="gzip")
    assert answer.status == 302 and answer.coding is None and b"elsewhere" in answer.body


# --- already encoded


@pytest.mark.smoke
@pytest.mark.parametrize("path", ["/packed.html.gz", "/encoded.cgi?gzip", "/encoded.cgi?x-gzip",
                                  "/origin/packed"])
@pytest.mark.parametrize("ae", ["gzip", "br", None])
def test_what_is_encoded_is_not_encoded_again(server, path, ae):
    answer = server.get(path, ae=ae)
    assert answer.coding in ("gzip", "x-gzip") and answer.body == BODY
    assert server.reason(answer) == "encoded"


def test_codings_unknown_to_us_pass(server):
    answer = server.get("/encoded.cgi?zz", ae="gzip")
    assert answer.coding == "zz" and answer.raw == BODY


@pytest.mark.parametrize("name", ["identity", "7bit", "8bit", "binary", "Identity"])
def test_what_says_that_it_is_not_encoded_is_compressed(server, name):
    check.encoded(server.get(f"/encoded.cgi?{name}", ae="gzip"), "gzip", BODY)


def test_trailers_of_a_backend_do_no_harm(server):
    check.encoded(server.get("/origin/trailers", ae="gzip"), "gzip", BODY)
