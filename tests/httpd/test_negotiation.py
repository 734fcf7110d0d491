"""Who gets which coding: Accept-Encoding against what the server has."""

import pytest

from kit import at, bodies, check, env

BODY = bodies.text(20000)


@pytest.fixture(scope="module")
def server(httpd_shared):
    return httpd_shared(
        # The server's order decides among equals; with the controller at work, costs do.
        "Elastic On\nElasticControl off\n"
        + at("gzip-first", "ElasticCodings gzip br")
        + at("only-br", "ElasticCodings br")
        + at("off", "Elastic Off")
        + at("vary-before", "Header set Vary Cookie")
        + at("vary-same", "Header set Vary \"Cookie, accept-encoding\"")
        + at("vary-star", "Header set Vary *"),
        tls=True, h2=True,
        files={"a.txt": BODY, "a.png": BODY, "tiny.txt": b"tiny"})


# (Accept-Encoding or None, coding or None)
TABLE = [
    ("gzip", "gzip"),
    ("br", "br"),
    ("x-gzip", "gzip"),
    ("GZip", "gzip"),
    ("BR", "br"),
    ("gzip, br", "br"),
    ("br, gzip", "br"),
    ("gzip;q=1, br;q=0.5", "gzip"),
    ("gzip;q=0.5, br;q=1", "br"),
    ("gzip;q=0.501, br;q=0.5", "gzip"),
    ("gzip;q=0.5, br;q=0.501", "br"),
    ("gzip ; q=0.4 , br ; q=0.3", "gzip"),
    ("\tgzip\t;\tQ=0.4\t,\tbr\t;\tQ=0.3", "gzip"),
    ("gzip;q=0", None),
    ("gzip;q=0.0", None),
    ("gzip;q=0.00", None),
    ("gzip;q=0.000", None),
    ("gzip;q=0, br", "br"),
    ("br;q=0, gzip", "gzip"),
    ("gzip;q=0.001", "gzip"),
    ("gzip;q=0.0000", "gzip"),
    ("gzip;", "gzip"),
    ("gzip;q=", "gzip"),
    ("*", "br"),
    ("*;q=0.5", "br"),
    ("*;q=0", None),
    ("*, br;q=0", "zstd" if env.HAS_ZSTD else "gzip"),
    ("gzip;q=0.1, *;q=0.5", "br"),
    ("br;q=0, gzip;q=0, *", "zstd" if env.HAS_ZSTD else None),
    ("br;q=0, gzip;q=0, zstd;q=0, *", None),
    ("identity", None),
    ("identity;q=0, gzip", "gzip"),
    ("identity;q=0, *", "br"),
    ("identity;q=1, gzip;q=0.5", None),
    ("identity;q=0.5, gzip;q=0.5", "gzip"),
    ("identity;q=0.4, gzip;q=0.5", "gzip"),
    ("deflate", None),
    ("compress, deflate;q=0.9", None),
    ("deflate, gzip;q=0.1", "gzip"),
    ("gzipped", None),
    ("xgzip", None),
    ("zstd", "zstd" if env.HAS_ZSTD else None),
    ("gzip, zstd", "zstd" if env.HAS_ZSTD else "gzip"),
    (",, ,gzip,,", "gzip"),
    ("", None),
    (None, None),
    (";;q=,=,gzip", "gzip"),
    ("@@@", None),
]


@pytest.mark.smoke
@pytest.mark.parametrize("line,coding", TABLE)
def test_the_table(server, line, coding):
    answer = server.get("/a.txt", ae=line)
    if coding:
        check.encoded(answer, coding, BODY)
    else:
        check.plain(answer, BODY)
        assert server.reason(answer) == "not-acceptable"


@pytest.mark.smoke
@pytest.mark.protocols()
@pytest.mark.parametrize("line,coding", [
    ("gzip", "gzip"), ("br", "br"), ("gzip, br", "br"), (None, None), ("gzip;q=0, identity", None)])
def test_over_every_protocol(server, protocol, line, coding):
    answer = server.get("/a.txt", ae=line, protocol=protocol)
    if coding:
        check.encoded(answer, coding, BODY)
    else:
        check.plain(answer, BODY)


def test_several_fields_count_as_one_list(server):
    fields = [("Accept-Encoding", "gzip;q=0.2"), ("Accept-Encoding", "br;q=0.1")]
    answer = server.get("/a.txt", headers=fields)
    check.encoded(answer, "gzip", BODY)


def test_a_long_line_is_read_in_no_time(server):
    line = ", ".join(f"x{n};q=0.{n % 1000:03d}" for n in range(500)) + ", gzip"
    assert len(line) < 8190
    check.encoded(server.get("/a.txt", ae=line), "gzip", BODY)


@pytest.mark.parametrize("line,coding", [
    ("gzip, br", "gzip"), ("gzip;q=0.5, br", "br"), ("*", "gzip")])
def test_the_servers_order_decides_among_equals(server, line, coding):
    check.encoded(server.get("/gzip-first/a.txt", ae=line), coding, BODY)


def test_a_coding_that_is_not_enabled_is_not_used(server):
    answer = server.get("/only-br/a.txt", ae="gzip")
    check.plain(answer, BODY)
    assert server.reason(answer) == "not-acceptable"
    check.encoded(server.get("/only-br/a.txt", ae="gzip, br;q=0.1"), "br", BODY)


def test_off_says_nothing(server):
    answer = server.get("/off/a.txt", ae="gzip")
    check.plain(answer, BODY, varies=False)
    assert server.reason(answer) == "off"
    assert "Accept-Ranges" in answer.headers


def test_a_type_that_is_not_listed_does_not_vary(server):
    answer = server.get("/a.png", ae="gzip")
    check.plain(answer, BODY, varies=False)
    assert server.reason(answer) == "type"


def test_small_bodies_vary_too(server):
    answer = server.get("/tiny.txt", ae="gzip")
    check.plain(answer, b"tiny")
    assert server.reason(answer) == "small"


@pytest.mark.parametrize("line,coding", [("gzip;q=1, identity;q=0", "gzip"), ("br, *;q=0", "br")])
def test_who_refuses_identity_gets_a_coding_however_small_the_body(server, line, coding):
    check.encoded(server.get("/tiny.txt", ae=line), coding, b"tiny")


@pytest.mark.parametrize("line", ["identity;q=0", "deflate, identity;q=0", "*;q=0"])
def test_who_refuses_everything_gets_identity(server, line):
    # RFC 9110 §12.5.3 allows either this or 415; a body helps more than an error.
    check.plain(server.get("/a.txt", ae=line), BODY)


def test_vary_is_merged(server):
    for ae in ("gzip", None):
        answer = server.get("/vary-before/a.txt", ae=ae)
        assert answer.varies and answer.has_token("Vary", "Cookie"), answer
        assert answer.body == BODY


def test_vary_is_not_repeated(server):
    answer = server.get("/vary-same/a.txt", ae="gzip")
    assert answer.headers.get("Vary").lower().count("accept-encoding") == 1, answer
    assert answer.coding == "gzip" and answer.body == BODY


def test_vary_star_stays(server):
    answer = server.get("/vary-star/a.txt", ae="gzip")
    assert answer.headers.get("Vary") == "*"
    assert answer.coding == "gzip" and answer.body == BODY


@pytest.mark.protocols()
def test_pipelined_and_kept_connections(server, protocol):
    """Each response on a connection is negotiated by its own request."""
    if protocol in (*env.HTTP2, "http/1.0"):
        for ae, coding in (("gzip", "gzip"), ("br", "br")):
            check.encoded(server.get("/a.txt", ae=ae, protocol=protocol), coding, BODY)
        return
    with server.connect(protocol) as connection:
        lines = ("gzip", None, "br", "gzip;q=0")
        ids = [connection.send_request("/a.txt", ae=ae) for ae in lines]
        answers = [connection.read_response(id) for id in ids]
    check.encoded(answers[0], "gzip", BODY)
    check.plain(answers[1], BODY)
    check.encoded(answers[2], "br", BODY)
    check.plain(answers[3], BODY)
