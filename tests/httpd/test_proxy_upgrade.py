"""Connections that switch to WebSocket or another protocol: their bytes stay unchanged. No module
of httpd parses frames, so plain bytes suffice."""

import pytest

from kit import Response, bodies
from kit.process import Listener
from kit.proxied import EACH, RECORDS, config, start

FIRST = bodies.text(40000)  # sent before any request


def _switch(sock):
    """Switches to the requested protocol, and echoes."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += sock.recv(65536)
    [protocol] = [line for line in head.split(b"\r\n") if line.lower().startswith(b"upgrade:")]
    sock.sendall(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n%s\r\n"
                 b"Content-Type: text/html\r\n\r\n%s" % (protocol, FIRST))
    while data := sock.recv(65536):
        sock.sendall(data)


@pytest.fixture(scope="module")
def port():
    listener = Listener(_switch)
    yield listener.port
    listener.stop()


@pytest.fixture(scope="module")
def server(httpd_shared, port, origin):
    refuses = origin.url.replace("127.0.0.1", "127.1")
    return start(
        httpd_shared,
        config(f"http://127.0.0.1:{port}", parameters="upgrade=websocket", prefix="http-")
        + config(f"http://127.1:{port}", parameters="upgrade=ANY", prefix="any-")
        + config(f"ws://127.0.0.1:{port}", prefix="ws-")
        + config(refuses, parameters="upgrade=websocket", prefix="http-refused-")
        + config(refuses.replace("http", "ws"), prefix="ws-refused-")
        + config(origin.url, prefix="none-"),
        modules=["proxy_wstunnel"], tls=True)


@pytest.fixture(scope="module")
def tunnel(httpd_shared, port):
    """mod_proxy_wstunnel alone, without mod_proxy_http."""
    return httpd_shared(config(f"ws://127.0.0.1:{port}", prefix="tunnel-"),
                        modules=["filter", "proxy", "proxy_wstunnel"], records=RECORDS)


@pytest.mark.smoke
@pytest.mark.parametrize("prefix,upgrade", [
    ("http-", "websocket"), ("ws-", "websocket"), ("tunnel-", "websocket"), ("any-", "websocket"),
    ("any-", "raw")])
@EACH
def test_bytes_pass_both_ways(request, way, coding, prefix, upgrade):
    server = request.getfixturevalue("tunnel" if prefix == "tunnel-" else "server")
    with server.connect() as connection:
        def read(size):
            data = b""
            while len(data) < size and (more := connection.receive(size - len(data))):
                data += more
            return data

        # Browsers offer compression inside WebSocket, which is not this module's.
        id = connection.send_request(f"/{prefix}{way.name}/chat", ae=coding, headers={
            "Connection": "Upgrade", "Upgrade": upgrade, "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
            "Sec-WebSocket-Extensions": "permessage-deflate; client_max_window_bits"})
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += read(1)
        answer = Response(head, id)
        assert answer.status == 101 and answer.headers["Upgrade"].lower() == upgrade, answer
        assert answer.coding is None and not answer.varies
        assert "Transfer-Encoding" not in answer.headers
        assert read(len(FIRST)) == FIRST
        for data in (b"x", bodies.text(126), bodies.text(70000), bodies.noise(1 << 20)):
            connection.send(data)
            assert read(len(data)) == data


@pytest.mark.parametrize("prefix,status", [
    ("none-", 200), ("http-refused-", 403), ("ws-refused-", 403)])
@EACH
def test_a_refusal_is_an_ordinary_response(server, origin, way, coding, prefix, status):
    """An answer without a configured upgrade is ordinary as well."""
    origin.route("/x", lambda e: e.respond(status, {}, FIRST))
    answer = server.get(f"/{prefix}{way.name}/x", ae=coding, headers={
        "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA=="})
    way.check(answer, coding, FIRST, status)
