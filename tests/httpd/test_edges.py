"""Responses and requests at the edge of what HTTP allows, and files that change or are none."""

import gzip
import os
import random
import threading
import time

import pytest

from kit import bodies, check, config, decode, env

BODY = bodies.text(60000)
OTHER = bodies.text(30000)
GZ = gzip.compress(BODY, 9, mtime=0)
OLD = 1_500_000_000
CODINGS = pytest.mark.parametrize("coding", ["gzip", "br"])
EARLY = "Mon, 01 Jan 2001 00:00:00 GMT"


def raw_response(status, fields, body):
    """For Origin.route: fields in their order, of which some may have one name."""
    lines = [f"HTTP/1.1 {status} Scripted", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in fields]
    data = ("\r\n".join(lines) + "\r\n\r\n").encode() + body
    return lambda exchange: exchange.send(data)


@pytest.fixture
def proxied(httpd, origin):
    """proxied(lines, {name: handler}): those routes of the origin below /p/."""
    def make(lines, routes, **kw):
        for name, handler in routes.items():
            origin.route(f"/{name}", handler)
        return httpd(f"Elastic On\nProxyPass /p/ {origin.url}/\n{lines}",
                     modules=["proxy", "proxy_http"], **kw)

    return make


# --- siblings


class Renamer:
    """Puts one of several files in another's place, by rename, again and again."""

    def __init__(self, path, versions):
        self.count = 0
        self._path = path
        self._versions = versions
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()

    def _run(self):
        part = self._path.with_name("part")
        while not self._stop.wait(0.0005):
            self.count += 1
            part.write_bytes(self._versions[self.count % len(self._versions)])
            part.chmod(0o644)
            part.rename(self._path)


def test_a_sibling_that_is_replaced_while_it_is_looked_at(httpd):
    """Length and tag are of one file, the bytes never of another."""
    server = httpd("Elastic On\nElasticPrecompressed On", files={"a.txt": BODY})
    versions = [GZ, gzip.compress(OTHER, 1, mtime=0)]
    sibling = server.write("a.txt.gz", versions[0])
    tags = {}
    with Renamer(sibling, versions) as renamer:
        end = time.monotonic() + 2
        for _ in range(1500):
            answer = server.get("/a.txt", ae="gzip")
            assert answer.complete and answer.body in (BODY, OTHER), answer
            tag = answer.headers["ETag"]
            assert tags.setdefault(tag, answer.body) == answer.body, tag
            if time.monotonic() > end:
                break
    assert renamer.count > 100


@pytest.mark.parametrize("sibling", [True, False])
@pytest.mark.parametrize("ae", ["gzip", None])
def test_a_tag_does_not_make_an_error_a_304(httpd, sibling, ae):
    server = httpd("Elastic On\nElasticPrecompressed On\nErrorDocument 404 /error.html")
    server.write("error.html", BODY, OLD)
    if sibling:
        server.write("error.html.gz", GZ, OLD)
    tags = [server.get(path, ae=coding).headers.get("ETag")
            for path in ("/none", "/error.html") for coding in ("gzip", None)]
    for tag in filter(None, [*tags, "*"]):
        answer = server.get("/none", ae=ae, headers={"If-None-Match": tag})
        assert (answer.status, answer.coding, answer.body) == (404, ae, BODY), (tag, answer)


@pytest.fixture
def site(httpd):
    """(server, {coding: tag}) of a file with a sibling; nothing is encoded besides."""
    server = httpd("ElasticPrecompressed On")
    server.write("a.txt", BODY, OLD)
    server.write("a.txt.gz", GZ, OLD)
    return server, {ae: server.get("/a.txt", ae=ae).headers["ETag"] for ae in ("gzip", None)}


@pytest.mark.parametrize("first", [{"If-Match": '"other"'}, {"If-Unmodified-Since": EARLY}])
@pytest.mark.parametrize("ae", ["gzip", None])
def test_a_precondition_that_fails_comes_before_if_none_match(site, ae, first):
    """RFC 9110 §13.2.2."""
    server, tags = site
    for tag in (*tags.values(), "*"):
        answer = server.get("/a.txt", ae=ae, headers={**first, "If-None-Match": tag})
        assert answer.status == 412, (tag, answer)


def test_if_match_names_the_representation(site):
    server, tags = site
    for match, coding in ((tags["gzip"], "gzip"), (f'"other", {tags["gzip"]}', "gzip"),
                          ("*", "gzip"), (tags[None], None)):
        answer = server.get("/a.txt", ae="gzip", headers={"If-Match": match})
        assert (answer.status, answer.coding) == (200, coding), (match, answer)
        assert answer.body == BODY and answer.headers["ETag"] == tags[coding]
    # A tag is of one representation, and weak ones never match.
    assert server.get("/a.txt", headers={"If-Match": tags["gzip"]}).status == 412
    for tag in tags.values():
        assert server.get("/a.txt", ae="gzip", headers={"If-Match": "W/" + tag}).status == 412


def test_if_match_and_if_none_match_that_both_hold(site):
    server, tags = site
    headers = {"If-Match": tags["gzip"], "If-None-Match": tags["gzip"]}
    assert server.get("/a.txt", ae="gzip", headers=headers).status == 304


# --- fields that come more than once, tags that are none


@pytest.mark.smoke
def test_no_transform_in_a_second_field(httpd):
    server = httpd("Elastic On\nHeader add Cache-Control max-age=3\n"
                   "Header add Cache-Control no-transform", files={"a.txt": BODY})
    answer = server.get("/a.txt", ae="gzip")
    assert answer.headers.all("Cache-Control") == ["max-age=3", "no-transform"]
    assert (answer.coding, answer.raw) == (None, BODY)
    assert server.reason(answer) == "no-transform"


@pytest.mark.parametrize("values", [["max-age=3", "no-transform"], ["no-transform", "max-age=3"],
                                    ["max-age=3", "public", "x=1, No-Transform"]])
def test_no_transform_in_any_of_an_origins_fields(proxied, values):
    fields = [("Content-Type", "text/plain"), *(("Cache-Control", value) for value in values)]
    server = proxied("", {"fixed": raw_response(200, fields, BODY)})
    answer = server.get("/p/fixed", ae="gzip")
    assert (answer.coding, answer.raw) == (None, BODY)
    assert server.reason(answer) == "no-transform"


def test_vary_and_content_encoding_in_second_fields(proxied):
    typed = ("Content-Type", "text/plain")
    server = proxied("", {
        "vary": raw_response(200, [typed, ("Vary", "Cookie"), ("Vary", "Accept-Encoding")], BODY),
        "encoded": raw_response(200, [typed, ("Content-Encoding", "identity"),
                                      ("Content-Encoding", "gzip")], GZ)})
    answer = server.get("/p/vary", ae="gzip")
    check.encoded(answer, "gzip", BODY)
    assert answer.headers["Vary"].lower().count("accept-encoding") == 1, answer
    answer = server.get("/p/encoded", ae="br")
    assert answer.raw == GZ and server.reason(answer) == "encoded"


@CODINGS
@pytest.mark.parametrize("boundary", [True, False])
def test_a_backends_parts_are_not_encoded(proxied, coding, boundary):
    """The parts of a multipart 206 have their ranges inside."""
    type = "multipart/byteranges; boundary=X" if boundary else "text/plain"
    server = proxied("ElasticTypes */*",
                     {"parts": raw_response(206, [("Content-Type", type)], BODY)})
    answer = server.get("/p/parts", ae=coding, headers={"Range": "bytes=0-9,20-29"})
    assert (answer.status, answer.coding, answer.raw) == (206, None, BODY), answer
    assert server.reason(answer) == "range"


@CODINGS
@pytest.mark.parametrize("mode", ["weak", "suffix", "remove"])
def test_a_tag_that_is_left_open_is_the_identitys_alone(proxied, coding, mode):
    """It takes no suffix: two codings would share it."""
    tag = '"a;b'
    fields = [("Content-Type", "text/plain"), ("ETag", tag)]
    server = proxied(f"ElasticETag {mode}", {"open": raw_response(200, fields, BODY)},
                     cgi={"open.cgi": f"head('Content-Type: text/plain', 'ETag: {tag}')\n"
                                      "out('some text ' * 5000)\n"})
    for path in ("/p/open", "/open.cgi"):
        identity = server.get(path)
        assert (identity.coding, identity.headers["ETag"]) == (None, tag)
        answer = server.get(path, ae=coding)
        check.encoded(answer, coding, identity.body)
        assert "ETag" not in answer.headers, answer


# --- bodies that break off


@CODINGS
@pytest.mark.parametrize("framing", ["chunked", "length"])
@pytest.mark.protocols("http/1.1", "h2c", "tls", "h2")
def test_a_body_that_breaks_off_counts_as_an_error(proxied, coding, framing, protocol):
    """mod_proxy sends an ERROR bucket down the filters."""
    def die(exchange):
        size = {"chunked": {"Transfer-Encoding": "chunked"}, "length": {"Content-Length": 900000}}
        exchange.head(200, {"Content-Type": "text/plain", **size[framing]})
        exchange.send(b"%x\r\n%s\r\n" % (len(BODY), BODY) if framing == "chunked" else BODY)
        time.sleep(0.3)  # the header reaches the client
        exchange.close = True

    server = proxied("", {"dies": die}, tls=True, h2=True, allow_log=["proxy", "elastic:"])
    before = server.status()
    answer = server.get("/p/dies", ae=coding, protocol=protocol)
    assert (answer.status, answer.coding, answer.complete) == (200, coding, False), answer
    assert server.notes(answer).get("elastic-reason") == "error"
    after = server.status()
    assert int(after["ElasticSkipped-error"]) == int(before["ElasticSkipped-error"]) + 1
    assert after["ElasticCompressed"] == before["ElasticCompressed"]
    with pytest.raises(decode.DecodeError):
        decode.decode(coding, answer.raw)


# --- the controller's file, and its time


@pytest.mark.parametrize("lines", ["", "ChrootDir /"] if env.IS_ROOT else [""])
def test_a_fifo_in_place_of_proc_stat_holds_nothing_up(httpd, lines):
    server = httpd(f"Elastic On\nElasticProcStat {{root}}/fifo\nElasticInterval 100ms\n{lines}",
                   start=False, files={"a.txt": BODY}, allow_log=["ElasticInterval"])
    os.mkfifo(server.root / "fifo")
    (server.root / "fifo").chmod(0o666)
    server.start(timeout=10)
    server.expect_log("elastic: .*fifo")
    server.wait_log("elastic: .*fifo")
    time.sleep(1)
    check.encoded(server.get("/a.txt", ae="gzip"), "gzip", BODY)
    assert server.status()["ElasticSamples"] == "0"
    assert len(server.log.lines("warn.*elastic: .*fifo")) == 1
    start = time.monotonic()
    server.stop()
    assert time.monotonic() - start < 4
    assert not server.log.lines("did not exit")


@pytest.mark.parametrize("value", ["2sdfgh", "500mszz", "1.5s", "-1s", '""', "1 s", "+2s", "0x10",
                                   "1e1", "ms", "s", "2min", "18446744073710",
                                   "18446744073709551617ms"])
def test_an_interval_is_digits_and_a_unit(httpd, value):
    server = httpd(f"ElasticInterval {value}", start=False)
    ok, said = server.configtest()
    assert not ok and "ElasticInterval" in said and "100ms" in said, said


# --- small pieces


def access_log(size):
    """Lines that are much alike: a block of its own for each few of them costs most here."""
    rng = random.Random(3)
    lines = (f'127.0.0.1 - - "GET /path/{rng.randrange(50)}/item?id={rng.randrange(10**6)}" '
             f'200 {rng.randrange(10**5)} "-" "Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101"\n'
             for _ in range(size // 80))
    return "".join(lines).encode()[:size]


@pytest.mark.parametrize("level", [0, 1])
def test_br_gathers_pieces(httpd, level):
    """At these levels the encoder makes a block of whatever it is given."""
    data = access_log(400_000)
    pieces = [data[at:at + 8192] for at in range(0, len(data), 8192)]
    server = httpd(f"Elastic On\nElasticLevel br {level}\n"
                   + config.at("cut", "SetOutputFilter BUCKETEER"),
                   modules=["bucketeer"],  # it ends a brigade at \x10, without a flush
                   files={"whole.txt": data, "pieces.txt": b"\x10".join(pieces)})
    whole = server.get("/whole.txt", ae="br")
    cut = server.get("/cut/pieces.txt", ae="br")
    for answer in (whole, cut):
        check.encoded(answer, "br", data)
    assert len(cut.raw) < len(whole.raw) * 1.1


@pytest.mark.parametrize("level", [0, 1])
def test_br_gathers_what_a_script_writes(httpd, level):
    """Whenever the script pauses, what there is goes out: how often is for the machine to say."""
    data = bodies.text(400_000)
    source = "with open('a.txt', 'rb') as file:\n    data = file.read()\n" \
             "head('Content-Type: text/plain')\n" \
             "for at in range(0, len(data), 8192):\n    out(data[at:at + 8192])\n"
    server = httpd(f"Elastic On\nElasticLevel br {level}\n", files={"a.txt": data},
                   cgi={"a.cgi": source})
    whole = server.get("/a.txt", ae="br")
    pieces = server.get("/a.cgi", ae="br")
    for answer in (whole, pieces):
        check.encoded(answer, "br", data)
    assert len(pieces.raw) < len(whole.raw) * 1.25
