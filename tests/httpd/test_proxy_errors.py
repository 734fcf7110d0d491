"""Failing backends, and httpd's pages for them."""

import gzip

import pytest

from kit import bodies, check, decode
from kit.counters import counted
from kit.origin import breaks_off
from kit.process import free_port
from kit.proxied import EACH, WAYS, config, locations, start

BODY = bodies.html(30000)
PAGE = bodies.html(5000)
# Long enough that some of it is sent before the end; otherwise the answer would be a 502. The
# beginning compresses, so it is encoded; the rest passes through every coding without delay.
LARGE = bodies.text(16 << 10) + bodies.noise(2 << 20)
HTML = {"Content-Type": "text/html"}
# Fields of a body that another one replaces.
FIELDS = {"ETag": '"failed"', "Content-Encoding": "gzip", "Vary": "Cookie",
          "Cache-Control": "no-transform", "Accept-Ranges": "bytes"}


@pytest.fixture(scope="module")
def server(httpd_shared, origin):
    closed = free_port()  # nobody will listen there
    override = "ProxyErrorOverride On"
    server = start(
        httpd_shared,
        config(origin.url)
        + config(origin.url.replace("127.0.0.1", "127.1"), parameters="timeout=1", prefix="hasty-")
        + config(origin.url, override, "ErrorDocument 500 /pages/%s/error.html",
                 "ErrorDocument 404 /made-%s/page", 'ErrorDocument 403 "no entry"',
                 "ErrorDocument 503 /pages/%s/none.html", prefix="paged-")
        + config(origin.url, override, prefix="canned-")
        + config(origin.url, "ProxyErrorOverride On 500", "ErrorDocument 500 /pages/%s/error.html",
                 prefix="some-")
        + config(origin.url, override, prefix="made-")
        + config(f"http://127.0.0.1:{closed}", parameters="retry=0", prefix="closed-")
        + config(f"http://127.1:{closed}", "ErrorDocument 503 /pages/%s/error.html",
                 parameters="retry=0", prefix="closed-paged-")
        + "".join(f"Alias /pages/{way.name}/ {{docs}}/\n" for way in WAYS)
        + locations(prefix="pages/"),
        tls=True, h2=True, files={"error.html": PAGE}, allow_log=[r"\[proxy(_\w+)?:\w+\]"])
    origin.route("/page", lambda e: e.respond(200, {**HTML, "ETag": '"page"'}, PAGE))
    return server


def _broken(answer):
    """The response cannot look complete."""
    if answer.complete:
        with pytest.raises(decode.DecodeError):
            answer.body  # noqa: B018


# --- midway


def _reset(exchange):
    # Data that is still in flight would be lost with the connection.
    breaks_off(LARGE, HTML, pause=0.3)(exchange)
    exchange.reset()


BREAKS = {
    "short": breaks_off(LARGE, HTML, len(LARGE) + 1000),
    "cut-chunk": breaks_off(LARGE, HTML, rest=b"ffff\r\nabc"),
    "no-last-chunk": breaks_off(LARGE, HTML),
    "no-chunk": breaks_off(LARGE, HTML, rest=b"no chunk at all\r\n"),
    "reset": _reset,
}


def _breaks(server, origin, path, coding, handler, protocol):
    origin.route("/broken", handler)
    answer, grown = counted(server, lambda: server.get(path, ae=coding, protocol=protocol))
    assert (answer.status, answer.coding) == (200, coding)
    _broken(answer)
    assert server.reason(answer) == "error" and grown == {"error": 1}


@pytest.mark.smoke
@pytest.mark.protocols()
@pytest.mark.parametrize("how", BREAKS)
@EACH
def test_a_body_that_breaks_off_never_looks_whole(server, origin, way, coding, how, protocol):
    """It counts as an error."""
    _breaks(server, origin, way.path("broken"), coding, BREAKS[how], protocol)
    check.encoded(server.get(way.path("page"), ae=coding, protocol=protocol), coding, PAGE)


@EACH
def test_a_body_whose_rest_comes_too_late_never_looks_whole(server, origin, way, coding):
    """The rest comes after the worker's timeout."""
    _breaks(server, origin, f"/hasty-{way.name}/broken", coding,
            breaks_off(LARGE, HTML, len(LARGE) + 1000, pause=2), "http/1.1")


@EACH
def test_a_body_that_breaks_off_early(server, origin, way, coding):
    """So little that the header may not be sent: a 502, or a visible end."""
    for size in (0, 10, 500, 3000, 60000):
        origin.route("/early", breaks_off(bodies.text(size), {**HTML, "ETag": '"o"'}, size + 5000))
        answer = server.get(way.path("early"), ae=coding)
        if answer.status == 200:
            _broken(answer)
        else:
            assert (answer.status, answer.coding) == (502, None), answer
            assert b"Bad Gateway" in answer.body and "ETag" not in answer.headers


@EACH
def test_a_backend_that_does_not_speak_http(server, origin, way, coding):
    def strange(exchange):
        exchange.close = True
        exchange.send(b"nothing of HTTP\r\n\r\n")

    origin.route("/strange", strange)
    answer = server.get(way.path("strange"), ae=coding)
    assert answer.complete and answer.coding in (None, coding)
    assert answer.status in (200, 502)  # for a body without header (HTTP/0.9), httpd says 200
    assert answer.body  # it can be decoded


# --- pages

# (prefix, the backend's status, its fields, the body or words of httpd's own text)
PAGES = [
    *(("", status, {}, BODY) for status in (400, 404, 500, 502, 503)),
    ("some-", 503, {}, BODY),  # not overridden
    *(("paged-", 500, fields, PAGE) for fields in ({}, FIELDS)),
    ("some-", 500, FIELDS, PAGE),
    ("paged-", 404, FIELDS, PAGE),  # from another backend
    ("closed-paged-", 503, {}, PAGE),
    ("closed-", 503, {}, "Service Unavailable"),
    ("paged-", 403, FIELDS, "no entry"),
    ("paged-", 503, FIELDS, "Service Unavailable"),  # the page is missing
    ("canned-", 500, FIELDS, "internal error"),
]


@pytest.mark.smoke
@pytest.mark.parametrize("prefix,status,fields,expected", PAGES, ids=[
    f"{prefix}{status}{'-with-fields' * bool(fields)}" for prefix, status, fields, _ in PAGES])
@EACH
def test_pages_for_errors(server, origin, way, coding, prefix, status, fields, expected, protocol):
    body = gzip.compress(BODY) if fields else BODY
    origin.route("/failed", lambda e: e.respond(status, {**HTML, **fields}, body))
    for ae in (coding, None):
        answer = server.get(f"/{prefix}{way.name}/failed", ae=ae, protocol=protocol)
        if isinstance(expected, str):
            assert (answer.status, answer.coding) == (status, None), answer
            assert expected.encode() in answer.body
        elif ae:
            way.check(answer, coding, expected, status)
        else:
            check.plain(answer, expected, status, varies=way.errors)
        assert '"failed"' not in (answer.headers.get("ETag") or ""), answer
