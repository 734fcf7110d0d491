"""Precompressed files beside modules that decide late, beside rules for their own names, and in a
separate tree (ElasticPrecompressedRoot): a client gets no precompressed file that it could not
request itself."""

import os
import shutil
from typing import NamedTuple

import brotli
import pytest

from kit import at, check, env
from kit.precompressed import BODY, BR, GZ, OLD, add_set, check_made, check_sent, directories, \
    passes_over

pytestmark = pytest.mark.rules

# Modules that answer for a file or change the request by rules of their own.
LATE = ("actions", "imagemap", "asis", "negotiation", "dav", "dav_fs", "speling", "proxy",
        "proxy_http", "rewrite", "userdir", "autoindex", "lua")

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
# What leads to a file whose precompressed files nothing forbids.
RewriteRule "^/versions/[0-9]+/(.*)$" "/all/$1"
RewriteRule "^/front" "/all/page.html"
Alias /alias {docs}/all
AliasMatch "^/short$" "{docs}/all/page.html"
<Location /set/x.html>
    SetHandler cgi-script
</Location>
""" + at("dav", "Dav On") + at("speling", "CheckSpelling On") + directories({
    "proxied": '<FilesMatch "html$">\nSetHandler proxy:ORIGIN\n</FilesMatch>',
    "per-directory": 'RewriteEngine On\nRewriteRule "^page\\.html$" "/made.cgi"',
    "default": "SetHandler default-handler",
    "default-there": '<Files "*.??">\nSetHandler default-handler\n</Files>',
    "nobodys": "SetHandler of-no-module",
    "denied": '<Files "*.br">\nRequire all denied\n</Files>'})

# Rules for precompressed files' URLs in folders of their names; br files are not affected.
FORBIDDEN = {
    "forbidden": 'RewriteRule "^/forbidden/.*\\.gz$" "-" [F]',
    "gone": 'RewriteRule "^/gone/.*\\.gz$" "-" [G]',
    "other": 'RewriteRule "^/other/.*\\.gz$" "/all/other.html"',
    "elsewhere": 'RewriteRule "^/elsewhere/.*\\.gz$" "ORIGIN/x" [P]',
    "rewritten": 'RewriteRule "^/rewritten/.*\\.gz$" "-" [H=cgi-script]',
    "matched": 'ProxyPassMatch "^/matched/.*\\.gz$" "ORIGIN/x"',
    "hidden": 'RedirectMatch 404 "^/hidden/.*\\.gz$"',
    "moved": 'RedirectMatch "^/moved/.*\\.gz$" "/all/other.html"',
    "aliased": 'AliasMatch "^/aliased/.*\\.gz$" "{docs}/all/other.html"',
    "located": '<LocationMatch "^/located/.*\\.gz$">\nRequire all denied\n</LocationMatch>',
    "unmapped": "LuaHookMapToStorage {docs}/unmapped.lua unmapped",
    "handled": '<LocationMatch "^/handled/.*\\.gz$">\nSetHandler cgi-script\n</LocationMatch>',
    **{name: directories({name: lines}) for name, lines in {
        "ruled": 'RewriteEngine On\nRewriteRule "\\.gz$" "-" [F]',
        "matching": '<FilesMatch "\\.gz$">\nSetHandler cgi-script\n</FilesMatch>',
        "added": "AddHandler send-as-is .gz"}.items()}}
UNMAPPED = """\
function unmapped(r)
    return r.uri:match("^/unmapped/.*%.gz$") and apache2.OK or apache2.DECLINED
end
"""
CHANGE = """\
function change(r)
    if r.headers_in["X-Change"] and r.filename:match("%.gz$") then
        os.execute(r.headers_in["X-Change"])
    end
    return apache2.DECLINED
end
"""
MAKES = "head('Content-Type: text/html')\nout('made' * 2000)\n"
# Another module makes these responses.
MADE = ["made/x.acted", "made/x.named", "made/x.cgi", "set/x.html", "per-directory/page.html"]
OTHERS = {"others/x.map": b"default /all/other.html\n", "proxied/page.html": BODY,
          "others/x.asis": b"Content-Type: text/html\n\n" + b"as it is" * 2000,
          "others/x.var": b"URI: ../all/other.html\nContent-Type: text/html\n"}


@pytest.fixture(scope="module", params=["before", "after"])
def site(httpd_shared, origin, request):
    """The module is loaded before those, and after them."""
    config = (CONFIG + "\n".join(FORBIDDEN.values())).replace("ORIGIN", origin.url)
    if request.param == "before":
        config = "".join(f"LoadModule {name}_module {env.module_path(name)}\n"
                         for name in LATE) + config
    server = httpd_shared(config, modules=LATE if request.param == "after" else ())
    for path in ("/x", f"{server.docs}/proxied/page.html"):
        origin.route(path, lambda exchange: exchange.respond(200, {}, b"proxied" * 2000))
    for path in (*MADE, *OTHERS, "all/a b%41#?&.html", "all/x%41.html", "../users/she/page.html",
                 *(f"{folder}/page.html" for folder in ("all", "default", "default-there",
                                                       "nobodys", ".", *FORBIDDEN))):
        add_set(server, path, "br", "gz", mtime=OLD + 1)
    add_set(server, "denied/page.html", "br", mtime=OLD + 1)
    server.write("unmapped.lua", UNMAPPED)
    for path in ("made.cgi", "made/x.cgi", "set/x.html"):
        server.cgi(path, MAKES)
    # Files that the URL without its escapes would name.
    strays = {f"all/xA.html.{extension}": b"of another file" for extension in ("br", "gz")}
    for path, data in {**OTHERS, **strays, "all/other.html": b"other" * 2000}.items():
        server.write(path, data, OLD)
    for folder in ("users", "users/she"):
        (server.root / folder).chmod(0o755)
    return server


def is_precompressed(answer):
    return answer.raw in (BR, GZ)


@pytest.mark.smoke
@pytest.mark.parametrize("ae", ["br", "gzip"])
@pytest.mark.parametrize("path", [*MADE, *OTHERS])
def test_who_answers_for_the_file_answers_in_place_of_a_precompressed_file_too(site, path, ae):
    answer = check.once(lambda: site.get(f"/{path}", ae=ae),
                        lambda answer: answer.coding or path not in MADE)
    assert answer.status == 200 and not is_precompressed(answer), answer
    if path in MADE:
        check.whole(answer, ae, b"made" * 2000)
    else:
        assert BODY not in answer.body


@pytest.mark.parametrize("folder", FORBIDDEN)
def test_a_precompressed_file_that_is_not_to_be_had_by_its_url_is_not_sent(site, folder):
    site.expect_log(r"AH01630|(asis|cgid?):error")  # for direct requests
    path = f"/{folder}/page.html"
    direct = site.get(path + ".gz")
    assert direct.status != 200 or direct.raw != GZ
    check_made(site.get(path, ae="gzip"), "gzip")
    # The other one is then better.
    for ae in ("br", "gzip, br;q=0.5"):
        check_sent(site.get(path, ae=ae), "br", BR)


@pytest.mark.parametrize("path", [
    "/versions/12/page.html", "/front", "/alias/page.html", "/short", "/dav/page.html",
    "/speling/page.html", "/~she/page.html", "/default/page.html", "/default-there/page.html",
    "/nobodys/page.html",
    "/all/a%20b%2541%23%3F&.html", "/all/x%2541.html", "/all//page.html", "//all/page.html?query"])
def test_however_the_url_leads_to_the_file_its_precompressed_files_serve(site, path):
    for ae, data in (("br", BR), ("gzip", GZ)):
        check_sent(site.get(path, ae=ae), ae, data)
    if path.startswith("/speling"):
        assert site.get("/speling/paeg.html", ae="br").status == 301
    if path.startswith("/dav"):
        answer = site.get(path, ae="br", method="PROPFIND", headers={"Depth": "0"})
        assert answer.status == 207 and not is_precompressed(answer)


@pytest.mark.parametrize("change", [
    "touch {0}", "truncate -s +1 {0} && touch -d @{1} {0}", "cp -p {0} {0}.new && mv {0}.new {0}"])
def test_a_file_that_changes_before_it_is_opened_is_not_sent(httpd, change):
    """Its header is that of another one."""
    server = httpd("Elastic On\nElasticPrecompressed On\nLuaHookFixups {docs}/change.lua change\n",
                   modules=["lua"], files={"change.lua": CHANGE})
    path = add_set(server, "page.html", "gz")
    compressed = server.docs / "page.html.gz"
    compressed.chmod(0o666)
    server.docs.chmod(0o777)
    if env.IS_ROOT:  # only the owner may set its time
        for name in ("page.html", "page.html.gz"):
            os.chown(server.docs / name, env.child_user().pw_uid, env.child_user().pw_gid)
    check_sent(server.get(path, ae="gzip"), "gzip", GZ)
    with passes_over(server, unreadable=1):
        check_made(server.get(path, "gzip", {
            "X-Change": change.format(compressed, OLD)}), "gzip")


@pytest.mark.parametrize("fields", [{}, {"Range": "bytes=0-99"}, {"If-Range": True}])
def test_a_denied_precompressed_file_is_looked_up_once_for_a_request(site, fields):
    """However many conditions its rules have: each look-up writes a line to the error log."""
    site.expect_log("AH01630")
    allowed = site.get("/all/page.html", ae="br").headers["ETag"]
    if "If-Range" in fields:
        fields = {"Range": "bytes=0-99", "If-Range": allowed}
    before = len(site.log.lines("AH01630"))
    answer = site.get("/denied/page.html", ae="br",
                      headers={"If-None-Match": ", ".join([allowed] * 150), **fields})
    assert answer.status in (200, 206) and not is_precompressed(answer)
    site.wait_for(lambda: len(site.log.lines("AH01630")) > before, 30, "a line about the file")
    site.get("/all/page.html")  # another request, after which a further line would exist
    assert len(site.log.lines("AH01630")) == before + 1


# --- precompressed files in a separate tree: the rules for their URLs and for the tree apply, and
# nothing outside of it is sent

OTHER = brotli.compress(b"of another file" * 1000)


class Page(NamedTuple):
    """A folder with a page: the configuration for it and for its place in the tree; the target, if
    its precompressed file is a link; why it is not sent; and httpd's log line."""

    here: str = ""
    there: str = ""
    link: str = ""
    reason: str = "denied"
    log: str = "nothing"


DENIED = '<Files "*.br">\nRequire all denied\n</Files>'
NO_LINK = "AH00037|AH00032"
# Pages with precompressed files that are sent, and others.
# Pages with precompressed files that are sent, and others.
INSIDE, DENY = "../plain/page.html.br", "AllowOverride AuthConfig"
SENT = {
    "plain": Page(), "beside": Page(), "another-owner": Page(), "leads-within": Page(link=INSIDE),
    "inner": Page("ElasticPrecompressedRoot inner-tree//"),
    "current": Page("ElasticPrecompressedRoot {root}/current-tree")}
WITHHELD = {
    "forbidden": Page(), "denied-here": Page(DENIED, log="AH01630"),  # by the rules for its URL
    "handled-here": Page('<Files "*.br">\nSetHandler cgi-script\n</Files>'),
    "htaccess": Page(DENY, log="AH01630"), "listed": Page(there=DENY, log="AH01630"),
    "denied-there": Page(there="Require all denied", log="AH01630"),  # by those for its own place
    "no-links": Page(there="Options -FollowSymLinks", link=INSIDE, log=NO_LINK),
    "owners": Page(there="Options -FollowSymLinks +SymLinksIfOwnerMatch", link=INSIDE, log=NO_LINK),
    "leads-out": Page(link="../../secret/page.html.br", reason="outside"),
    "leads-beside": Page(link="../../tree-top/page.html.br", reason="outside"),
    "folder-leads-out": Page(reason="outside"), "older": Page(reason="outdated"),
    "off": Page("ElasticPrecompressed Off", reason="")}
PAGES = {**SENT, **WITHHELD}
TREE = """
Elastic On
ElasticPrecompressed On
ElasticPrecompressedRoot {root}/tree
UserDir {root}/users/*/docs
Alias /elsewhere {root}/elsewhere
Alias /dogs {root}/dogs
Alias /sectioned {root}/sectioned
Alias /named {docs}/plain
AliasMatch "^/short$" {docs}/denied-here/page.html
""" + directories({
    **{name: page.here for name, page in PAGES.items() if page.here},
    **{f"{{root}}/tree/{name}": page.there for name, page in PAGES.items() if page.there},
    "{root}/sectioned": "ElasticPrecompressedRoot {root}/sectioned-tree",
    "{root}/hosts": "ElasticPrecompressedRoot {root}/hosts-tree"}) + "".join(
    f"<VirtualHost *:{{port}}>\nServerName {name}\nDocumentRoot {lines}\n</VirtualHost>\n"
    for name, lines in {
        "first": '{docs}\nRewriteEngine On\nRewriteRule "^/forbidden/.*\\.br$" "-" [F]\n'
                 'RewriteRule "^/versions/[0-9]+/(.*)$" "/plain/$1"\n'
                 'RewriteRule "^/outside$" "{root}/elsewhere/page.html"',
        "other": "{root}/other",
        "own": "{root}/other\nElasticPrecompressedRoot {root}/own-tree",
        "a": "{root}/hosts/a", "b": "{root}/hosts/b"}.items())


@pytest.fixture(scope="module")
def tree(httpd_shared):
    server = httpd_shared(TREE, modules=["rewrite", "userdir"], start=False)
    for folder in (*(f"docs/{page}" for page in PAGES), "elsewhere", "dogs", "sectioned", "other",
                   "hosts/a", "hosts/b", "users/she/docs"):
        server.write(f"../{folder}/page.html", BODY, OLD)
    for folder, data in {
            **{f"tree/{page}": BR for page in PAGES}, "sectioned-tree": BR,
            "own-tree": BR, "hosts-tree/a": BR, "release/current": BR, "inner-tree/inner": GZ,
            # Files of none of those folders.
            "tree": OTHER, "hosts-tree": OTHER, "secret": OTHER, "tree-top": OTHER}.items():
        server.write(f"../{folder}/page.html.br", data, OLD)
    server.write("beside/page.html.gz", GZ, OLD)
    server.write("../tree/older/page.html.br", BR, OLD - 1)
    server.write("htaccess/.htaccess", DENIED)
    server.write("../tree/listed/.htaccess", "Require all denied\n")
    for name, page in PAGES.items():
        if page.link:
            path = server.root / f"tree/{name}/page.html.br"
            path.unlink()
            path.symlink_to(page.link)
    if env.IS_ROOT:
        for name in ("owners", "another-owner"):
            os.chown(server.root / f"tree/{name}/page.html.br", 12345, 12345, follow_symlinks=False)
    shutil.rmtree(server.root / "tree/folder-leads-out")
    (server.root / "tree/folder-leads-out").symlink_to("../secret")
    (server.root / "current-tree").symlink_to("release")
    return server.start()


def get(tree, path, host="first", ae="br", **headers):
    return tree.get(path, ae=ae, headers={"Host": host, **headers})


@pytest.mark.smoke
@pytest.mark.parametrize("path,host", [
    *((f"/{name}/page.html", "first") for name in (*SENT, "named", "versions/12", "sectioned")),
    ("/page.html", "own"), ("/page.html", "a")])
def test_the_precompressed_file_lies_at_the_files_path(tree, path, host):
    """In the tree, owners do not matter: the operator decides who may write there. A directory's
    own root mirrors the files below it."""
    answer = get(tree, path, host)
    check_sent(answer, "br", GZ if path.startswith("/inner") else BR)  # as it lies there
    tag = answer.headers["ETag"]
    assert tag.endswith('.br"')
    check.head_of(answer, tree.head(path, "br", {"Host": host}), "Content-Length")
    check.not_modified(get(tree, path, host, **{"If-None-Match": tag}), tag)


@pytest.mark.parametrize("path,host,reason,log", [
    *(pytest.param(f"/{name}/page.html", "first", page.reason, page.log,
                   marks=[pytest.mark.root] * (name == "owners"))
      for name, page in WITHHELD.items()),
    ("/short", "first", "denied", "AH01630"),
    # Files outside of the documents or of the section, and of other documents.
    *((path, "first", "", "nothing") for path in ("/elsewhere/page.html", "/outside",
                                                  "/dogs/page.html", "/~she/page.html")),
    ("/page.html", "other", "", "nothing"), ("/page.html", "b", "", "nothing")])
def test_where_no_precompressed_file_may_serve_the_filter_compresses(tree, path, host, reason, log):
    tree.expect_log(log)
    with passes_over(tree, **{reason: 1} if reason else {}):
        answer = get(tree, path, host)
    check_made(answer, "br")
    assert answer.raw != OTHER
    check_made(get(tree, "/beside/page.html", ae="gzip"), "gzip")  # there is one beside the file
