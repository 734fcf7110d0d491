"""A link with a round trip and losses, in user space: what TCP makes of a long way.

A proxy on loopback. What comes from the server is sent on by the rules of a congestion window: ten
segments at first (RFC 6928), one more for each that is acknowledged until the first loss (slow
start), half of it after a loss, and a segment more for each round trip from then on (RFC 5681).
A lost segment comes a round trip late, and what is behind it waits. Kernel and loopback add their
own microseconds. Requests only have the way; there is no TLS.
"""

import collections
import dataclasses
import random
import select
import socket
import threading
import time

from benchkit import server

SEGMENT = 1448  # bytes of data in a packet of 1500, with timestamps
FIRST_WINDOW = 10  # segments
LEAST_WINDOW = 2
CHUNK = 1 << 16
PATIENCE = 60  # seconds for one connection


@dataclasses.dataclass
class Window:
    """The sender's congestion window, in segments; times are the caller's clock."""

    rtt: float
    size: float = FIRST_WINDOW
    threshold: float = float("inf")
    recovers_at: float = 0.0  # one loss of a round trip halves it, its others do not
    flying: collections.deque = dataclasses.field(default_factory=collections.deque)

    def acknowledge(self, now):
        """What was sent a round trip ago has arrived."""
        while self.flying and self.flying[0] <= now:
            self.flying.popleft()
            self.size += 1 if self.size < self.threshold else 1 / self.size

    def room(self):
        return int(self.size) - len(self.flying)

    def send(self, now, lost):
        """One segment goes out; the time at which it is there, were nothing before it."""
        late = self.rtt if lost else 0.0
        self.flying.append(max(now + self.rtt + late, self.flying[-1] if self.flying else 0.0))
        if lost and now >= self.recovers_at:
            self.threshold = self.size = max(self.size / 2, LEAST_WINDOW)
            self.recovers_at = now + self.rtt
        return now + self.rtt / 2 + late


class Link:
    """Listens for clients of a server that seems to be far away."""

    def __init__(self, target, rtt, loss, seed=1):
        self.target, self.rtt, self.loss = target, rtt, loss
        self.random = random.Random(seed)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self._accept, daemon=True)
        self.thread.start()

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            with client, socket.create_connection(self.target) as upstream:
                time.sleep(self.rtt)  # SYN and its answer
                self._carry(client, upstream)

    def _carry(self, client, upstream):
        """Until either side closes: bytes to the server after half a round trip, and back."""
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        window, there, ended = Window(self.rtt), 0.0, False
        waiting, on_their_way = bytearray(), collections.deque()  # (when, bytes, to whom)
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            now = time.monotonic()
            window.acknowledge(now)
            while waiting and window.room() > 0:
                piece, waiting = waiting[:SEGMENT], waiting[SEGMENT:]
                # In order: none overtakes one that is late.
                there = max(there, window.send(now, self.random.random() < self.loss))
                on_their_way.append((there, piece, client))
            on_their_way = collections.deque(sorted(on_their_way, key=lambda one: one[0]))
            while on_their_way and on_their_way[0][0] <= now:
                _, piece, to = on_their_way.popleft()
                to.sendall(piece)
            if ended and not waiting and not on_their_way:
                return
            due = [one[0] for one in list(on_their_way)[:1]] + list(window.flying)[:1]
            timeout = max(0.0, min(due, default=now + 1) - now)
            watched = [client] if ended else [client, upstream]
            for ready in select.select(watched, [], [], timeout)[0]:
                data = ready.recv(CHUNK)
                if ready is client:
                    if not data:
                        return
                    on_their_way.append((time.monotonic() + self.rtt / 2, data, upstream))
                elif data:
                    waiting += data
                else:
                    ended = True


def visit(link, path, headers):
    """(seconds to the first byte, to the last, bytes) of one GET on a new connection."""
    lines = [f"GET {path} HTTP/1.1", "Host: localhost", "Connection: close",
             *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    began = time.monotonic()
    first, total = 0.0, 0
    with socket.create_connection(("127.0.0.1", link.port), server.PATIENCE) as connection:
        connection.settimeout(PATIENCE)
        connection.sendall("\r\n".join(lines).encode("ascii"))
        while data := connection.recv(CHUNK):
            first = first or time.monotonic() - began
            total += len(data)
    return first, time.monotonic() - began, total
