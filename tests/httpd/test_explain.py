"""ElasticExplain: a field that says what was decided, and `why`, which reads it."""

import gzip
import re
import subprocess
import sys
from pathlib import Path

import pytest

from kit import at, bodies, cache, check, keep
from kit.origin import raw

ROOT = Path(__file__).parents[2]
BODY = bodies.text(30000)
LARGE = bodies.text(1200000)  # more than is ever collected before it is encoded
OLD = 1_500_000_000

CONFIG = """
Elastic On
ElasticGoal cpu
ElasticControl off
ElasticLevel gzip 6
ElasticLevel br 4
AddHandler send-as-is asis
ErrorDocument 404 /plain.txt
<If "req_novary('X-Explain') == 'secret'">
    ElasticExplain On
</If>
CacheQuickHandler off
CacheEnable disk /stored
CacheHeader On
CacheDefaultExpire 3600
""" + cache.ROOT + at("stored") + at("kept", "ElasticCache On") + at("off", "Elastic Off") \
    + at("siblings", "ElasticPrecompressed On") + at("denied", "Require all denied") \
    + at("always", "ElasticExplain On")
SECRET = {"X-Explain": "secret"}

# A dictionary of one member with parameters (RFC 8941 §3.2).
TOKEN = r"[A-Za-z*][\w:/!#$%&'*+.^`|~-]*"
PARAMETER = rf'; ([a-z][a-z0-9-]*)=({TOKEN}|\d+(?:\.\d{{1,3}})?|"(?:[ !#-\[\]-~]|\\["\\])*")'


@pytest.fixture(scope="module")
def site(httpd_shared):
    server = httpd_shared(
        CONFIG, modules=[*cache.MODULES, *keep.SHMCB],
        allow_log=["AH01630"], start=False, cgi={
            "large.cgi": "head('Content-Type: text/plain')\nout(bodies.text(1200000))\n"})
    for name, data in (("plain.txt", BODY), ("small.txt", b"small"), ("both.txt", BODY),
                       ("image.png", BODY), ("both.txt.gz", gzip.compress(BODY, mtime=0)),
                       ("page.asis", b"Content-Type: text/plain\n\n" + BODY)):
        server.write(name, data, OLD)
    cache.make_directory(server)
    return server.start()


def parsed(answer):
    """{parameter: value}; the response is not to be stored."""
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


@pytest.mark.smoke
def test_only_who_may_ask_gets_it(site):
    for headers in ({}, {"X-Explain": "guess"}):
        answer = site.get("/plain.txt", ae="gzip", headers=headers)
        check.encoded(answer, "gzip", BODY)
        assert "Elastic-Explain" not in answer.headers
        assert not answer.has_token("Cache-Control", "no-store")
    answer, found = explained(site, "/plain.txt")
    check.encoded(answer, "gzip", BODY)
    assert found["reason"] == "compressed"
    assert parsed(site.get("/always/plain.txt", ae="gzip"))["reason"] == "compressed"


@pytest.mark.smoke
def test_a_whole_body_has_setup_sizes_and_times(site):
    answer, found = explained(site, "/plain.txt")
    notes = site.notes(answer)
    assert found["coding"] == "gzip" and found["type"] == "text/plain"
    assert found["setup"] == f"{notes['elastic-engine']} 6"
    assert int(found["size"]) == int(found["in"]) == len(BODY)
    assert int(found["out"]) == len(answer.raw)
    assert int(found["usec"]) == int(notes["elastic-usec"].strip("~"))
    assert int(found["expected-usec"]) > 0
    assert 0 <= float(found["position"]) <= 1
    assert "price" not in found


def test_a_stream_has_what_is_known_when_its_header_goes(site):
    answer, found = explained(site, "/large.cgi", "br")
    check.whole(answer, "br", LARGE)
    assert found["reason"] == "compressed" and found["coding"] == "br"
    assert found["setup"] == "brotli 4"
    assert "out" not in found and "size" not in found


@pytest.mark.parametrize("path,ae,headers,reason", [
    ("/off/plain.txt", "gzip", {}, "off"), ("/image.png", "gzip", {}, "type"),
    ("/small.txt", "gzip", {}, "small"), ("/plain.txt", None, {}, "not-acceptable"),
    ("/plain.txt", "gzip", {"Range": "bytes=0-9"}, "range")])
def test_a_body_that_goes_out_as_it_is_has_the_reason_of_the_log(site, path, ae, headers, reason):
    answer, found = explained(site, path, ae, headers)
    assert answer.coding is None and found["reason"] == reason == site.reason(answer)
    assert "setup" not in found and "coding" not in found
    if reason == "small":
        assert int(found["size"]) < int(found["min-size"])


def test_head_says_what_get_would_carry(site):
    answer, found = explained(site, "/plain.txt", method="HEAD")
    assert answer.coding == "gzip" and answer.raw == b""
    assert found["reason"] == "head" and found["coding"] == "gzip"


def test_a_304_stays_one(site):
    tag = site.get("/plain.txt", ae="gzip").headers["ETag"]
    answer = site.get("/plain.txt", ae="gzip", headers={**SECRET, "If-None-Match": tag})
    check.not_modified(answer, tag)
    assert parsed(answer)["reason"] == "status"


def test_a_sibling_and_a_kept_encoding(site):
    answer, found = explained(site, "/siblings/both.txt")
    check.whole(answer, "gzip", BODY)
    assert (found["reason"], found["coding"]) == ("precompressed", "gzip")
    assert int(found["in"]) == len(BODY) and int(found["out"]) == len(answer.raw)

    def ask():
        answer, found = explained(site, "/kept/page.asis")
        check.whole(answer, "gzip", BODY)
        return found

    found = check.once(ask, lambda found: found["reason"] == "cache")
    assert found["reason"] == "cache" and found["coding"] == "gzip"
    assert re.fullmatch(r"\w+ 6", found["setup"]) and int(found["out"]) < len(BODY)
    # What is found with HEAD was not planned.
    answer, found = explained(site, "/kept/page.asis", method="HEAD")
    assert answer.coding == found["coding"] == "gzip"


def test_an_error_document_and_what_no_filter_saw(site):
    answer, found = explained(site, "/missing")
    assert answer.status == 404 and answer.body == BODY and found["reason"] == "compressed"
    answer, found = explained(site, "/denied/plain.txt")
    assert answer.status == 403 and found["reason"] == "unseen"


def test_what_mod_cache_stores_has_none(site):
    """The explained response is stored, and its hits for others say nothing."""
    with site.connect() as client:
        first, hit, again = [client.request("/stored/plain.txt", ae="gzip", headers=headers)
                             for headers in (SECRET, {}, SECRET)]
    for answer, reason in ((first, "compressed"), (again, "mod-cache")):
        check.whole(answer, "gzip", BODY)
        assert parsed(answer)["reason"] == reason
    check.whole(hit, "gzip", BODY)
    assert cache.state(hit) == "HIT" and "Elastic-Explain" not in hit.headers
    assert not hit.has_token("Cache-Control", "no-store")
    stored = [path.read_bytes() for path in (site.root / "cache").rglob("*") if path.is_file()]
    assert any(b"text/plain" in data for data in stored)
    assert not any(b"elastic-explain" in data.lower() for data in stored)


def test_a_type_from_elsewhere_is_a_string(httpd, origin):
    origin.route("/odd", lambda exchange: exchange.respond(
        200, {"Content-Type": 'text/plain; a="b\\c"; \xe9'}, BODY))
    server = httpd(f"Elastic On\nElasticGoal time 5Mbit/s\nElasticExplain On\n"
                   f"ProxyPass /origin/ {origin.url}/\n", modules=["proxy", "proxy_http"])
    found = parsed(server.get("/origin/odd", ae="gzip"))
    assert found["type"] == 'text/plain; a=\\"b\\\\c\\"; ??'
    # The price is there after the first sample.
    server.wait_for(lambda: float(parsed(server.get("/origin/odd", ae="gzip")).get("price", 0)) > 0,
                    60, "a price")


def why(*arguments):
    done = subprocess.run([sys.executable, ROOT / "scripts" / "why", *arguments],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
    return done.returncode, done.stdout


@pytest.mark.parametrize("path,options,wanted", [
    ("/plain.txt", ["--accept-encoding", "gzip"], "compressed with gzip, by"),
    ("/image.png", [], "type       yes"),
    ("/plain.txt", ["--accept-encoding", "identity"], "not-acceptable  yes"),
    ("/siblings/both.txt", [], "precompressed file"),
    ("/denied/plain.txt", [], "403")])
def test_why_prints_the_chain_and_what_to_change(site, path, options, wanted):
    url = f"http://127.0.0.1:{site.port}{path}"
    code, said = why("--header", "X-Explain: secret", *options, url)
    assert code == 0 and re.sub(" +", " ", wanted) in re.sub(" +", " ", said), said
    if "image" in path:
        assert "ElasticTypes +" in said and re.search(r"(?m)^ +encoded +no$", said)


def test_why_says_how_to_switch_it_on(site):
    code, said = why(f"http://127.0.0.1:{site.port}/plain.txt")
    assert code == 1 and "ElasticExplain On" in said
    code, said = why("http://127.0.0.1:1/")
    assert code == 1 and "127.0.0.1" in said
    assert why("ftp://127.0.0.1/")[0] == 2


TEXT = b"some text that is said again and again. " * 200


@pytest.fixture
def labels(httpd, origin):
    """Bodies of an origin, and what their headers say of them."""
    twice = gzip.compress(gzip.compress(TEXT))
    for name, fields, body in (
            ("plain", {}, TEXT), ("gzip", {"Content-Encoding": "gzip"}, gzip.compress(TEXT)),
            ("unlabelled", {"X-Powered-By": "PHP/8.2"}, gzip.compress(TEXT)),
            ("mislabelled", {"Content-Encoding": "gzip", "Via": "1.1 front (Varnish/7)"}, TEXT),
            ("twice", {"Content-Encoding": "gzip"}, twice),
            ("archive", {"Content-Type": "application/gzip"}, gzip.compress(TEXT))):
        origin.route(f"/{name}", raw({"Content-Type": "text/plain", **fields,
                                      "Content-Length": len(body)}, body))
    return httpd(f"Elastic On\nElasticExplain On\nProxyPass / {origin.url}/\n",
                 modules=["proxy", "proxy_http"])


@pytest.mark.parametrize("path, options, wrong, maker", [
    ("/plain", ["--accept-encoding", "gzip"], None, None), ("/plain", [], None, None),
    ("/gzip", [], None, None), ("/archive", [], None, None),
    ("/unlabelled", [], "in gzip and no Content-Encoding says so", "zlib.output_compression"),
    ("/mislabelled", [], "says gzip, and the body is not in it", "Varnish"),
    ("/twice", [], "once more, below", "the program that made the page")])
def test_why_compares_the_body_with_its_label(labels, path, options, wrong, maker):
    code, said = why(*options, f"http://127.0.0.1:{labels.port}{path}")
    if wrong:
        assert code == 1 and wrong in said and maker in said, said
    else:
        assert code == 0 and "Wrong" not in said, said
