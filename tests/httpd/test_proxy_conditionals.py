"""Conditional requests, ranges and HEAD through a proxy: the backend has the tag of its own body
only."""

import email.utils

import pytest

from kit import bodies, check
from kit.origin import raw
from kit.proxied import EACH, EACH_WAY, WAYS, config, start

BODY = bodies.text(30000)
DATE = email.utils.formatdate(1_500_000_000, usegmt=True)
RANGE, PART = "bytes=100-9099", BODY[100:9100]
MADE = "7530-55443b7e3c000"  # as httpd makes tags of files; "o" is nothing that it would make
SUFFIX = tuple(way._replace(name=f"suffix-{way.name}", tag='"{}-{}"',
                            lines=f"{way.lines}\nElasticETag suffix") for way in WAYS[:2])


def _tags(exchange, name):
    return [tag.strip() for tag in exchange.headers.get(name, "").split(",")]


def _backend(tag='"o"', fields=None):
    """For Origin.route: an origin that answers conditions and ranges about its one body."""

    def answer(exchange):
        named = _tags(exchange, "if-none-match")
        header = {"Last-Modified": DATE, **({"ETag": tag} if tag else {}), **(fields or {})}
        weak = (tag or "-").removeprefix("W/")
        if "*" in named or weak in [name.removeprefix("W/") for name in named]:
            exchange.respond(304, header)
        elif exchange.headers.get("if-modified-since") == DATE and named == [""]:
            exchange.respond(304, header)
        elif exchange.method != "HEAD" and _range_holds(exchange, tag):
            first, last = map(int, exchange.headers["range"].removeprefix("bytes=").split("-"))
            exchange.respond(206, {**header, "Content-Range": f"bytes {first}-{last}/{len(BODY)}"},
                             BODY[first : last + 1])
        else:
            exchange.respond(200, {**header, "Accept-Ranges": "bytes"}, BODY)

    return answer


def _range_holds(exchange, tag):
    return "range" in exchange.headers and exchange.headers.get("if-range", tag) in (tag, DATE)


@pytest.fixture(scope="module")
def server(httpd_shared, origin):
    server = start(
        httpd_shared,
        config(origin.url)
        + "".join(f"<Location /{way.name}/>\n{way.lines}\nProxyPass {origin.url}/\n</Location>\n"
                  for way in SUFFIX)
        + f"ProxyPass /off/ {origin.url}/\n",
        tls=True, h2=True)
    origin.route("/x", _backend())
    origin.route("/dated", _backend(None))
    origin.route("/weak", _backend('W/"o"'))
    origin.route("/made", _backend(f'"{MADE}"'))
    origin.route("/made-weak", _backend(f'W/"{MADE}"'))
    origin.route("/pieces", lambda e: e.chunked(200, {"ETag": '"o"', "Content-Type": "text/plain"},
                                                [BODY] * 100))
    for name in ("home", "home-br", "home-gzip", "home-gunzip"):
        origin.route(f"/tag/{name}", _backend(f'"{name}"'))
        origin.route(f"/weak-tag/{name}", _backend(f'W/"{name}"'))
    origin.route("/vary", _backend(fields={"Vary": "Cookie"}))
    origin.route("/whole", lambda e: e.respond(
        200, {"ETag": '"o"', "Accept-Ranges": "bytes"}, BODY))
    origin.route("/length", lambda e: e.respond(200, {}, BODY))
    origin.route("/chunked", lambda e: e.chunked(200, {}, [BODY]))
    origin.route("/no-length", _head_without_length)
    # In one write: a drop-in leaves alone what comes in one brigade.
    origin.route("/small", raw({"Content-Type": "text/plain", "Content-Length": 5}, b"small"))
    return server


def _head_without_length(exchange):
    if exchange.method == "HEAD":
        exchange.head(200, {"Content-Type": "text/plain"})
    else:
        exchange.chunked(200, {}, [BODY])


def _get(server, way, resource, ae, **fields):
    """A GET with those fields, whose names have underscores."""
    headers = {name.replace("_", "-"): value for name, value in fields.items()}
    return server.get(way.path(resource), ae=ae, headers=headers)


# --- If-None-Match


@pytest.mark.smoke
@pytest.mark.protocols("http/1.1", "h2c")
@pytest.mark.parametrize("resource", ["x", "weak", "made", "made-weak"])
@EACH
def test_the_tag_that_was_sent_gives_304(server, origin, way, coding, resource, protocol):
    """The backend is asked about what looks as httpd's own tags; the others are compared here, when
    it has sent its own."""
    sent = server.get(way.path(resource), ae=coding, protocol=protocol)
    check.encoded(sent, coding, BODY)
    tag = sent.headers["ETag"]
    for ask in (server.get, server.head):
        answer = ask(way.path(resource), ae=coding, headers={"If-None-Match": tag},
                     protocol=protocol)
        check.not_modified(answer, tag)
        assert "Content-Length" not in answer.headers and "Accept-Ranges" not in answer.headers
        seen = origin.seen[-1].headers["if-none-match"]
        assert seen == (f'{tag}, W/"{MADE}"' if resource.startswith("made") else tag)


@pytest.mark.parametrize("form", ['"{}"', 'W/"{}"', '"a", "{}"', 'W/"a",W/"{}" , "b"',
                                  '"a,b", "{}"'])
@pytest.mark.parametrize("way", [*WAYS, *SUFFIX], ids=lambda way: way.name)
def test_either_strength_and_lists(server, way, form):
    """But a strong tag where weak ones are given out is the backend's own, unless it looks as one
    of httpd's."""
    for coding in way.codings:
        for resource, text in (("made", MADE), ("x", "o")):
            named = form.format(f"{text}-{coding}")
            answer = _get(server, way, resource, coding, If_None_Match=named)
            if text == "o" and way.tag.startswith("W/") and f'W/"o-{coding}"' not in named:
                check.encoded(answer, coding, BODY)
                continue
            check.not_modified(answer)
            assert answer.headers["ETag"].removeprefix("W/") == f'"{text}-{coding}"'


@pytest.mark.parametrize("way", WAYS[:2], ids=lambda way: way.name)
def test_a_tag_that_ends_so_by_itself_is_not_that_of_an_encoding(server, way):
    """What has the tag "home-br" is another page than "home", as one in Breton may be."""
    for place, prefix in (("tag", ""), ("weak-tag", "W/")):
        for coding in way.codings:
            own = f'{prefix}"home-{coding}"'
            answer = _get(server, way, f"{place}/home-{coding}", coding, If_None_Match=own)
            check.not_modified(answer, own)
            sent = server.get(way.path(f"{place}/home-{coding}"), ae=coding)
            check.encoded(sent, coding, BODY)
            tag = sent.headers["ETag"]
            assert tag == f'W/"home-{coding}-{coding}"'
            check.not_modified(_get(server, way, f"{place}/home-{coding}", coding,
                                    If_None_Match=tag), tag)
            answer = _get(server, way, f"{place}/home", coding, If_None_Match=f'"home-{coding}"')
            check.encoded(answer, coding, BODY)
            check.plain(_get(server, way, f"{place}/home", None, If_None_Match=own), BODY)


@EACH
def test_a_range_or_another_method_beside_a_tag_that_was_sent(server, way, coding):
    """RFC 9110 §13.2.2: If-None-Match comes before Range, and is for GET and HEAD."""
    tag = way.tagged("o", coding)
    answer = _get(server, way, "x", coding, If_None_Match=tag, Range=RANGE)
    if way.errors:
        check.not_modified(answer, tag)
    else:  # of mod_filter's filters, none sees a 206
        check.plain(answer, PART, 206, varies=False)
    tag = way.tagged(MADE, coding)
    check.not_modified(_get(server, way, "made", coding, If_None_Match=tag, Range=RANGE), tag)
    tag = way.tagged("o", coding)
    answer = server.get(way.path("x"), ae=coding, method="POST", body=b"x",
                        headers={"If-None-Match": tag})
    check.encoded(answer, coding, BODY)


@EACH
def test_the_bare_tag_and_the_asterisk(server, way, coding):
    for ae, named, tag in ((coding, '"o"', '"o"'), (coding, "*", way.tagged("o", coding)),
                           (None, '"o"', '"o"')):
        check.not_modified(_get(server, way, "x", ae, If_None_Match=named), tag)


@EACH
def test_a_tag_of_a_coding_that_is_not_accepted(server, origin, way, coding):
    """The client has a body that it could not use now."""
    check.plain(_get(server, way, "x", None, If_None_Match=way.tagged("o", coding)), BODY)
    assert '"o"' not in _tags(origin.seen[-1], "if-none-match")


@EACH
def test_another_tag_gets_the_body(server, way, coding):
    answer = _get(server, way, "x", coding, If_None_Match=way.tagged("other", coding))
    check.encoded(answer, coding, BODY)


@EACH_WAY
def test_a_field_stays_as_it_came_where_a_backend_may_not_take_more(server, origin, way):
    """By default httpd takes a line of 8190 bytes, Tomcat and AJP so many of the whole header."""
    coding = way.codings[0]

    def asked(count, **fields):
        """What the origin gets of so many tags, each of 40 bytes and more; they end in a current
        one."""
        tags = [way.tagged(f"{i:030}", coding) for i in range(count)] + [way.tagged(MADE, coding)]
        sent = ", ".join(tags)
        answer = _get(server, way, "made", coding, If_None_Match=sent, **fields)
        got = origin.seen[-1].headers["if-none-match"]
        assert got.startswith(sent)
        if got == sent:
            check.encoded(answer, coding, BODY)
        else:
            check.not_modified(answer, way.tagged(MADE, coding))
        return len(got) > len(sent)

    assert asked(60) and not asked(130)
    # Others have used the room, or have shown that the backend takes more.
    cookie = "c=" + "x" * 5000
    assert not asked(60, Cookie=cookie)
    assert asked(60, Cookie=cookie, X_Field="y" * 5000)


@EACH
def test_a_304_keeps_what_the_backend_varies_by(server, way, coding):
    tag = way.tagged("o", coding)
    answer = _get(server, way, "vary", coding, If_None_Match=tag)
    check.not_modified(answer, tag)
    assert answer.has_token("Vary", "Cookie")


@EACH
def test_304_by_date(server, way, coding):
    answer = _get(server, way, "x", coding, If_Modified_Since=DATE)
    check.not_modified(answer, way.tagged("o", coding))


@pytest.mark.protocols("http/1.1", "h2c")
@EACH
def test_all_of_a_body_is_dropped(server, way, coding, protocol):
    """Though it comes in many pieces after the first of them has become a 304."""
    tag = way.tagged("o", coding)
    answer = server.get(way.path("pieces"), ae=coding, headers={"If-None-Match": tag},
                        protocol=protocol)
    check.not_modified(answer, tag)
    assert server.notes(answer)["sent"] == 0


@EACH_WAY
def test_the_connection_stays_in_step_after_a_304(server, way):
    with server.connect() as connection:
        for coding in (*way.codings, *way.codings):
            tag = way.tagged("o", coding)
            answer = connection.request(way.path("x"), ae=coding, headers={"If-None-Match": tag})
            check.not_modified(answer, tag)
            answer = connection.request(way.path("pieces"), ae=coding,
                                        headers={"If-None-Match": tag})
            check.not_modified(answer, tag)
            check.encoded(connection.request(way.path("x"), ae=coding), coding, BODY)


# --- ranges


@EACH
def test_the_backends_parts_pass(server, way, coding):
    """They are of the identity, as is the whole that a request for ranges may get."""
    for condition in ({}, {"If_Range": '"o"'}):
        answer = _get(server, way, "x", coding, Range=RANGE, **condition)
        check.plain(answer, PART, 206, varies=not way.stock)
        assert answer.headers["Content-Range"] == f"bytes 100-9099/{len(BODY)}"
        assert answer.headers["ETag"] == '"o"'


@EACH
def test_a_backend_without_ranges(server, way, coding):
    answer = _get(server, way, "whole", coding, Range=RANGE)
    assert answer.coding is None and answer.varies
    assert (answer.status, answer.body) in ((200, BODY), (206, PART))
    assert answer.headers["ETag"] == '"o"'


@pytest.mark.parametrize("way", [*WAYS, *SUFFIX], ids=lambda way: way.name)
def test_if_range_with_an_encoded_bodys_tag_gets_the_whole(server, origin, way):
    """What the client has a part of is not what the backend would send a slice of."""
    for coding in way.codings:
        tag = way.tagged("o", coding)
        for ae in (coding, None):
            check.negotiated(_get(server, way, "x", ae, Range=RANGE, If_Range=tag), ae, BODY)
            assert origin.seen[-1].headers["if-range"] == tag


@EACH
def test_if_range_with_a_date_gets_the_whole(server, origin, way, coding):
    """The date does not say of which representation the client has a part."""
    check.encoded(server.get(way.path("dated"), ae=coding), coding, BODY)
    by_date = {"Range": RANGE, "If_Range": DATE}
    check.encoded(_get(server, way, "dated", coding, **by_date), coding, BODY)
    assert "range" not in origin.seen[-1].headers
    posted = server.get(way.path("dated"), ae=coding, method="POST", body=b"x",
                        headers={"Range": RANGE, "If-Range": DATE})
    check.encoded(posted, coding, BODY)
    assert "range" not in origin.seen[-1].headers
    # A client that takes nothing else can only have a part of the identity.
    check.whole(_get(server, way, "dated", None, **by_date), None, PART, 206)


def test_if_range_with_a_date_where_nothing_is_encoded(server):
    answer = server.get("/off/dated", ae="gzip", headers={"Range": RANGE, "If-Range": DATE})
    check.plain(answer, PART, 206, varies=False)


@EACH
def test_encoded_bodies_advertise_no_ranges(server, way, coding):
    check.encoded(server.get(way.path("whole"), ae=coding), coding, BODY)
    assert server.get(way.path("whole")).headers["Accept-Ranges"] == "bytes"


# --- HEAD


@pytest.mark.smoke
@pytest.mark.parametrize("resource", ["x", "length", "chunked", "no-length", "small"])
@EACH
def test_head_has_gets_header(server, way, coding, resource, protocol):
    get = server.get(way.path(resource), ae=coding, protocol=protocol)
    head = server.head(way.path(resource), ae=coding, protocol=protocol)
    assert head.status == 200
    check.head_of(get, head)


@EACH
def test_head_with_a_tag_gives_304(server, way, coding):
    tag = way.tagged("o", coding)
    answer = server.head(way.path("x"), ae=coding, headers={"If-None-Match": tag})
    check.not_modified(answer, tag)


@EACH_WAY
def test_the_connection_stays_in_step_after_head(server, way):
    with server.connect() as connection:
        for resource in ("x", "chunked", "no-length", "length", "small"):
            assert connection.request(way.path(resource), "HEAD", way.codings[0]).status == 200
            answer = connection.request(way.path("x"), ae=way.codings[0])
            check.encoded(answer, way.codings[0], BODY)
