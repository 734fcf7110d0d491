"""Responses that become dictionaries (RFC 9842): which ones, their fields, and the stored files."""

import gzip
import os
import re

import pytest

from kit import at, bodies, check, env
from kit.config import vhost
from kit.dictionary import STORE, WEEK, ask, make_store, name_of, start, store_of
from kit.process import free_port

DICT = bodies.text(30_000)
PAGE = bodies.html(20_000)
OWN = bodies.html(9000), bodies.html(9001)
STYLE = bodies.text(10_000)
PRECOMPRESSED = gzip.compress(STYLE, 9, mtime=0)
INCLUDED = bodies.text(9002)
# A user who is known by no field of the request.
USER = """\
function user(r)
    r.user = "u"
    return apache2.DECLINED
end
"""

EL_PATH_ROOM = 1024
RULE = 'ElasticDictionary match="/pages/*"'
USE = "Use-As-Dictionary"
PLAIN = f"{RULE}\n{WEEK}\n"


def entries(server, body, origin):
    """The folder's entries for the dictionary and the origin: a dict for each rule."""
    texts = [text for file in store_of(server).glob(name_of(body) + ".*")
             for text in file.read_text().split("elastic-dictionary 1\n")[1:]]
    found = [dict(line.partition(" ")[::2] for line in text.splitlines()) for text in texts]
    return [entry for entry in found if entry["origin"] == origin]


def kept(server, body):
    """The stored file of the dictionary, if there is one."""
    return store_of(server) / name_of(body)


# {NAME: the settings below /NAME, beside a rule and a lifetime of a week}; other Cache-Control:
# tests/unit/test_cache_control.c
REFUSED = {
    "private": 'Header set Cache-Control "private, max-age=60"',
    "nostore": 'Header set Cache-Control "no-store, max-age=60"',
    "nocache": 'Header set Cache-Control "no-cache, max-age=60"',
    "zero": 'Header set Cache-Control "max-age=0, stale-while-revalidate=600"',
    "forever": "Header unset Cache-Control", "cookie": 'Header add Set-Cookie "a=b"',
    "error": 'Header always add Set-Cookie "a=b"', "varies": 'Header add Vary "Accept, Cookie"',
    "cookie2": 'Header add Set-Cookie2 "a=b"', "login": "Header add Vary Authorization",
    "session": "LuaHookFixups {docs}/user.lua user",
    "any": 'Header set Vary "*"', "encoded": 'Header set Content-Encoding "aes128gcm"',
    "off": "ElasticDictionary Off"}
CONFIG = """
Elastic On
AddOutputFilter INCLUDES .shtml
<Directory {docs}>
    Options +Includes
</Directory>
SSLVerifyClient optional
SetEnvIf X-Told (.+) HTTPS=$1
SSLCACertificateFile {root}/tls.pem
""" + "".join(at(name, RULE, WEEK, line) for name, line in REFUSED.items()) \
    + at("d", RULE, WEEK) + at("named", RULE, WEEK, "SetOutputFilter ELASTIC_DICTIONARY") \
    + at("plain", "Elastic Off", RULE, WEEK, "SetEnv ap_trust_cgilike_cl 1") \
    + at("precompressed", RULE, WEEK, "ElasticPrecompressed On") \
    + at("full", 'ElasticDictionary id="v 1\\"" match-dest="document script" match="*.txt"', WEEK) \
    + at("expires", RULE, 'Header set Expires "Thu, 01 Jan 2099 00:00:00 GMT"') \
    + at("linked", 'ElasticDictionaryLink /d/dict.bin', 'Header set Link "</a>; rel=next"') \
    + at("removed", RULE, WEEK, "RequestHeader unset Authorization") + at("pages") \
    + at("both", 'ElasticDictionaryLink /d/dict.bin', RULE, WEEK)

# The script waits after the first part until the test makes the file `NAME`.
PARTS = bodies.text(9000) + b"<the first part ends>", bodies.text(9001)
CGI = {
    "parts.cgi": f"""\
head('Content-Type: text/plain')
out({PARTS[0]!r})
for turn in range(2000):
    if os.path.exists(os.environ['KIT'] + '/docs/' + os.environ['QUERY_STRING']):
        break
    time.sleep(.01)
out({PARTS[1]!r})
""",
    "slow.cgi": "head('Content-Type: text/plain')\nout('a' * 9000)\ntime.sleep(0.2)\n"
                "out('b' * 9000)\n",
    "large.cgi": "head('Content-Type: text/plain')\nfor _ in range(9):\n    out('c' * 1000000)\n",
    "short.cgi": "head('Content-Type: text/plain', 'Content-Length: 9000')\nout('d' * 8000)\n",
    "empty.cgi": "head('Content-Type: text/plain')\n",
    "to.cgi": "head('Location: /linked/page.html')\n",
    "none.cgi": "head('Content-Type: text/plain', 'Status: 404')\nout('a' * 9000)\n",
    "long.cgi": "head('Content-Type: text/plain', 'ETag: \"l\"')\n"
                "out('a line of a script ' * 20000)\n",
}


@pytest.fixture(scope="module")
def server(httpd_shared):
    return start(httpd_shared, CONFIG, {
        "dict.bin": DICT, "dict.txt": DICT, "page.html": PAGE, "no.txt": b"",
        "own.html": OWN[0], "mine.html": OWN[1], "style.css": STYLE, "style.css.gz": PRECOMPRESSED,
        "large.bin": bytes(9_000_000), "largest.bin": bytes(8 << 20), "user.lua": USER,
        "included.txt": INCLUDED,
        "page.shtml": '<p><!--#include virtual="/d/included.txt" -->'},
        modules=["lua", "include"],
        tls=True, h2=env.possible("h2"), cgi=CGI)


@pytest.mark.smoke
@pytest.mark.protocols("http/1.1", "tls", "h2")
def test_a_dictionary_is_kept_and_given_out(server, protocol):
    port = server.port if protocol == "http/1.1" else server.tls_port
    host = "127.0.0.1" if protocol == "h2" else f"127.0.0.1:{port}"
    body, name = DICT + protocol.encode(), f"{protocol.replace('/', '')}.bin"
    server.write(name, body)
    before = server.status()
    answer = server.get(f"/d/{name}", protocol=protocol, headers={"Host": host})
    check.plain(answer, body, varies=False)
    assert answer.headers[USE] == 'match="/pages/*"'
    file = kept(server, body)
    assert file.read_bytes() == body and file.stat().st_mode & 0o777 == 0o600
    scheme = "http" if protocol == "http/1.1" else "https"
    [entry] = entries(server, body, f"{scheme}://{host}")
    assert entry["path"] == f"/d/{name}" and entry["match"] == "/pages/*"
    # Twice the lifetime that the browser counts.
    assert 2 * 604700 < int(entry["expires"]) - file.stat().st_mtime < 2 * 604900 + 3600
    after = server.status()
    assert int(after["ElasticDictionaries"]) == int(before["ElasticDictionaries"]) + 1
    assert after["ElasticDictionaryFaults"] == "0"


@pytest.mark.parametrize("path,coding,sent,body", [
    ("/d/dict.txt", "gzip", None, DICT), ("/plain/dict.txt", None, None, DICT),
    ("/expires/dict.bin", None, None, DICT),
    ("/named/dict.bin", None, None, DICT),
    ("/d/slow.cgi", "gzip", None, b"a" * 9000 + b"b" * 9000),  # comes in pieces
    # The original file becomes the dictionary.
    ("/precompressed/style.css", "gzip", PRECOMPRESSED, STYLE)])
def test_it_is_given_out_whatever_its_coding_is(server, path, coding, sent, body):
    answer = server.get(path, ae="gzip")
    check.whole(answer, coding, body)
    assert sent is None or answer.raw == sent
    assert answer.headers[USE] == 'match="/pages/*"' and kept(server, body).read_bytes() == body


@pytest.mark.parametrize("before,host,origin", [
    ("", "LocalHost", "http://localhost"), ("", "[::1]", "http://[::1]"),
    ("http://LocalHost", "example", "http://localhost"), ("http://[::1]", "x", "http://[::1]"),
    ("", "localhost:81", "http://localhost:81")])
def test_all_of_a_rule_is_given_out(server, before, host, origin):
    answer = server.get(before + "/full/dict.txt?a=b", headers={"Host": host})
    assert answer.headers[USE] == (
        'match="*.txt", match-dest=("document" "script"), id="v 1\\""')
    [found] = entries(server, DICT, origin)
    del found["expires"]
    assert found == {"origin": origin, "path": "/full/dict.txt", "match": "*.txt",
                     "match-dest": "document script", "id": 'v 1"'}


@pytest.mark.parametrize("told,origin", [
    ("off", "http://localhost"), ("On", "https://localhost")])
def test_a_variable_tells_of_tls_in_front(server, told, origin):
    server.get("/full/dict.txt", headers={"Host": "localhost", "X-Told": told})
    assert entries(server, DICT, origin)


def test_ipv4_by_a_socket_of_both_is_this_machine(httpd):
    """As Debian's `Listen 80` makes it; plain http only counts from this machine."""
    port = free_port("::")
    server = start(httpd, f"Listen [::]:{port}\n" + at("d", PLAIN))
    server.v6_port = port
    for address in ("127.0.0.1", "::1"):
        with server.connect(ipv6=True, host=address) as connection:
            answer = connection.request("/d/dict.html", headers={"Host": "localhost"})
        assert USE in answer.headers, address


@pytest.mark.protocols("http/1.1", "h2")
@pytest.mark.parametrize("ae", ["gzip", None])
@pytest.mark.parametrize("place", ["d", "plain"])
def test_nothing_of_a_slow_body_is_withheld(server, place, ae, protocol):
    """The first part arrives while the script still waits."""
    seen = f"seen-{place}-{ae}-{protocol}".replace("/", "")
    host = {"Host": "localhost"} if protocol == "http/1.1" else None
    # The script waits at most 20 s.
    with server.stream(f"/{place}/parts.cgi?{seen}", ae=ae, headers=host, protocol=protocol,
                       timeout=15) as got:
        assert got.headers[USE] == 'match="/pages/*"'
        got.wait_for(PARTS[0], 15)
        server.write(seen, b"")
        assert got.read_all() == b"".join(PARTS)
    server.wait_for(kept(server, b"".join(PARTS)).exists, 30, "the dictionary")


@pytest.mark.parametrize("path", ["large.cgi", "short.cgi"])
def test_what_is_no_whole_body_is_a_hash_that_nobody_knows(server, path):
    """Bodies that are too large or shorter than announced: the header has promised a dictionary,
    but none is stored."""
    answer = server.get(f"/plain/{path}")
    assert USE in answer.headers and not kept(server, answer.raw).exists()
    answer = ask(server, dictionary=answer.raw)
    check.encoded(answer, "gzip", PAGE)
    assert server.notes(answer)["elastic-dictionary"] == "unknown"


def test_the_largest_dictionary(server):
    answer = server.get("/d/largest.bin")
    assert USE in answer.headers and kept(server, answer.raw).read_bytes() == bytes(8 << 20)


def test_an_included_file_is_none(server):
    assert server.get("/page.shtml").raw == b"<p>" + INCLUDED
    assert not kept(server, INCLUDED).exists()


def test_no_bytes_are_no_dictionary_and_no_fault(server):
    answer = server.get("/plain/empty.cgi")
    assert USE in answer.headers and not answer.raw and not kept(server, b"").exists()
    assert server.status()["ElasticDictionaryFaults"] == "0"


@pytest.mark.smoke
@pytest.mark.parametrize("ae", ["gzip", None])
def test_a_script_whose_page_is_copied_ends_with_a_late_304(server, ae):
    """The script writes more than a pipe holds, and mod_cgi (with prefork) waits for its end."""
    tag = server.get("/d/long.cgi", ae=ae).headers["ETag"]
    answer = server.get("/d/long.cgi", ae=ae, headers={"If-None-Match": tag}, timeout=30)
    assert answer.status == 304


@pytest.mark.parametrize("place", sorted(REFUSED))
def test_what_is_not_for_everyone_becomes_none(server, place):
    answer = server.get(f"/{place}/page.html")
    assert answer.status == 200 and answer.raw == PAGE
    assert USE not in answer.headers and not kept(server, PAGE).exists()


@pytest.mark.parametrize("path,asked,status", [
    *(("/d/page.html", {"headers": headers, **kw}, 206 if "Range" in headers else 200)
      for headers, kw in (
          ({"Authorization": "Basic YTpi"}, {}), ({"Range": "bytes=0-99"}, {}),
          ({"Host": "example.org"}, {}), ({"Host": "127.0.0.1.example.org"}, {}),
          ({"Host": "evil.example"}, {"protocol": "tls"}))),
    # A path that is too long, and one that no ElasticDictionaryFile has.
    ("/d/".ljust(EL_PATH_ROOM - 9, "/") + "page.html", {}, 200), ("/.none", {}, 404),
    ("/d/no.txt", {}, 200), ("/d/none.cgi", {}, 404), ("/d/large.bin", {}, 200),
    ("/d/dict.bin", {"method": "HEAD"}, 200), ("/d/slow.cgi", {"method": "POST"}, 200)])
def test_other_requests_get_none(server, path, asked, status):
    answer = server.get(path, **asked)
    assert answer.status == status and answer.complete and USE not in answer.headers
    assert not kept(server, PAGE).exists()


def test_who_has_logged_in_gets_none_though_the_credentials_were_removed(server):
    for headers, given in (({"Authorization": "Basic YTpi"}, False), ({}, True)):
        answer = server.get("/removed/own.html", headers=headers)
        assert answer.raw == OWN[0] and (USE in answer.headers) == given
        assert kept(server, OWN[0]).exists() == given


def test_who_has_a_client_certificate_gets_none(server):
    """Also if SSLUserName makes no user of the certificate."""
    for certificate, given in ((server.root / "tls.pem", False), (None, True)):
        with server.connect("tls", certificate=certificate) as connection:
            answer = connection.request("/d/mine.html")
        assert answer.raw == OWN[1] and (USE in answer.headers) == given
        assert kept(server, OWN[1]).exists() == given


def test_documents_name_the_dictionary(server):
    own = '</d/dict.bin>; rel="compression-dictionary"'
    for path in ("/linked/page.html", "/d/to.cgi"):
        answer = server.get(path, ae="gzip")
        check.encoded(answer, "gzip", PAGE)
        assert answer.headers.all("Link") == ["</a>; rel=next", own]
    for path, host in (("/linked/dict.txt", "localhost"), ("/linked/page.html", "example.org")):
        answer = server.get(path, headers={"Host": host})
        assert answer.headers.all("Link") == ["</a>; rel=next"], path
    answer = server.get("/both/dict.txt")
    assert USE in answer.headers and "Link" not in answer.headers


# --- memory of copies


@pytest.fixture(scope="module")
def bounded(httpd_shared, origin):
    """A server whose bodies may hold 1 MB."""
    origin.route("/broken", lambda exchange: (
        exchange.head(200, {"Content-Type": "text/plain", "Transfer-Encoding": "chunked"}),
        exchange.send(b"2328\r\n" + PARTS[0][:9000] + b"\r\n"), exchange.reset()))
    return start(httpd_shared, PLAIN + "ElasticMaxMemory 1M\n"
                 f"ProxyPass /broken {origin.url}/broken\n", modules=["proxy", "proxy_http"],
                 allow_log=["AH01102|AH01110|AH00992|AH10292"], cgi={"parts.cgi": CGI["parts.cgi"]},
                 files={"small.bin": DICT, "large.bin": bytes(2_000_000)})


def wait_for_memory(server):
    server.wait_for(lambda: server.status()["ElasticMemory"] == "0", 30, "memory that nobody holds")


def test_what_a_backend_breaks_off_is_no_dictionary(bounded):
    before = sorted(store_of(bounded).iterdir())
    answer = bounded.get("/broken")
    assert USE in answer.headers and not answer.complete
    assert sorted(store_of(bounded).iterdir()) == before


def test_what_bodies_may_hold_bounds_the_copy(bounded):
    """Beyond ElasticMaxMemory the body is sent as always, but becomes no dictionary."""
    for path, body, is_kept in (("small.bin", DICT, True), ("large.bin", bytes(2_000_000), False),
                                ("small.bin", DICT, True)):
        answer = bounded.get(f"/{path}")
        assert answer.raw == body and USE in answer.headers
        assert kept(bounded, body).exists() == is_kept
    wait_for_memory(bounded)
    # Who leaves gives the copy's memory back.
    with bounded.stream("/parts.cgi?seen") as got:
        got.wait_for(PARTS[0], 15)
        assert int(bounded.status()["ElasticMemory"]) > len(PARTS[0])
    bounded.write("seen", b"")
    wait_for_memory(bounded)


# --- the folder


def test_without_a_folder_nothing_is_different(httpd):
    server = httpd(PLAIN + "ElasticDictionaryLink /d\nElastic On\n", files={"page.html": PAGE},
                   allow_log=["without ElasticDictionaryStore"])
    answer = server.get("/page.html", ae="gzip")
    check.encoded(answer, "gzip", PAGE)
    assert USE not in answer.headers and "Link" not in answer.headers
    assert answer.headers["Vary"] == "Accept-Encoding"
    assert server.wait_log("ElasticDictionary has no effect without ElasticDictionaryStore")


def test_a_rule_of_any_host_needs_a_folder(httpd):
    server = httpd(vhost("a") + vhost("b", RULE) + vhost("c"), start=False)
    ok, said = server.configtest()
    assert ok and "ElasticDictionary has no effect" in said


@pytest.mark.root
def test_a_folder_that_may_not_be_written_is_a_warning(httpd):
    server = httpd(f'Elastic On\n{STORE}ElasticDictionary match="/*"\n{WEEK}\n',
                   files={"page.html": PAGE}, start=False)
    store = make_store(server)
    os.chown(store, 0, 0)
    store.chmod(0o755)
    ok, said = server.configtest()
    assert ok and "may not write to the folder" in said and "chown" in said
    server.expect_log("may not write to the folder|a dictionary cannot be written")
    server.start()
    for _ in range(3):
        answer = server.get("/page.html")
        assert answer.raw == PAGE and USE in answer.headers
    assert server.wait_log("Permission denied.*a dictionary cannot be written")
    assert int(server.status()["ElasticDictionaryFaults"]) == 3
    # A process says so once in a while.
    with server.connect() as connection:
        for _ in range(3):
            assert USE in connection.request("/page.html").headers
    lines = server.log.lines("a dictionary cannot be written")
    pids = [re.search(r"\[pid (\d+)", line)[1] for line in lines]
    assert sorted(set(pids)) == sorted(pids)
    answer = ask(server, "/page.html", dictionary=PAGE)
    check.encoded(answer, "gzip", PAGE)
    assert server.notes(answer)["elastic-dictionary"] == "unknown"


def test_the_folder_is_bounded(httpd):
    """Of several dictionaries the last ones are kept."""
    pages = {f"p{i}.bin": bytes([i]) * 200_000 for i in range(12)}
    server = start(httpd, PLAIN + STORE.replace("\n", " 1M\n"), pages)
    for i, (path, body) in enumerate(pages.items()):
        assert USE in server.get(f"/{path}").headers
        os.utime(kept(server, body), (1_600_000_000 + i, 1_600_000_000 + i))
    assert sum(file.stat().st_size for file in store_of(server).iterdir()) < 1.5 * 1024 * 1024
    assert kept(server, pages["p11.bin"]).exists() and not kept(server, pages["p0.bin"]).exists()
