"""Modules that make whole pages: errors, listings, negotiated files, recipes for .gz files, and the
server's own pages."""

import base64
import gzip
import hashlib
import os

import pytest

from kit import bodies, check

BODY = bodies.html(30000)
OTHER = BODY[::-1]
GZ = gzip.compress(BODY, mtime=0)
LOGIN = {"Authorization": "Basic " + base64.b64encode(b"user:secret").decode()}
USERS = "user:{SHA}" + base64.b64encode(hashlib.sha1(b"secret").digest()).decode() + "\n"

ERROR_CGI = """\
asked = os.environ['QUERY_STRING']
head(*(['Status: ' + asked + ' Told'] if asked else []), 'Content-Type: text/html', 'ETag: "e"')
out(bodies.html(30000))
"""

TYPE_MAP = b"""\
URI: page

URI: page.html.en
Content-Type: text/html
Content-Language: en

URI: page.html.de
Content-Type: text/html
Content-Language: de
"""

# From the documentation of mod_deflate, with the line for mod_brotli.
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

ERRORS = """
<Location /errors/denied>
    Require all denied
</Location>
RedirectMatch 410 ^/errors/gone
RedirectMatch 409 ^/errors/lost
RedirectMatch 405 ^/errors/text
RedirectMatch 406 ^/errors/away
<Directory {docs}>
    Options +Indexes
</Directory>
<Directory {docs}/views>
    Options +MultiViews
</Directory>
ExtendedStatus On
"""


@pytest.fixture(scope="module")
def server(httpd_shared, way):
    at = way.at
    config = (
        at("plain")
        + at("errors", "ErrorDocument 404 /plain/error.html", "ErrorDocument 403 /plain/error.cgi",
             "ErrorDocument 410 /plain/error.cgi?418", "ErrorDocument 409 /plain/nowhere",
             'ErrorDocument 405 "%s"' % ("text " * 1000),
             "ErrorDocument 406 http://127.0.0.1/elsewhere")
        + ERRORS
        + at("login", "AuthType Basic", "AuthName here", "AuthUserFile {root}/users",
             "Require valid-user", "ErrorDocument 401 /plain/error.html")
        + at("listing", "IndexOptions FancyIndexing TrackModified")
        + at("headed", "IndexOptions FancyIndexing", "HeaderName /plain/part.html")
        + at("views", "AddLanguage de .de", "AddLanguage en .en", "AddHandler type-map .var")
        + at("packed", "AddEncoding x-gzip .gz"))
    for name, environment in (("recipe", "E=no-gzip:1,E=no-brotli:1"),
                              ("recipe-gzip", "E=no-gzip:1")):
        config += (RECIPE.replace("PLACE", name).replace("CHAIN", way.lines)
                   .replace("ENVIRONMENT", environment))
    for name in ("server-status", "server-info"):
        config += f"<Location /{name}>\n{way.lines}\nSetHandler {name}\n</Location>\n"
    server = way.start(
        httpd_shared, config,
        modules=["autoindex", "negotiation", "rewrite", "status", "info", "authn_core",
                 "authn_file", "authz_user", "authz_host", "auth_basic"],
        files={"a.html": BODY, "error.html": BODY, "part.html": BODY, "views/page.html.en": BODY,
               "views/page.html.de": OTHER, "views/map.var": TYPE_MAP,
               "views/both.html": BODY, "views/both.html.gz": GZ,
               "recipe/a.css": BODY, "recipe/a.css.gz": GZ, "recipe/b.css": OTHER,
               "recipe-gzip/a.css": BODY, "recipe-gzip/a.css.gz": GZ, "recipe-gzip/b.css": OTHER,
               **{f"many/file-{n:03d}-with-a-long-name.txt": b"" for n in range(100)}},
        cgi={"error.cgi": ERROR_CGI})
    os.utime(server.docs / "many", (1_500_000_000,) * 2)
    (server.root / "users").write_text(USERS)
    return server


# --- errors


@pytest.mark.parametrize("path,status", [
    ("errors/missing", 404), ("errors/denied/a.html", 403), ("login/a.html", 401),
    ("errors/gone", 418)])  # the script's own status replaces the error's
def test_pages_of_ours_for_errors(server, way, path, status):
    """They are complete and never up to date; mod_filter's own ways leave them as they are."""
    server.expect_log("AH01630")
    for coding in way.codings:
        for asked in ({}, {"If-None-Match": "*"}, {"If-Match": '"y"'}, {"Range": "bytes=0-9"}):
            answer = server.get(f"/{path}", ae=coding, headers=asked)
            if way.errors:
                check.encoded(answer, coding, BODY, status)
            else:
                check.whole(answer, None, BODY, status)
            assert answer.headers["Content-Type"] == "text/html"
            assert "Content-Range" not in answer.headers
    assert status != 401 or answer.headers["WWW-Authenticate"] == 'Basic realm="here"'


def test_a_login(server, way):
    way.encodes(server, "/login/a.html", BODY, headers=LOGIN)


@pytest.mark.parametrize("path,status,text", [
    ("lost", 409, b"to use an ErrorDocument"),  # the error page itself is missing
    ("text", 405, b"text text"), ("away", 302, b"elsewhere")])
def test_httpds_own_text_passes(server, way, path, status, text):
    for coding in way.codings:
        answer = server.get(f"/errors/{path}", ae=coding)
        assert (answer.status, answer.coding) == (status, None), answer
        assert text in answer.body


# --- listings and negotiated files


@pytest.mark.parametrize("path,body,asked", [
    ("listing/many/?C=N;O=D", None, {}),
    # mod_autoindex hides Accept-Encoding while it sends the page above the listing.
    ("headed/many/", None, {}),
    *((f"views/views/{name}", body, {"Accept-Language": language})
      for name in ("page", "map.var") for language, body in (("en", BODY), ("de", OTHER)))])
def test_listings_and_negotiated_languages(server, way, path, body, asked):
    plain = server.get(f"/{path}", headers=asked)
    check.plain(plain, body or plain.body)
    assert body or b"file-099" in plain.body
    for coding, answer in way.each(server, f"/{path}", plain.body, headers=asked):
        check.same_header(plain, answer, "Content-Type", "Last-Modified", "Content-Language")
        names = answer.headers["Vary"].lower().replace(" ", "").split(",")
        assert len(names) == len(set(names)) and ("accept-language" in names) == bool(asked)
        if path.startswith("listing"):
            assert answer.headers["ETag"] == way.tagged(plain.headers["ETag"].strip('"'), coding)


def test_a_packed_variant_is_sent_as_it_is(server, way):
    """mod_negotiation chose it; a client that does not accept its coding gets the plain file."""
    answer = server.get("/packed/views/both", ae="gzip")
    assert (answer.status, answer.raw) == (200, GZ) and answer.varies, answer
    assert answer.coding.removeprefix("x-") == "gzip"  # mod_mime uses the client's word
    check.plain(server.get("/packed/views/both", ae="identity"), BODY)
    if "br" in way.codings:
        check.encoded(server.get("/packed/views/both", ae="br, gzip;q=0"), "br", BODY)


# --- packed files


@pytest.mark.parametrize("place", ["recipe", "recipe-gzip"])
def test_the_recipe_for_packed_files(server, way, place):
    for ae in ("gzip", *["gzip, br"] * (place == "recipe")):
        answer = server.get(f"/{place}/a.css", ae=ae)
        assert (answer.status, answer.coding, answer.raw) == (200, "gzip", GZ), answer
        assert answer.headers["Content-Type"] == "text/css" and answer.varies
    check.plain(server.get(f"/{place}/a.css"), BODY)
    way.encodes(server, f"/{place}/b.css", OTHER)
    if "br" in way.codings:
        check.encoded(server.get(f"/{place}/a.css", ae="br"), "br", BODY)


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
