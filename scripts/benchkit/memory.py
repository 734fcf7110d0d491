"""What compression takes of a prefork child's memory: one that is idle, and all of them at work."""

import contextlib
import pathlib

from benchkit import load, rounds, sample, server, stats, tools

# Responses of one kind that a child answers before it is looked at, and then further ones.
FIRST, FURTHER = 10, 20
PATIENCE = 60  # seconds for a response when every child is at work

# Where all threads are busy for a moment, httpd closes connections that wait for a request.
SPARE_THREADS = 8

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

    def __init__(self, run, folder, snippet, limit=0, **options):
        super().__init__(run, folder, snippet, **options)
        self.limit = limit or self.children

    def workers(self):
        return PREFORK.format(children=self.children, limit=self.limit)


def serve(run, name, setup, pages, **options):
    """A started httpd with those pages (name: body), each of which was checked once."""
    httpd = setup.serve(run, name, **options)
    for path, body in pages.items():
        (httpd.site / path).write_bytes(body)
    httpd.start()
    for path, body in pages.items():
        rounds.check(setup.leg({"server": name}, httpd, f"/{path}", body))
    return httpd


def parse_faults(text):
    """Page faults that needed no disk, in a /proc/PID/stat."""
    return int(text[text.rindex(")") + 2:].split()[7])


def read_all(pids, name, parse, *arguments):
    """What is parsed of each process's file in /proc."""
    paths = [pathlib.Path(f"/proc/{pid}/{name}") for pid in pids]
    return [parse(path.read_text(encoding="utf-8", errors="replace"), *arguments)
            for path in paths]


def measure_child(run, name, setup, body, children, limit):
    """Medians over `children` that each served one kind of response.

    Private memory and peak in KB after FIRST of them, page faults for each further one.
    """
    httpd = serve(run, name, setup, {"page.html": body}, kind=Prefork, children=children,
                  limit=limit)
    pids = httpd.child_pids()

    def ask(times):
        for connection in connections * times:
            status, _, found = httpd.ask(connection, "/page.html",
                                         {"Accept-Encoding": setup.accept})
            if status != 200 or not found:
                raise tools.BenchError(f"/page.html was answered with {status}")

    with contextlib.ExitStack() as stack:
        connections = [stack.enter_context(contextlib.closing(httpd.connect()))
                       for _ in range(children)]
        # All at once, so that each finds a child of its own.
        for connection in connections:
            connection.timeout = PATIENCE
            connection.connect()
        ask(FIRST)
        private = read_all(pids, "smaps_rollup", sample.parse_kb, "Private_Clean", "Private_Dirty")
        peak = read_all(pids, "status", sample.parse_kb, "VmHWM")
        before = read_all(pids, "stat", parse_faults)
        ask(FURTHER)
        after = read_all(pids, "stat", parse_faults)
    httpd.stop()
    return {"private_kb": stats.median(private), "peak_kb": stats.median(peak),
            "faults": stats.median((now - then) / FURTHER for now, then in zip(after, before))}


def peak_under_load(run, httpd, setup, clients, requests, paths):
    """The most that was seen, in KB, while `clients` ask for each of the paths in turn."""
    with sample.MemoryPeak([*httpd.pids, *httpd.child_pids()]) as memory:
        seen = load.h2load(run, None, {"Accept-Encoding": setup.accept}, clients,
                           requests=requests,
                           urls=[httpd.url(f"/{path}") for path in paths])
    if seen.failed:
        raise tools.BenchError(f"{seen.failed} of {requests} requests failed")
    sample.wait_until_idle(httpd.pids)
    return memory.peak


def measure_streams(run, name, setup, page, streams, each):
    """The most memory, in KB, of a threaded server that sends a page to `streams` clients."""
    pages = {"page.html": page}
    httpd = serve(run, name, setup, pages, threads=streams + SPARE_THREADS)
    peak = peak_under_load(run, httpd, setup, streams, each * streams, pages)
    httpd.stop()
    return peak


def measure_all(run, name, setup, pages, children, each):
    """Memory of all children, in KB: the most that was seen while each answers `each` requests at
    the same time as the others, for the pages in turn; and afterwards, when all are idle.
    """
    httpd = serve(run, name, setup, pages, kind=Prefork, children=children)
    busy = peak_under_load(run, httpd, setup, children, each * children, pages)
    idle = sample.memory_kb([*httpd.pids, *httpd.child_pids()])
    httpd.stop()
    return {"busy_kb": busy, "idle_kb": idle}
