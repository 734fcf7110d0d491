"""Other modules' filters and handlers around ours: what they add is compressed, what they cut is
whole."""

import pytest

from kit import at, bodies, check

BODY = bodies.html(30000)

# mod_bucketeer ends a bucket at \x02 and a brigade at \x10, and flushes at \x06.
BUCKETS = b"\x02".join(bodies.pieces(bodies.text(3000), (1, 40, 999)))
BRIGADES = b"\x10".join(bodies.pieces(bodies.text(30000), (1, 40, 9999)))
FLUSHES = b"\x06".join(bodies.pieces(bodies.text(30000), (1, 40, 9999)))
MIXED = b"\x06\x06\x02\x10\x06" + b"\x10\x02\x06".join(bodies.pieces(bodies.text(30000)))


@pytest.fixture(scope="module")
def server(httpd_shared):
    server = httpd_shared(
        "Elastic On\n"
        + at("substitute", "SetOutputFilter SUBSTITUTE", "Substitute s/server/SERVER/n")
        + at("ratelimit", "SetOutputFilter RATE_LIMIT", "SetEnv rate-limit 2000")
        + at("buffer", "SetOutputFilter BUFFER", "BufferSize 100000")
        + at("bucketeer", "SetOutputFilter BUCKETEER")
        + at("external", "SetOutputFilter upper")
        + "ExtFilterDefine upper mode=output cmd=\"/usr/bin/tr a-z A-Z\"\n"
        + "<Directory {docs}/listing>\nOptions +Indexes\n</Directory>\n"
        + "<Directory {docs}/views>\nOptions +MultiViews\nAddLanguage de .de\nAddLanguage en .en\n"
          "</Directory>\nAddHandler send-as-is .asis\nRedirectMatch 410 ^/gone$\n",
        modules=["filter", "substitute", "ratelimit", "buffer", "bucketeer", "ext_filter",
                 "autoindex", "negotiation", "asis"],
        files={"a.html": BODY, "buckets.txt": BUCKETS, "brigades.txt": BRIGADES,
               "flushes.txt": FLUSHES, "mixed.txt": MIXED,
               "views/page.html.de": BODY, "views/page.html.en": BODY[::-1],
               "as.asis": b"Content-Type: text/html\n\n" + BODY},
        cgi={"untyped.cgi": "head('X-None: 1')\nout('x' * 9000)\n",
             "nothing.cgi": "head('Content-Type: text/html')\n",
             "silent.cgi": "pass\n"})
    for n in range(200):
        server.write(f"listing/file-{n:03d}-with-a-long-name.txt", b"")
    return server


@pytest.mark.smoke
@pytest.mark.parametrize("coding", ["gzip", "br"])
@pytest.mark.parametrize("name,size", [("buckets", 3000), ("brigades", 30000), ("flushes", 30000),
                                       ("mixed", 30000)])
def test_bodies_cut_into_any_buckets(server, name, size, coding):
    answer = server.get(f"/bucketeer/{name}.txt", ae=coding)
    assert answer.coding == coding and answer.body == bodies.text(size) and answer.varies


@pytest.mark.parametrize("coding", ["gzip", "br"])
def test_substitute_comes_before(server, coding):
    body = BODY.replace(b"server", b"SERVER")
    check.encoded(server.get("/substitute/a.html", ae=coding), coding, body)


def test_an_external_filter_comes_before(server):
    check.encoded(server.get("/external/a.html", ae="br"), "br", BODY.upper())


@pytest.mark.parametrize("name", ["ratelimit", "buffer"])
def test_filters_that_pass_the_bytes_on(server, name):
    check.encoded(server.get(f"/{name}/a.html", ae="gzip"), "gzip", BODY)


def test_a_listing_is_compressed(server):
    plain = server.get("/listing/")
    answer = server.get("/listing/", ae="gzip")
    check.encoded(answer, "gzip", plain.body)
    assert plain.coding is None and b"file-199" in plain.body and plain.varies


@pytest.mark.parametrize("language", ["de", "en"])
def test_negotiated_languages(server, language):
    body = BODY if language == "de" else BODY[::-1]
    answer = server.get("/views/page", ae="gzip", headers={"Accept-Language": language})
    check.encoded(answer, "gzip", body)
    assert answer.headers["Content-Language"] == language
    assert answer.has_token("Vary", "accept-language") and answer.has_token("Vary", "negotiate")


def test_as_is_files_are_compressed(server):
    check.encoded(server.get("/as.asis", ae="br"), "br", BODY)


def test_a_response_without_a_type_passes(server):
    answer = server.get("/untyped.cgi", ae="gzip")
    assert (answer.coding, answer.body) == (None, b"x" * 9000)


def test_an_empty_cgi(server):
    for ae in ("gzip", "br", None):
        check.plain(server.get("/nothing.cgi", ae=ae), b"")


def test_a_cgi_that_says_nothing_at_all(server):
    server.expect_log("End of script output before headers")
    assert server.get("/silent.cgi", ae="gzip").status == 500


@pytest.mark.parametrize("method", ["OPTIONS", "TRACE", "DELETE", "PUT"])
def test_other_methods_keep_the_connection_in_step(server, method):
    with server.connect() as connection:
        answer = connection.request("/a.html", method, "gzip")
        assert answer.complete and (answer.coding is None or answer.body)
        check.encoded(connection.request("/a.html", ae="gzip"), "gzip", BODY)


def test_canned_pages_of_redirects_to_nowhere_pass(server):
    answer = server.get("/gone", ae="gzip")
    assert answer.status == 410 and answer.coding is None and b"Gone" in answer.body


def test_a_client_that_stops_reading_halfway(server):
    for _ in range(5):
        with server.connect() as connection:
            connection.send_request("/a.html", ae="gzip")
            connection.receive(100)
            connection.abort()
    check.encoded(server.get("/a.html", ae="gzip"), "gzip", BODY)
