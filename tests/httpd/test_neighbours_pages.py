"""Neighbours that make whole pages: errors, listings, negotiated files, recipes for .gz files, and
the server's own."""

import base64
import gzip
import hashlib
import os

import brotli
import pytest

from kit import bodies, check

BODY = bodies.html(30000)
OTHER = BODY[::-1]
GZ = gzip.compress(BODY, mtime=0)
BR = brotli.compress(BODY)
OLD = 1_500_000_000

ERROR_CGI = """\
asked = os.environ['QUERY_STRING']
head(*(['Status: ' + asked + ' Told'] if asked else []), 'Content-Type: text/html', 'ETag: "e"')
out(bodies.html(30000))
"""

# From the documentation of mod_deflate, with the line that mod_brotli's has.
RECIPE = """\
<Directory {docs}/PLACE>
    CHAIN
    RewriteEngine On
    RewriteCond %{HTTP:Accept-Encoding} gzip
    RewriteCond %{REQUEST_FILENAME}.gz -s
    RewriteRule ^(.*)\\.css $1.css.gz [QSA]
    RewriteRule \\.css\\.gz$ - [T=text/css,ENVIRONMENT]
    <FilesMatch \\.css\\.gz$>
        Header append Content-Encoding gzip
        Header append Vary Accept-Encoding
    </FilesMatch>
</Directory>
"""

TYPE_MAP = """\
URI: page

URI: page.html.en
Content-Type: text/html
Content-Language: en

URI: page.html.de
Content-Type: text/html
Content-Language: de
"""


def recipe(way, name, environment):
    return (RECIPE.replace("PLACE", name).replace("CHAIN", way.lines())
            .replace("ENVIRONMENT", environment))


def handler(way, name):
    return f"<Location /{name}>\n{way.lines()}\nSetHandler {name}\n</Location>\n"


@pytest.fixture(scope="module")
def server(httpd_shared, way):
    at = way.at
    server = way.start(
        httpd_shared,
        at("plain")
        + at("errors", "ErrorDocument 404 /plain/error.html", "ErrorDocument 403 /plain/error.cgi",
             "ErrorDocument 410 /plain/error.cgi?418", "ErrorDocument 409 /plain/nowhere",
             'ErrorDocument 405 "%s"' % ("text " * 1000),
             "ErrorDocument 406 http://127.0.0.1/elsewhere")
        + "<Location /errors/denied>\nRequire all denied\n</Location>\n"
          "RedirectMatch 410 ^/errors/gone\nRedirectMatch 409 ^/errors/lost\n"
          "RedirectMatch 405 ^/errors/text\nRedirectMatch 406 ^/errors/away\n"
        + at("login", "AuthType Basic", "AuthName here", "AuthUserFile {root}/users",
             "Require valid-user", "ErrorDocument 401 /plain/error.html")
        + at("listing", "IndexOptions FancyIndexing TrackModified")
        + at("headed", "IndexOptions FancyIndexing", "HeaderName /plain/part.html")
        + "<Directory {docs}>\nOptions +Indexes\n</Directory>\n"
        + at("views", "AddLanguage de .de", "AddLanguage en .en", "AddHandler type-map .var")
        + at("packed", "AddEncoding x-gzip .gz", "AddEncoding br .br")
        + "<Directory {docs}/views>\nOptions +MultiViews\n</Directory>\n"
        + recipe(way, "recipe", "E=no-gzip:1,E=no-brotli:1")
        + recipe(way, "recipe-gzip", "E=no-gzip:1")
        + handler(way, "server-status") + handler(way, "server-info") + "ExtendedStatus On\n",
        modules=["autoindex", "negotiation", "rewrite", "status", "info", "authn_core",
                 "authn_file", "authz_user", "authz_host", "auth_basic"],
        files={"a.html": BODY, "error.html": BODY, "part.html": BODY, "page.html.gz": GZ,
               "page.html.br": BR, "views/page.html.en": BODY, "views/page.html.de": OTHER,
               "views/map.var": TYPE_MAP, "views/both.html": BODY, "views/both.html.gz": GZ,
               "recipe/a.css": BODY, "recipe/a.css.gz": GZ, "recipe/b.css": OTHER,
               "recipe-gzip/a.css": BODY, "recipe-gzip/a.css.gz": GZ},
        cgi={"error.cgi": ERROR_CGI})
    for n in range(100):
        server.write(f"many/file-{n:03d}-with-a-long-name.txt", b"")
    os.utime(server.docs / "many", (OLD, OLD))
    digest = base64.b64encode(hashlib.sha1(b"secret").digest()).decode()
    (server.root / "users").write_text(f"user:{{SHA}}{digest}\n")
    return server


def both(server, way, path, status=200, **kw):
    """Each coding of a page that is the same each time; the identity's response and theirs."""
    plain = server.get(path, **kw)
    check.plain(plain, plain.body, status)
    answers = [answer for _, answer in way.each(server, path, plain.body, status, **kw)]
    for answer in answers:
        check.same_header(plain, answer, "Content-Type", "Last-Modified", "Content-Language")
    return plain, answers


# --- errors


def error(server, way, path, status, body, **kw):
    """A page for an error; mod_filter's own ways leave it as it is."""
    for coding in way.codings:
        answer = server.get(path, ae=coding, **kw)
        if way.errors:
            check.encoded(answer, coding, body, status)
        else:
            check.whole(answer, None, body, status)
        yield answer


@pytest.mark.parametrize("path,status,log", [
    ("missing", 404, None), ("denied/a.html", 403, "AH01630"),
    # The script's own status takes the place of the error's.
    ("gone", 418, None)])
def test_pages_of_ours_for_errors(server, way, path, status, log):
    for answer in error(server, way, f"/errors/{path}", status, BODY):
        if log:
            server.expect_log(log)
        assert answer.headers["Content-Type"] == "text/html"


def test_a_page_for_errors_is_never_current(server, way):
    for answer in error(server, way, "/errors/missing", 404, BODY):
        tag = answer.headers.get("ETag", '"x"')
        for name, value in (("If-None-Match", tag), ("If-None-Match", "*"), ("If-Match", '"y"'),
                            ("Range", "bytes=0-9")):
            for again in error(server, way, "/errors/missing", 404, BODY, headers={name: value}):
                assert "Content-Range" not in again.headers


@pytest.mark.parametrize("path,status,text", [
    ("lost", 409, b"to use an ErrorDocument"),  # the page for the error is missing itself
    ("text", 405, b"text text"), ("away", 302, b"elsewhere")])
def test_httpds_own_text_passes(server, way, path, status, text):
    for coding in way.codings:
        answer = server.get(f"/errors/{path}", ae=coding)
        assert (answer.status, answer.coding) == (status, None), answer
        assert text in answer.body


def test_a_login(server, way):
    for answer in error(server, way, "/login/a.html", 401, BODY):
        assert answer.headers["WWW-Authenticate"] == 'Basic realm="here"'
    secret = base64.b64encode(b"user:secret").decode()
    headers = {"Authorization": f"Basic {secret}"}
    way.encodes(server, "/login/a.html", BODY, headers=headers)


# --- listings and negotiated files


def test_a_listing(server, way):
    plain, answers = both(server, way, "/listing/many/?C=N;O=D")
    assert b"file-099" in plain.body
    tag = plain.headers["ETag"].strip('"')
    for coding, answer in zip(way.codings, answers, strict=True):
        assert answer.headers["ETag"] == way.tagged(tag, coding)


def test_a_listing_below_a_page(server, way):
    """mod_autoindex takes Accept-Encoding from the request while the page comes."""
    plain, _ = both(server, way, "/headed/many/")
    assert b"file-099" in plain.body and bodies.text(100) in plain.body


@pytest.mark.parametrize("name", ["page", "map.var"])
@pytest.mark.parametrize("language", ["de", "en"])
def test_negotiated_languages(server, way, name, language):
    body = BODY if language == "en" else OTHER
    plain, answers = both(server, way, f"/views/views/{name}",
                          headers={"Accept-Language": language})
    assert plain.body == body and plain.headers["Content-Language"] == language
    for answer in answers:
        assert answer.has_token("Vary", "accept-language")
        names = answer.headers["Vary"].lower().replace(" ", "").split(",")
        assert len(names) == len(set(names)), answer


def test_a_packed_variant_is_sent_as_it_is(server, way):
    """mod_negotiation chose it; a client that takes none of its coding gets the plain file."""
    answer = server.get("/packed/views/both", ae="gzip")
    assert (answer.status, answer.raw) == (200, GZ) and answer.varies, answer
    assert answer.coding.removeprefix("x-") == "gzip"  # mod_mime uses the client's word
    check.plain(server.get("/packed/views/both", ae="identity"), BODY)
    if "br" in way.codings:
        check.encoded(server.get("/packed/views/both", ae="br, gzip;q=0"), "br", BODY)


# --- what is packed already


@pytest.mark.parametrize("coding", ["gzip", "br"])
def test_packed_files_pass(server, way, coding):
    name, raw = {"gzip": ("gz", GZ), "br": ("br", BR)}[coding]
    for ae in ("gzip", "br", "gzip, br", None):
        answer = server.get(f"/packed/page.html.{name}", ae=ae)
        assert (answer.status, answer.coding.removeprefix("x-")) == (200, coding), answer
        assert answer.raw == raw


@pytest.mark.parametrize("place", ["recipe", "recipe-gzip"])
def test_the_recipe_for_packed_files(server, way, place):
    answer = server.get(f"/{place}/a.css", ae="gzip")
    assert (answer.status, answer.coding, answer.raw) == (200, "gzip", GZ), answer
    assert answer.headers["Content-Type"] == "text/css" and answer.varies
    check.plain(server.get(f"/{place}/a.css"), BODY)
    if "br" in way.codings:
        check.encoded(server.get(f"/{place}/a.css", ae="br"), "br", BODY)


def test_the_recipe_for_clients_that_take_both(server, way):
    answer = server.get("/recipe/a.css", ae="gzip, br")
    assert (answer.status, answer.coding, answer.raw) == (200, "gzip", GZ), answer
    way.encodes(server, "/recipe/b.css", OTHER)


# --- the server's own pages


@pytest.mark.parametrize("path,text", [("server-status", b"Server uptime"),
                                       ("server-info", b"Module Name"),
                                       ("server-status?auto", b"ServerUptimeSeconds")])
def test_the_servers_own_pages(server, way, path, text):
    for coding in way.codings:
        answer = server.get(f"/{path}", ae=coding)
        if path.endswith("auto") and answer.coding is None:
            assert len(answer.raw) < 2000 and server.get(f"/{path}").coding is None
        else:
            check.encoded(answer, coding, answer.body)
        assert text in answer.body
