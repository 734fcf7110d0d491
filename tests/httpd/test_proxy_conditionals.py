"""Conditional requests, ranges and HEAD through a proxy, beyond the table of test_conditionals.py:
the backend only knows the tag of its own body."""

import pytest

from kit import bodies, check
from kit.origin import conditional, raw
from kit.proxied import EACH, EACH_WAY, config, start

BODY = bodies.text(30000)
DATE = "Fri, 14 Jul 2017 02:40:00 GMT"
RANGE, PART = "bytes=100-9099", BODY[100:9100]
MADE = "7530-55443b7e3c000"  # like httpd's tags of files; "o" is not


@pytest.fixture(scope="module")
def server(httpd_shared, origin):
    def no_length(exchange):
        if exchange.method == "HEAD":
            exchange.head(200, {"Content-Type": "text/plain"})
        else:
            exchange.chunked(200, {}, [BODY])

    for path, handler in {
            "/x": conditional(BODY, '"o"'), "/made": conditional(BODY, f'"{MADE}"'),
            "/weak": conditional(BODY, 'W/"o"'), "/made-weak": conditional(BODY, f'W/"{MADE}"'),
            "/dated": conditional(BODY, None),
            "/vary": conditional(BODY, '"o"', {"Vary": "Cookie"}),
            "/pieces": lambda e: e.chunked(200, {"ETag": '"o"'}, [BODY] * 100),
            "/whole": lambda e: e.respond(200, {"ETag": '"o"', "Accept-Ranges": "bytes"}, BODY),
            "/length": lambda e: e.respond(200, {}, BODY), "/no-length": no_length,
            "/chunked": lambda e: e.chunked(200, {}, [BODY]),
            # In one write: a drop-in filter ignores small bodies in a single brigade.
            "/small": raw({"Content-Type": "text/plain", "Content-Length": 5}, b"small")}.items():
        origin.route(path, handler)
    return start(httpd_shared, config(origin.url), tls=True, h2=True)


@pytest.mark.smoke
@pytest.mark.protocols("http/1.1", "h2c")
@pytest.mark.parametrize("resource", ["x", "weak", "made", "made-weak", "vary", "pieces"])
@EACH
def test_the_tag_that_was_sent_gives_304(server, origin, way, coding, resource, protocol):
    """The backend is asked about tags that look like httpd's own. All are compared here again,
    after it has sent its own. Then the whole body is dropped, although many of its pieces come
    after the 304."""
    tag = server.get(way.path(resource), coding).headers["ETag"]
    for ask in (server.get, server.head):
        answer = ask(way.path(resource), coding, {"If-None-Match": tag}, protocol=protocol)
        check.not_modified(answer, tag)
        assert answer.has_token("Vary", "Cookie") == (resource == "vary")
        assert server.notes(answer)["sent"] == 0
        assert origin.seen[-1].headers["if-none-match"] == \
            (f'{tag}, W/"{MADE}"' if resource.startswith("made") else tag)


@EACH
def test_a_range_or_another_method_beside_a_tag_that_was_sent(server, way, coding):
    """RFC 9110 §13.2.2: If-None-Match precedes Range, and is for GET and HEAD."""
    for resource, text in (("x", "o"), ("made", MADE)):
        tag = way.tagged(text, coding)
        answer = server.get(way.path(resource), coding, {"If-None-Match": tag, "Range": RANGE})
        if way.errors or resource == "made":
            check.not_modified(answer, tag)
        else:  # mod_filter runs none of its filters for a 206
            check.plain(answer, PART, 206, varies=False)
    tag = {"If-None-Match": way.tagged("o", coding)}
    check.encoded(server.get(way.path("x"), coding, tag, "POST", b"x"), coding, BODY)


@EACH_WAY
def test_a_field_stays_as_it_came_where_a_backend_may_not_take_more(server, origin, way):
    """By default httpd accepts a line of 8190 bytes; Tomcat and AJP accept that for all fields."""
    coding = way.codings[0]

    def asked(count, **fields):
        """True if the origin gets more than `count` tags, each of at least 40 bytes; the last ones
        are current."""
        sent = ", ".join(way.tagged(text, coding)
                         for text in (*(f"{i:030}" for i in range(count)), MADE))
        answer = server.get(way.path("made"), coding, {"If-None-Match": sent, **fields})
        got = origin.seen[-1].headers["if-none-match"]
        assert got.startswith(sent)
        check.not_modified(answer, way.tagged(MADE, coding))
        return len(got) > len(sent)

    assert asked(60) and not asked(130)
    # Other fields use the room, or show that the backend accepts more.
    cookie = "c=" + "x" * 5000
    assert not asked(60, Cookie=cookie)
    assert asked(60, Cookie=cookie, Field="y" * 5000)


@EACH
def test_if_range_with_a_date_gets_the_whole(server, origin, way, coding):
    """The date does not identify the representation of the client's part."""
    by_date = {"Range": RANGE, "If-Range": DATE}
    for method, body in (("GET", b""), ("POST", b"x")):
        answer = server.get(way.path("dated"), coding, by_date, method, body)
        check.encoded(answer, coding, BODY)
        assert "range" not in origin.seen[-1].headers
    # A client that accepts no coding can only have a part of the identity.
    check.whole(server.get(way.path("dated"), None, by_date), None, PART, 206)
    part = server.get(way.path("x"), coding, {"Range": RANGE})
    check.plain(part, PART, 206, varies=not way.stock)
    # If the backend has no ranges, httpd may cut the part.
    whole = server.get(way.path("whole"), coding, {"Range": RANGE})
    assert (whole.status, whole.body) in ((200, BODY), (206, PART))
    assert (whole.coding, whole.headers["ETag"]) == (None, '"o"') and whole.varies


@pytest.mark.smoke
@pytest.mark.parametrize("resource", ["x", "length", "chunked", "no-length", "small"])
@EACH
def test_head_has_gets_header(server, way, coding, resource, protocol):
    get = server.get(way.path(resource), coding, protocol=protocol)
    head = server.head(way.path(resource), coding, protocol=protocol)
    assert head.status == 200
    check.head_of(get, head)


@EACH_WAY
def test_the_connection_stays_in_step(server, way):
    """After each 304 and each HEAD, the next response begins correctly."""
    with server.connect() as connection:
        for coding in (*way.codings, *way.codings):
            tag = way.tagged("o", coding)
            for resource in ("x", "pieces"):
                check.not_modified(connection.request(
                    way.path(resource), ae=coding, headers={"If-None-Match": tag}), tag)
            for resource in ("x", "chunked", "no-length", "length", "small"):
                assert connection.request(way.path(resource), "HEAD", coding).status == 200
                check.encoded(connection.request(way.path("x"), ae=coding), coding, BODY)
