"""Backends that fail, and the pages that httpd answers with then."""

import gzip

import pytest

from kit import bodies, check, decode
from kit.counters import counted
from kit.origin import breaks_off
from kit.process import free_port
from kit.proxied import EACH, WAYS, Gate, config, locations, start

BODY = bodies.html(30000)
# So much that some of it is out before the end: otherwise the answer would be a 502.
# What no coding holds back for long; its beginning compresses, so that it is encoded.
LARGE = bodies.text(16 << 10) + bodies.noise(2 << 20)
HTML = {"Content-Type": "text/html"}
PAGE = bodies.html(5000)

# What httpd itself says of such backends.
LOG = r"\[proxy(_\w+)?:\w+\]"


@pytest.fixture(scope="module")
def server(httpd_shared, origin):
    closed = free_port()  # and nobody will listen there
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
        tls=True, h2=True, files={"error.html": PAGE},
        allow_log=[LOG])
    origin.route("/page", lambda e: e.respond(200, {**HTML, "ETag": '"page"'}, PAGE))
    return server


def _broken(answer):
    """Its end cannot be taken for the body's."""
    if not answer.complete:
        return
    with pytest.raises(decode.DecodeError):
        answer.body  # noqa: B018


# --- midway


def _reset(exchange):
    # What is on its way then would be lost with the connection.
    breaks_off(LARGE, HTML, pause=0.3)(exchange)
    exchange.reset()


BREAKS = {
    "short": breaks_off(LARGE, HTML, len(LARGE) + 1000),
    "cut-chunk": breaks_off(LARGE, HTML, rest=b"ffff\r\nabc"),
    "no-last-chunk": breaks_off(LARGE, HTML),
    "no-chunk": breaks_off(LARGE, HTML, rest=b"no chunk at all\r\n"),
    "reset": _reset,
}


@pytest.mark.smoke
@pytest.mark.protocols()
@pytest.mark.parametrize("how", BREAKS)
@EACH
def test_a_body_that_breaks_off_never_looks_whole(server, origin, way, coding, how, protocol):
    origin.route("/broken", BREAKS[how])
    answer = server.get(way.path("broken"), ae=coding, protocol=protocol)
    assert (answer.status, answer.coding) == (200, coding)
    _broken(answer)
    assert server.notes(answer).get("elastic-reason") == "error"
    check.encoded(server.get(way.path("page"), ae=coding, protocol=protocol), coding, PAGE)


@EACH
def test_a_body_that_breaks_off_counts_as_an_error(server, origin, way, coding):
    for how in ("short", "no-last-chunk"):
        origin.route("/broken", BREAKS[how])
        _, grown = counted(server, lambda: server.get(way.path("broken"), ae=coding))
        assert grown == {"error": 1}


@EACH
def test_a_body_whose_rest_comes_too_late_never_looks_whole(server, origin, way, coding):
    """Later than the worker's timeout."""
    gate = Gate()

    def silent(exchange):
        BREAKS["short"](exchange)
        gate.wait()

    origin.route("/silent", silent)
    answer = server.get(f"/hasty-{way.name}/silent", ae=coding)
    gate.open()
    assert (answer.status, answer.coding) == (200, coding)
    _broken(answer)


@EACH
def test_a_body_that_breaks_off_early(server, origin, way, coding):
    """So little that the header may not be out: a 502, or an end that can be seen."""
    for size in (0, 10, 500, 3000, 60000):
        fields = {**HTML, "ETag": '"o"'}
        origin.route("/early", breaks_off(bodies.text(size), fields, size + 5000))
        answer = server.get(way.path("early"), ae=coding)
        if answer.status == 200:
            _broken(answer)
        else:
            assert (answer.status, answer.coding) == (502, None), answer
            assert b"Bad Gateway" in answer.body and "ETag" not in answer.headers


# --- pages


@pytest.mark.smoke
@EACH
def test_a_backends_own_error_page_is_compressed(server, origin, way, coding, protocol):
    for status in (400, 404, 500, 502, 503):
        origin.route("/failed", lambda e, status=status: e.respond(status, HTML, BODY))
        answer = server.get(way.path("failed"), ae=coding, protocol=protocol)
        way.check(answer, coding, BODY, status)


@pytest.mark.smoke
@EACH
def test_httpds_503_for_a_backend_that_is_not_there(server, way, coding, protocol):
    answer = server.get(f"/closed-{way.name}/x", ae=coding, protocol=protocol)
    assert (answer.status, answer.coding) == (503, None)
    assert b"Service Unavailable" in answer.body


@EACH
def test_a_backend_that_does_not_speak_http(server, origin, way, coding):
    def strange(exchange):
        exchange.close = True
        exchange.send(b"nothing of HTTP\r\n\r\n")

    origin.route("/strange", strange)
    answer = server.get(way.path("strange"), ae=coding)
    assert answer.complete and answer.coding in (None, coding)
    assert answer.status in (200, 502)  # of a body without header, HTTP/0.9, httpd says 200
    assert answer.body  # which decodes


@EACH
def test_a_configured_page_for_a_backend_that_is_not_there(server, way, coding):
    way.check(server.get(f"/closed-paged-{way.name}/x", ae=coding), coding, PAGE, 503)


def _failing(status, fields, body):
    return lambda exchange: exchange.respond(status, {**HTML, **fields}, body)


# Fields of a body that another one takes the place of.
FIELDS = {"ETag": '"failed"', "Content-Encoding": "gzip", "Vary": "Cookie",
          "Cache-Control": "no-transform", "Accept-Ranges": "bytes"}


@pytest.mark.smoke
@pytest.mark.parametrize("fields", [{}, FIELDS], ids=["bare", "with-fields"])
@EACH
def test_a_configured_page_instead_of_the_backends(server, origin, way, coding, fields, protocol):
    origin.route("/failed", _failing(500, fields, gzip.compress(BODY)))
    for ae in (coding, None):
        answer = server.get(f"/paged-{way.name}/failed", ae=ae, protocol=protocol)
        assert (answer.status, answer.body, answer.varies) == (500, PAGE, way.errors), answer
        assert answer.coding == (ae if way.errors else None)
        assert '"failed"' not in (answer.headers.get("ETag") or ""), answer
    assert server.get(f"/some-{way.name}/failed", ae=coding).body == PAGE


@EACH
def test_a_configured_page_from_another_backend(server, origin, way, coding):
    origin.route("/gone", _failing(404, FIELDS, gzip.compress(BODY)))
    way.check(server.get(f"/paged-{way.name}/gone", ae=coding), coding, PAGE, 404)


@EACH
def test_a_text_of_httpds_instead_of_the_backends(server, origin, way, coding):
    """A text in ErrorDocument, a page that is not there, and httpd's own."""
    for status, path, words in ((403, f"/paged-{way.name}/failed", b"no entry"),
                                (503, f"/paged-{way.name}/failed", b"Service Unavailable"),
                                (500, f"/canned-{way.name}/failed", b"internal error")):
        origin.route("/failed", _failing(status, FIELDS, gzip.compress(BODY)))
        answer = server.get(path, ae=coding)
        assert (answer.status, answer.coding) == (status, None), answer
        assert words in answer.body and '"failed"' not in (answer.headers.get("ETag") or "")


@EACH
def test_errors_that_are_not_overridden_pass(server, origin, way, coding):
    origin.route("/failed", _failing(503, {}, BODY))
    way.check(server.get(f"/some-{way.name}/failed", ae=coding), coding, BODY, 503)
