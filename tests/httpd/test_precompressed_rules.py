"""Precompressed siblings beside modules that decide late, beside rules that are about the sibling
itself, and in a tree of their own (ElasticPrecompressedRoot): what a client could not have by
asking for it, it does not get in place of the file.
"""

import os

import brotli
import pytest

from kit import check, env
from kit.siblings import BODY, BR, GZ, OLD, add_set, check_made, check_sent, directories, \
    passed_over

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

# Rules that lead to a file whose siblings nothing forbids.
RewriteRule "^/versions/[0-9]+/(.*)$" "/all/$1"
RewriteRule "^/front" "/all/page.html"
RewriteRule "^/latest/page\\.html$" "/all/page.html"
Alias /alias {docs}/all
AliasMatch "^/short$" "{docs}/all/page.html"
""" + directories({
    "proxied": '<FilesMatch "html$">\nSetHandler proxy:ORIGIN\n</FilesMatch>',
    "per-directory": 'RewriteEngine On\nRewriteRule "^page\\.html$" "/made.cgi"',
    "d-rule": 'RewriteEngine On\nRewriteRule "\\.gz$" "-" [F]',
    "f-handled": '<FilesMatch "\\.gz$">\nSetHandler cgi-script\n</FilesMatch>',
    "h-added": "AddHandler send-as-is .gz", "default": "SetHandler default-handler",
    "denied": '<Files "*.br">\nRequire all denied\n</Files>'})

# Of each of these, the client gets what another module makes.
MADE = ["made/x.acted", "made/x.named", "made/x.cgi", "set/x.html", "per-directory/page.html"]
OTHERS = ["other/x.map", "other/x.asis", "other/x.var", "proxied/page.html"]
FORBIDDEN = ["r-forbidden", "r-gone", "r-other", "r-proxy", "r-handler", "p-match",
             "a-hidden", "a-moved", "a-other", "l-denied", "l-handled", "d-rule", "f-handled",
             "h-added"]
MAKES = "head('Content-Type: text/html')\nout('made' * 2000)\n"


@pytest.fixture(scope="module", params=["before", "after"])
def site(httpd_shared, origin, request):
    """The module is loaded before those, and after them."""
    config = CONFIG.replace("ORIGIN", origin.url)
    if request.param == "before":
        server = httpd_shared("".join(f"LoadModule {name}_module {env.module_path(name)}\n"
                                      for name in LATE) + config)
    else:
        server = httpd_shared(config, modules=LATE)
    for path in ("/x", f"{server.docs}/proxied/page.html"):
        origin.route(path, lambda exchange: exchange.respond(200, {}, b"proxied" * 2000))
    for path in (*MADE, *OTHERS, "all/a b%41#?&.html", "all/x%41.html", "../users/she/page.html",
                 *(f"{folder}/page.html"
                   for folder in ("all", "dav", "speling", "default", *FORBIDDEN))):
        add_set(server, path, "br", "gz", mtime=OLD + 1)
    add_set(server, "denied/page.html", "br", mtime=OLD + 1)
    for path in ("made.cgi", "made/x.cgi", "set/x.html"):
        server.cgi(path, MAKES)
    for path, data in (
            ("other/x.asis", b"Content-Type: text/html\n\n" + b"as it is" * 2000),
            ("other/x.map", b"default /all/other.html\n"),
            ("other/x.var", b"URI: ../all/other.html\nContent-Type: text/html\n"),
            ("all/other.html", b"other" * 2000),
            # What the URL without its escapes would lead to.
            ("all/xA.html.br", b"of another file"), ("all/xA.html.gz", b"of another file")):
        server.write(path, data, OLD)
    for folder in ("users", "users/she"):
        (server.root / folder).chmod(0o755)
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
    check_made(site.get(path, ae="gzip"), "gzip")
    # The other is the better one then.
    for ae in ("br", "gzip, br;q=0.5"):
        check_sent(site.get(path, ae=ae), "br", BR)


@pytest.mark.parametrize("path", [
    "/versions/12/page.html", "/front", "/latest/page.html", "/alias/page.html", "/short",
    "/~she/page.html", "/default/page.html", "/all/a%20b%2541%23%3F&.html", "/all/x%2541.html",
    "/all//page.html", "//all/page.html?query"])
def test_however_the_url_leads_to_the_file_its_siblings_serve(site, path):
    for ae, data in (("br", BR), ("gzip", GZ)):
        check_sent(site.get(path, ae=ae), ae, data)


@pytest.mark.parametrize("fields", [{}, {"Range": "bytes=0-99"}, {"If-Range": True}])
def test_a_denied_sibling_is_looked_up_once_for_a_request(site, fields):
    """Whatever its conditions name: each look-up of it writes a line to the error log."""
    def denials():
        return len(site.log.lines("AH01630"))

    site.expect_log("AH01630")
    allowed = site.get("/all/page.html", ae="br").headers["ETag"]
    if "If-Range" in fields:
        fields = {"Range": "bytes=0-99", "If-Range": allowed}
    named = ", ".join([allowed] * 150)
    before = denials()
    answer = site.get("/denied/page.html", ae="br", headers={"If-None-Match": named, **fields})
    assert answer.status in (200, 206) and not is_sibling(answer)
    site.wait_for(lambda: denials() > before, 30, "the line about the sibling")
    site.get("/all/page.html")  # one more request, so that a further line would be there
    assert denials() == before + 1


# --- siblings in a tree of their own: under the rules for their URLs and for that tree, and never
# from outside of it

OTHER = brotli.compress(b"of another file" * 1000)
TREE = """
Elastic On
ElasticPrecompressed On
ElasticPrecompressedRoot {root}/tree
UserDir {root}/users/*/docs
Alias /elsewhere {root}/elsewhere
Alias /sectioned {root}/sectioned
Alias /named {docs}/plain
AliasMatch "^/short$" {docs}/denied-here/page.html
""" + directories({
    "denied-here": '<Files "*.br">\nRequire all denied\n</Files>',
    "handled-here": '<Files "*.br">\nSetHandler cgi-script\n</Files>',
    "htaccess": "AllowOverride AuthConfig", "off": "ElasticPrecompressed Off",
    "{root}/tree/denied-there": "Require all denied",
    "{root}/tree/no-links": "Options -FollowSymLinks",
    "{root}/tree/owners": "Options -FollowSymLinks +SymLinksIfOwnerMatch",
    "{root}/tree/listed": "AllowOverride AuthConfig",
    "inner": "ElasticPrecompressedRoot inner-tree//",
    "{root}/sectioned": "ElasticPrecompressedRoot {root}/sectioned-tree",
    "{root}/hosts": "ElasticPrecompressedRoot {root}/hosts-tree",
    "current": "ElasticPrecompressedRoot {root}/current-tree"}) + "".join(
    f"<VirtualHost *:{{port}}>\nServerName {name}\nDocumentRoot {lines}\n</VirtualHost>\n"
    for name, lines in {
        "first": '{docs}\nRewriteEngine On\nRewriteRule "^/r-forbidden/.*\\.br$" "-" [F]\n'
                 'RewriteRule "^/versions/[0-9]+/(.*)$" "/plain/$1"\n'
                 'RewriteRule "^/outside$" "{root}/elsewhere/page.html"',
        "other": "{root}/other",
        "own": "{root}/other\nElasticPrecompressedRoot {root}/own-tree",
        "a": "{root}/hosts/a", "b": "{root}/hosts/b"}.items())

PAGES = ["plain", "r-forbidden", "denied-here", "handled-here", "htaccess", "off", "denied-there",
         "no-links", "owners", "owners-plain", "another-owner", "listed", "inner", "current",
         "leads-out", "leads-beside", "leads-within", "older", "beside"]
# Which siblings are links, and where to.
LINKS = {"leads-out": "../../secret/page.html.br", "leads-within": "../plain/page.html.br",
         "no-links": "../plain/page.html.br", "owners": "../plain/page.html.br",
         "owners-plain": "../plain/page.html.br", "leads-beside": "../../tree-top/page.html.br"}


@pytest.fixture(scope="module")
def tree(httpd_shared):
    server = httpd_shared(TREE, modules=["rewrite", "userdir"], start=False)
    for name, data in {
            **{f"docs/{page}/page.html": BODY for page in (*PAGES, "folder-leads-out")},
            **{f"{folder}/page.html": BODY for folder in (
                "elsewhere", "sectioned", "other", "hosts/a", "hosts/b", "users/she/docs")},
            **{f"{folder}/page.html.br": BR for folder in (
                *(f"tree/{page}" for page in PAGES), "sectioned-tree", "own-tree", "hosts-tree/a",
                "release/current")},
            # Of no file of those folders.
            **{f"{folder}/page.html.br": OTHER
               for folder in ("tree", "hosts-tree", "secret", "tree-top")},
            "inner-tree/inner/page.html.br": GZ, "docs/beside/page.html.gz": GZ}.items():
        server.write(f"../{name}", data, OLD)
    server.write("../tree/older/page.html.br", BR, OLD - 1)
    server.write("../docs/htaccess/.htaccess", "<Files *.br>\nRequire all denied\n</Files>\n")
    server.write("../tree/listed/.htaccess", "Require all denied\n")
    for page, target in LINKS.items():
        path = server.root / f"tree/{page}/page.html.br"
        path.unlink()
        path.symlink_to(target)
    if env.IS_ROOT:
        os.chown(server.root / "tree/owners/page.html.br", 12345, 12345, follow_symlinks=False)
        os.chown(server.root / "tree/another-owner/page.html.br", 12345, 12345)
    (server.root / "tree/folder-leads-out").symlink_to("../secret")
    (server.root / "current-tree").symlink_to("release")
    return server.start()


def get(tree, path, host="first", ae="br", **headers):
    return tree.get(path, ae=ae, headers={"Host": host, **headers})


@pytest.mark.smoke
@pytest.mark.parametrize("path,host", [
    *((path, "first") for path in (
        "/plain/page.html", "/named/page.html", "/versions/12/page.html", "/leads-within/page.html",
        "/owners-plain/page.html", "/current/page.html", "/sectioned/page.html",
        "/beside/page.html")),
    ("/page.html", "own"), ("/page.html", "a"),
    # Who may write into the tree is for the operator to say.
    pytest.param("/another-owner/page.html", "first", marks=pytest.mark.root)])
def test_the_sibling_lies_at_the_files_path(tree, path, host):
    answer = get(tree, path, host)
    check_sent(answer, "br", BR)
    assert answer.headers["ETag"].endswith('.br"')
    check.head_of(answer, tree.head(path, "br", {"Host": host}), "Content-Length")


def test_a_directorys_root_has_the_path_below_the_documents_too(tree):
    check_sent(get(tree, "/inner/page.html"), "br", GZ)  # as it lies there


def test_conditions_and_ranges_are_those_of_any_sibling(tree):
    tag = get(tree, "/plain/page.html").headers["ETag"]
    check.not_modified(get(tree, "/plain/page.html", **{"If-None-Match": tag}), tag)
    part = get(tree, "/plain/page.html", **{"Range": "bytes=5-9", "If-Range": tag})
    assert (part.status, part.raw) == (206, BR[5:10])


@pytest.mark.parametrize("path,reason,log", [
    ("/r-forbidden/page.html", "denied", None),  # by the rules for its URL
    ("/denied-here/page.html", "denied", "AH01630"),
    ("/short", "denied", "AH01630"),
    ("/handled-here/page.html", "denied", None),
    ("/htaccess/page.html", "denied", "AH01630"),
    ("/denied-there/page.html", "denied", "AH01630"),  # by those for its own place
    ("/listed/page.html", "denied", "AH01630"),
    ("/no-links/page.html", "denied", "AH00037|AH00032"),
    pytest.param("/owners/page.html", "denied", "AH00037|AH00032", marks=pytest.mark.root),
    ("/leads-out/page.html", "outside", None),
    ("/leads-beside/page.html", "outside", None),
    ("/folder-leads-out/page.html", "outside", None),
    ("/older/page.html", "outdated", None),
    ("/off/page.html", None, None),
    ("/elsewhere/page.html", None, None),  # not of the documents, nor of a section
    ("/outside", None, None),
    ("/~she/page.html", None, None)])
def test_where_no_sibling_may_serve_the_filter_compresses(tree, path, reason, log):
    tree.expect_log(log or "nothing")
    before = passed_over(tree)
    answer = get(tree, path)
    check_made(answer, "br")
    assert answer.raw != OTHER
    assert passed_over(tree) == {**before, **({reason: before[reason] + 1} if reason else {})}


def test_nothing_beside_the_file_is_sent(tree):
    check_made(get(tree, "/beside/page.html", ae="gzip"), "gzip")


def test_a_virtual_host_with_other_documents_does_not_get_siblings_of_these(tree):
    check_made(get(tree, "/page.html", host="other"), "br")


def test_documents_within_one_section_share_no_sibling(tree):
    check_made(get(tree, "/page.html", host="b"), "br")


@pytest.mark.parametrize("path", [
    "/../secret/page.html", "/plain/../../secret/page.html", "/plain/..%2f..%2fsecret/page.html",
    "/%2e%2e/secret/page.html", "/plain/%2e%2e/%2e%2e/secret/page.html",
    "/plain/page.html%00.br", "/-top/page.html"])
def test_no_url_leads_out(tree, path):
    tree.expect_log("AH0|AH10244")
    answer = get(tree, path)
    assert answer.status in (400, 403, 404), answer
    assert answer.raw not in (BR, OTHER)
