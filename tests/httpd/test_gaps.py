"""What only one configuration can tell: cases that no other test noticed in scripts/mutants."""

import time

import pytest

from kit import bodies, check

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


# --- conditionals, levels


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


def test_a_level_that_is_not_built_in_is_clamped(httpd):
    server = httpd("Elastic On\nElasticLevel gzip 12", files={"a.html": BODY},
                   allow_log=["ends at level 9"])
    answer = server.get("/a.html", ae="gzip")
    check.encoded(answer, "gzip", BODY)
    assert server.notes(answer)["elastic-level"] == "9"


# --- siblings


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
