"""What a backend sends, changed on its way: links rewritten, gzip undone first, encoded anew."""

import gzip

import pytest

from kit import bodies, check

TEXT = bodies.text(30000)
PAGE = ("<html><head><title>t</title></head><body><p>%s</p>"
        '<a href="http://backend.example/x">x</a> é</body></html>')


@pytest.fixture(scope="module")
def server(httpd_shared, way, origin):
    page = PAGE % TEXT.decode()
    for name, type_, body in (("page", "text/html; charset=utf-8", page.encode()),
                              ("latin", "text/html; charset=iso-8859-1", page.encode("latin-1")),
                              ("css", "text/css", TEXT + b" url(http://backend.example/x)")):
        def answer(exchange, type_=type_, body=body):
            headers = {"Content-Type": type_, "ETag": '"o"'}
            if "x-zip" in exchange.headers:
                headers.update({"Content-Encoding": "gzip", "Vary": "Accept-Encoding"})
                exchange.respond(200, headers, gzip.compress(body, mtime=0))
            else:
                exchange.chunked(200, headers, bodies.pieces(body))

        origin.route(f"/{name}", answer)

    def place(name, *lines, filters=()):
        return (f"<Location /{name}/>\nProxyPass {origin.url}/\n{way.lines(*filters)}\n"
                + "\n".join(lines) + "\n</Location>\n")

    # INFLATE is mod_deflate's, or ours where our record of that name is loaded.
    stock = [] if "deflate" in way.records else ["deflate"]
    links = ("ProxyHTMLEnable On", "ProxyHTMLURLMap http://backend.example/ /p/",
             "ProxyHTMLLinks a href", "ProxyHTMLMeta On")
    return way.start(
        httpd_shared,
        place("links", *links)
        + place("unasked", "RequestHeader unset Accept-Encoding", *links)
        + place("inflated", "RequestHeader set X-Zip 1", *links, filters=["INFLATE"])
        + place("replaced", "RequestHeader set X-Zip 1",
                "Substitute s!http://backend.example/!/p/!",
                filters=["INFLATE", "SUBSTITUTE"])
        + place("only-inflated", "RequestHeader set X-Zip 1", filters=["INFLATE"])
        + place("through", "RequestHeader set X-Zip 1"),
        modules=["proxy", "proxy_http", "xml2enc", "proxy_html", "substitute", *stock])


def each(server, way, path):
    """The identity's response, and that each coding is of the same body."""
    plain = server.get(path)
    check.plain(plain, plain.body)
    for _, answer in way.each(server, path, plain.body):
        check.same_header(plain, answer, "Content-Type")
    return plain


@pytest.mark.parametrize("place", ["links", "inflated"])
@pytest.mark.parametrize("name", ["page", "latin"])
def test_links_are_rewritten(server, way, place, name):
    """mod_proxy_html makes UTF-8 of every page."""
    plain = each(server, way, f"/{place}/{name}")
    assert b'href="/p/x"' in plain.body and b"backend.example" not in plain.body
    assert TEXT in plain.body and "é".encode() in plain.body
    assert plain.headers["Content-Type"].lower() == "text/html;charset=utf-8"


def test_what_mod_proxy_html_leaves_alone(server, way):
    plain = each(server, way, "/links/css")
    assert plain.body == TEXT + b" url(http://backend.example/x)"


def test_a_client_that_is_not_asked_gets_the_identity(server, way):
    """The recipe that keeps backends from encoding keeps ours from it too."""
    for coding in way.codings:
        answer = server.get("/unasked/page", ae=coding)
        check.plain(answer, answer.body)
        assert b'href="/p/x"' in answer.body


def test_a_backends_gzip_is_undone_and_made_anew(server, way):
    plain = each(server, way, "/replaced/css")
    assert plain.body == TEXT + b" url(/p/x)"
    plain = each(server, way, "/only-inflated/css")
    assert plain.body == TEXT + b" url(http://backend.example/x)"


def test_a_backends_gzip_passes(server, way):
    for coding in ("gzip", "br", None):
        answer = server.get("/through/css", ae=coding)
        assert (answer.status, answer.coding) == (200, "gzip") and answer.varies, answer
        assert answer.body == TEXT + b" url(http://backend.example/x)"
        assert answer.headers["ETag"] == '"o"'
