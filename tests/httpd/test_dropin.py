"""The drop-in filters DEFLATE and BROTLI_COMPRESS: stock defaults, one change by each Elastic
directive, and negotiation between the two."""

import pytest

from kit import at, bodies, check

DEFLATE = 'SetOutputFilter DEFLATE\n'
PAGE = b"<p>All work and no play makes the server a dull one. " * 100

FILES = {
    "page.html": PAGE,
    "data.bin": PAGE,
    "s68.html": b"x" * 68,
    "s69.html": b"The quick brown fox jumps over the lazy dog, and then back once more"[:68] + b"!",
    "empty.html": b"",
    "noise.html": bodies.noise(3000),
    # mod_bucketeer ends a bucket at \x02 and a brigade at \x10.
    "brigades.html": b"a small page in \x10brigades",
    "buckets.html": b"a small page in \x02buckets",
    "last.html": b"a small page before its end\x10",
    "encoded.html": b"\x1f\x8b\x08" + PAGE[:3000] + b"\x10" + PAGE[3000:],
}
SECTIONS = {
    "deflate": DEFLATE,
    "brotli": "SetOutputFilter BROTLI_COMPRESS\n",
    "both": "AddOutputFilterByType BROTLI_COMPRESS;DEFLATE text/html text/plain\n",
    "reversed": "SetOutputFilter DEFLATE;BROTLI_COMPRESS\n",
    "unlike": "AddOutputFilterByType DEFLATE text/html\n"
              "AddOutputFilterByType BROTLI_COMPRESS text/plain\n",
    "off": DEFLATE + "Elastic Off\n",
    "min": DEFLATE + "ElasticMinSize 10000\n",
    "weak": DEFLATE + "ElasticETag weak\n",
    "types": DEFLATE + "ElasticTypes text/plain\n",
    "level": DEFLATE + "ElasticLevel gzip 3\n",
    "cut": "SetOutputFilter BUCKETEER;DEFLATE\n",
    "cut-br": "SetOutputFilter BUCKETEER;BROTLI_COMPRESS\n",
    "cut-min": "SetOutputFilter BUCKETEER;DEFLATE\nElasticMinSize 69\n",
    "cut-elastic": "SetOutputFilter BUCKETEER;ELASTIC\nElasticMinSize 69\n",
    "cut-chain": "SetOutputFilter BUCKETEER;ELASTIC;DEFLATE\n",
}


@pytest.fixture(scope="module")
def server(httpd_shared):
    return httpd_shared(
        "ElasticControl off\n" + "".join(at(*section) for section in SECTIONS.items())
        + at("included", "SetOutputFilter INCLUDES;DEFLATE", "Options +Includes"),
        modules=("filter", "include", "bucketeer"), records=("elastic", "deflate", "brotli"),
        files={**FILES, "small.html": b'<p><!--#echo var="REQUEST_METHOD" -->'},
        cgi={"small.cgi": "head('Content-Type: text/html')\nout('<p>small')\nos.close(1)\n"})


@pytest.mark.parametrize("path,ae,coding,level", [
    ("/deflate/page.html", "br, gzip;q=0.1", "gzip", "6"),
    ("/deflate/page.html", "br", None, "not-acceptable"),
    ("/deflate/data.bin", "gzip", "gzip", "6"),
    ("/deflate/s68.html", "gzip", None, "small"), ("/deflate/s69.html", "gzip", "gzip", "6"),
    ("/deflate/empty.html", "gzip", None, "small"), ("/deflate/noise.html", "gzip", "gzip", "6"),
    ("/brotli/page.html", "gzip, br", "br", "5"),
    ("/brotli/page.html", "gzip", None, "not-acceptable"),
    ("/brotli/s68.html", "br", "br", "5"), ("/brotli/empty.html", "br", "br", "5"),
    ("/both/page.html", "gzip, br", "br", "5"),
    ("/both/page.html", "gzip, br;q=0.9", "gzip", "6"), ("/both/page.html", "gzip", "gzip", "6"),
    ("/both/page.html", "identity", None, "not-acceptable"),
    ("/both/s68.html", "gzip, br", "br", "5"), ("/both/s68.html", "gzip", None, "small"),
    ("/both/data.bin", "gzip, br", None, None),
    ("/reversed/page.html", "gzip, br", "gzip", "6"),
    ("/reversed/page.html", "gzip;q=0.5, br", "br", "5"),
    ("/reversed/s68.html", "gzip, br", "br", "5"),
    ("/unlike/page.html", "gzip, br", "gzip", "6"), ("/unlike/page.html", "br", None, None),
    ("/off/page.html", "gzip", None, "off"), ("/min/page.html", "gzip", None, "small"),
    ("/types/page.html", "gzip", None, "type"), ("/level/page.html", "gzip", "gzip", "3"),
    # Only a body in one brigade may be too small. An Elastic directive, and ELASTIC itself, have
    # one minimum for all bodies.
    ("/cut/brigades.html", "gzip", "gzip", "6"), ("/cut/last.html", "gzip", "gzip", "6"),
    ("/cut/buckets.html", "gzip", None, "small"), ("/cut-br/brigades.html", "br", "br", "5"),
    ("/cut-br/buckets.html", "br", "br", "5"), ("/cut-min/brigades.html", "gzip", None, "small"),
    ("/cut-elastic/brigades.html", "gzip", None, "small"),
    # A body that one filter held and left is encoded by the next. ELASTIC recognizes an encoded
    # body; drop-in filters do not look.
    ("/cut-chain/encoded.html", "gzip", "gzip", "6"),
])
def test_coding(server, path, ae, coding, level):
    """`level` may be the reason for no coding instead; None: no filter is for the type."""
    answer = server.get(path, ae)
    _, place, name = path.split("/")
    body = FILES[name].translate(None, b"\x02\x10") if place.startswith("cut") else FILES[name]
    check.whole(answer, coding, body)
    notes = server.notes(answer)
    assert notes.get("elastic-level" if coding else "elastic-reason") == level
    varies = coding or level == "not-acceptable"
    if varies or place in ("deflate", "off"):
        assert answer.headers.get("Vary") == ("Accept-Encoding" if varies else None)
    if not place.startswith("cut"):
        head = server.head(path, ae)
        check.head_of(answer, head, "Accept-Ranges")
        if body:
            check.same_header(answer, head, "Content-Length")


@pytest.mark.parametrize("path,weak", [
    ("/deflate/page.html", False), ("/brotli/page.html", False), ("/weak/page.html", True)])
def test_tag(server, path, weak):
    plain = server.get(path)
    coding = "br" if "brotli" in path else "gzip"
    suffixed = ("W/" if weak else "") + plain.headers["ETag"][:-1] + f'-{coding}"'
    check.not_modified(server.get(path, coding, {"If-None-Match": suffixed}), suffixed)
    assert server.get(path, coding).headers["ETag"] == suffixed


def test_a_small_page_of_includes_comes_in_several_brigades(server):
    check.encoded(server.get("/included/small.html", "gzip"), "gzip", b"<p>GET")


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_small_page_of_a_script_comes_in_one(server, method):
    """httpd passes on the script's pipe and its end, however slow the script is."""
    answer = check.once(lambda: server.get("/deflate/small.cgi", "gzip", method=method),
                        lambda answer: answer.coding is None)
    check.whole(answer, None, b"<p>small" if method == "GET" else b"")
