"""Connections that change their protocol: nothing of ours touches them, nor do we touch a byte."""

import pytest

from kit import bodies, check
from kit.process import Listener
from kit.proxied import EACH, RECORDS, config, start

pytest.importorskip("wsproto", reason="wsproto is not there (package python3-wsproto)")
from wsproto import ConnectionType, WSConnection  # noqa: E402
from wsproto.events import (AcceptConnection, BytesMessage, CloseConnection,  # noqa: E402
                            Message, Ping, Pong, Request)
from wsproto.extensions import PerMessageDeflate  # noqa: E402

FIRST = bodies.text(40000)
MESSAGES = (b"", b"hello", bodies.text(125), bodies.text(126), bodies.text(70000),
            bodies.noise(1 << 20))


def _events(ws, receive):
    while data := receive(65536):
        ws.receive_data(data)
        yield from ws.events()


def _message(events):
    """The next message, which may come in pieces."""
    data = b""
    for event in events:
        assert isinstance(event, BytesMessage), event
        data += event.data
        if event.message_finished:
            return data
    raise EOFError


def _speak_websocket(sock):
    """Says something before anything was asked, and then what it is told."""
    ws = WSConnection(ConnectionType.SERVER)
    for event in _events(ws, sock.recv):
        if isinstance(event, Request):
            sock.sendall(ws.send(AcceptConnection(extensions=[PerMessageDeflate()])))
            sock.sendall(ws.send(BytesMessage(FIRST)))
        elif isinstance(event, Message):
            sock.sendall(ws.send(event))
        elif isinstance(event, (Ping, CloseConnection)):
            sock.sendall(ws.send(event.response()))


def _speak_bytes(sock):
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += sock.recv(65536)
    sock.sendall(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: raw\r\n"
                 b"Content-Type: text/html\r\n\r\n")
    sock.sendall(FIRST)
    while data := sock.recv(65536):
        sock.sendall(data)


@pytest.fixture(scope="module")
def ports():
    """Of the backends that speak WebSocket, and bytes."""
    listeners = [Listener(_speak_websocket), Listener(_speak_bytes)]
    yield [listener.port for listener in listeners]
    for listener in listeners:
        listener.stop()


@pytest.fixture(scope="module")
def server(httpd_shared, ports, origin):
    refuses = origin.url.replace("127.0.0.1", "127.1")
    return start(
        httpd_shared,
        config(f"http://127.0.0.1:{ports[0]}", parameters="upgrade=websocket", prefix="http-")
        + config(f"http://127.0.0.1:{ports[1]}", parameters="upgrade=ANY", prefix="any-")
        + config(f"ws://127.0.0.1:{ports[0]}", prefix="ws-")
        + config(refuses, parameters="upgrade=websocket", prefix="http-refused-")
        + config(refuses.replace("http", "ws"), prefix="ws-refused-")
        + config(origin.url, prefix="none-"),
        modules=["proxy_wstunnel"], tls=True)


@pytest.fixture(scope="module")
def tunnel(httpd_shared, ports):
    """mod_proxy_wstunnel without mod_proxy_http to turn to."""
    return httpd_shared(config(f"ws://127.0.0.1:{ports[0]}", prefix="tunnel-"),
                        modules=["filter", "proxy", "proxy_wstunnel"], records=RECORDS)


@pytest.mark.smoke
@pytest.mark.parametrize("prefix", ["http-", "tunnel-", "ws-"])
@EACH
def test_frames_pass_both_ways(request, way, coding, prefix):
    ws = WSConnection(ConnectionType.CLIENT)
    server = request.getfixturevalue("tunnel" if prefix == "tunnel-" else "server")
    with server.connect() as connection:
        def send(event):
            connection.send(ws.send(event))

        events = _events(ws, connection.receive)
        send(Request("localhost", f"/{prefix}{way.name}/chat", extensions=[PerMessageDeflate()],
                     extra_headers=[(b"Accept-Encoding", coding.encode())]))
        accepted = next(events)
        assert isinstance(accepted, AcceptConnection) and accepted.extensions
        names = {name.lower() for name, _ in accepted.extra_headers}
        assert not names & {b"content-encoding", b"vary", b"transfer-encoding"}
        assert _message(events) == FIRST
        for message in MESSAGES:
            send(BytesMessage(message))
            assert _message(events) == message
        send(Ping(b"are you there"))
        assert next(events) == Pong(b"are you there")
        send(CloseConnection(1000))
        assert isinstance(next(events), CloseConnection)


@pytest.mark.smoke
@EACH
def test_other_protocols(server, way, coding):
    with server.connect() as connection:
        def read(size):
            data = b""
            while len(data) < size and (more := connection.receive(size - len(data))):
                data += more
            return data

        connection.send_request(f"/any-{way.name}/x", ae=coding,
                                headers={"Connection": "Upgrade", "Upgrade": "raw"})
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += read(1)
        assert head.startswith(b"HTTP/1.1 101") and b"Upgrade: raw" in head, head
        for name in (b"content-encoding", b"vary", b"transfer-encoding"):
            assert name not in head.lower()
        assert read(len(FIRST)) == FIRST
        for data in (b"x", bodies.text(100000), bodies.noise(5000)):
            connection.send(data)
            assert read(len(data)) == data


@pytest.mark.parametrize("prefix,status", [
    ("none-", 200), ("http-refused-", 403), ("ws-refused-", 403)])
@EACH
def test_a_refusal_is_an_ordinary_response(server, origin, way, coding, prefix, status):
    """So is the answer where no upgrade is configured."""
    origin.route("/x", lambda e: e.respond(status, {}, FIRST))
    answer = server.get(f"/{prefix}{way.name}/x", ae=coding, headers={
        "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA=="})
    way.check(answer, coding, FIRST, status)
