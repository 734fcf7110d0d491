"""Chromium and Firefox: a WebSocket through httpd to a server that sends back what comes."""

import base64
import hashlib

import pytest

from browsers import BROWSERS, address
from kit import bodies
from kit.process import Listener, exactly
from site_of import logged

GREETING = bodies.text(40_000)
CLOSE = 8  # an opcode

# Each message is sent once the one before has come back.
PAGE = b"""<!DOCTYPE html><html><body><p>%s</p><script>
const MESSAGES = [1, 125, 126, 70000, 1 << 20].flatMap(size => [
    "\xc3\xa9x".repeat(size).slice(0, size),
    Uint8Array.from({length: size}, (_, n) => n * 2654435761 >>> 24)]);
const text = data => typeof data == "string" ? data : new Uint8Array(data).join();
window.result = new Promise((resolve, reject) => {
    const socket = new WebSocket(location.origin.replace("http", "ws") + "/chat"), came = [];
    let greeting;
    socket.binaryType = "arraybuffer";
    socket.onerror = () => reject(Error(`${came.length} messages`));
    socket.onmessage = ({data}) => {
        if (greeting === undefined) greeting = data;
        else came.push(text(data) == text(MESSAGES[came.length]));
        if (came.length < MESSAGES.length) socket.send(MESSAGES[came.length]);
        else socket.close(4000, "enough");
    };
    socket.onclose = ({code, wasClean}) => resolve({greeting, came, code, wasClean});
});
</script></body></html>""" % bodies.text(20_000)


def frame(first, body):
    size = len(body)
    length = bytes([size]) if size < 126 else b"\x7e" + size.to_bytes(2, "big") \
        if size < 1 << 16 else b"\x7f" + size.to_bytes(8, "big")
    return bytes([first]) + length + body


def echo(sock):
    """Sends back frame by frame, and so a message in the pieces in which it came (RFC 6455)."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += exactly(sock, 1)
    fields = {name.lower(): value for name, _, value in
              (line.partition(b": ") for line in head.split(b"\r\n"))}
    key = hashlib.sha1(fields[b"sec-websocket-key"] + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11")
    sock.sendall(b"HTTP/1.1 101 Switching Protocols\r\nContent-Type: text/html\r\n"
                 b"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n"
                 % base64.b64encode(key.digest()) + frame(0x81, GREETING))
    opcode = None
    while opcode != CLOSE:
        first, size = exactly(sock, 2)
        opcode, size = first & 15, size & 127
        if size > 125:
            size = int.from_bytes(exactly(sock, 2 if size == 126 else 8), "big")
        mask = exactly(sock, 4)
        pad = (mask * (size // 4 + 1))[:size]
        body = int.from_bytes(exactly(sock, size), "big") ^ int.from_bytes(pad, "big")
        sock.sendall(frame(first, body.to_bytes(size, "big")))


@pytest.fixture
def port():
    listener = Listener(echo)
    yield listener.port
    listener.stop()


@BROWSERS
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_websocket(site, browser, port, scheme):
    """Chromium, Firefox: messages of 1 byte to 1 MB through a WebSocket, and back"""
    server = site(f"ProxyPass /chat http://127.0.0.1:{port}/ upgrade=websocket",
                  ["proxy", "proxy_http"], files={"index.html": PAGE}, tls=True, h2=True)
    got = browser.ask(f"{address(server, scheme)}/index.html", "window.result")
    assert got == {"greeting": GREETING.decode(), "came": [True] * 10, "code": 4000,
                   "wasClean": True}, got
    [switch] = logged(server, path="/chat")
    assert (switch.status, switch.coding) == ("101", "-")
