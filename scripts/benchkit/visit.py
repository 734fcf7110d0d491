"""A visit of a page and its images over one pipelined connection, captured.

The client acts like a starting browser: it requests the page, decodes and reads it as it arrives,
and requests the images whose links it finds. Requests are gathered in a buffer that is sent when it
is full, or some time after its first one (the flush timer); so the links in the first segment
decide if something is sent at once.
"""

import concurrent.futures
import dataclasses
import re
import select
import socket
import time
import zlib

from benchkit import codecs, http1, link, tools
from benchkit.capture import ACK, FIN, SYN, Capture

LINK = re.compile(rb'<img src="([^"]+)"')
LONGEST_LINK = 200  # bytes of text to search again with the next piece

# Requests then have about 190 bytes, as in the source.
OTHER_FIELDS = ("User-Agent: bench/1.0 (pipelined)\r\nAccept-Language: en\r\n"
                "Accept: text/html, image/gif, image/png, */*;q=0.1\r\n")

PATIENCE = 20  # seconds for a visit
TCP_QUICKACK = 12


@dataclasses.dataclass
class Orders:
    """The settings of a visit."""

    host: str
    port: int
    path: str  # of the page; images are in its folder
    coding: str = ""  # accepted; "": no Accept-Encoding
    small: bool = False  # the page may come uncompressed, although it could be encoded
    images: int = 0  # links on the page; 0: the page alone
    buffer: int = 1024  # bytes of requests at which they are sent
    timer: float = 0.05  # seconds after which they are sent anyway
    lead: float = 0.0  # seconds by which the link's bucket releases frames early; see link.lead()
    delayed: bool = False  # acknowledge late from the start, like systems of the source's time


class Visit:
    def __init__(self, orders):
        self.orders = orders
        self.pending = b""  # requests to be sent
        self.pending_since = 0.0
        self.asked = 0  # images
        self.complete = 0  # responses
        self.page = bytearray()  # as it arrived
        self.coding = ""
        self.payload = 0
        self.text = b""
        self.first_text = None  # decoded bytes, and links, in the first piece of the page
        self.first_links = 0
        self.responses = http1.Responses()
        self.decoder = zlib.decompressobj(31)
        self.started = time.time()

    def ask(self, path):
        if not self.pending:
            self.pending_since = time.monotonic()
        accept = f"Accept-Encoding: {self.orders.coding}\r\n" if self.orders.coding else ""
        self.pending += (f"GET {path} HTTP/1.1\r\nHost: {self.orders.host}:{self.orders.port}\r\n"
                         f"{OTHER_FIELDS}{accept}\r\n").encode()

    def send(self, connection, force=False):
        """Sends the gathered requests if they fill the buffer or have waited long enough."""
        late = time.monotonic() - self.pending_since >= self.orders.timer
        last = self.orders.images and self.asked == self.orders.images
        if self.pending and (force or late or last or len(self.pending) >= self.orders.buffer):
            connection.sendall(self.pending)
            self.pending = b""
            self.acknowledge_late(connection)

    def acknowledge_late(self, connection):
        if self.orders.delayed:
            # The kernel resets this, so it must be set repeatedly.
            connection.setsockopt(socket.IPPROTO_TCP, TCP_QUICKACK, 0)

    def take(self, data):
        """Reads arriving data of the responses."""
        self.payload += len(data)
        for piece, complete in self.responses.feed(data):
            if self.responses.status != 200:
                raise RuntimeError(f"the server answered {self.responses.status}")
            if self.complete == 0:
                self.coding = self.responses.fields.get(b"content-encoding", b"").decode()
                self.take_page(piece)
            self.complete += complete

    def take_page(self, piece):
        """Reads a piece of the page, and requests the images that it shows."""
        self.page += piece
        plain = self.decoder.decompress(piece) if self.coding == "gzip" else piece
        text = self.text + plain
        links = LINK.findall(text) if self.orders.images else []
        folder = self.orders.path.rpartition("/")[0]
        for name in links:
            self.asked += 1
            self.ask(f"{folder}/{name.decode()}")
        if self.first_text is None:
            self.first_text, self.first_links = len(plain), len(links)
        # A found link must not be found again in the kept part.
        end = max((match.end() for match in LINK.finditer(text)), default=0)
        self.text = text[max(end, len(text) - LONGEST_LINK):]

    def check(self, body):
        """Raises WrongBody if the page was another one, or not in the accepted coding."""
        path, accepted = self.orders.path, self.orders.coding.replace("identity", "")
        if self.coding != accepted and (self.coding or not self.orders.small):
            raise codecs.WrongBody(f"{path} came with Content-Encoding '{self.coding}'")
        if codecs.decode(bytes(self.page), self.coding) != body:
            raise codecs.WrongBody(f"{path} does not decode to what is served")

    def run(self):
        orders = self.orders
        with socket.create_connection((orders.host, orders.port), PATIENCE) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.acknowledge_late(connection)
            self.ask(orders.path)
            self.send(connection, force=True)
            deadline = time.monotonic() + PATIENCE
            while self.complete < 1 + orders.images:
                if time.monotonic() > deadline:
                    raise RuntimeError("the visit does not end")
                readable, _, _ = select.select([connection], [], [], orders.timer / 4)
                if readable:
                    data = connection.recv(65536)
                    if not data:
                        raise RuntimeError("the server closed the connection")
                    self.acknowledge_late(connection)
                    self.take(data)
                self.send(connection)
            self.ended = time.time()


def report(visit, frames):
    """The capture's figures of the visit."""
    host = visit.orders.host
    frames = sorted(frames, key=lambda frame: frame.time)
    own = [frame for frame in frames if frame.time <= visit.ended + 0.001]
    start = own[0].time if own else visit.started
    down = [frame for frame in own if frame.source == host]
    data = [frame for frame in down if frame.payload]
    base = min((frame.sequence for frame in data), default=0)
    last = data[-1].time if data else visit.ended
    return {
        "seconds": last - start + visit.orders.lead,
        "first_byte": data[0].time - start + visit.orders.lead if data else 0.0,
        "wire_bytes": sum(frame.length for frame in down if frame.time <= last),
        "packets": len(own), "packets_down": len(down), "page_bytes": len(visit.page),
        "payload": visit.payload, "first_links": visit.first_links,
        "first_text": visit.first_text or 0,
        "segments_down": len(data),
        "largest_frame": max((frame.length for frame in own), default=0),
        "longest_wait": longest_wait(own, host),
        "trace": [(round(frame.time - start, 6), int(frame.source == host),
                   (frame.sequence if frame.source == host else frame.acknowledged) - base,
                   frame.payload) for frame in own if frame.flags & ACK
                  and not frame.flags & (SYN | FIN)],
    }


def longest_wait(frames, host):
    """Seconds of the longest pause before a frame of the client that only acknowledges."""
    return max((frame.time - before.time for before, frame in zip(frames, frames[1:])
                if frame.source != host and not frame.payload), default=0.0)


def captured(orders, body):
    """The report of one visit, by a thread in the client's network namespace."""
    visit = Visit(orders)
    with Capture(link.DEVICE) as capture:
        visit.run()
    visit.check(body)
    return report(visit, capture.frames)


class Visitor:
    """A thread in a network namespace that makes one visit after another."""

    def __init__(self, run, side):
        self.thread = concurrent.futures.ThreadPoolExecutor(1, initializer=side.enter)
        run.at_end(self.thread.shutdown)

    def visit(self, server, path, body, **orders):
        """The result of report() for a page whose decoded `body` is known; raises BenchError if the
        visit failed, WrongBody if another page came."""
        wanted = Orders(server.address, server.port, path, **orders)
        try:
            seen = self.thread.submit(captured, wanted, body).result()
        except (OSError, RuntimeError, ValueError, zlib.error) as problem:
            raise tools.BenchError(f"a visit failed: {problem}") from None
        if seen["largest_frame"] > link.MTU + 14:
            raise tools.BenchError(f"a frame of {seen['largest_frame']} bytes was captured: the "
                                   "system bundles segments, and packets cannot be counted")
        return seen
