"""Responses that become dictionaries (RFC 9842): which, what they carry, and what is kept of them.
"""

import gzip
import hashlib
import os
import ssl
import threading

import pytest

from kit import at, bodies, check, client, env
from kit.dictionary import field, make_store, store_of

DICT = bodies.text(30_000)
PAGE = bodies.html(20_000)
STYLE = bodies.text(10_000)
SIBLING = gzip.compress(STYLE, 9, mtime=0)

RULE = 'ElasticDictionary match="/pages/*"'
WEEK = 'Header set Cache-Control "public, max-age=604800"'


def name_of(body):
    return hashlib.sha256(body).hexdigest()


def entries(server, body, origin):
    """What the folder says of the dictionary for the origin: a dict for each rule."""
    texts = [text for file in store_of(server).glob(name_of(body) + ".*")
             for text in file.read_text().split("elastic-dictionary 1\n")[1:]]
    found = [dict(line.partition(" ")[::2] for line in text.splitlines()) for text in texts]
    return [entry for entry in found if entry["origin"] == origin]


# Below /NAME: what is set there, beside a rule and a lifetime of a week.
REFUSED = {
    "private": 'Header set Cache-Control "private, max-age=60"',
    "fields": 'Header set Cache-Control "private=\\"a\\", max-age=60"',
    "nostore": 'Header set Cache-Control "no-store, max-age=60"',
    "nocache": 'Header set Cache-Control "no-cache, max-age=60"',
    "forever": "Header unset Cache-Control",
    "zero": 'Header set Cache-Control "max-age=0"',
    "stale": 'Header set Cache-Control "max-age=0, stale-while-revalidate=600"',
    "cookie": 'Header add Set-Cookie "a=b"',
    "error": 'Header always add Set-Cookie "a=b"',
    "varies": 'Header add Vary "Accept, Cookie"',
    "any": 'Header set Vary "*"',
    "encoded": 'Header set Content-Encoding "aes128gcm"',
    "off": "ElasticDictionary Off",
}

CONFIG = f"""
Elastic On
ElasticDictionaryStore {{root}}/dictionaries
AddOutputFilter INCLUDES .shtml
<Directory {{docs}}>
    Options +Includes +ExecCGI
</Directory>
""" + "".join(at(name, RULE, WEEK, line) for name, line in REFUSED.items()) \
    + at("d", RULE, WEEK) + at("plain", "Elastic Off", RULE, WEEK, "SetEnv ap_trust_cgilike_cl 1") \
    + at("siblings", RULE, WEEK, "ElasticPrecompressed On") \
    + at("full", 'ElasticDictionary id="v 1\\"" match-dest="document script" match="*.txt"', WEEK) \
    + at("expires", RULE, 'Header set Expires "Thu, 01 Jan 2099 00:00:00 GMT"') \
    + at("linked", 'ElasticDictionaryLink /d/dict.bin', 'Header set Link "</a>; rel=next"') \
    + at("removed", RULE, WEEK, "RequestHeader unset Authorization") + at("pages") + at("both", 'ElasticDictionaryLink /d/dict.bin', RULE, WEEK)

# Waits for the test, which makes the file `NAME` when it has seen what was written until then.
AWAIT = """\
def until_seen(name):
    for turn in range(2000):
        if os.path.exists(os.environ['KIT'] + '/docs/' + name):
            return
        time.sleep(.01)
head('Content-Type: text/plain')
"""
PARTS = bodies.text(9000) + b"<the first part ends>", bodies.text(9001)
CGI = {
    "slow.cgi": "head('Content-Type: text/plain')\nout('a' * 9000)\ntime.sleep(0.2)\n"
                "out('b' * 9000)\n",
    "parts.cgi": AWAIT + f"out({PARTS[0]!r})\nuntil_seen(os.environ['QUERY_STRING'])\n"
                         f"out({PARTS[1]!r})\n",
    "large.cgi": "head('Content-Type: text/plain')\nfor _ in range(9):\n    out('c' * 1000000)\n",
    "short.cgi": "head('Content-Type: text/plain', 'Content-Length: 9000')\nout('d' * 8000)\n",
    "none.cgi": "head('Content-Type: text/plain', 'Status: 404')\nout('a' * 9000)\n",
}


@pytest.fixture(scope="module")
def server(httpd_shared):
    made = httpd_shared(CONFIG, modules=("include",), tls=True, h2=env.possible("h2"), start=False,
                        files={"dict.bin": DICT, "dict.txt": DICT, "page.html": PAGE, "no.txt": b"",
                               "style.css": STYLE, "style.css.gz": SIBLING,
                               "large.bin": bytes(9_000_000)}, cgi=CGI)
    make_store(made)
    return made.start()


@pytest.mark.smoke
@pytest.mark.protocols("http/1.1", "tls", "h2")
def test_a_dictionary_is_kept_and_given_out(server, protocol):
    port = server.port if protocol == "http/1.1" else server.tls_port
    host = "127.0.0.1" if protocol == "h2" else f"127.0.0.1:{port}"
    body, name = DICT + protocol.encode(), f"{protocol.replace('/', '')}.bin"
    server.write(name, body)
    answer = server.get(f"/d/{name}", protocol=protocol, headers={"Host": host})
    check.plain(answer, body, varies=False)
    assert answer.headers["Use-As-Dictionary"] == 'match="/pages/*"'
    kept = store_of(server) / name_of(body)
    assert kept.read_bytes() == body and kept.stat().st_mode & 0o777 == 0o600
    scheme = "http" if protocol == "http/1.1" else "https"
    [entry] = entries(server, body, f"{scheme}://{host}")
    assert entry["path"] == f"/d/{name}" and entry["match"] == "/pages/*"
    # Twice the lifetime that the browser counts.
    assert 2 * 604700 < int(entry["expires"]) - kept.stat().st_mtime < 2 * 604900 + 3600


def test_it_is_given_out_whatever_its_coding_is(server):
    answer = server.get("/d/dict.txt", ae="gzip")
    check.encoded(answer, "gzip", DICT)
    assert answer.headers["Use-As-Dictionary"] == 'match="/pages/*"'
    answer = server.get("/plain/dict.txt", ae="gzip")
    check.plain(answer, DICT, varies=False)
    assert "Use-As-Dictionary" in answer.headers


def test_of_a_precompressed_file_the_file_itself_becomes_one(server):
    answer = server.get("/siblings/style.css", ae="gzip")
    assert (answer.coding, answer.raw) == ("gzip", SIBLING)
    assert answer.headers["Use-As-Dictionary"] == 'match="/pages/*"'
    assert (store_of(server) / name_of(STYLE)).read_bytes() == STYLE


def test_all_of_a_rule_is_given_out(server):
    answer = server.get("/full/dict.txt?a=b", headers={"Host": "LocalHost"})
    assert answer.headers["Use-As-Dictionary"] == (
        'match="*.txt", match-dest=("document" "script"), id="v 1\\""')
    [found] = entries(server, DICT, "http://localhost")
    assert (found["path"], found["match"], found["match-dest"], found["id"]) == (
        "/full/dict.txt", "*.txt", "document script", 'v 1"')


def test_the_time_until_expires_is_a_lifetime(server):
    assert "Use-As-Dictionary" in server.get("/expires/dict.bin").headers


def test_a_body_that_comes_in_pieces_becomes_one(server):
    body = b"a" * 9000 + b"b" * 9000
    answer = server.get("/d/slow.cgi", ae="gzip")
    check.encoded(answer, "gzip", body)
    assert "Use-As-Dictionary" in answer.headers
    assert (store_of(server) / name_of(body)).read_bytes() == body


@pytest.mark.protocols("http/1.1", "h2")
@pytest.mark.parametrize("ae", ["gzip", None])
@pytest.mark.parametrize("place", ["d", "plain"])
def test_nothing_of_a_slow_body_is_withheld(server, place, ae, protocol):
    """The first part arrives while the script waits for it to be seen."""
    seen = f"seen-{place}-{ae}-{protocol}".replace("/", "")
    host = {"Host": "localhost"} if protocol == "http/1.1" else None
    with server.stream(f"/{place}/parts.cgi?{seen}", ae=ae, headers=host, protocol=protocol) as got:
        assert got.headers["Use-As-Dictionary"] == 'match="/pages/*"'
        got.wait_for(PARTS[0], 15)
        server.write(seen, b"")
        assert got.read_all() == b"".join(PARTS)
    server.wait_for(lambda: (store_of(server) / name_of(b"".join(PARTS))).exists(), 30,
                    "the dictionary")


@pytest.mark.parametrize("path", ["large.cgi", "short.cgi"])
def test_what_is_no_whole_body_is_a_hash_that_nobody_knows(server, path):
    """Too large, or shorter than announced: the header says before what it is to become."""
    answer = server.get(f"/plain/{path}")
    assert "Use-As-Dictionary" in answer.headers
    kept = store_of(server) / name_of(answer.raw)
    answer = server.get("/pages/page.html", ae="gzip, dcz",
                        headers={"Available-Dictionary": field(answer.raw)})
    check.encoded(answer, "gzip", PAGE)
    assert server.notes(answer)["elastic-dictionary"] == "unknown" and not kept.exists()


def test_what_a_backend_breaks_off_is_no_dictionary(httpd, origin):
    origin.route("/broken", lambda exchange: (
        exchange.head(200, {"Content-Type": "text/plain", "Transfer-Encoding": "chunked"}),
        exchange.send(b"2328\r\n" + PARTS[0][:9000] + b"\r\n"), exchange.reset()))
    server = httpd("Elastic On\nElasticDictionaryStore {root}/dictionaries\n" + RULE + "\n" + WEEK
                   + f"\nProxyPass /broken {origin.url}/broken\n", modules=["proxy", "proxy_http"],
                   start=False, allow_log=["AH01102|AH01110|AH00992|AH10292"])
    make_store(server)
    server.start()
    answer = server.get("/broken")
    assert "Use-As-Dictionary" in answer.headers and not answer.complete
    assert not list(store_of(server).iterdir())


def test_what_bodies_may_hold_bounds_the_copy(httpd):
    """Beyond ElasticMaxMemory the body goes out as always, and is no dictionary."""
    server = httpd("ElasticMaxMemory 1M\nElasticDictionaryStore {root}/dictionaries\n" + RULE + "\n"
                   + WEEK, files={"small.bin": DICT, "large.bin": bytes(2_000_000)}, start=False)
    make_store(server)
    server.start()
    for path, body, kept in (("small.bin", DICT, True), ("large.bin", bytes(2_000_000), False),
                             ("small.bin", DICT, True)):
        answer = server.get(f"/{path}")
        assert answer.raw == body and "Use-As-Dictionary" in answer.headers
        assert (store_of(server) / name_of(body)).exists() == kept
    server.wait_for(lambda: server.status()["ElasticMemory"] == "0", 30, "memory that nobody holds")


def test_who_leaves_gives_the_copys_memory_back(httpd):
    server = httpd("ElasticMaxMemory 64M\nElasticDictionaryStore {root}/dictionaries\n" + RULE + "\n"
                   + WEEK, cgi={"parts.cgi": CGI["parts.cgi"]}, start=False)
    make_store(server)
    server.start()

    def memory():
        return int(server.status()["ElasticMemory"])

    with server.stream("/parts.cgi?seen") as got:
        got.wait_for(PARTS[0], 15)
        assert memory() > len(PARTS[0])
    server.write("seen", b"")
    server.wait_for(lambda: memory() == 0, 30, "memory that nobody holds")


def test_what_is_kept_is_what_was_hashed(server):
    """Though the file is written over all the time: INCLUDES hands over its pages as they are in
    memory, which change with it."""
    size, stop = 3_000_000, threading.Event()
    file = server.write("live.shtml", b"0" * size)

    def write_over():
        with open(file, "r+b", buffering=0) as over:
            for number in range(1_000_000):
                if stop.is_set():
                    return
                os.pwrite(over.fileno(), b"%d" % (number % 10) * 100, number * 9973 % (size - 100))

    writer = threading.Thread(target=write_over)
    before = set(store_of(server).iterdir())
    writer.start()
    try:
        for _ in range(10):
            answer = server.get("/d/live.shtml")
            assert "Use-As-Dictionary" in answer.headers and len(answer.raw) == size
    finally:
        stop.set()
        writer.join()
    made = [path for path in set(store_of(server).iterdir()) - before if "." not in path.name]
    assert made
    for path in made:
        assert name_of(path.read_bytes()) == path.name
        path.unlink()


@pytest.mark.parametrize("place", sorted(REFUSED))
def test_what_is_not_for_everyone_becomes_none(server, place):
    answer = server.get(f"/{place}/page.html")
    assert answer.status == 200 and answer.raw == PAGE
    assert "Use-As-Dictionary" not in answer.headers
    assert not (store_of(server) / name_of(PAGE)).exists()


@pytest.mark.parametrize("name,value", [
    ("Authorization", "Basic YTpi"), ("Range", "bytes=0-99"), ("Host", "example.org"),
    ("Host", "127.0.0.1.example.org")])
def test_other_requests_get_none(server, name, value):
    answer = server.get("/d/page.html", headers={name: value})
    assert answer.status in (200, 206) and "Use-As-Dictionary" not in answer.headers
    assert not (store_of(server) / name_of(PAGE)).exists()


def test_who_has_logged_in_gets_none_though_the_credentials_were_removed(server):
    server.write("own.html", bodies.html(9000))
    for headers, given in (({"Authorization": "Basic YTpi"}, False), ({}, True)):
        answer = server.get("/removed/own.html", headers=headers)
        assert answer.status == 200 and ("Use-As-Dictionary" in answer.headers) == given


@pytest.mark.parametrize("path,method,status", [
    ("/d/no.txt", "GET", 200), ("/d/none.cgi", "GET", 404), ("/d/large.bin", "GET", 200),
    ("/d/dict.bin", "HEAD", 200), ("/d/slow.cgi", "POST", 200)])
def test_other_responses_are_none(server, path, method, status):
    answer = server.get(path, method=method)
    assert answer.status == status and answer.complete
    assert "Use-As-Dictionary" not in answer.headers


@pytest.mark.parametrize("verify", ["optional", "optional_no_ca"])
def test_who_has_a_client_certificate_gets_none(httpd, verify):
    """Also where SSLUserName makes no user of it."""
    server = httpd("ElasticDictionaryStore {root}/dictionaries\n" + RULE + "\n" + WEEK
                   + f"\nSSLVerifyClient {verify}\nSSLCACertificateFile {{root}}/tls.pem\n",
                   files={"page.html": PAGE}, tls=True, start=False)
    make_store(server)
    server.start()

    def get(certificate):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if certificate:
            context.load_cert_chain(certificate)
        with client.Connection(("127.0.0.1", server.tls_port)) as connection:
            connection.sock = context.wrap_socket(connection.sock)
            return connection.request("/page.html", headers={"Host": f"localhost:{server.tls_port}"})

    answer = get(server.root / "tls.pem")
    assert answer.raw == PAGE and "Use-As-Dictionary" not in answer.headers
    assert not list(store_of(server).iterdir())
    assert "Use-As-Dictionary" in get(None).headers


def test_a_host_that_is_not_the_servers_has_none(server):
    answer = server.get("/d/page.html", protocol="tls", headers={"Host": "evil.example"})
    assert answer.raw == PAGE and "Use-As-Dictionary" not in answer.headers
    assert not (store_of(server) / name_of(PAGE)).exists()


def test_documents_name_the_dictionary(server):
    answer = server.get("/linked/page.html", ae="gzip")
    check.encoded(answer, "gzip", PAGE)
    links = answer.headers.all("Link")
    assert links == ["</a>; rel=next", '</d/dict.bin>; rel="compression-dictionary"']
    for path, host in (("/linked/dict.txt", None), ("/linked/page.html", "example.org")):
        answer = server.get(path, headers={"Host": host} if host else None)
        assert answer.headers.all("Link") == ["</a>; rel=next"], path
    answer = server.get("/both/dict.txt")
    assert "Use-As-Dictionary" in answer.headers and "Link" not in answer.headers


def test_the_status_counts_them(server):
    before = int(server.status()["ElasticDictionaries"])
    server.get("/d/dict.bin")
    after = server.status()
    assert int(after["ElasticDictionaries"]) == before + 1
    assert after["ElasticDictionaryFaults"] == "0"


def test_without_a_folder_nothing_is_different(httpd):
    lines = RULE + "\n" + WEEK + "\nElasticDictionaryLink /d\nElastic On\n"
    server = httpd(lines, files={"page.html": PAGE}, allow_log=["without ElasticDictionaryStore"])
    answer = server.get("/page.html", ae="gzip")
    check.encoded(answer, "gzip", PAGE)
    assert "Use-As-Dictionary" not in answer.headers and "Link" not in answer.headers
    assert answer.headers["Vary"] == "Accept-Encoding"
    assert server.wait_log("ElasticDictionary has no effect without ElasticDictionaryStore")


def test_a_folder_that_is_not_there_is_a_warning(httpd):
    server = httpd("ElasticDictionaryStore {root}/dictionaries\n" + RULE + "\n" + WEEK,
                   files={"page.html": PAGE}, start=False)
    ok, said = server.configtest()
    assert ok and "there is no such folder" in said and str(store_of(server)) in said
    server.expect_log("there is no such folder")
    server.start()
    answer = server.get("/page.html")
    assert answer.raw == PAGE and "Use-As-Dictionary" not in answer.headers
    make_store(server)
    server.graceful()
    server.wait_for(lambda: "Use-As-Dictionary" in server.get("/page.html").headers, 60,
                    "a server with its folder")


@pytest.mark.root
def test_a_folder_that_may_not_be_written_is_a_warning(httpd):
    server = httpd('Elastic On\nElasticDictionaryStore {root}/dictionaries\n'
                   'ElasticDictionary match="/*"\n' + WEEK, files={"page.html": PAGE}, start=False)
    store = make_store(server)
    os.chown(store, 0, 0)
    store.chmod(0o755)
    ok, said = server.configtest()
    assert ok and "may not write to the folder" in said and "chown" in said
    server.expect_log("may not write to the folder|a dictionary cannot be kept")
    server.start()
    for _ in range(3):
        answer = server.get("/page.html")
        assert answer.raw == PAGE and "Use-As-Dictionary" in answer.headers
    assert server.wait_log("Permission denied.*a dictionary cannot be kept")
    assert int(server.status()["ElasticDictionaryFaults"]) == 3
    answer = server.get("/page.html", ae="gzip, dcz", headers={"Available-Dictionary": field(PAGE)})
    check.encoded(answer, "gzip", PAGE)
    assert server.notes(answer)["elastic-dictionary"] == "unknown"


def test_the_folder_is_bounded(httpd):
    """Of what was made one after the other, the last ones are there."""
    pages = {f"p{i}.bin": bytes([i]) * 200_000 for i in range(12)}
    server = httpd("ElasticDictionaryStore {root}/dictionaries 1M\n" + RULE + "\n" + WEEK,
                   files=pages, start=False)
    store = make_store(server)
    server.start()
    for i, (path, body) in enumerate(pages.items()):
        assert "Use-As-Dictionary" in server.get(f"/{path}").headers
        os.utime(store / name_of(body), (1_600_000_000 + i, 1_600_000_000 + i))
    sizes = [file.stat().st_size for file in store.iterdir()]
    assert sum(sizes) < 1.5 * 1024 * 1024
    assert (store / name_of(pages["p11.bin"])).exists()
    assert not (store / name_of(pages["p0.bin"])).exists()
