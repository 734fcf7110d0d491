"""A 42 KB page and its 41 images over one pipelined connection of an Ethernet."""

import concurrent.futures
import contextlib
import ctypes
import dataclasses
import os
import re
import select
import socket
import struct
import time
import zlib

from benchkit import codecs, http1, plot, rounds, server, stats, tools, web
from benchkit.findings import Finding, compare, exact, per_round
from benchkit.results import Outcome, medians
from benchkit.setups import KEPT, LEVEL_6, location

TITLE = "packets and seconds of a page with 41 images on an Ethernet, plain and compressed"
SOURCE = "“The Effect of HTML Compression on a LAN” (W3C)"
THERE = ("screen dumps of sequence numbers over time. Without compression the first segment has "
         "too few links for another batch of requests, and nothing is sent until a late "
         "acknowledgement; with it, requests follow at once. A table has 15 to 16 % fewer packets "
         "and 23 to 27 % less time.")
SETUP = ("One page and its 41 images over one pipelined connection; two network namespaces joined "
         "by veth: MTU 1500, no segmentation offload, no distance. “As in 1997” the server begins "
         "with one segment and the client acknowledges late; “as today” has the system's defaults, "
         "of which ten segments hold the whole compressed page. Requests wait for 1024 bytes of "
         "them (300 in the small buffer) or 50 ms.")
SECONDS = 6, 40, 90

# The source's client, libwww: requests are gathered up to 1 KB, or for 50 ms. Two requests fill the
# small buffer: as many as the compressed page's first segment has links.
BUFFER, SMALL_BUFFER, TIMER = 1024, 300, 0.05
RATES = ("10mbit", "100mbit", "1gbit")
# How systems start a connection: the source's (one segment, late acknowledgements), today's; and
# the client's buffer.
OLD, SMALL, TODAY = "as in 1997", "as in 1997, small buffer", "as today"
STARTS = {OLD: (1, True, BUFFER), SMALL: (1, True, SMALL_BUFFER), TODAY: (None, False, BUFFER)}
VARIANTS = {"plain": plot.IDENTITY, "gzip": plot.GZIP, "kept": plot.KEPT}
SNIPPET = LEVEL_6 + "Alias /gzip {site}/plain\n" + location("/gzip") + KEPT

# Two network namespaces, joined by an Ethernet without bundled segments and without distance. They
# have no names, and end with the processes that hold them.
MTU = 1500
SERVER, CLIENT = "10.77.0.1", "10.77.0.2"
DEVICE = "veth0"  # in both namespaces
OFFLOADS = ("tso", "gso", "gro", "sg", "tx", "rx")

# The bucket of a link has one frame, so that a connection's first frames are paced, or on a fast
# link the frames that pass while the kernel's timers may be late; the queue holds the largest
# window of the experiments.
FRAME, TIMERS_LATE, QUEUE = MTU + 14, 0.0002, "400ms"


@dataclasses.dataclass(frozen=True)
class Side:
    """One end of the link."""

    address: str
    pid: int  # of the process that holds the namespace

    @property
    def place(self):
        """The place at which a server.Server of this side listens."""
        return self.address, (tools.find("nsenter"), "-t", str(self.pid), "-n")

    def enter(self):
        """Moves the calling thread alone into the namespace."""
        with open(f"/proc/{self.pid}/ns/net", encoding="ascii") as file:
            if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), 0) != 0:
                raise OSError(ctypes.get_errno(), "setns failed")

    def run(self, program, *arguments):
        tools.output_of(*self.place[1], tools.find(program), *arguments)


def bytes_per_second(rate):
    """Of a rate such as 100mbit."""
    return int(rate[:-4]) * {"kbit": 1e3, "mbit": 1e6, "gbit": 1e9}[rate[-4:]] / 8


def bucket(rate):
    """The bytes in the bucket of a link of this rate."""
    return max(FRAME, round(TIMERS_LATE * bytes_per_second(rate)))


def lead(rate):
    """The seconds by which a full bucket releases frames before the link would have carried them;
    added to times, so that no frame is faster than the wire."""
    return bucket(rate) / bytes_per_second(rate)


@dataclasses.dataclass(frozen=True)
class Link:
    server: Side
    client: Side

    def shape(self, rate):
        """Sets the rate of both directions, such as 100mbit."""
        for side in (self.server, self.client):
            side.run("tc", "qdisc", "replace", "dev", DEVICE, "root", "tbf", "rate", rate, "burst",
                     f"{bucket(rate)}b", "latency", QUEUE)

    def first_window(self, segments):
        """Sets how many segments the server's connections may send first; None: the default."""
        rest = ["initcwnd", str(segments)] if segments else []
        self.server.run("ip", "route", "replace", "10.77.0.0/24", "dev", DEVICE, "proto", "kernel",
                        "scope", "link", "src", SERVER, *rest)


def make_link(run):
    """The link for the duration of the run."""
    if os.geteuid() != 0:
        raise tools.BenchError(f"{run.name} makes network namespaces: run it as root")
    held = [hold(run) for _ in range(2)]
    tools.output_of(tools.find("ip"), "link", "add", DEVICE, "netns", str(held[0]), "type", "veth",
                    "peer", "name", DEVICE, "netns", str(held[1]))
    link = Link(Side(SERVER, held[0]), Side(CLIENT, held[1]))
    for side in (link.server, link.client):
        side.run("ip", "link", "set", "lo", "up")
        side.run("ip", "link", "set", DEVICE, "mtu", str(MTU), "gso_max_segs", "1")
        for offload in OFFLOADS:
            with contextlib.suppress(tools.BenchError):  # some kernels do not allow some of these
                side.run("ethtool", "-K", DEVICE, offload, "off")
        side.run("ip", "addr", "add", f"{side.address}/24", "dev", DEVICE)
        side.run("ip", "link", "set", DEVICE, "up")
    return link


def hold(run):
    """Starts a process in a network namespace of its own; returns its pid."""
    own = os.readlink("/proc/self/ns/net")

    def entered(process):
        with contextlib.suppress(OSError):
            return os.readlink(f"/proc/{process.pid}/ns/net") != own
        return False

    return run.start_until(entered, [tools.find("unshare"), "--net", "--", "sleep", "infinity"],
                           run.work / "namespace.log", PATIENCE, run.load_cpu).pid

# The client is like a starting browser: it reads links as the page arrives, and gathers requests in
# a buffer until it is full or the flush timer ends; so the links in the first segment decide if
# something is sent at once.
LINK = re.compile(rb'<img src="([^"]+)"')
LONGEST_LINK = 200  # bytes of text to search again with the next piece
# Requests then have about 190 bytes, as in the source.
OTHER_FIELDS = ("User-Agent: bench/1.0 (pipelined)\r\nAccept-Language: en\r\n"
                "Accept: text/html, image/gif, image/png, */*;q=0.1\r\n")
PATIENCE = 20  # seconds for a visit, or a namespace
TCP_QUICKACK = 12
SEGMENTS = struct.Struct("136xII")  # of Linux's struct tcp_info: segments sent and received


@dataclasses.dataclass
class Orders:
    """The settings of a visit."""

    host: str
    port: int
    path: str  # of the page; images are in its folder
    coding: str  # accepted; "": no Accept-Encoding
    images: int  # links on the page
    buffer: int = 1024  # bytes of requests at which they are sent
    timer: float = 0.05  # seconds after which they are sent anyway
    delayed: bool = False  # acknowledge late from the start, like systems of the source's time


class Visit:
    def __init__(self, orders):
        self.orders = orders
        self.pending, self.pending_since = b"", 0.0  # requests to be sent
        self.asked = self.complete = 0  # images, responses
        self.page = bytearray()  # as it arrived
        self.coding, self.text = "", b""
        self.first_links = None  # in the first piece of the page
        self.payload, self.trace = 0, []  # (seconds, bytes so far)
        self.responses, self.decoder = http1.Responses(), zlib.decompressobj(31)

    def ask(self, path):
        if not self.pending:
            self.pending_since = time.monotonic()
        accept = f"Accept-Encoding: {self.orders.coding}\r\n" if self.orders.coding else ""
        self.pending += (f"GET {path} HTTP/1.1\r\nHost: {self.orders.host}:{self.orders.port}\r\n"
                         f"{OTHER_FIELDS}{accept}\r\n").encode()

    def send(self, connection, force=False):
        """Sends the gathered requests if they fill the buffer or have waited long enough."""
        late = time.monotonic() - self.pending_since >= self.orders.timer
        last = self.asked == self.orders.images
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
        text = self.text + (self.decoder.decompress(piece) if self.coding == "gzip" else piece)
        links = list(LINK.finditer(text))
        folder = self.orders.path.rpartition("/")[0]
        for link in links:
            self.asked += 1
            self.ask(f"{folder}/{link.group(1).decode()}")
        if self.first_links is None:
            self.first_links = len(links)
        # A found link must not be found again in the kept part.
        self.text = text[max(links[-1].end() if links else 0, len(text) - LONGEST_LINK):]

    def check(self, body):
        """Raises WrongBody if the page was another one, or not in the accepted coding."""
        if self.coding != self.orders.coding:
            raise codecs.WrongBody(f"{self.orders.path} came with Content-Encoding "
                                   f"'{self.coding}'")
        if codecs.decode(bytes(self.page), self.coding) != body:
            raise codecs.WrongBody(f"{self.orders.path} does not decode to what is served")

    def run(self):
        """The figures of the visit."""
        orders, began = self.orders, time.monotonic()
        with socket.create_connection((orders.host, orders.port), PATIENCE) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.acknowledge_late(connection)
            self.ask(orders.path)
            self.send(connection, force=True)
            while self.complete < 1 + orders.images:
                if time.monotonic() - began > PATIENCE:
                    raise RuntimeError("the visit does not end")
                if select.select([connection], [], [], orders.timer / 4)[0]:
                    data = connection.recv(65536)
                    if not data:
                        raise RuntimeError("the server closed the connection")
                    self.acknowledge_late(connection)
                    self.take(data)
                    self.trace.append((time.monotonic() - began, self.payload))
                self.send(connection)
            sent, received = SEGMENTS.unpack(connection.getsockopt(
                socket.IPPROTO_TCP, socket.TCP_INFO, SEGMENTS.size))
        return {"seconds": self.trace[-1][0], "packets": sent + received,
                "packets_down": received, "page_bytes": len(self.page),
                "payload": self.payload, "first_links": self.first_links, "trace": self.trace}


def checked(orders, body):
    visit = Visit(orders)
    figures = visit.run()
    visit.check(body)
    return figures


class Visitor:
    """A thread in a network namespace that makes one visit after another."""

    def __init__(self, run, side):
        self.thread = concurrent.futures.ThreadPoolExecutor(1, initializer=side.enter)
        run.at_end(self.thread.shutdown)

    def visit(self, server, path, body, **orders):
        """The figures of a page; raises BenchError if the visit failed, WrongBody if another page
        came."""
        wanted = Orders(server.address, server.port, path, **orders)
        try:
            return self.thread.submit(checked, wanted, body).result()
        except (OSError, RuntimeError, ValueError, zlib.error) as problem:
            raise tools.BenchError(f"a visit failed: {problem}") from None


def measure(run, joined, httpd, client, html):
    """(rows, {(start, variant): trace}) of every variant, start and rate in every round."""
    legs = [(rate, start, name) for rate in RATES[:run.pick(2, 3, 3)]
            for start in STARTS for name in VARIANTS]
    rows, traces = [], {}
    for number, (rate, start, name) in rounds.interleaved(run, legs):
        window, delayed, buffer = STARTS[start]
        joined.shape(rate)
        joined.first_window(window)
        seen = client.visit(httpd, f"/{name}/page.html", html,
                            coding="" if name == "plain" else "gzip", images=web.IMAGES,
                            buffer=buffer, timer=TIMER, delayed=delayed)
        trace = seen.pop("trace")
        seen["seconds"] += lead(rate)
        if rate == RATES[1]:
            traces[start, name] = trace
        rows.append({"rate": rate, "start": start, "variant": name, "round": number, **seen})
    return rows, traces


def find(tables):
    rows = tables[""]
    sides, each = ({"variant": "kept"}, {"variant": "plain"}), ("rate",)

    def of(start):
        return [row for row in rows if row["start"] == start]

    def links(name):
        return exact(stats.median(row["first_links"] for row in of(OLD) if row["variant"] == name))

    per_packet = [stats.ratio(time, count) for time, count in zip(
        per_round(of(OLD), *sides, "seconds", each), per_round(of(OLD), *sides, "packets", each))]
    return [
        compare(of(OLD), "packets", "packets of the visit, compressed to plain", *sides, "packets",
                "0.84 to 0.85", each, source=(0.84, 0.85)),
        compare(of(OLD), "time", "time of the visit, compressed to plain", *sides, "seconds",
                "0.73 to 0.77", each, source=(0.73, 0.77), because="on the faster links nearly all "
                "of the time is a late acknowledgement"),
        Finding("each", "time a packet, compressed to plain", stats.interval(per_packet),
                "0.87 to 0.91", (0.87, 0.91)),
        compare(of(SMALL), "small", "time with a small buffer, compressed to plain", *sides,
                "seconds", "a tenth less than with the large one", each),
        compare(of(TODAY), "today", "time as connections start today, compressed to plain", *sides,
                "seconds", "", each),
        Finding("links-plain", "links in the first segment of the plain page", links("plain"),
                "too few for a batch of requests"),
        Finding("links-kept", "links in the first segment of the compressed page", links("kept"),
                "enough for a batch of requests")]


summaries = medians(("rate", "start", "variant"),
                    ("packets", "packets_down", "seconds", "page_bytes", "first_links"))


def run(run):
    html, images, origin = web.page_with_images(run)
    run.add_corpus("page", [html], origin)
    run.add_corpus("images", [body for _, body in images], "random bytes")
    joined = make_link(run)
    httpd = server.Httpd(run, "httpd", SNIPPET, place=joined.server.place)
    web.write_folders(httpd.site, [("page.html", html), *images], "plain", "kept")
    httpd.start()
    rows, traces = measure(run, joined, httpd, Visitor(run, joined.client), html)
    run.save_table("", rows)
    with plot.figure(run, "", f"bytes of the server over time, {RATES[1]}", len(STARTS), 12,
                     3.4) as all_axes:
        for axes, start in zip(all_axes, STARTS):
            for name, colour in VARIANTS.items():
                points = traces.get((start, name), ())
                axes.plot([1e3 * at for at, _ in points], [count / 1e3 for _, count in points], "-",
                          lw=1, color=colour, label=name)
            axes.set(title=start, xlabel="ms", ylabel="KB received from the server")
        all_axes[0].legend()
    return Outcome("time", "With one segment at the start, a visit whose page is "
                   "compressed takes {here} times as long; its images stay as they are.")
