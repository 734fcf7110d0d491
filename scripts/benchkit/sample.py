"""CPU, memory and counters of a server while a load runs."""

import os
import pathlib
import threading
import time

from benchkit import stats, tools

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
PROCESS_CLOCK = 2  # in the clock id of a pid: the scheduler's count of user and system time
MEMORY_INTERVAL = 0.25  # seconds; reading smaps_rollup stops the server for microseconds
# The module's counters that show if a leg did what it should.
COUNTERS = ("ElasticCompressed", "ElasticBytesIn", "ElasticBytesOut", "ElasticCpuUsec",
            "ElasticPrecompressed", "ElasticSkipped-small")

IDLE_CPU = 0.0005  # CPU seconds in 50 ms of an idle server
IDLE_PATIENCE = 5  # seconds to wait for requests that their client gave up


def parse_stat(text):
    """The parent in a /proc/PID/stat."""
    # The name in parentheses may contain blanks and parentheses.
    return int(text[text.rindex(")") + 2:].split()[1])


def parse_kb(text, *names):
    """The sum of these figures, in KB, in the text of a /proc/PID/smaps_rollup or status."""
    lines = (line.split() for line in text.splitlines())
    return sum(int(line[1]) for line in lines if line and line[0].rstrip(":") in names)


def read_parents():
    """{pid: parent} of all processes."""
    found = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                found[int(name)] = parse_stat(file.read())
        except (FileNotFoundError, ProcessLookupError):
            pass  # ended since the listing
    return found


def family(roots, parents):
    """The processes `roots` and their descendants."""
    members, fresh = set(roots), set(roots)
    while fresh:
        fresh = {pid for pid, parent in parents.items() if parent in fresh} - members
        members |= fresh
    return members


def cpu_seconds(roots):
    """The CPU time so far of processes and their descendants, to the nanosecond."""
    return cpu_of(family(roots, read_parents()))


def cpu_of(pids):
    """The CPU time so far of these processes.

    /proc/PID/stat has ticks of 10 ms, which are too coarse for a short leg.
    """
    total = 0
    for pid in pids:
        try:
            total += time.clock_gettime_ns(~pid << 3 | PROCESS_CLOCK)
        except OSError:
            pass  # ended since the listing
    return total / 1e9


def parse_cpu_row(text, cpu):
    """The ticks that processes used of one CPU, in the text of /proc/stat (user, nice and
    system)."""
    for line in text.splitlines():
        name, *fields = line.split()
        if name == f"cpu{cpu}":
            return sum(int(field) for field in fields[:3])
    return 0


def process_seconds(cpu):
    """The time so far that all processes together ran on one CPU."""
    return parse_cpu_row(pathlib.Path("/proc/stat").read_text(), cpu) / TICKS_PER_SECOND


def memory_kb(pids):
    """The present memory of these processes; shared memory counts once."""
    total = 0
    for pid in pids:
        try:
            # The proportional share: shared memory counts once among its sharers.
            total += parse_kb(pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text(), "Pss")
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            pass
    return total


def wait_until_idle(roots):
    """Waits until the processes use no CPU: a stopped load leaves requests in progress."""
    used = [-1.0]

    def is_idle():
        used.append(cpu_seconds(roots))
        return 0 <= used[-2] and used[-1] - used[-2] < IDLE_CPU

    tools.wait_for(is_idle, IDLE_PATIENCE)


class Watch:
    """A context manager whose thread calls look() at intervals, and once at the end."""

    def __init__(self, interval):
        self._interval = interval
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def look(self):
        raise NotImplementedError

    def _watch(self):
        while not self._stop.wait(self._interval):
            self.look()

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *problem):
        self._stop.set()
        self._thread.join()
        self.look()


class MemoryPeak(Watch):
    """The largest memory_kb() seen."""

    def __init__(self, pids):
        super().__init__(MEMORY_INTERVAL)
        self.pids, self.peak = pids, 0

    def look(self):
        self.peak = max(self.peak, memory_kb(self.pids))


def measure(server, generate, *arguments):
    """Runs `generate`, a load, against `server`; returns the results as columns of a table."""
    counters = server.counters()
    # The run's servers neither start nor end processes during a leg.
    pids = family(server.pids, read_parents())
    before = clocks(server, pids)
    with MemoryPeak(pids) as memory:
        load = generate(*arguments)
        if not load.whole:
            wait_until_idle(server.pids)
        elapsed, cpu, all_cpu = (now - then for now, then in zip(clocks(server, pids), before))
    row = {
        "requests": load.requests, "failed": load.failed, "seconds": round(load.seconds, 4),
        "rate": round(load.rate, 2), "bytes": load.bytes,
        "bytes_per_response": round(stats.ratio(load.bytes, load.requests), 1),
        "p50_ms": load.p50_ms, "p95_ms": load.p95_ms,
        "cpu_seconds": round(cpu, 4),
        "cpu_usec_per_response": round(1e6 * stats.ratio(cpu, load.requests), 1),
        # The share of the server's CPU that other processes took.
        "foreign_share": round(max(0.0, all_cpu - cpu) / elapsed, 3),
        "memory_peak_kb": memory.peak,
    }
    after = server.counters()
    for key in COUNTERS:
        if key in after:
            row[key] = after[key] - counters.get(key, 0)
    return row


def clocks(server, pids):
    """(wall, CPU of these processes, CPU of all processes on the server's CPU), in seconds."""
    return time.monotonic(), cpu_of(pids), process_seconds(server.run.server_cpu)
