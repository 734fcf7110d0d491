"""The drop-in filters DEFLATE and BROTLI_COMPRESS: stock values where nothing else is said, one
field changed by each Elastic directive, and negotiation between the two."""

import pytest

from kit import bodies, check

DEFLATE = 'SetOutputFilter DEFLATE\n'
BOTH = 'AddOutputFilterByType BROTLI_COMPRESS;DEFLATE text/html text/plain\n'
PAGE = b"<p>All work and no play makes the server a dull one. " * 100

FILES = {
    "page.html": PAGE,
    "data.bin": PAGE,
    "s68.html": b"x" * 68,
    "s69.html": b"The quick brown fox jumps over the lazy dog, and then back once more"[:68] + b"!",
    "empty.html": b"",
    "noise.html": bodies.noise(3000),
}

# mod_bucketeer ends a bucket at \x02 and a brigade at \x10.
CUT = {
    "brigades.html": b"a small page in \x10brigades",
    "buckets.html": b"a small page in \x02buckets",
    "last.html": b"a small page before its end\x10",
    "encoded.html": b"\x1f\x8b\x08" + PAGE[:3000] + b"\x10" + PAGE[3000:],
}
DROPIN = ("deflate", "brotli")


@pytest.fixture(scope="module")
def server(httpd_shared):
    sections = {
        "deflate": DEFLATE,
        "brotli": "SetOutputFilter BROTLI_COMPRESS\n",
        "both": BOTH,
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
        "included": "SetOutputFilter INCLUDES;DEFLATE\n",
    }
    files = {f"{name}/{path}": data for name in sections
             for path, data in (FILES | CUT if name.startswith("cut") else FILES).items()}
    files["included/small.html"] = b'<p><!--#echo var="REQUEST_METHOD" -->'
    config = "ElasticControl off\n" + "".join(
        f'<Location "/{name}">\n{text}</Location>\n' for name, text in sections.items())
    config += "<Directory {docs}/included>\nOptions +Includes\n</Directory>\n"
    return httpd_shared(config, modules=("filter", "include", "bucketeer"),
                        records=("elastic", *DROPIN), files=files,
                        cgi={"deflate/small.cgi": "head('Content-Type: text/html')\n"
                                                  "out('<p>small')\nos.close(1)\n"})


def fetch(server, path, coding, ae):
    answer = server.get(path, ae)
    body = FILES[path.rsplit("/", 1)[1]]
    assert (answer.status, answer.coding) == (200, coding), answer
    assert answer.body == body


@pytest.mark.parametrize("path, ae, coding", [
    ("/deflate/page.html", "gzip", "gzip"),
    ("/deflate/page.html", "br, gzip;q=0.1", "gzip"),
    ("/deflate/page.html", "br", None),
    ("/deflate/data.bin", "gzip", "gzip"),
    ("/deflate/s68.html", "gzip", None),
    ("/deflate/s69.html", "gzip", "gzip"),
    ("/deflate/empty.html", "gzip", None),
    ("/brotli/page.html", "gzip, br", "br"),
    ("/brotli/page.html", "gzip", None),
    ("/brotli/s68.html", "br", "br"),
    ("/brotli/empty.html", "br", "br"),
    ("/both/page.html", "gzip, br", "br"),
    ("/both/page.html", "gzip, br;q=0.9", "gzip"),
    ("/both/page.html", "gzip", "gzip"),
    ("/both/page.html", "identity", None),
    ("/both/s68.html", "gzip, br", "br"),
    ("/both/s68.html", "gzip", None),
    ("/both/data.bin", "gzip, br", None),
    ("/reversed/page.html", "gzip, br", "gzip"),
    ("/reversed/page.html", "gzip;q=0.5, br", "br"),
    ("/reversed/s68.html", "gzip, br", "br"),
    ("/unlike/page.html", "gzip, br", "gzip"),
    ("/unlike/page.html", "br", None),
    ("/off/page.html", "gzip", None),
    ("/min/page.html", "gzip", None),
    ("/types/page.html", "gzip", None),
    ("/level/page.html", "gzip", "gzip"),
])
def test_coding(server, path, ae, coding):
    fetch(server, path, coding, ae)


@pytest.mark.parametrize("path, weak", [
    ("/deflate/page.html", False), ("/brotli/page.html", False), ("/weak/page.html", True)])
def test_tag(server, path, weak):
    plain = server.get(path)
    for coding in ("gzip", "br"):
        answer = server.get(path, coding)
        if answer.coding:
            suffixed = plain.headers["ETag"][:-1] + f'-{coding}"'
            assert answer.headers["ETag"] == ("W/" if weak else "") + suffixed
            assert server.get(path, coding, {"If-None-Match": answer.headers["ETag"]}).status == 304


@pytest.mark.parametrize("path, ae, level", [
    ("/deflate/page.html", "gzip", "6"),
    ("/brotli/page.html", "br", "5"),
    ("/both/page.html", "br", "5"),
    ("/level/page.html", "gzip", "3"),
])
def test_level_at_the_ceiling(server, path, ae, level):
    assert server.notes(server.get(path, ae))["elastic-level"] == level


@pytest.mark.parametrize("path, ae, reason, vary", [
    ("/deflate/s68.html", "gzip", "small", None),
    ("/deflate/page.html", "br", "not-acceptable", "Accept-Encoding"),
    ("/both/page.html", "identity", "not-acceptable", "Accept-Encoding"),
    ("/off/page.html", "gzip", "off", None),
])
def test_reason_and_vary_as_stock(server, path, ae, reason, vary):
    answer = server.get(path, ae)
    assert server.reason(answer) == reason
    assert answer.headers.get("Vary") == vary


@pytest.mark.parametrize("path, ae, coding", [
    ("/cut/brigades.html", "gzip", "gzip"),
    ("/cut/last.html", "gzip", "gzip"),
    ("/cut/buckets.html", "gzip", None),
    ("/cut-br/brigades.html", "br", "br"),
    ("/cut-br/buckets.html", "br", "br"),
    ("/cut-min/brigades.html", "gzip", None),
    ("/cut-elastic/brigades.html", "gzip", None),
])
def test_only_what_comes_whole_in_one_brigade_may_be_too_small(server, path, ae, coding):
    """An Elastic directive, and ELASTIC itself, know one minimum however the body comes."""
    body = CUT[path.rsplit("/", 1)[1]].translate(None, b"\x02\x10")
    check.whole(server.get(path, ae), coding, body)


def test_what_one_filter_has_held_and_left_the_next_encodes(server):
    """ELASTIC takes it for encoded already, which a drop-in filter does not ask."""
    body = CUT["encoded.html"].replace(b"\x10", b"")
    check.whole(server.get("/cut-chain/encoded.html", "gzip"), "gzip", body)


def test_a_small_page_of_includes_comes_in_several_brigades(server):
    check.encoded(server.get("/included/small.html", "gzip"), "gzip", b"<p>GET")


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_small_page_of_a_script_comes_in_one(server, method):
    """However slow the script is: httpd passes on its pipe, and the end behind it."""
    answer = check.once(lambda: server.get("/deflate/small.cgi", "gzip", method=method),
                        lambda answer: answer.coding is None)
    check.whole(answer, None, b"<p>small" if method == "GET" else b"")


@pytest.mark.parametrize("place, coding", [("deflate", "gzip"), ("brotli", "br"), ("both", "br"),
                                           ("both", "gzip"), ("min", "gzip")])
def test_head_has_gets_header(server, place, coding):
    for name in FILES:
        path = f"/{place}/{name}"
        get, head = server.get(path, coding), server.head(path, coding)
        check.head_of(get, head, "Accept-Ranges")
        if get.headers["Content-Length"] != "0":
            check.same_header(get, head, "Content-Length")
