"""Precompressed siblings beside modules that decide late, and beside rules that are about the
sibling itself: what a client could not have by asking for it, it does not get in place of the file.
"""

import gzip
import time

import brotli
import pytest

from kit import bodies, check, env

BODY = bodies.html(30000)
BR = brotli.compress(BODY, quality=11)
GZ = gzip.compress(BODY, 9, mtime=0)
OLD = int(time.time()) - 1000

# Those that answer for a file, or change what is asked for, by rules of their own.
LATE = ("actions", "imagemap", "asis", "negotiation", "dav", "dav_fs", "speling", "proxy",
        "proxy_http", "rewrite", "userdir", "autoindex")

CONFIG = """
Elastic On
ElasticPrecompressed On
RewriteEngine On
DavLockDB {root}/run/dav
UserDir {root}/users/*
AddType text/x-acted .acted
Action text/x-acted /made.cgi
AddHandler acted-by-name .named
Action acted-by-name /made.cgi
AddHandler imap-file .map
AddHandler send-as-is .asis
AddHandler type-map .var
<Location /dav>
    Dav On
</Location>
<Location /speling>
    CheckSpelling On
</Location>
<Location /set>
    SetHandler cgi-script
</Location>
<Directory {docs}/proxied>
    <FilesMatch "html$">
        SetHandler proxy:ORIGIN
    </FilesMatch>
</Directory>
<Directory {docs}/per-directory>
    RewriteEngine On
    RewriteRule "^page\\.html$" "/made.cgi"
</Directory>

# Rules about the siblings' URLs; those of br are let alone.
RewriteRule "^/r-forbidden/.*\\.gz$" "-" [F]
RewriteRule "^/r-gone/.*\\.gz$" "-" [G]
RewriteRule "^/r-other/.*\\.gz$" "/all/other.html"
RewriteRule "^/r-proxy/.*\\.gz$" "ORIGIN/x" [P]
RewriteRule "^/r-handler/.*\\.gz$" "-" [H=cgi-script]
ProxyPassMatch "^/p-match/.*\\.gz$" "ORIGIN/x"
RedirectMatch 404 "^/a-hidden/.*\\.gz$"
RedirectMatch "^/a-moved/.*\\.gz$" "/all/other.html"
AliasMatch "^/a-other/.*\\.gz$" "{docs}/all/other.html"
<LocationMatch "^/l-denied/.*\\.gz$">
    Require all denied
</LocationMatch>
<LocationMatch "^/l-handled/.*\\.gz$">
    SetHandler cgi-script
</LocationMatch>
<Directory {docs}/d-rule>
    RewriteEngine On
    RewriteRule "\\.gz$" "-" [F]
</Directory>
<Directory {docs}/f-handled>
    <FilesMatch "\\.gz$">
        SetHandler cgi-script
    </FilesMatch>
</Directory>
<Directory {docs}/h-added>
    AddHandler send-as-is .gz
</Directory>

# Rules that lead to a file whose siblings nothing forbids.
RewriteRule "^/versions/[0-9]+/(.*)$" "/all/$1"
RewriteRule "^/pretty$" "/all/page.html"
RewriteRule "^/front" "/all/page.html"
RewriteRule "^/latest/page\\.html$" "/all/page.html"
Alias /alias {docs}/all
AliasMatch "^/short$" "{docs}/all/page.html"
<Directory {docs}/default>
    SetHandler default-handler
</Directory>

<Directory {docs}/denied>
    <Files "*.br">
        Require all denied
    </Files>
</Directory>
"""

# Of each of these, the client gets what another module makes.
MADE = ["made/x.acted", "made/x.named", "made/x.cgi", "set/x.html", "per-directory/page.html"]
OTHERS = ["other/x.map", "other/x.asis", "other/x.var", "proxied/page.html"]
FORBIDDEN = ["r-forbidden", "r-gone", "r-other", "r-proxy", "r-handler", "p-match",
             "a-hidden", "a-moved", "a-other", "l-denied", "l-handled", "d-rule", "f-handled",
             "h-added"]
MAKES = "head('Content-Type: text/html')\nout('made' * 2000)\n"


def add_set(server, name, *extensions, body=BODY):
    server.write(name, body, OLD)
    for extension in extensions:
        server.write(f"{name}.{extension}", {"br": BR, "gz": GZ}[extension], OLD + 1)


def load(names):
    return "".join(f"LoadModule {name}_module {env.module_path(name)}\n" for name in names)


@pytest.fixture(scope="module", params=["before", "after"])
def site(httpd_shared, origin, request):
    """The module is loaded before those, and after them."""
    config = CONFIG.replace("ORIGIN", origin.url)
    if request.param == "before":
        server = httpd_shared(load(LATE) + config)
    else:
        server = httpd_shared(config, modules=LATE)
    origin.route("/x", lambda exchange: exchange.respond(200, {}, b"proxied" * 2000))
    origin.route(f"{server.docs}/proxied/page.html",
                 lambda exchange: exchange.respond(200, {}, b"proxied" * 2000))
    server.cgi("made.cgi", MAKES)
    for path in (*MADE, *OTHERS):
        add_set(server, path, "br", "gz")
    for path in ("made/x.cgi", "set/x.html"):
        server.cgi(path, MAKES)
    server.write("other/x.asis", b"Content-Type: text/html\n\n" + b"as it is" * 2000, OLD)
    server.write("other/x.map", b"default /all/other.html\n", OLD)
    server.write("other/x.var", b"URI: ../all/other.html\nContent-Type: text/html\n", OLD)
    server.write("all/other.html", b"other" * 2000, OLD)
    for folder in ("all", "dav", "speling", "default", *FORBIDDEN):
        add_set(server, f"{folder}/page.html", "br", "gz")
    add_set(server, "denied/page.html", "br")
    add_set(server, "all/a b%41#?&.html", "br", "gz")
    add_set(server, "all/x%41.html", "br", "gz")
    for extension in ("br", "gz"):  # what the URL without its escapes would lead to
        server.write(f"all/xA.html.{extension}", b"of another file", OLD)
    (server.root / "users/she").mkdir(parents=True)
    for folder in (server.root / "users", server.root / "users/she"):
        folder.chmod(0o755)
    add_set(server, "../users/she/page.html", "br", "gz")
    return server


def is_sibling(answer):
    return answer.raw in (BR, GZ)


@pytest.mark.smoke
@pytest.mark.parametrize("ae", ["br", "gzip"])
@pytest.mark.parametrize("path", [*MADE, *OTHERS])
def test_who_answers_for_the_file_answers_in_place_of_a_sibling_too(site, path, ae):
    answer = check.once(lambda: site.get(f"/{path}", ae=ae), lambda answer: answer.coding)
    assert answer.status == 200 and not is_sibling(answer), answer
    if path in MADE:
        assert answer.body == b"made" * 2000
    else:
        assert BODY not in answer.body


def test_what_dav_and_speling_leave_to_httpd_has_siblings(site):
    for path in ("/dav/page.html", "/speling/page.html"):
        assert site.get(path, ae="br").raw == BR
    assert site.get("/speling/paeg.html", ae="br").status == 301
    answer = site.get("/dav/page.html", ae="br", method="PROPFIND", headers={"Depth": "0"})
    assert answer.status == 207 and not is_sibling(answer)


@pytest.mark.parametrize("folder", FORBIDDEN)
def test_a_sibling_that_is_not_to_be_had_by_its_url_is_not_sent(site, folder):
    site.expect_log(r"AH01630|(asis|cgid?):error")  # what is asked for directly
    path = f"/{folder}/page.html"
    direct = site.get(path + ".gz")
    assert direct.status != 200 or direct.raw != GZ
    assert site.get(path, ae="br").raw == BR
    check.encoded(site.get(path, ae="gzip"), "gzip", BODY)
    assert site.get(path, ae="gzip").raw != GZ
    # The other is the better one then.
    assert site.get(path, ae="gzip, br;q=0.5").raw == BR


@pytest.mark.parametrize("path", [
    "/versions/12/page.html", "/pretty", "/front", "/latest/page.html", "/alias/page.html",
    "/short", "/~she/page.html", "/default/page.html", "/all/a%20b%2541%23%3F&.html",
    "/all/x%2541.html", "/all//page.html", "//all/page.html?query"])
def test_however_the_url_leads_to_the_file_its_siblings_serve(site, path):
    for ae, data in (("br", BR), ("gzip", GZ)):
        assert site.get(path, ae=ae).raw == data


def denials(server):
    return len(server.log.lines("AH01630"))


@pytest.mark.parametrize("fields", [{}, {"Range": "bytes=0-99"}, {"If-Range": True}])
def test_a_denied_sibling_is_looked_up_once_for_a_request(site, fields):
    """Whatever its conditions name: each look-up of it writes a line to the error log."""
    site.expect_log("AH01630")
    allowed = site.get("/all/page.html", ae="br").headers["ETag"]
    if "If-Range" in fields:
        fields = {"Range": "bytes=0-99", "If-Range": allowed}
    named = ", ".join([allowed] * 150)
    before = denials(site)
    answer = site.get("/denied/page.html", ae="br", headers={"If-None-Match": named, **fields})
    assert answer.status in (200, 206) and not is_sibling(answer)
    site.wait_for(lambda: denials(site) > before, 30, "the line about the sibling")
    site.get("/all/page.html")  # one more request, so that a further line would be there
    assert denials(site) == before + 1
