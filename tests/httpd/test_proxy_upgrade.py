"""Connections that change their protocol: nothing of ours touches them, nor do we touch a byte."""

import pytest

from kit import bodies, check
from kit.proxied import EACH, EACH_WAY, RECORDS, config, start
from kit.websocket import BINARY, PAGE, PING, PONG, Switcher, switch

MESSAGES = (b"", b"hello", bodies.text(125), bodies.text(126), bodies.text(70000),
            bodies.noise(1 << 20))

# Which module tunnels: mod_proxy_http, and mod_proxy_wstunnel, by itself or by way of the former.
PREFIXES = ("http-", "tunnel-", "ws-")

# What browsers ask for: compression within the protocol, which is none of ours either.
DEFLATE = [("Sec-WebSocket-Extensions", "permessage-deflate; client_max_window_bits")]


@pytest.fixture(scope="module")
def backend():
    switcher = Switcher()
    yield switcher
    switcher.stop()


@pytest.fixture(scope="module")
def server(httpd_shared, backend, origin):
    port = backend.port
    return start(
        httpd_shared,
        config(f"http://127.0.0.1:{port}", parameters="upgrade=websocket", prefix="http-")
        + config(f"http://127.1:{port}", parameters="upgrade=ANY", prefix="any-")
        + config(f"ws://127.0.0.1:{port}", prefix="ws-")
        + config(origin.url, prefix="none-"),
        modules=["proxy_wstunnel"], tls=True)


@pytest.fixture(scope="module")
def tunnel(httpd_shared, backend):
    """mod_proxy_wstunnel without mod_proxy_http to turn to."""
    return httpd_shared(config(f"ws://127.0.0.1:{backend.port}", prefix="tunnel-"),
                        modules=["filter", "proxy", "proxy_wstunnel"], records=RECORDS)


def _server_of(request, prefix):
    return request.getfixturevalue("tunnel" if prefix == "tunnel-" else "server")


def _untouched(head):
    assert head.status == 101
    assert head.coding is None and not head.varies and "Transfer-Encoding" not in head.headers


@pytest.mark.smoke
@pytest.mark.parametrize("prefix", PREFIXES)
@EACH
def test_frames_pass_both_ways(request, backend, way, coding, prefix):
    backend.first = b""
    with _server_of(request, prefix).connect() as connection:
        head, talk = switch(connection, f"/{prefix}{way.name}/chat", coding, headers=DEFLATE)
        _untouched(head)
        assert head.headers["Upgrade"].lower() == "websocket"
        for message in MESSAGES:
            talk.send(message)
            assert talk.receive() == (BINARY, message)
        talk.send(b"are you there", PING)
        assert talk.receive() == (PONG, b"are you there")
        talk.end()
        assert backend.wire.received == talk.wire.sent
        assert backend.wire.sent == talk.wire.received
        assert len(talk.wire.received) > sum(map(len, MESSAGES))


@pytest.mark.parametrize("prefix", PREFIXES)
@EACH_WAY
def test_what_the_server_says_first_comes_at_once(request, backend, way, prefix):
    backend.first = bodies.text(40000)
    with _server_of(request, prefix).connect() as connection:
        head, talk = switch(connection, f"/{prefix}{way.name}/chat", "gzip, br")
        _untouched(head)
        assert talk.receive() == (BINARY, backend.first)
        talk.end()


@pytest.mark.smoke
@EACH
def test_other_protocols(server, backend, way, coding):
    backend.first = b"welcome"
    with server.connect() as connection:
        head, talk = switch(connection, f"/any-{way.name}/x", coding, protocol="raw")
        _untouched(head)
        assert head.headers["Upgrade"] == "raw"
        assert talk.wire.read(7) == b"welcome"
        for data in (b"x", bodies.text(100000), bodies.noise(5000)):
            talk.wire.write(data)
            assert talk.wire.read(len(data)) == data


@pytest.mark.parametrize("prefix", ["http-", "any-", "ws-"])
@EACH
def test_a_refusal_is_an_ordinary_response(server, backend, way, coding, prefix):
    with server.connect() as connection:
        path = f"/{prefix}{way.name}/refused"
        id = connection.send_request(path, ae=coding, headers={
            "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA=="})
        way.check(connection.read_response(id), coding, PAGE, 403)


@EACH
def test_an_upgrade_that_is_not_configured_is_an_ordinary_request(server, origin, way, coding):
    body = bodies.text(30000)
    origin.route("/x", lambda e: e.respond(200, {}, body))
    answer = server.get(f"/none-{way.name}/x", ae=coding, headers={
        "Connection": "Upgrade", "Upgrade": "websocket"})
    check.encoded(answer, coding, body)
