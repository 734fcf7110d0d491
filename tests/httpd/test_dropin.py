"""The drop-in filters DEFLATE and BROTLI_COMPRESS: stock values where nothing else is said, one
field changed by each Elastic directive, and negotiation between the two."""

import pytest

DEFLATE = 'SetOutputFilter DEFLATE\n'
BOTH = 'AddOutputFilterByType BROTLI_COMPRESS;DEFLATE text/html text/plain\n'
PAGE = b"<p>All work and no play makes the server a dull one. " * 100

FILES = {
    "page.html": PAGE,
    "data.bin": PAGE,
    "s68.html": b"x" * 68,
    "s69.html": b"The quick brown fox jumps over the lazy dog, and then back once more"[:68] + b"!",
    "empty.html": b"",
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
    }
    files = {f"{name}/{path}": data for name in sections for path, data in FILES.items()}
    config = "ElasticControl off\n" + "".join(
        f'<Location "/{name}">\n{text}</Location>\n' for name, text in sections.items())
    return httpd_shared(config, modules=("filter",), records=("elastic", *DROPIN), files=files)


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
