"""The request notes, and for each reason not to compress its note and its counter."""

import gzip
import re

import pytest

from kit import at, bodies, check, env
from kit.counters import counted

TEXT = bodies.text(20000)
CONFIG = at("parts", "ElasticTypes +multipart/byteranges") + """
Elastic On
AddType text/x-noise .noise
<Location /off>
    Elastic Off
    SetOutputFilter ELASTIC
</Location>
<Location /fixed>
    Header set Cache-Control "public, no-transform"
</Location>
SetEnvIf Request_URI ^/no-elastic/ no-elastic
SetEnvIf Request_URI ^/no-gzip/ no-gzip
SetEnvIf Request_URI ^/no-brotli/ no-brotli
SetEnvIf Request_URI ^/html-only/ gzip-only-text/html=1
"""
FOLDERS = ("plain", "off", "fixed", "no-elastic", "no-gzip", "no-brotli", "html-only")
FILES = {**{f"{folder}/a.txt": TEXT for folder in FOLDERS},
         "plain/a.png": TEXT, "plain/tiny.txt": b"tiny", "plain/empty.txt": b"",
         "plain/a.noise": bodies.noise(20000)}
CGI = {
    "streamed.cgi": "head('Content-Type: text/plain')\nfor i in range(5):\n"
                    "    out('x' * 3000)\n    time.sleep(0.05)\n",
    "encoded.cgi": "import gzip\nhead('Content-Type: text/plain', 'Content-Encoding: gzip')\n"
                   "out(gzip.compress(b'done' * 5000))\n",
    "fixed.cgi": "head('Content-Type: text/plain', 'Cache-Control: no-transform')\n"
                 "out('done' * 5000)\n",
    "none.cgi": "head('Status: 204 No Content')\n",
    "part.cgi": "head('Status: 206 Partial Content', 'Content-Type: text/plain',\n"
                "     'Content-Range: bytes 0-19999/30000')\nout('p' * 20000)\n",
    "bare-part.cgi": "head('Status: 206 Partial Content', 'Content-Type: text/plain')\n"
                     "out('p' * 20000)\n",
    "parts.cgi": "head('Status: 206 Partial Content',\n"
                 "     'Content-Type: multipart/byteranges; boundary=x')\nout('p' * 20000)\n",
}


@pytest.fixture(scope="module")
def site(httpd_shared):
    return httpd_shared(CONFIG, files=FILES, cgi=CGI)


# (reason, path, Accept-Encoding, further request fields, Vary expected)
REASONS = [
    ("off", "/off/a.txt", "gzip", {}, False),
    ("type", "/plain/a.png", "gzip", {}, False),
    ("small", "/plain/tiny.txt", "gzip", {}, True),
    ("small", "/plain/empty.txt", "gzip", {}, True),
    ("encoded", "/encoded.cgi", "gzip", {}, False),
    ("not-acceptable", "/plain/a.txt", None, {}, True),
    ("not-acceptable", "/plain/a.txt", "deflate", {}, True),
    ("not-acceptable", "/plain/a.txt", "gzip;q=0, br;q=0", {}, True),
    ("env", "/no-elastic/a.txt", "gzip, br", {}, None),
    ("env", "/no-gzip/a.txt", "gzip", {}, None),
    ("env", "/no-brotli/a.txt", "br", {}, None),
    ("env", "/html-only/a.txt", "gzip", {}, None),
    ("no-transform", "/fixed/a.txt", "gzip", {}, False),
    ("no-transform", "/fixed.cgi", "gzip", {}, False),
    ("range", "/plain/a.txt", "gzip", {"Range": "bytes=0-99"}, True),
    ("range", "/part.cgi", "gzip", {}, None),
    ("range", "/bare-part.cgi", "gzip", {}, None),
    ("range", "/parts/parts.cgi", "gzip", {}, None),
    ("range", "/parts/parts.cgi", "br", {"Range": "bytes=0-9,20-29"}, None),
    ("status", "/none.cgi", "gzip", {}, None),
    ("not-smaller", "/plain/a.noise", "gzip", {}, True),
    ("not-smaller", "/plain/a.noise", "br", {}, True),
]


@pytest.mark.smoke
@pytest.mark.parametrize("reason,path,accept,fields,vary", REASONS,
                         ids=[f"{row[0]}-{row[1]}-{row[2]}" for row in REASONS])
def test_reason_and_counter(site, reason, path, accept, fields, vary):
    answer, grown = counted(site, lambda: site.get(path, ae=accept, headers=fields))
    notes = site.notes(answer)
    assert notes["elastic-reason"] == reason
    assert grown == {reason: 1}
    assert vary is None or answer.varies == vary
    assert "elastic-coding" not in notes
    if reason == "encoded":
        assert answer.coding == "gzip" and gzip.decompress(answer.raw) == b"done" * 5000
    elif answer.status == 200:
        assert answer.coding is None and answer.complete
        if path in (f"/{name}" for name in FILES):
            assert answer.raw == FILES[path[1:]]
    elif answer.status == 206 and path.endswith("cgi"):
        check.whole(answer, None, b"p" * 20000, 206)


def test_head_is_a_reason_of_its_own(site):
    answer, grown = counted(site, lambda: site.head("/plain/a.txt", ae="gzip"))
    assert site.reason(answer) == "head" and grown == {"head": 1}
    assert answer.coding == "gzip" and answer.varies


def test_304_has_the_reason_status(site):
    tag = site.get("/plain/a.txt").headers["ETag"]
    answer, grown = counted(
        site, lambda: site.get("/plain/a.txt", ae="gzip", headers={"If-None-Match": tag}))
    assert answer.status == 304
    assert site.notes(answer).get("elastic-reason") in ("status", None)
    assert "compressed" not in grown


def test_off_where_nothing_is_configured(httpd):
    server = httpd("", files={"a.txt": TEXT})
    answer, grown = counted(server, lambda: server.get("/a.txt", ae="gzip"))
    check.plain(answer, TEXT, varies=False)
    assert server.reason(answer) == "off" and grown == {"off": 1}


@pytest.mark.smoke
@pytest.mark.parametrize("coding,engines,levels", [
    ("gzip", {"zlib", "libdeflate", "isal"}, range(1, 10)), ("br", {"brotli"}, range(7)),
    *([("zstd", {"zstd"}, range(1, 10))] if env.HAS_ZSTD else [])])
def test_the_notes_of_a_compressed_response(site, coding, engines, levels):
    """Which of gzip's engines it is follows from the level, and that from the machine's load."""
    answer, grown = counted(site, lambda: site.get("/plain/a.txt", ae=coding))
    check.encoded(answer, coding, TEXT)
    notes = site.notes(answer)
    assert grown == {"compressed": 1}
    assert notes["elastic-coding"] == coding and notes["elastic-engine"] in engines
    assert int(notes["elastic-level"]) in levels
    assert notes["elastic-in"] == str(len(TEXT))
    assert int(notes["elastic-out"]) == len(answer.raw) == notes["sent"]
    assert abs(int(notes["elastic-ratio"]) - len(answer.raw) * 100 / len(TEXT)) <= 1
    assert re.fullmatch(r"~?\d+", notes["elastic-usec"])
    assert int(notes["elastic-usec"].lstrip("~")) < 10_000_000
    assert "elastic-reason" not in notes


def test_one_response_in_sixteen_has_its_cpu_time_taken(site):
    """The others have the time that passed, with a mark."""
    with site.connect() as connection:
        notes = [site.notes(connection.request("/plain/a.txt", ae="gzip")) for _ in range(64)]
    exact = [n for n in notes if not n["elastic-usec"].startswith("~")]
    assert 1 <= len(exact) <= 12
    assert all(n["elastic-usec"].lstrip("~").isdigit() for n in notes)


def test_a_load_in_rounds_is_sampled_as_a_whole(httpd):
    """Rounds of sixteen requests, as many as one sample stands for, of which one is for a page."""
    server = httpd("Elastic On\nMaxKeepAliveRequests 0\n",
                   files={"page.txt": TEXT, "data.txt": TEXT[:9000]})
    exact = []
    with server.connect() as connection:
        for number in range(16 * 16):
            name = "/page.txt" if number % 16 == 0 else "/data.txt"
            notes = server.notes(connection.request(name, ae="gzip"))
            if not notes["elastic-usec"].startswith("~"):
                exact.append(int(notes["elastic-in"]))
    pages = sum(size == len(TEXT) for size in exact)
    assert 0 < pages < len(exact) / 4 and 10 <= len(exact) <= 22


def test_a_streamed_response_has_all_notes_at_its_end(site):
    answer = site.get("/streamed.cgi", ae="gzip")
    check.encoded(answer, "gzip", b"x" * 15000)
    notes = site.notes(answer)
    assert notes["elastic-in"] == "15000" and notes["elastic-out"] == str(len(answer.raw))


# --- internal redirects

PAGE = "head('Content-Type: text/plain')\nout('done' * 5000)\n"
REDIRECTS = r"""
Elastic On
Action page-off /off/page.cgi virtual
Action page-on /on/page.cgi virtual
<LocationMatch ^/\w+/to-off$>
    SetHandler page-off
</LocationMatch>
<LocationMatch ^/\w+/to-on$>
    SetHandler page-on
</LocationMatch>
<LocationMatch ^/off/>
    Elastic Off
</LocationMatch>
ErrorDocument 404 /off/page.cgi
ErrorDocument 405 /on/page.cgi
ErrorDocument 500 /on/page.cgi
AddEncoding x-gzip gz
<LocationMatch ^/inflated/>
    SetOutputFilter INFLATE
</LocationMatch>
<LocationMatch ^/precompressed/>
    Elastic Off
    ElasticPrecompressed On
</LocationMatch>
"""


@pytest.fixture(scope="module")
def redirecting(httpd_shared):
    return httpd_shared(REDIRECTS, modules=["actions"], records=("elastic", "deflate"),
                        files={"on/a.png": TEXT, "off/a.txt": TEXT, "inflated/a.txt.gz": b"none",
                               "precompressed/a.txt": TEXT},
                        allow_log=(r"\[elastic:error\].* the body cannot be decoded",),
                        cgi={"on/page.cgi": PAGE, "off/page.cgi": PAGE})


@pytest.mark.smoke
@pytest.mark.parametrize("path,method,reason", [
    ("/off/to-off", "GET", "off"), ("/off/to-on", "GET", None), ("/on/to-off", "GET", "off"),
    ("/off/missing", "GET", "off"), ("/on/missing", "GET", "off"),
    ("/off/a.txt", "PUT", None), ("/on/a.png", "PUT", None), ("/inflated/a.txt.gz", "GET", None),
    ("/precompressed/a.txt", "PUT", None), ("/precompressed/a.txt", "GET", "off")])
def test_a_redirected_response_counts_once(redirecting, path, method, reason):
    """By what became of the response that went out."""
    def vhost():
        text = redirecting.get("/elastic-status?openmetrics").body.decode()
        return sum(float(value) for value in re.findall(
            r"(?m)^elastic_vhost_(?:uncompressed|compressed)_responses_total\{.*\} (.*)$", text))

    def ask():
        answer = redirecting.get(path, ae="gzip", method=method)
        redirecting.notes(answer)
        return answer

    own = vhost() - vhost()
    before = vhost()
    answer, grown = counted(redirecting, ask)
    assert grown == {reason or "compressed": 1}
    # counted() has asked for the page thrice.
    assert vhost() - before == 1 - 4 * own
    assert redirecting.reason(answer) == reason


def test_a_precompressed_file_is_no_skipped_response(redirecting):
    redirecting.write("precompressed/b.txt", TEXT)
    redirecting.write("precompressed/b.txt.gz", gzip.compress(TEXT))
    answer, grown = counted(redirecting, lambda: redirecting.get("/precompressed/b.txt", ae="gzip"))
    assert (answer.coding, answer.body) == ("gzip", TEXT)
    assert grown == {} and redirecting.reason(answer) is None
