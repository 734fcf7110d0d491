"""Conditional requests, ranges and HEAD through a proxy, beyond the table of test_conditionals.py:
the backend has the tag of its own body only."""

import pytest

from kit import bodies, check
from kit.origin import conditional, raw
from kit.proxied import EACH, EACH_WAY, config, start

BODY = bodies.text(30000)
DATE = "Fri, 14 Jul 2017 02:40:00 GMT"
RANGE, PART = "bytes=100-9099", BODY[100:9100]
MADE = "7530-55443b7e3c000"  # as httpd makes tags of files; "o" is nothing that it would make


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
            # In one write: a drop-in leaves alone what comes in one brigade.
            "/small": raw({"Content-Type": "text/plain", "Content-Length": 5}, b"small")}.items():
        origin.route(path, handler)
    return start(httpd_shared, config(origin.url), tls=True, h2=True)


@pytest.mark.smoke
@pytest.mark.protocols("http/1.1", "h2c")
@pytest.mark.parametrize("resource", ["x", "weak", "made", "made-weak", "vary", "pieces"])
@EACH
def test_the_tag_that_was_sent_gives_304(server, origin, way, coding, resource, protocol):
    """The backend is asked about what looks as httpd's own tags; all are compared here, too, when it
    has sent its own. Then all of a body is dropped, though it comes in many pieces after the
    first of them has become a 304."""
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
    """RFC 9110 §13.2.2: If-None-Match comes before Range, and is for GET and HEAD."""
    for resource, text in (("x", "o"), ("made", MADE)):
        tag = way.tagged(text, coding)
        answer = server.get(way.path(resource), coding, {"If-None-Match": tag, "Range": RANGE})
        if way.errors or resource == "made":
            check.not_modified(answer, tag)
        else:  # of mod_filter's filters, none sees a 206
            check.plain(answer, PART, 206, varies=False)
    tag = {"If-None-Match": way.tagged("o", coding)}
    check.encoded(server.get(way.path("x"), coding, tag, "POST", b"x"), coding, BODY)


@EACH_WAY
def test_a_field_stays_as_it_came_where_a_backend_may_not_take_more(server, origin, way):
    """By default httpd takes a line of 8190 bytes, Tomcat and AJP so many of the whole header."""
    coding = way.codings[0]

    def asked(count, **fields):
        """Whether the origin gets more than so many tags, each of 40 bytes and more; they end in a
        current one."""
        sent = ", ".join(way.tagged(text, coding)
                         for text in (*(f"{i:030}" for i in range(count)), MADE))
        answer = server.get(way.path("made"), coding, {"If-None-Match": sent, **fields})
        got = origin.seen[-1].headers["if-none-match"]
        assert got.startswith(sent)
        check.not_modified(answer, way.tagged(MADE, coding))
        return len(got) > len(sent)

    assert asked(60) and not asked(130)
    # Others have used the room, or have shown that the backend takes more.
    cookie = "c=" + "x" * 5000
    assert not asked(60, Cookie=cookie)
    assert asked(60, Cookie=cookie, Field="y" * 5000)


@EACH
def test_if_range_with_a_date_gets_the_whole(server, origin, way, coding):
    """The date does not say of which representation the client has a part."""
    by_date = {"Range": RANGE, "If-Range": DATE}
    for method, body in (("GET", b""), ("POST", b"x")):
        answer = server.get(way.path("dated"), coding, by_date, method, body)
        check.encoded(answer, coding, BODY)
        assert "range" not in origin.seen[-1].headers
    # A client that takes nothing else can only have a part of the identity.
    check.whole(server.get(way.path("dated"), None, by_date), None, PART, 206)
    part = server.get(way.path("x"), coding, {"Range": RANGE})
    check.plain(part, PART, 206, varies=not way.stock)
    # Of a backend without ranges, httpd may cut the part.
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
    """Behind each 304 and each HEAD comes the next response's beginning."""
    with server.connect() as connection:
        for coding in (*way.codings, *way.codings):
            tag = way.tagged("o", coding)
            for resource in ("x", "pieces"):
                check.not_modified(connection.request(
                    way.path(resource), ae=coding, headers={"If-None-Match": tag}), tag)
            for resource in ("x", "chunked", "no-length", "length", "small"):
                assert connection.request(way.path(resource), "HEAD", coding).status == 200
                check.encoded(connection.request(way.path("x"), ae=coding), coding, BODY)
