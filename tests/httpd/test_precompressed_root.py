"""ElasticPrecompressedRoot: siblings in a tree of their own, under the rules for their URLs and for
that tree, and never from outside of it."""

import gzip
import os
import time

import brotli
import pytest

from kit import bodies, check, env

BODY = bodies.html(30000)
BR = brotli.compress(BODY, quality=11)
GZ = gzip.compress(BODY, 9, mtime=0)
OTHER = brotli.compress(b"of another file" * 1000)
OLD = int(time.time()) - 1000

CONFIG = """
Elastic On
ElasticPrecompressed On
ElasticPrecompressedRoot {root}/tree
UserDir {root}/users/*/docs
Alias /elsewhere {root}/elsewhere
Alias /sectioned {root}/sectioned
Alias /named {docs}/plain
AliasMatch "^/short$" {docs}/denied-here/page.html
<Directory {docs}/denied-here>
    <Files "*.br">
        Require all denied
    </Files>
</Directory>
<Directory {docs}/handled-here>
    <Files "*.br">
        SetHandler cgi-script
    </Files>
</Directory>
<Directory {docs}/htaccess>
    AllowOverride AuthConfig
</Directory>
<Directory {docs}/off>
    ElasticPrecompressed Off
</Directory>
<Directory {root}/tree/denied-there>
    Require all denied
</Directory>
<Directory {root}/tree/no-links>
    Options -FollowSymLinks
</Directory>
<Directory {root}/tree/owners>
    Options -FollowSymLinks +SymLinksIfOwnerMatch
</Directory>
<Directory {root}/tree/listed>
    AllowOverride AuthConfig
</Directory>
<Directory {docs}/inner>
    ElasticPrecompressedRoot inner-tree//
</Directory>
<Directory {root}/sectioned>
    ElasticPrecompressedRoot {root}/sectioned-tree
</Directory>
<Directory {root}/hosts>
    ElasticPrecompressedRoot {root}/hosts-tree
</Directory>
<Directory {docs}/current>
    ElasticPrecompressedRoot {root}/current-tree
</Directory>
"""

HOSTS = """
<VirtualHost *:{port}>
    ServerName first
    DocumentRoot {docs}
    RewriteEngine On
    RewriteRule "^/r-forbidden/.*\\.br$" "-" [F]
    RewriteRule "^/versions/[0-9]+/(.*)$" "/plain/$1"
    RewriteRule "^/outside$" "{root}/elsewhere/page.html"
</VirtualHost>
<VirtualHost *:{port}>
    ServerName other
    DocumentRoot {root}/other
</VirtualHost>
<VirtualHost *:{port}>
    ServerName own
    DocumentRoot {root}/other
    ElasticPrecompressedRoot {root}/own-tree
</VirtualHost>
<VirtualHost *:{port}>
    ServerName a
    DocumentRoot {root}/hosts/a
</VirtualHost>
<VirtualHost *:{port}>
    ServerName b
    DocumentRoot {root}/hosts/b
</VirtualHost>
"""

PAGES = ["plain", "r-forbidden", "denied-here", "handled-here", "htaccess", "off", "denied-there",
         "no-links", "owners", "owners-plain", "another-owner", "listed", "inner", "current",
         "leads-out", "leads-beside", "folder-leads-out", "leads-within", "older", "beside"]


def put(server, name, data, mtime=OLD):
    """A file at `name` below the server's own directory."""
    return server.write(f"../{name}", data, mtime)


@pytest.fixture(scope="module")
def site(httpd_shared):
    server = httpd_shared(CONFIG + HOSTS, modules=["rewrite", "userdir"], start=False)
    for page in PAGES:
        put(server, f"docs/{page}/page.html", BODY)
        put(server, f"tree/{page}/page.html.br", BR)
    for folder in ("elsewhere", "sectioned", "other", "hosts/a", "hosts/b", "users/she/docs"):
        put(server, f"{folder}/page.html", BODY)
    put(server, "tree/page.html.br", OTHER)  # of no file of those folders
    put(server, "sectioned-tree/page.html.br", BR)
    put(server, "own-tree/page.html.br", BR)
    put(server, "hosts-tree/page.html.br", OTHER)
    put(server, "hosts-tree/a/page.html.br", BR)
    put(server, "inner-tree/inner/page.html.br", GZ)
    (server.docs / "htaccess/.htaccess").write_text("<Files *.br>\nRequire all denied\n</Files>\n")
    put(server, "tree/listed/.htaccess", "Require all denied\n")
    put(server, "docs/beside/page.html.gz", GZ)
    put(server, "tree/older/page.html.br", BR, OLD - 1)
    put(server, "secret/page.html.br", OTHER)
    link(server, "tree/leads-out/page.html.br", "../../secret/page.html.br")
    link(server, "tree/leads-within/page.html.br", "../plain/page.html.br")
    link(server, "tree/no-links/page.html.br", "../plain/page.html.br")
    link(server, "tree/owners/page.html.br", "../plain/page.html.br", owner=12345)
    link(server, "tree/owners-plain/page.html.br", "../plain/page.html.br")
    (server.root / "tree/folder-leads-out/page.html.br").unlink()
    (server.root / "tree/folder-leads-out").rmdir()
    (server.root / "tree/folder-leads-out").symlink_to("../secret")
    put(server, "release/current/page.html.br", BR)
    (server.root / "current-tree").symlink_to("release")
    put(server, "tree-top/page.html.br", OTHER)
    link(server, "tree/leads-beside/page.html.br", "../../tree-top/page.html.br")
    return server.start()


def link(server, name, target, owner=None):
    path = server.root / name
    path.unlink()
    path.symlink_to(target)
    if owner and env.IS_ROOT:
        os.chown(path, owner, owner, follow_symlinks=False)


def get(site, path, host="first", ae="br", **headers):
    return site.get(path, ae=ae, headers={"Host": host, **headers})


def assert_sibling(answer, data=BR):
    assert (answer.status, answer.coding, answer.raw) == (200, "br", data), answer
    assert answer.varies and answer.headers["Content-Type"] == "text/html"
    assert answer.headers["ETag"].endswith('.br"')


@pytest.mark.smoke
@pytest.mark.parametrize("path", [
    "/plain/page.html", "/named/page.html", "/versions/12/page.html", "/leads-within/page.html",
    "/owners-plain/page.html", "/current/page.html", "/sectioned/page.html"])
def test_the_sibling_lies_at_the_files_path(site, path):
    assert_sibling(get(site, path))
    head = site.head(path, ae="br", headers={"Host": "first"})
    assert head.headers["Content-Length"] == str(len(BR))


def test_a_directorys_root_has_the_path_below_the_documents_too(site):
    answer = get(site, "/inner/page.html")
    assert answer.raw == GZ and answer.coding == "br"  # as it lies there


def test_conditions_and_ranges_are_those_of_any_sibling(site):
    tag = get(site, "/plain/page.html").headers["ETag"]
    check.not_modified(get(site, "/plain/page.html", **{"If-None-Match": tag}), tag)
    part = get(site, "/plain/page.html", **{"Range": "bytes=5-9", "If-Range": tag})
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
    ("/leads-out/page.html", "outside", None),
    ("/leads-beside/page.html", "outside", None),
    ("/folder-leads-out/page.html", "outside", None),
    ("/older/page.html", "outdated", None),
    ("/off/page.html", None, None),
    ("/elsewhere/page.html", None, None),  # not of the documents, nor of a section
    ("/outside", None, None),
    ("/~she/page.html", None, None)])
def test_where_no_sibling_may_serve_the_filter_compresses(site, path, reason, log):
    site.expect_log(log or "nothing")
    key = f"ElasticPrecompressedSkipped-{reason}"
    before = site.status().get(key)
    check.encoded(get(site, path), "br", BODY)
    assert get(site, path).raw not in (BR, OTHER)
    assert reason is None or int(site.status()[key]) == int(before) + 2


@pytest.mark.root
def test_in_the_tree_the_owner_does_not_matter(site):
    """Who may write there is for the operator to say."""
    os.chown(site.root / "tree/another-owner/page.html.br", 12345, 12345)
    assert_sibling(get(site, "/another-owner/page.html"))


@pytest.mark.root
def test_a_link_of_another_owner_is_not_followed(site):
    site.expect_log("AH00037|AH00032")
    check.encoded(get(site, "/owners/page.html"), "br", BODY)
    assert get(site, "/owners/page.html").raw != BR


def test_nothing_beside_the_file_is_sent(site):
    answer = get(site, "/beside/page.html", ae="gzip")
    check.encoded(answer, "gzip", BODY)
    assert answer.raw != GZ
    assert_sibling(get(site, "/beside/page.html"))


def test_a_virtual_host_with_other_documents_does_not_get_siblings_of_these(site):
    check.encoded(get(site, "/page.html", host="other"), "br", BODY)
    assert_sibling(get(site, "/page.html", host="own"))


def test_documents_within_one_section_share_no_sibling(site):
    assert_sibling(get(site, "/page.html", host="a"))
    check.encoded(get(site, "/page.html", host="b"), "br", BODY)


@pytest.mark.parametrize("path", [
    "/../secret/page.html", "/plain/../../secret/page.html", "/plain/..%2f..%2fsecret/page.html",
    "/%2e%2e/secret/page.html", "/plain/%2e%2e/%2e%2e/secret/page.html",
    "/plain/page.html%00.br", "/-top/page.html"])
def test_no_url_leads_out(site, path):
    site.expect_log("AH0|AH10244")
    answer = get(site, path)
    assert answer.status in (400, 403, 404), answer
    assert answer.raw not in (BR, OTHER)
