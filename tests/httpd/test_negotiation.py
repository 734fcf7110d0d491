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
    check.negotiated(answer, coding, BODY)
    assert server.reason(answer) == (None if coding else "not-acceptable")


@pytest.mark.smoke
@pytest.mark.protocols()
@pytest.mark.parametrize("line,coding", [
    ("gzip", "gzip"), ("br", "br"), ("gzip, br", "br"), (None, None), ("gzip;q=0, identity", None)])
def test_over_every_protocol(server, protocol, line, coding):
    check.negotiated(server.get("/a.txt", ae=line, protocol=protocol), coding, BODY)


def test_several_fields_count_as_one_list(server):
    fields = [("Accept-Encoding", "gzip;q=0.2"), ("Accept-Encoding", "br;q=0.1")]
    check.encoded(server.get("/a.txt", headers=fields), "gzip", BODY)


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


@pytest.mark.parametrize("path,body,reason,varies", [
    ("/off/a.txt", "BODY", "off", False), ("/a.png", "BODY", "type", False),
    ("/tiny.txt", "tiny", "small", True)])
def test_vary_says_whether_anything_was_negotiated(server, path, body, reason, varies):
    answer = server.get(path, ae="gzip")
    check.plain(answer, BODY if body == "BODY" else body.encode(), varies=varies)
    assert server.reason(answer) == reason
    assert "Accept-Ranges" in answer.headers


@pytest.mark.parametrize("line,coding", [("gzip;q=1, identity;q=0", "gzip"), ("br, *;q=0", "br")])
def test_who_refuses_identity_gets_a_coding_however_small_the_body(server, line, coding):
    check.encoded(server.get("/tiny.txt", ae=line), coding, b"tiny")


@pytest.mark.parametrize("line", ["identity;q=0", "deflate, identity;q=0", "*;q=0"])
def test_who_refuses_everything_gets_identity(server, line):
    # RFC 9110 §12.5.3 allows either this or 415; a body helps more than an error.
    check.plain(server.get("/a.txt", ae=line), BODY)


@pytest.mark.parametrize("place,names", [
    ("vary-before", ["cookie", "accept-encoding"]), ("vary-same", ["cookie", "accept-encoding"]),
    ("vary-star", ["*"])])
@pytest.mark.parametrize("ae", ["gzip", None])
def test_vary_is_merged_and_names_nothing_twice(server, place, names, ae):
    answer = server.get(f"/{place}/a.txt", ae=ae)
    check.whole(answer, ae, BODY)
    assert answer.headers["Vary"].lower().replace(" ", "").split(",") == names


@pytest.mark.protocols()
def test_pipelined_and_kept_connections(server, protocol):
    """Each response on a connection is negotiated by its own request."""
    if protocol in (*env.HTTP2, "http/1.0"):
        for ae, coding in (("gzip", "gzip"), ("br", "br")):
            check.encoded(server.get("/a.txt", ae=ae, protocol=protocol), coding, BODY)
        return
    expected = {"gzip": "gzip", None: None, "br": "br", "gzip;q=0": None}
    with server.connect(protocol) as connection:
        ids = [connection.send_request("/a.txt", ae=ae) for ae in expected]
        for id, coding in zip(ids, expected.values(), strict=True):
            check.negotiated(connection.read_response(id), coding, BODY)
