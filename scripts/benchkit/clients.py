"""Clients in an open loop over HTTP/1.1: each starts at its time, whatever has been answered by
then. After `patience` seconds it gives up, and closes its connection; some ask again. h2load cannot
do either, has few connections, and has late timers."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import gc
import math
import resource
import select
import socket
import time

from benchkit import arrivals, http1, sample, stats

KEPT = 64  # connections that are open before the first client starts
FILES = 1 << 14  # descriptors: more than clients waiting for a server that answers nothing
CHUNK = 1 << 18  # bytes to read at once
PATIENCE = 5.0  # seconds that a client waits, as a user would
LATE = 0.05  # seconds after its time within which a request must be sent
SENT = 0.99  # the share of a schedule that must be sent in time for a valid result
BUSY = 0.9  # the share of the load's CPU that the clients may take
CLOCK = 0.1  # seconds between two measurements of the server's CPU
CONNECTING = 1.0  # seconds to wait for the kept connections, at most


@dataclasses.dataclass(frozen=True)
class Visit:
    """A client that starts `at` (seconds) for a page, and asks for it at most `tries` times."""

    at: float
    path: str
    tries: int = 1
    place: int = 0  # of its server among those of the replay


@dataclasses.dataclass(frozen=True)
class Result:
    visit: Visit
    seconds: float  # from its time to the whole answer, including all tries; infinite if lost
    bytes: int  # of the answer, including header and framing; 0 if lost
    requests: int  # the requests sent for it
    delay: float  # from its time until the first one was sent
    pieces: tuple = ()  # (seconds since its time, bytes so far, body bytes so far) as they arrived
    coding: str = ""
    body: bytes = b""  # as it arrived; only if it is coded

    @property
    def at(self):
        return self.visit.at

    @property
    def lost(self):
        return math.isinf(self.seconds)


@dataclasses.dataclass(frozen=True)
class Seen:
    began: float  # seconds since the epoch
    results: list
    cpu: list  # (seconds since the beginning, the server's CPU seconds so far)
    foreign_share: float = 0.0  # of the server's CPU, taken by other processes
    load_cpu_share: float = 0.0  # of the load's CPU, taken by the clients
    patience: float = PATIENCE

    def between(self, start, end):
        return [one for one in self.results if start <= one.at < end]

    def answered(self, start, end):
        return [one for one in self.between(start, end) if not one.lost]

    def failures(self, start, end):
        return sum(one.lost for one in self.between(start, end))

    def percentile_ms(self, percent, start, end):
        """Of the latencies of a span's visits; one without an answer counts as the patience."""
        return round(1e3 * stats.tail([min(one.seconds, self.patience) for one in
                                       self.between(start, end)], percent), 2)

    def conditions(self, late=LATE):
        """Shows if the load was as planned: each request sent within `late` of its time."""
        sent = sum(one.delay <= late for one in self.results)
        return {"sent_share": round(stats.ratio(sent, len(self.results)), 4),
                "load_cpu_share": self.load_cpu_share, "foreign_share": self.foreign_share}

    def cpu_share(self, start, end):
        if len(self.cpu) < 2:
            return math.nan
        end = min(end, self.cpu[-1][0])
        used = arrivals.value(self.cpu, end) - arrivals.value(self.cpu, start)
        return round(stats.ratio(used, end - start), 3)


@dataclasses.dataclass(eq=False)
class Request:
    visit: Visit
    number: int  # of the visit's requests, from 1
    began: float  # when the visit was due, on the loop's clock
    delay: float
    connection: Connection | None = None  # None after its end


class Connection:
    def __init__(self, address, place):
        self.place = place  # of its server
        self.socket = socket.socket()
        self.socket.setblocking(False)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with contextlib.suppress(OSError):  # the first event shows the result
            self.socket.connect(address)
        self.connected = False
        self.used = False  # it has carried a response before
        self.carry(None, b"")

    def carry(self, request, text):
        self.request, self.answer, self.pending = request, http1.Responses(), text
        self.bytes = self.body_bytes = 0  # of the answer so far
        self.pieces, self.body = [], bytearray()

    @property
    def coding(self):
        return self.answer.fields.get(b"content-encoding", b"").decode("ascii", "replace")

    def feed(self, data, now, keep):
        """True if the answer is whole; ValueError if it is invalid. `keep` stores pieces and the
        body."""
        self.bytes += len(data)
        parts = list(self.answer.feed(data))
        if keep:
            self.body_bytes += sum(len(part) for part, _ in parts)
            self.pieces.append((now, self.bytes, self.body_bytes))
            if self.coding:
                for part, _ in parts:
                    self.body += part
        return any(whole for _, whole in parts)


class Clients:
    def __init__(self, addresses, headers, patience, keep=False):
        self.addresses, self.patience, self.keep = addresses, patience, keep
        self.clock = time.monotonic
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        self.form = f"GET {{}} HTTP/1.1\r\nHost: {{}}:{{}}\r\n{lines}\r\n"
        self.epoll = select.epoll()
        self.connections = {}
        self.free = [collections.deque() for _ in addresses]
        self.deadlines = collections.deque()  # (when, request), in order: patience is constant
        # Requests that a handler wants to send. They are sent later, because further events of a
        # descriptor that it closes would be taken for those of the next one with its number.
        self.again, self.retries = collections.deque(), collections.deque()
        self.results, self.under_way = [], 0
        self.began = math.nan  # seconds since the epoch

    def open(self, place):
        connection = Connection(self.addresses[place], place)
        self.connections[connection.socket.fileno()] = connection
        self.epoll.register(connection.socket, select.EPOLLIN | select.EPOLLOUT)
        return connection

    def close(self, connection):
        self.connections.pop(connection.socket.fileno(), None)
        with contextlib.suppress(ValueError):
            self.free[connection.place].remove(connection)
        connection.socket.close()

    def send(self, request, fresh=False):
        place = request.visit.place
        try:
            connection = (self.open(place) if fresh or not self.free[place] else
                          self.free[place].popleft())
        except OSError:  # this process may open no more
            self.failed(request)
            return
        connection.carry(request, self.form.format(
            request.visit.path, *self.addresses[place]).encode("ascii"))
        request.connection = connection
        if connection.connected:
            self.push(connection)

    def push(self, connection):
        try:
            if connection.pending:
                connection.pending = connection.pending[connection.socket.send(connection.pending):]
        except BlockingIOError:
            pass
        except OSError:
            self.broken(connection)

    def broken(self, connection):
        """The connection has failed, or ended before the response."""
        request = connection.request
        self.close(connection)
        if request is None:
            return
        connection.request = request.connection = None
        # A server may close a kept connection at any time; browsers then use another.
        if connection.used and connection.bytes == 0:
            self.again.append(request)
        else:
            self.failed(request)

    def failed(self, request):
        """A request has no answer in time; its client asks again, or is lost."""
        if request.number < request.visit.tries:
            self.retries.append(request)
        else:
            self.finish(request, math.inf, 0)

    def finish(self, request, seconds, count, *kept):
        self.under_way -= 1
        self.results.append(Result(request.visit, seconds, count, request.number, request.delay,
                                   *kept))

    def ready(self, descriptor, event):
        connection = self.connections.get(descriptor)
        if connection is None:
            return
        if not connection.connected and event & select.EPOLLOUT:
            connection.connected = True
            self.epoll.modify(descriptor, select.EPOLLIN)
            if connection.request is None:
                self.free[connection.place].append(connection)
            self.push(connection)
        if event & (select.EPOLLIN | select.EPOLLHUP | select.EPOLLERR):
            self.receive(connection)

    def receive(self, connection):
        try:
            data = connection.socket.recv(CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        whole = None
        with contextlib.suppress(ValueError):
            if data and connection.request is not None:
                whole = connection.feed(data, self.clock() - connection.request.began, self.keep)
        if whole is None:
            self.broken(connection)
        elif whole:
            self.answered(connection)

    def answered(self, connection):
        request, answer = connection.request, connection.answer
        request.connection, connection.request, connection.used = None, None, True
        if b"close" not in answer.fields.get(b"connection", b"").lower():
            self.free[connection.place].append(connection)
        else:
            self.close(connection)
        if 200 <= answer.status < 300:
            self.finish(request, self.clock() - request.began, connection.bytes,
                        tuple(connection.pieces), connection.coding, bytes(connection.body))
        else:
            self.failed(request)

    def give_up(self, now):
        while self.deadlines and self.deadlines[0][0] <= now:
            _, request = self.deadlines.popleft()
            if request.connection is not None:
                request.connection.request = None
                self.close(request.connection)
                request.connection = None
                self.failed(request)

    def send_again(self, now):
        while self.again:
            self.send(self.again.popleft(), fresh=True)
        while self.retries:
            former = self.retries.popleft()
            request = dataclasses.replace(former, number=former.number + 1)
            self.deadlines.append((now + self.patience, request))
            self.send(request)

    def wait(self, until):
        """Handles events until then; epoll's own timeout has only milliseconds."""
        pause = max(0.0, until - self.clock())
        if not select.select([self.epoll.fileno()], (), (), pause)[0]:
            return
        for descriptor, event in self.epoll.poll(0, 256):
            self.ready(descriptor, event)

    def run(self, visits, watch):
        """Sends the visits at their times; calls `watch(now)` every CLOCK seconds."""
        for number in range(KEPT):
            self.open(number % len(self.addresses))
        until = self.clock() + CONNECTING
        while sum(map(len, self.free)) < KEPT and self.clock() < until:
            self.wait(until)
        began, self.began = self.clock(), time.time()
        place, watched = 0, began
        while True:
            now = self.clock()
            if now >= watched:
                watch(now - began)
                watched = now + CLOCK
            while place < len(visits) and began + visits[place].at <= now:
                due, sent = began + visits[place].at, self.clock()
                request = Request(visits[place], 1, due, sent - due)
                self.under_way += 1
                self.deadlines.append((sent + self.patience, request))
                self.send(request)
                place += 1
            self.send_again(now)  # first, so that each has a connection before its deadline
            self.give_up(now)
            if place == len(visits) and not self.under_way:
                watch(now - began)
                return
            due = began + visits[place].at if place < len(visits) else math.inf
            leaves = self.deadlines[0][0] if self.deadlines else math.inf
            self.wait(min(due, leaves, watched))


def replay(server, visits, headers, patience, keep=False):
    """Seen of the visits to a server, or to several that count as one. With `keep`, results have the
    pieces of answers, and coded bodies."""
    pids = sample.family(server.pids, sample.read_parents())
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES if most == resource.RLIM_INFINITY else min(most, FILES)
    if now != resource.RLIM_INFINITY and now < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))
    clients = Clients(server.addresses, headers, patience, keep)
    cpu, all_cpu = [], []

    def watch(now):
        cpu.append((now, sample.cpu_of(pids)))
        all_cpu.append(sample.process_seconds(server.run.server_cpu))
        server.run.progress()

    collects, used = gc.isenabled(), time.process_time()
    gc.disable()  # it would stop everything for milliseconds
    try:
        clients.run(visits, watch)
    finally:
        for connection in list(clients.connections.values()):
            clients.close(connection)
        clients.epoll.close()
        if collects:
            gc.enable()
    (began, first), (ended, last) = cpu[0], cpu[-1]
    foreign = max(0.0, all_cpu[-1] - all_cpu[0] - (last - first))
    return Seen(clients.began, sorted(clients.results, key=lambda one: one.at), cpu,
                round(stats.ratio(foreign, ended - began) if ended > began else 0.0, 3),
                round(stats.ratio(time.process_time() - used, ended - began), 3), patience)
