"""ElasticDictionaryFile: a file is a host's dictionary at once, whatever maps URLs there."""

import hashlib

import brotli
import pytest

from kit import bodies, check, env
from kit.dictionary import DICT, PAGE, STORE, WEEK, decoded, field, make_store, name_of, store_of

pytestmark = pytest.mark.skipif(not env.HAS_ZSTD, reason="needs libzstd")

USE, LINK = "Use-As-Dictionary", "Link"
FOLDER = "/.well-known/elastic-dictionary/"
DOCUMENT = {"Sec-Fetch-Dest": "document"}
OTHER = bodies.html(30_000)
BINARY = bytes(range(256)) * 100
SMALL = brotli.compress(DICT, quality=11)
FILES = {"site": DICT, "old": PAGE[:9000], "other": OTHER, "binary": BINARY}


def url_of(body):
    return FOLDER + hashlib.sha256(body).hexdigest()[:32]


def link_to(body):
    return f'<{url_of(body)}>; rel="compression-dictionary"'


# A user who is known by no field of the request.
USER = """\
function user(r)
    r.user = "u"
    return apache2.DECLINED
end
"""
VHOST = """
<VirtualHost 127.0.0.1:{tls_port}>
ServerName %s
SSLEngine on
SSLCertificateFile {root}/tls.pem
%s
</VirtualHost>
"""
WWW = VHOST % ("www.example", "")

# {host: its settings}
HOSTS = {
    "www.example": "",
    "none.example": "",
    "proxy.example": "ProxyPass / {origin}/",
    "mapped.example": "ProxyPass / {origin}/ mapping=encoded",
    "rewrite.example": "RewriteEngine On\nRewriteRule ^ /page.html",
    "backend.example": "<Location />\nSetHandler server-status\n</Location>",
    "redirect.example": "RedirectMatch 404 /\\.\n"
                        "<Location />\nFallbackResource /page.html\nOptions +MultiViews\n"
                        "</Location>\n<Directory />\nRequire all denied\n</Directory>",
    "members.example": "<Location />\nAuthType Basic\nAuthName x\nAuthUserFile {root}/users\n"
                       "Require valid-user\n</Location>",
    "session.example": "LuaHookFixups {docs}/user.lua user",
    # The rule lacks a folder.
    "rule.example": f'{WEEK}\nElasticDictionary match="/*"',
    "no-br.example": "SetEnv no-brotli 1",
    "own.example": "ElasticDictionaryFile {root}/other.dict match=/* match-dest=\"\"",
    "off.example": "ElasticDictionaryFile Off",
    "part.example": "<Location /a>\nElasticDictionaryFile {root}/other.dict match=/a/*\n"
                    "</Location>\nAlias /a {docs}",
    "only.example": "ElasticDictionaryFile Off\n<Location /a>\n"
                    "ElasticDictionaryFile {root}/other.dict match=/a/*\n</Location>\n"
                    "Alias /a {docs}",
    "folder.example": "Elastic Off\n<Directory {docs}>\nElastic On\n</Directory>",
}
NAMES = " ".join(name for name in HOSTS if name not in ("none.example", "own.example"))

CONFIG = f"""
Elastic On
ElasticControl off
ElasticDictionaryFile {{root}}/old.dict host="{NAMES}"
ElasticDictionaryFile {{root}}/site.dict match="/*" match-dest="document" host="{NAMES}"
ElasticDictionaryFile {{root}}/binary.dict host="port.example:{{tls_port}} [::2]:1 [::1]"
"""


def start(httpd, config, files=None, **kw):
    server = httpd("", start=False, tls=True, h2=env.possible("h2"),
                   files={"page.html": PAGE, "page.txt": bodies.text(5000), "user.lua": USER,
                          "no-type": b"<p>",
                          **(files or {})},
                   # One certificate for all, and a rule without a folder.
                   allow_log=["AH01909", "without ElasticDictionaryStore"], **kw)
    for name, body in FILES.items():
        (server.root / f"{name}.dict").write_bytes(body)
    server.configure(config.replace("{tls_port}", str(server.tls_port)))
    return server


@pytest.fixture(scope="module")
def server(httpd_shared, origin):
    origin.route("/page.html", lambda exchange: exchange.respond(
        200, {"Content-Type": "text/html"}, PAGE))
    vhosts = "".join(VHOST % host for host in (("port.example", ""), *HOSTS.items()))
    made = start(httpd_shared, (CONFIG + vhosts).replace("{origin}", origin.url), modules=[
        "proxy", "proxy_http", "rewrite", "authn_core", "auth_basic", "authn_file", "authz_user",
        "negotiation", "lua"],
        cgi={"page.cgi": "head('Content-Type: text/css')\nout('a' * 9000)\n"})
    (made.root / "site.dict.br").write_bytes(SMALL)
    (made.root / "users").write_text("u:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=\n")  # "password"
    return made.start()


def get(server, path, host="www.example", protocol="tls", **kw):
    headers = {"Host": f"{host}:{server.tls_port}", **kw.pop("headers", {})}
    return server.get(path, protocol=protocol, headers=headers, **kw)


@pytest.mark.smoke
@pytest.mark.protocols("tls", "h2")
@pytest.mark.parametrize("coding", ["dcz", pytest.param("dcb", marks=pytest.mark.dcb)])
def test_a_page_is_a_difference_at_once(server, tmp_path, protocol, coding):
    """Nobody has requested the dictionary before, and there is no ElasticDictionaryStore. The
    second one is the previous one, which another line still names."""
    for known in (DICT, PAGE[:9000]):
        answer = server.get("/page.html", f"gzip, {coding}", {
            "Host": "www.example", "Available-Dictionary": field(known), **DOCUMENT},
            protocol=protocol)
        assert decoded(answer, known, tmp_path, coding) == PAGE
        assert answer.has_token("Vary", "Available-Dictionary")
        assert server.notes(answer)["elastic-dictionary"] == "used"
        # Who has it already is not told of it.
        assert answer.headers.all(LINK) == ([] if known is DICT else [link_to(DICT)])
        assert known is not DICT or len(answer.raw) < 1000


@pytest.mark.parametrize("host", ["www", "proxy", "mapped", "rewrite", "backend", "redirect",
                                  "part", "folder"])
def test_it_is_served_whatever_maps_urls_there(server, host):
    host += ".example"
    answer = get(server, url_of(DICT), host, ae="gzip")
    check.encoded(answer, "gzip", DICT)
    assert answer.headers["Content-Type"] == "text/plain"
    assert answer.headers[USE] == 'match="/*", match-dest=("document")'
    assert answer.headers["Cache-Control"] == "public, max-age=2592000, immutable"
    answer = get(server, url_of(DICT), host)
    check.plain(answer, DICT)
    assert answer.headers["ETag"] == f'"{url_of(DICT).removeprefix(FOLDER)}"'


@pytest.mark.parametrize("path,host,named", [
    ("/page.html", "www", "site"), ("/page.txt", "www", None), ("/absent.html", "www", None),
    ("/page.html", "none", None), ("/page.html", "proxy", "site"), ("/page.html", "own", "other"),
    ("/page.html", "off", None), ("/page.html", "part", "site"), ("/a/page.html", "part", "other"),
    ("/page.html", "only", None), ("/a/page.html", "only", "other"),
    ("/page.cgi", "rule", None), ("/no-type", "www", None), ("/page.html", "port", "binary"),
    ("/page.html", "unknown", None)])
def test_documents_of_the_host_name_it(server, path, host, named):
    host += ".example"
    answer = get(server, path, host, ae="gzip")
    assert answer.headers.all(LINK) == ([link_to(FILES[named])] if named else [])
    assert answer.status == (404 if "absent" in path else 200) and USE not in answer.headers
    if named:
        assert answer.has_token("Vary", "Available-Dictionary")
        assert get(server, url_of(FILES[named]), host).raw == FILES[named]
    elif path == "/page.html" and host != "only.example":
        assert answer.headers["Vary"] == "Accept-Encoding"


@pytest.mark.parametrize("name,way,host", [
    ("site", "tls", "none"), ("site", "tls", "own"), ("site", "tls", "off"),
    ("site", "tls", "only"), ("other", "tls", "www"),
    ("other", "tls", "none"), ("binary", "tls", "www"), ("site", "tls", "unknown"),
    ("site", "http/1.1", "www")])
def test_no_other_host_serves_it(server, name, way, host):
    answer = get(server, url_of(FILES[name]), f"{host}.example", way)
    assert answer.status == 404 and USE not in answer.headers
    answer = get(server, "/page.html", f"{host}.example", way, ae="gzip, dcz",
                 headers={"Available-Dictionary": field(FILES[name]), **DOCUMENT})
    check.encoded(answer, "gzip", PAGE)


def test_members_get_it_and_nobody_else(server):
    """The <Location> that protects the pages protects the dictionary; no shared cache may store
    it."""
    assert get(server, url_of(DICT), "members.example").status == 401
    answer = get(server, url_of(DICT), "members.example",
                 headers={"Authorization": "Basic dTpwYXNzd29yZA=="})
    assert answer.raw == DICT and USE in answer.headers
    assert answer.headers["Cache-Control"] == "private, max-age=2592000, immutable"
    answer = get(server, url_of(DICT), "session.example")
    assert answer.headers["Cache-Control"] == "private, max-age=2592000, immutable"
    # Bytes that are no text go out as such.
    answer = get(server, url_of(BINARY), "port.example", ae="gzip")
    assert answer.raw == BINARY and answer.headers["Content-Type"] == "application/octet-stream"
    assert get(server, "/page.html", "[::1]", "http/1.1").headers[LINK] == link_to(BINARY)
    assert not get(server, "/page.html", "www.example:1").headers.all(LINK)


@pytest.fixture
def asked(server, protocol):
    """asked(): the dictionary; the names of other fields are those of the request."""
    return lambda ae=None, method="GET", **headers: server.get(
        url_of(DICT), ae, {"Host": "www.example", **headers}, method, protocol=protocol)


@pytest.mark.protocols("tls", "h2")
def test_conditions_methods_and_ranges(asked):
    whole, head = asked(), asked(method="HEAD")
    assert head.status == 200 and not head.raw
    check.same_header(whole, head, USE, "ETag", "Cache-Control", "Content-Type")
    for ae in (None, "gzip"):
        tag = asked(ae).headers["ETag"]
        check.not_modified(asked(ae, **{"If-None-Match": tag}), tag)
    assert asked(**{"If-None-Match": '"x"'}).status == 200
    part = asked(Range="bytes=10-19")
    assert part.status == 206 and part.raw == DICT[10:20] and USE not in part.headers
    refused = asked(method="POST")
    assert refused.status == 405 and "GET" in refused.headers["Allow"]


def test_who_sends_a_body_that_is_refused_gets_the_refusal_alone(server):
    with server.connect("tls") as connection:
        connection.send(f"GET {url_of(DICT)} HTTP/1.1\r\nHost: www.example\r\n"
                        "Transfer-Encoding: chunked\r\n\r\nno number\r\n".encode())
        got = b"".join(iter(lambda: connection.sock.recv(1 << 20), b""))
    assert got.startswith(b"HTTP/1.1 400 ") and DICT[:100] not in got


@pytest.mark.protocols("tls", "h2")
def test_the_file_in_br_beside_it_goes_out_in_its_place(asked):
    every = "gzip, br, zstd"
    answer = asked(every)
    check.encoded(answer, "br", DICT)
    assert answer.raw == SMALL and answer.headers["Content-Length"] == str(len(SMALL))
    assert USE in answer.headers
    tag = answer.headers["ETag"]
    assert tag != asked().headers["ETag"] and asked(every, "HEAD").headers["ETag"] == tag
    check.not_modified(asked(every, **{"If-None-Match": tag}), tag)
    for ae, coding in (("br;q=0.5, gzip", "gzip"), ("gzip", "gzip"), ("br;q=0", None)):
        check.negotiated(asked(ae), coding, DICT)
    assert asked(every, Range="bytes=10-19").raw == DICT[10:20]
    check.encoded(asked(every, Host="no-br.example"), "zstd", DICT)


@pytest.mark.parametrize("small", [
    brotli.compress(OTHER), brotli.compress(DICT[::-1]), brotli.compress(DICT)[:-1],
    brotli.compress(DICT + b"x"), b"", brotli.compress(DICT) + b"x",
    "/sys/devices/system/cpu/online"])  # which ends before the length that it says
def test_another_file_beside_it_is_a_warning(httpd, small):
    server = start(httpd, "Elastic On\nElasticControl off\n"
                   "ElasticDictionaryFile {root}/site.dict\n" + WWW)
    file = server.root / "site.dict.br"
    file.write_bytes(small) if isinstance(small, bytes) else file.symlink_to(small)
    server.start()
    server.expect_log("site.dict.br: it is not that file in br")
    answer = get(server, url_of(DICT), ae="br")
    check.encoded(answer, "br", DICT)
    assert answer.raw != small


def test_a_change_comes_with_a_reload_and_visitors_keep_what_they_have(httpd, tmp_path):
    """ElasticDictionaryStore keeps old dictionaries usable after the file is gone, and never mixes
    up their bytes."""
    server = start(httpd, "Elastic On\nElasticControl off\n"
                   f"ElasticDictionaryFile {{root}}/site.dict\n{STORE}{WWW}"
                   '<LocationMatch "^/(dict|[.])">\nElasticDictionary match="/x/*"\n'
                   f"{WEEK}\n</LocationMatch>\n", files={"dict.txt": DICT})
    make_store(server)
    server.start()
    old, new = url_of(DICT), url_of(OTHER)
    # Another rule's dictionary with the same bytes is for other pages.
    assert get(server, "/dict.txt").headers[USE] == 'match="/x/*"'
    answer = get(server, "/page.html", ae="gzip, dcz",
                 headers={"Available-Dictionary": field(DICT), **DOCUMENT})
    assert decoded(answer, DICT, tmp_path) == PAGE
    answer = get(server, old)
    assert answer.raw == DICT and answer.headers[USE] == 'match="/*", match-dest=("document")'
    assert (store_of(server) / name_of(DICT)).read_bytes() == DICT
    (server.root / "site.dict").write_bytes(OTHER)
    assert get(server, old).raw == DICT and get(server, new).status == 404
    server.graceful()
    assert get(server, old).status == 404 and get(server, new).raw == OTHER
    for known in (DICT, OTHER):
        answer = get(server, "/page.html", ae="gzip, dcz",
                     headers={"Available-Dictionary": field(known), **DOCUMENT})
        if known is DICT:
            assert decoded(answer, known, tmp_path) == PAGE
            assert answer.headers[LINK] == link_to(OTHER)
        assert server.notes(answer)["elastic-dictionary"] in ("used", "outdone")
    assert server.status()["ElasticDictionaryFaults"] == "0"


def test_what_cannot_be_read_is_a_warning(httpd):
    """No file, an empty one, a folder, and one that is too large."""
    names = ("none", "empty", "folder", "large")
    server = start(httpd, "Elastic On\n" + "".join(
        f"ElasticDictionaryFile {{root}}/{name}.dict\n" for name in names))
    (server.root / "empty.dict").write_bytes(b"")
    (server.root / "folder.dict").mkdir()
    (server.root / "large.dict").write_bytes(bytes(9_000_000))
    ok, said = server.configtest()
    assert ok
    for name in names:
        assert said.count(f"{name}.dict: the file cannot be read") == 1
    server.expect_log("dict: the file cannot be read")
    server.start()
    answer = get(server, "/page.html", "localhost", ae="gzip")
    check.encoded(answer, "gzip", PAGE)
    assert LINK not in answer.headers and answer.headers["Vary"] == "Accept-Encoding"
