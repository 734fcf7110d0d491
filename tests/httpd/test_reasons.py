"""Decisions: for each reason not to compress its note, its counter and its text in ElasticExplain;
the notes of compressed responses; and `why`, which reads ElasticExplain's field."""

import gzip
import re
import subprocess
import sys
import zlib
from pathlib import Path

import brotli
import pytest
import zstandard

from kit import at, bodies, cache, check, env, keep
from kit.counters import counted
from kit.origin import raw

pytestmark = pytest.mark.rules

ROOT = Path(__file__).parents[2]
TEXT = bodies.text(20000)
LARGE = bodies.text(1200000)  # larger than any body that is gathered
OLD = 1_500_000_000
SECRET = {"X-Explain": "secret"}

CONFIG = """
Elastic On
ElasticGoal cpu
ElasticControl off
ElasticLevel gzip 6
ElasticLevel br 4
AddHandler send-as-is asis
AddType text/x-noise .noise
ErrorDocument 404 /plain/a.txt
SetEnvIf Request_URI ^/no-elastic/ no-elastic
<If "req_novary('X-Explain') == 'secret'">
    ElasticExplain On
</If>
CacheQuickHandler off
CacheEnable disk /stored
CacheHeader On
CacheDefaultExpire 3600
""" + cache.ROOT + at("no-elastic") + at("plain") + at("stored") \
    + at("off", "Elastic Off", "SetOutputFilter ELASTIC") \
    + at("fixed", 'Header set Cache-Control "public, no-transform"') \
    + at("parts", "ElasticTypes +multipart/byteranges") + at("kept", "ElasticCache On") \
    + at("precompressed", "ElasticPrecompressed On") + at("denied", "Require all denied") \
    + at("always", "ElasticExplain On")
FILES = {"a.txt": TEXT, "a.png": TEXT, "tiny.txt": b"tiny", "empty.txt": b"",
         "a.noise": bodies.noise(20000), "both.txt": TEXT,
         "both.txt.gz": gzip.compress(TEXT, mtime=0),
         "page.asis": b"Content-Type: text/plain\n\n" + TEXT}
PART = "head('Status: 206 Partial Content', %s)\nout('p' * 20000)\n"
CGI = {
    "large.cgi": "head('Content-Type: text/plain')\nout(bodies.text(1200000))\n",
    "encoded.cgi": "import gzip\nhead('Content-Type: text/plain', 'Content-Encoding: gzip')\n"
                   "out(gzip.compress(b'done' * 5000))\n",
    "fixed.cgi": "head('Content-Type: text/plain', 'Cache-Control: no-transform')\n"
                 "out('done' * 5000)\n",
    "none.cgi": "head('Status: 204 No Content')\n",
    "part.cgi": PART % "'Content-Type: text/plain', 'Content-Range: bytes 0-19999/30000'",
    "bare-part.cgi": PART % "'Content-Type: text/plain'",
    "parts.cgi": PART % "'Content-Type: multipart/byteranges; boundary=x'",
}

# A dictionary of one member with parameters (RFC 8941 §3.2).
TOKEN = r"[A-Za-z*][\w:/!#$%&'*+.^`|~-]*"
PARAMETER = rf'; ([a-z][a-z0-9-]*)=({TOKEN}|\d+(?:\.\d{{1,3}})?|"(?:[ !#-\[\]-~]|\\["\\])*")'


@pytest.fixture(scope="module")
def site(httpd_shared):
    server = httpd_shared(CONFIG, modules=[*cache.MODULES, *keep.SHMCB], allow_log=["AH01630"],
                          start=False, cgi=CGI)
    for name, data in FILES.items():
        server.write(name, data, OLD)
    cache.make_directory(server)
    return server.start()


def parsed(answer):
    """{parameter: value} of Elastic-Explain; the response must not be stored."""
    [value] = answer.headers.all("Elastic-Explain")
    assert answer.has_token("Cache-Control", "no-store"), answer
    first = re.match(rf"reason=({TOKEN})", value)
    rest = value[first.end():]
    assert re.fullmatch(f"(?:{PARAMETER})*", rest), value
    found = re.findall(PARAMETER, rest)
    assert len(dict(found)) == len(found), value
    return {"reason": first[1], **{name: text.strip('"') for name, text in found}}


def explained(server, path, ae="gzip", headers=None, **kw):
    answer = server.get(path, ae=ae, headers={**SECRET, **(headers or {})}, **kw)
    return answer, parsed(answer)


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
    assert notes["elastic-reason"] == reason and "elastic-coding" not in notes
    assert grown == {reason: 1}
    assert vary is None or answer.varies == vary
    assert answer.complete and answer.coding == ("gzip" if reason == "encoded" else None)
    name = path.rpartition("/")[2]
    expected = {"encoded.cgi": b"done" * 5000, "fixed.cgi": b"done" * 5000, "none.cgi": b"",
                **FILES}.get(name, b"p" * 20000)
    assert answer.body == (TEXT[:100] if fields and name == "a.txt" else expected)
    answer, found = explained(site, path, accept, fields)
    assert found["reason"] == reason and ("setup" in found) == (reason == "not-smaller")
    if reason == "small":
        assert int(found["size"]) < int(found["min-size"])


def test_head_is_a_reason_of_its_own(site):
    answer, grown = counted(site, lambda: site.head("/plain/a.txt", ae="gzip", headers=SECRET))
    assert site.reason(answer) == "head" and grown == {"head": 1}
    assert answer.coding == "gzip" and answer.raw == b"" and answer.varies
    found = parsed(answer)
    assert found["reason"] == "head" and found["coding"] == "gzip"
    asked = {**SECRET, "If-None-Match": answer.headers["ETag"]}
    answer, grown = counted(site, lambda: site.get("/plain/a.txt", ae="gzip", headers=asked))
    check.not_modified(answer)
    assert parsed(answer)["reason"] == "status" and "compressed" not in grown


@pytest.mark.smoke
@pytest.mark.parametrize("coding,engines,levels", [
    ("gzip", {"zlib", "libdeflate"}, [6]), ("br", {"brotli"}, [4]),
    *([("zstd", {"zstd"}, range(1, 10))] if env.HAS_ZSTD else [])])
@pytest.mark.parametrize("path,body", [("/plain/a.txt", TEXT), ("/large.cgi", LARGE)])
def test_the_notes_of_a_compressed_response(site, path, body, coding, engines, levels):
    """ElasticExplain has them, too; for a stream, those that are known with its header."""
    answer, grown = counted(site, lambda: site.get(path, ae=coding, headers=SECRET))
    check.whole(answer, coding, body)
    notes, found = site.notes(answer), parsed(answer)
    assert grown == {"compressed": 1} and "elastic-reason" not in notes
    assert notes["elastic-coding"] == coding and notes["elastic-engine"] in engines
    assert int(notes["elastic-level"]) in levels
    assert notes["elastic-in"] == str(len(body))
    assert int(notes["elastic-out"]) == len(answer.raw) == notes["sent"]
    assert abs(int(notes["elastic-ratio"]) - len(answer.raw) * 100 / len(body)) <= 1
    usec = int(re.fullmatch(r"~?(\d+)", notes["elastic-usec"])[1])
    assert usec < 10_000_000
    assert (found["reason"], found["coding"], found["type"]) == ("compressed", coding, "text/plain")
    assert found["setup"] == f"{notes['elastic-engine']} {notes['elastic-level']}"
    assert 0 <= float(found["position"]) <= 1 and "price" not in found
    if body == TEXT:
        assert int(found["size"]) == int(found["in"]) == len(body)
        assert int(found["out"]) == len(answer.raw) and int(found["usec"]) == usec
        assert int(found["expected-usec"]) > 0
    else:
        assert "out" not in found and "size" not in found


def test_a_load_in_rounds_is_sampled_as_a_whole(httpd):
    """Rounds of sixteen requests, as many as one sample stands for, with one for a page. One
    response in sixteen has its CPU time measured; the others have elapsed time with a mark."""
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
                               "precompressed/a.txt": TEXT, "precompressed/b.txt": TEXT,
                               "precompressed/b.txt.gz": gzip.compress(TEXT)},
                        allow_log=(r"\[elastic:error\].* the body cannot be decoded",),
                        cgi={"on/page.cgi": PAGE, "off/page.cgi": PAGE})


@pytest.mark.smoke
@pytest.mark.parametrize("path,method,outcome", [
    ("/off/to-off", "GET", "off"), ("/off/to-on", "GET", "compressed"),
    ("/on/to-off", "GET", "off"), ("/off/missing", "GET", "off"), ("/on/missing", "GET", "off"),
    ("/off/a.txt", "PUT", "compressed"), ("/on/a.png", "PUT", "compressed"),
    ("/inflated/a.txt.gz", "GET", "compressed"), ("/precompressed/a.txt", "PUT", "compressed"),
    ("/precompressed/a.txt", "GET", "off"), ("/precompressed/b.txt", "GET", None)])
def test_a_redirected_response_counts_once(redirecting, path, method, outcome):
    """The final response's outcome counts. A precompressed file is no skipped response."""
    answer, grown = counted(redirecting, lambda: redirecting.get(path, ae="gzip", method=method))
    assert grown == ({outcome: 1} if outcome else {})
    assert redirecting.reason(answer) == ("off" if outcome == "off" else None)
    assert outcome or (answer.coding, answer.body) == ("gzip", TEXT)


# --- ElasticExplain


@pytest.mark.smoke
def test_only_who_may_ask_gets_it(site):
    for headers in ({}, {"X-Explain": "guess"}):
        answer = site.get("/plain/a.txt", ae="gzip", headers=headers)
        check.encoded(answer, "gzip", TEXT)
        assert "Elastic-Explain" not in answer.headers
        assert not answer.has_token("Cache-Control", "no-store")
    assert parsed(site.get("/always/a.txt", ae="gzip"))["reason"] == "compressed"


def test_a_precompressed_file_and_a_cached_encoding(site):
    answer, found = explained(site, "/precompressed/both.txt")
    check.whole(answer, "gzip", TEXT)
    assert (found["reason"], found["coding"]) == ("precompressed", "gzip")
    assert int(found["in"]) == len(TEXT) and int(found["out"]) == len(answer.raw)
    for _ in range(2):  # seen, and seen again
        site.get("/kept/page.asis", ae="gzip")
    answer, found = check.once(lambda: explained(site, "/kept/page.asis"),
                               lambda got: got[1]["reason"] == "cache")
    check.whole(answer, "gzip", TEXT)
    assert found["reason"] == "cache" and found["coding"] == "gzip"
    assert re.fullmatch(r"\w+ 6", found["setup"]) and int(found["out"]) == len(answer.raw)
    # With HEAD, a hit was not planned.
    answer, found = explained(site, "/kept/page.asis", method="HEAD")
    assert answer.coding == found["coding"] == "gzip" and found["reason"] == "head"


def test_an_error_document_and_what_no_filter_saw(site):
    answer, found = explained(site, "/missing")
    assert answer.status == 404 and answer.body == TEXT and found["reason"] == "compressed"
    answer, found = explained(site, "/denied/a.txt")
    assert answer.status == 403 and found["reason"] == "unseen"


def test_what_mod_cache_stores_has_none(site):
    """The explained response is stored; its hits for others have no field."""
    with site.connect() as client:
        first, hit, again = [client.request("/stored/a.txt", ae="gzip", headers=headers)
                             for headers in (SECRET, {}, SECRET)]
    for answer, reason in ((first, "compressed"), (again, "mod-cache")):
        check.whole(answer, "gzip", TEXT)
        assert parsed(answer)["reason"] == reason
    check.whole(hit, "gzip", TEXT)
    assert cache.state(hit) == "HIT" and "Elastic-Explain" not in hit.headers
    assert not hit.has_token("Cache-Control", "no-store")
    stored = [path.read_bytes() for path in (site.root / "cache").rglob("*") if path.is_file()]
    assert any(b"text/plain" in data for data in stored)
    assert not any(b"elastic-explain" in data.lower() for data in stored)


ENCODERS = {"gzip": gzip.compress, "deflate": zlib.compress, "br": brotli.compress,
            "zstd": zstandard.ZstdCompressor().compress}
# {form: how a body of it is made with an encoder}
FORMS = {"whole": lambda encode: encode(TEXT), "cut": lambda encode: encode(TEXT)[:-1],
         "several": lambda encode: encode(TEXT) + encode(TEXT),
         "cut-later": lambda encode: encode(TEXT) + encode(TEXT)[:-1],
         "tail": lambda encode: encode(TEXT) + b"Warning: in x.php",
         "twice-later": lambda encode: encode(b"") + encode(gzip.compress(TEXT))}


@pytest.fixture(scope="module")
def labels(httpd_shared, origin):
    zipped = gzip.compress(TEXT)
    for name, fields, body in (
            ("plain", {}, TEXT), ("gzip", {"Content-Encoding": "gzip"}, zipped),
            ("unlabelled", {"X-Powered-By": "PHP/8.2"}, zipped),
            ("mislabelled", {"Content-Encoding": "gzip", "Via": "1.1 front (Varnish/7)"}, TEXT),
            ("twice", {"Content-Encoding": "gzip"}, gzip.compress(zipped)),
            ("archive", {"Content-Type": "application/gzip"}, zipped),
            ("bomb-gzip", {"Content-Encoding": "gzip"}, gzip.compress(bytes(300 << 20), 1)),
            ("bomb-br", {"Content-Encoding": "br"}, brotli.compress(bytes(300 << 20), quality=1)),
            ("hostile", {"Elastic-Explain": "reason=\x1b[2Jtitle\x07",
                         "Content-Encoding": "\x1b[31m"}, TEXT),
            ("odd", {"Content-Type": 'text/plain; a="b\\c"; \xe9'}, TEXT),
            *((f"{coding}-{form}", {"Content-Encoding": coding}, make(encode))
              for coding, encode in ENCODERS.items() for form, make in FORMS.items())):
        origin.route(f"/{name}", raw({"Content-Type": "text/plain", **fields,
                                      "Content-Length": len(body)}, body))
    return httpd_shared(f"Elastic On\nElasticGoal time 5Mbit/s\nElasticExplain On\n"
                        f"ProxyPass / {origin.url}/\n", modules=["proxy", "proxy_http"])


def test_a_type_from_elsewhere_is_a_string(labels):
    assert parsed(labels.get("/odd", ae="gzip"))["type"] == 'text/plain; a=\\"b\\\\c\\"; ??'
    # The price is known after the first sample.
    labels.wait_for(lambda: float(parsed(labels.get("/odd", ae="gzip")).get("price", 0)) > 0, 60,
                    "a price")


# --- why


def why(*arguments):
    done = subprocess.run([sys.executable, ROOT / "scripts" / "why", *arguments],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
    return done.returncode, re.sub(" +", " ", done.stdout)


GZIP = ["--accept-encoding", "gzip"]
SHOW = ["--header", "X-Explain: secret"]


@pytest.mark.parametrize("where,path,options,words", [
    # The chain, and what to change.
    ("site", "/plain/a.txt", SHOW + GZIP, ["compressed with gzip, by"]),
    ("site", "/plain/a.png", SHOW, ["type yes", "ElasticTypes +", "\n encoded no\n"]),
    ("site", "/plain/a.txt", [*SHOW, "--accept-encoding", "identity"], ["not-acceptable yes"]),
    ("site", "/precompressed/both.txt", SHOW, ["precompressed file"]),
    ("site", "/denied/a.txt", SHOW, ["403"]),
    ("site", "/plain/a.txt", [], [None, "ElasticExplain On"]),
    # The body, and its label.
    ("labels", "/plain", GZIP, []), ("labels", "/plain", [], []), ("labels", "/gzip", [], []),
    ("labels", "/archive", [], []),
    ("labels", "/unlabelled", [],
     [None, "in gzip and no Content-Encoding says so", "zlib.output_compression"]),
    ("labels", "/mislabelled", [], [None, "says gzip, and the body is not in it", "Varnish"]),
    ("labels", "/twice", [], [None, "once more, below", "the program that made the page"])])
def test_why(request, where, path, options, words):
    """None among its words: it fails."""
    code, said = why(*options, f"http://127.0.0.1:{request.getfixturevalue(where).port}{path}")
    assert code == (None in words) and ("Wrong" in said) == (code == 1 and where == "labels"), said
    assert all(part in said for part in words if part), said


@pytest.mark.parametrize("name", ["bomb-gzip", "bomb-br"])
def test_why_does_not_decode_without_end(labels, name):
    code, said = why(*GZIP, f"http://127.0.0.1:{labels.port}/{name}")
    assert code == 0 and "cannot be told: decoded it has more than 256 MB" in said


@pytest.mark.parametrize("coding", ENCODERS)
@pytest.mark.parametrize("form", FORMS)
def test_why_decodes_a_body_to_its_end(labels, origin, coding, form):
    """Only gzip and zstd may have several, one after the other."""
    several = coding in ("gzip", "zstd")
    code, said = why(f"{origin.url}/{coding}-{form}")
    if form == "whole" or form == "several" and several:
        assert "Wrong" not in said, said
    elif form == "twice-later" and several:
        assert "Wrong: the body is in gzip once more, below" in said, said
    else:
        assert f"Wrong: Content-Encoding says {coding}, and the body is not in it" in said, said
    assert code == 1, "there is no Elastic-Explain either"


def test_a_field_does_not_control_the_terminal(labels, origin):
    code, said = why(f"{origin.url}/hostile")
    assert code == 0 and "title" in said and "[31m" in said and "\x1b" not in said, said


def test_why_says_which_server_does_not_answer():
    code, said = why("http://127.0.0.1:1/")
    assert code == 1 and "127.0.0.1" in said
    assert why("ftp://127.0.0.1/")[0] == 2
