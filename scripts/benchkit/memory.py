"""What compression takes of a prefork child's memory: one that is idle, and all of them at work."""

import contextlib
import http.client
import pathlib
import re
import time

from benchkit import load, rounds, sample, server, stats, tools

# Responses of one kind that a child answers before it is looked at, and then further ones.
FIRST, FURTHER = 10, 20

PATIENCE = 60  # seconds for a response when every child is at work

PREFORK = """
StartServers {children}
MinSpareServers 1
MaxSpareServers {limit}
ServerLimit {limit}
MaxRequestWorkers {limit}
"""


class Prefork(server.Httpd):
    """An httpd of `children` processes that answer a connection each.

    `limit` is how many there might be: by it the module shares out what it may keep.
    """

    mpm = "prefork"
    base_modules = tuple(name for name in server.BASE_MODULES if name != "http2")

    def __init__(self, run, folder, setup, children, limit=0, **options):
        super().__init__(run, folder, setup.snippet, modules=setup.modules,
                         elastic=setup.is_ours, **options)
        self.children = children
        self.limit = limit or children

    def workers(self):
        return PREFORK.format(children=self.children, limit=self.limit)

    def start(self):
        """Returns when all children are there: the parent takes a while for some hundred."""
        super().start()
        deadline = time.monotonic() + PATIENCE
        while len(child_pids(self)) < self.children:
            if time.monotonic() > deadline:
                raise tools.BenchError(f"{self.name} did not start {self.children} children")
            time.sleep(0.05)
        return self


def serve(run, name, setup, pages, children, limit=0):
    """A started Prefork with those pages (name: body), each of which was checked once."""
    httpd = Prefork(run, name.replace(" ", "-"), setup, children, limit)
    for path, body in pages.items():
        (httpd.site / path).write_bytes(body)
    httpd.start()
    for path, body in pages.items():
        rounds.check(httpd, rounds.Leg({"server": name}, f"/{path}", body, setup.coding,
                                       setup.coding or "identity"))
    return httpd


def child_pids(httpd):
    parents = sample.read_parents()
    return sorted(sample.family([httpd.pid], parents) - {httpd.pid})


def parse_private(text):
    """KB that are the process's alone, in a /proc/PID/smaps_rollup."""
    return sum(int(size) for size in re.findall(r"^Private_(?:Clean|Dirty):\s+(\d+) kB", text,
                                                re.MULTILINE))


def parse_peak(text):
    """The largest resident size so far, in KB, in a /proc/PID/status."""
    return int(re.search(r"^VmHWM:\s+(\d+) kB", text, re.MULTILINE)[1])


def parse_faults(text):
    """Page faults that needed no disk, in a /proc/PID/stat."""
    return int(text[text.rindex(")") + 2:].split()[7])


def read(pid, name):
    return pathlib.Path(f"/proc/{pid}/{name}").read_text(encoding="utf-8", errors="replace")


def ask(connection, path, headers):
    connection.request("GET", path, headers=headers)
    response = connection.getresponse()
    if response.status != 200 or not response.read():
        raise tools.BenchError(f"{path} was answered with {response.status}")


def measure_child(run, name, setup, body, children, limit):
    """Medians over `children` that each served one kind of response.

    Private memory and peak in KB after FIRST of them, page faults for each further one.
    """
    httpd = serve(run, name, setup, {"page.html": body}, children, limit)
    pids = child_pids(httpd)
    headers = {"Accept-Encoding": setup.coding or "identity"}
    with contextlib.ExitStack() as stack:
        connections = [stack.enter_context(contextlib.closing(http.client.HTTPConnection(
            httpd.address, httpd.port, timeout=PATIENCE))) for _ in range(children)]
        # All at once, so that each finds a child of its own.
        for connection in connections:
            connection.connect()
        for _ in range(FIRST):
            for connection in connections:
                ask(connection, "/page.html", headers)
        private = [parse_private(read(pid, "smaps_rollup")) for pid in pids]
        peak = [parse_peak(read(pid, "status")) for pid in pids]
        before = [parse_faults(read(pid, "stat")) for pid in pids]
        for _ in range(FURTHER):
            for connection in connections:
                ask(connection, "/page.html", headers)
        faults = [(parse_faults(read(pid, "stat")) - count) / FURTHER
                  for pid, count in zip(pids, before)]
    httpd.stop()
    return {"private_kb": stats.median(private), "peak_kb": stats.median(peak),
            "faults": stats.median(faults)}


def peak_under_load(run, httpd, coding, clients, requests, urls):
    """The most that was seen, in KB, while `clients` ask for the file of URLs."""
    pids = [httpd.pid, *child_pids(httpd)]
    with sample.MemoryPeak(pids) as memory:
        seen = load.h2load(run, None, {"Accept-Encoding": coding or "identity"}, clients,
                           requests=requests, http1=True, urls=urls)
    if seen.failed:
        raise tools.BenchError(f"{seen.failed} of {requests} requests failed")
    sample.wait_until_idle(httpd.pids)
    return memory.peak


# Where all threads are busy for a moment, httpd closes connections that wait for a request.
SPARE_THREADS = 8


def measure_streams(run, name, setup, page, streams, each):
    """The most memory, in KB, of a threaded server that sends a page to `streams` clients."""
    httpd = server.Httpd(run, name.replace(" ", "-"), setup.snippet, modules=setup.modules,
                         elastic=setup.is_ours, threads=streams + SPARE_THREADS)
    (httpd.site / "page.html").write_bytes(page)
    httpd.start()
    rounds.check(httpd, rounds.Leg({"server": name}, "/page.html", page, setup.coding,
                                   setup.coding or "identity"))
    urls = run.work / "urls"
    urls.write_text(f"{httpd.url('/page.html')}\n", encoding="utf-8")
    peak = peak_under_load(run, httpd, setup.coding, streams, each * streams, urls)
    httpd.stop()
    return peak


def measure_all(run, name, setup, pages, children, each):
    """Memory of all children, in KB: the most that was seen while each answers `each` requests at
    the same time as the others, for the pages in turn; and afterwards, when all are idle.
    """
    httpd = serve(run, name, setup, pages, children)
    urls = run.work / "urls"
    urls.write_text("".join(f"{httpd.url('/' + path)}\n" for path in pages), encoding="utf-8")
    busy = peak_under_load(run, httpd, setup.coding, children, each * children, urls)
    idle = sample.memory_kb([httpd.pid, *child_pids(httpd)])
    httpd.stop()
    return {"busy_kb": busy, "idle_kb": idle}
