"""What only one configuration can tell: cases that no other test noticed in scripts/mutants."""

import os
import time

import pytest

from kit import bodies, check, decode, env

BODY = bodies.html(20000)
OLD = int(time.time()) - 1000


def _skipped(server):
    """How many responses were not compressed, the status pages among them."""
    return sum(int(value) for key, value in server.status().items()
               if key.startswith("ElasticSkipped-"))


# --- the filter by its name


def test_a_named_filter_leaves_subrequests_alone(httpd):
    part = bodies.text(9000)
    server = httpd(
        "SetOutputFilter ELASTIC\nAddOutputFilter INCLUDES;ELASTIC shtml\n"
        "AddType text/html .shtml\n"
        "<Directory {docs}>\nOptions +Includes\n</Directory>",
        modules=["include"],
        files={"part.txt": part, "page.shtml": b'<html><!--#include virtual="part.txt" --></html>'})
    check.encoded(server.get("/page.shtml", ae="gzip"), "gzip", b"<html>" + part + b"</html>")
    assert server.status()["ElasticCompressed"] == "1"


@pytest.mark.parametrize("config", ["SetOutputFilter ELASTIC;ELASTIC",
                                    "Elastic On\nSetOutputFilter ELASTIC;ELASTIC"])
def test_a_response_is_counted_once_however_many_filters_stand(httpd, config):
    server = httpd(config, files={"a.html": BODY})
    _skipped(server)
    page = _skipped(server)
    page_alone = _skipped(server) - page
    before = _skipped(server)
    answer = server.get("/a.html", ae="gzip")
    check.encoded(answer, "gzip", BODY)
    assert "elastic-reason" not in server.notes(answer)
    assert _skipped(server) - before == page_alone
    assert server.status()["ElasticCompressed"] == "1"


def test_what_a_named_filter_leaves_alone_no_filter_behind_it_compresses(httpd):
    server = httpd("SetOutputFilter ELASTIC;DEFLATE;BROTLI_COMPRESS\nElasticMinSize 1000000",
                   modules=["deflate", "brotli"], files={"a.html": BODY})
    for coding in ("gzip", "br"):
        answer = server.get("/a.html", ae=coding)
        check.plain(answer, BODY)
        assert server.reason(answer) == "small"


@pytest.mark.parametrize("line", ["SetOutputFilter DEFLATE",
                                  "AddOutputFilterByType DEFLATE text/html"])
def test_elastic_encodes_where_a_stock_filter_is_named_too(httpd, line):
    server = httpd(f"Elastic On\n{line}", modules=["filter", "deflate"], files={"a.html": BODY})
    answer = server.get("/a.html", ae="gzip")
    check.encoded(answer, "gzip", BODY)
    assert server.notes(answer)["elastic-coding"] == "gzip"


def test_off_is_told_and_counted_where_nothing_is_configured(httpd):
    server = httpd("", files={"a.html": BODY})
    answer = server.get("/a.html", ae="gzip")
    check.plain(answer, BODY, varies=False)
    assert server.reason(answer) == "off"
    assert int(server.status()["ElasticSkipped-off"]) >= 1


# --- conditionals, parts, levels


@pytest.mark.parametrize("head", [
    "'Status: 206 Partial Content', 'Content-Type: multipart/byteranges; boundary=x'",
    "'Status: 206 Partial Content', 'Content-Type: text/plain', 'Content-Range: bytes 0-9999/*'",
])
def test_parts_stay_as_they_are(httpd, head):
    server = httpd("Elastic On\nElasticTypes +multipart/byteranges",
                   cgi={"a.cgi": f"head({head})\nout('part' * 2500)\n"})
    answer = server.get("/a.cgi", ae="gzip")
    assert (answer.status, answer.coding, answer.raw) == (206, None, b"part" * 2500)
    assert server.reason(answer) == "range"


def test_a_304_that_a_handler_returns_is_ours_too(httpd):
    """mod_file_cache returns the status, as few handlers do, and no content filter sees it."""
    server = httpd("Elastic On", modules=["file_cache"], start=False)
    server.write("a.html", BODY, OLD)
    server.configure("Elastic On\nCacheFile {docs}/a.html")
    server.start()
    first = server.get("/a.html", ae="gzip")
    check.encoded(first, "gzip", BODY)
    tag = first.headers["ETag"]
    answer = server.get("/a.html", ae="gzip", headers={"If-None-Match": tag})
    assert (answer.status, answer.raw) == (304, b"") and answer.varies, answer
    assert answer.headers["ETag"] == tag


def test_a_level_beyond_zlibs_is_libdeflates_or_clamped(httpd):
    server = httpd("Elastic On\nElasticControl off\nElasticLevel gzip 6 12",
                   files={"a.html": BODY}, allow_log=["ends at level 9"])
    answer = server.get("/a.html", ae="gzip")
    check.encoded(answer, "gzip", BODY)
    assert server.notes(answer)["elastic-level"] == ("12" if env.HAS_LIBDEFLATE else "9")


@pytest.mark.parametrize("line", ["gzip gzip", "gzip br x-gzip"])
def test_a_coding_may_stand_once(httpd, line):
    server = httpd(f"Elastic On\nElasticCodings {line}", start=False)
    taken, said = server.configtest()
    assert not taken and "ElasticCodings" in said and "once" in said


def test_sampling_leaves_no_descriptors_open(httpd):
    server = httpd("Elastic On\nElasticInterval 100ms", allow_log=["ElasticInterval"])

    def open_files():
        return {pid: len(os.listdir(f"/proc/{pid}/fd")) for pid in server.children()}

    def samples():
        return int(server.status()["ElasticSamples"])

    server.wait_for(lambda: samples() >= 2, 10, "samples")
    before, seen = open_files(), samples()
    server.wait_for(lambda: samples() >= seen + 15, 20, "samples")
    after = open_files()
    assert sum(after[pid] - before[pid] for pid in {*before} & {*after}) < 10


# --- bodies in pieces, and bodies that break off


def _proxied(httpd, origin, answer, config=""):
    """A server in front of an origin that gives `answer` to every request for /p."""
    origin.route("/p", answer)
    return httpd(f"Elastic On\n{config}ProxyPass / {origin.url}/", modules=["proxy", "proxy_http"],
                 allow_log=[r"\[proxy(_http)?:\w+\]"])


def _at_once(pieces):
    """Handles a request: all chunks come at once, so that nobody pauses between them."""
    framed = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)
    return lambda exchange: exchange.send(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n"
        + framed + b"0\r\n\r\n")


@pytest.mark.parametrize("sizes,coding", [((700, 300, 900), "gzip"), ((300, 200), None)])
def test_what_is_held_comes_first(httpd, origin, sizes, coding):
    """Each chunk is a brigade, and nothing says how many there will be."""
    pieces = [bodies.text(size) for size in sizes]
    response = _proxied(httpd, origin, _at_once(pieces)).get("/p", ae="gzip")
    assert (response.status, response.coding) == (200, coding) and response.complete
    assert response.body == b"".join(pieces)


@pytest.mark.parametrize("coding", ["gzip", "br"])
def test_a_body_that_broke_off_has_no_end(httpd, origin, coding):
    """HTTP/1.0 has no last chunk: the encoded body itself has to show that it is not whole."""
    # So much that some of it is out before the end: otherwise the answer would be an honest 502.
    data = bodies.noise(4 << 20)

    def answer(exchange):
        exchange.close = True
        exchange.head(200, {"Content-Type": "text/plain", "Transfer-Encoding": "chunked"})
        exchange.send(b"%x\r\n%s\r\n" % (len(data), data) + b"ffff\r\nabc")

    response = _proxied(httpd, origin, answer).get("/p", ae=coding, protocol="http/1.0")
    assert (response.status, response.coding) == (200, coding)
    with pytest.raises(decode.DecodeError):
        decode.decode(coding, response.raw)


@pytest.mark.parametrize("coding,level", [("gzip", 1), ("br", 0), ("br", 1)])
def test_an_event_can_be_decoded_at_low_levels(httpd, coding, level):
    source = "head('Content-Type: text/event-stream')\nout('data: first')\ntime.sleep(2.5)\n"
    server = httpd(f"Elastic On\nElasticLevel {coding} {level}", cgi={"a.cgi": source})
    with server.stream("/a.cgi", ae=coding) as stream:
        assert stream.coding == coding
        assert stream.wait_for(b"data: first", 2) < 2
        assert stream.read_all() == b"data: first"


@pytest.mark.parametrize("level", [0, 1])
def test_small_pieces_cost_br_little(httpd, origin, level):
    """The encoder would make a block of each piece, and the body twice as large."""
    data = bodies.text(200000)
    server = _proxied(httpd, origin,
                      _at_once([data[at:at + 100] for at in range(0, len(data), 100)]),
                      f"ElasticLevel br {level}\nProxyPass /a.txt !\n")
    server.write("a.txt", data)
    whole = server.get("/a.txt", ae="br")
    pieces = server.get("/p", ae="br")
    for answer in (whole, pieces):
        check.encoded(answer, "br", data)
    assert len(pieces.raw) < len(whole.raw) * 1.5


@pytest.mark.parametrize("coding", ["gzip", "br"])
@pytest.mark.parametrize("pause", [0, 0.5])
def test_a_script_that_says_less_than_it_announced(httpd, coding, pause):
    source = (f"head('Content-Type: text/plain', 'Content-Length: 50000')\nout('x' * 9000)\n"
              f"time.sleep({pause})\nout('y' * 9000)\n")
    # Without it httpd takes no length from scripts.
    server = httpd("Elastic On\nSetEnv ap_trust_cgilike_cl 1", cgi={"a.cgi": source},
                   allow_log=["shorter than was announced"])
    response = server.get("/a.cgi", ae=coding)
    if response.status == 200:
        assert not response.complete
        with pytest.raises(decode.DecodeError):
            decode.decode(coding, response.raw)
    else:
        assert response.status == 500


# --- siblings


def test_a_dated_range_of_a_file_with_siblings_gets_the_whole(httpd):
    """File and sibling share the date: slices of the two would be joined."""
    server = httpd("ElasticPrecompressed On")
    server.write("page.html", BODY, OLD)
    server.write("page.html.br", b"sibling", OLD)
    date = server.get("/page.html", ae="br").headers["Last-Modified"]
    for ae, body in (("br", b"sibling"), (None, BODY)):
        answer = server.get("/page.html", ae=ae, headers={"Range": "bytes=2-", "If-Range": date})
        assert (answer.status, answer.raw) == (200, body), answer


def test_what_is_no_regular_file_does_not_even_vary(httpd):
    """Nothing was negotiated: there is the file and nothing else."""
    server = httpd("ElasticPrecompressed On")
    server.write("page.html", BODY, OLD)
    (server.docs / "page.html.br").mkdir()
    check.plain(server.get("/page.html", ae="br"), BODY, varies=False)


def test_siblings_of_one_size_and_time_have_different_tags(httpd):
    server = httpd("ElasticPrecompressed On")
    for name in ("page.html", "page.html.br", "page.html.gz"):
        server.write(name, BODY, OLD)
    tags = {server.get("/page.html", ae=ae).headers["ETag"] for ae in ("br", "gzip", None)}
    assert len(tags) == 3 and all(tag.startswith('"') for tag in tags)


@pytest.mark.parametrize("ae,data", [("br", b"sibling"), (None, BODY)])
def test_if_match_comes_before_if_none_match(httpd, ae, data):
    """RFC 9110 §13.2.2: what a failed If-Match stops is not asked about anything else."""
    server = httpd("ElasticPrecompressed On")
    server.write("page.html", BODY, OLD)
    server.write("page.html.br", b"sibling", OLD)
    answer = server.get("/page.html", ae=ae)
    tag = answer.headers["ETag"]
    assert answer.raw == data
    answer = server.get("/page.html", ae=ae, headers={"If-Match": '"other"', "If-None-Match": tag})
    assert answer.status == 412
    answer = server.get("/page.html", ae=ae, headers={"If-Match": tag, "If-None-Match": tag})
    assert answer.status == 304


def test_a_sibling_is_not_counted_as_encoded_before(httpd):
    server = httpd("Elastic On\nElasticPrecompressed On")
    server.write("page.html", BODY, OLD)
    server.write("page.html.br", b"sibling", OLD)
    answer = server.get("/page.html", ae="br")
    assert answer.raw == b"sibling"
    assert "elastic-reason" not in server.notes(answer)
    assert server.status()["ElasticSkipped-encoded"] == "0"


def test_a_fresh_sibling_has_a_strong_tag_too(httpd):
    """httpd's own tags are weak for a second after a change; siblings are replaced, not edited."""
    server = httpd("ElasticPrecompressed On")
    server.write("page.html", BODY, OLD)
    server.write("page.html.br", b"sibling")
    answer = server.get("/page.html", ae="br")
    assert answer.raw == b"sibling"
    assert answer.headers["ETag"].startswith('"') and answer.headers["ETag"].endswith('.br"')


@pytest.mark.parametrize("line,kept", [("SetEnv no-gzip 1", "br"), ("SetEnv no-brotli 1", "gzip"),
                                       ("SetEnv no-elastic 1", None)])
def test_the_environment_rules_siblings_too(httpd, line, kept):
    server = httpd(f"ElasticPrecompressed On\n{line}")
    server.write("page.html", BODY, OLD)
    siblings = {"br": ("page.html.br", b"br's"), "gzip": ("page.html.gz", b"gzip's")}
    for name, data in siblings.values():
        server.write(name, data, OLD)
    for coding, (_, data) in siblings.items():
        answer = server.get("/page.html", ae=coding)
        assert answer.status == 200
        assert (answer.coding, answer.raw) == ((coding, data) if coding == kept else (None, BODY))


@pytest.mark.parametrize("smallest", ["br", "gzip"])
def test_the_smallest_of_equals_is_sent(httpd, smallest):
    server = httpd("ElasticPrecompressed On")
    server.write("page.html", BODY, OLD)
    for coding, name in (("br", "page.html.br"), ("gzip", "page.html.gz")):
        server.write(name, b"x" * (100 if coding == smallest else 200), OLD)
    answer = server.get("/page.html", ae="gzip, br")
    assert (answer.coding, len(answer.raw)) == (smallest, 100)


def test_a_type_that_is_given_late_counts(httpd):
    """mod_headers runs as a filter: a file's type is not known before."""
    body = b"<p>late</p>" * 1000
    server = httpd('Elastic On\n<Location "/late">\nHeader set Content-Type text/html\n</Location>',
                   files={"late/page.png": body, "page.png": body})
    check.encoded(server.get("/late/page.png", "gzip"), "gzip", body)
    answer = server.get("/page.png", "gzip")
    check.plain(answer, body, varies=False)
    assert server.reason(answer) == "type"
