"""CPU, memory and counters of a server while a load runs."""

import contextlib
import os
import pathlib
import threading
import time

from benchkit import stats, tools

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
PROCESS_CLOCK = 2  # in the clock id of a pid: the scheduler's count of user and system time
MEMORY_INTERVAL = 0.25  # seconds; reading smaps_rollup stops the server for microseconds
IDLE_CPU = 0.0005  # CPU seconds in 50 ms of an idle server
IDLE_PATIENCE = 5  # seconds to wait for requests that their client gave up


def parse_stat(text):
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
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # ended since the listing
            text = pathlib.Path(f"/proc/{name}/stat").read_text("utf-8", "replace")
            found[int(name)] = parse_stat(text)
    return found


def family(roots, parents):
    members, fresh = set(roots), set(roots)
    while fresh:
        fresh = {pid for pid, parent in parents.items() if parent in fresh} - members
        members |= fresh
    return members


def cpu_of(pids):
    """The CPU time of these processes, to the nanosecond: /proc/PID/stat has ticks of 10 ms."""
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError):  # ended since the listing
            total += time.clock_gettime_ns(~pid << 3 | PROCESS_CLOCK)
    return total / 1e9


def parse_cpu_row(text, cpu):
    """The ticks that processes used of one CPU, in the text of /proc/stat: user, nice, system."""
    rows = (line.split() for line in text.splitlines())
    return next((sum(map(int, row[1:4])) for row in rows if row[0] == f"cpu{cpu}"), 0)


def process_seconds(cpu):
    """The time so far that all processes together ran on one CPU."""
    return parse_cpu_row(pathlib.Path("/proc/stat").read_text(), cpu) / TICKS_PER_SECOND


def memory_kb(pids):
    """The memory of these processes; shared memory counts once among its sharers."""
    total = 0
    for pid in pids:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError, PermissionError):
            total += parse_kb(pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text(), "Pss")
    return total


def wait_until_idle(roots):
    """Waits until the processes use no CPU: a stopped load leaves requests in progress."""
    used = [-1.0]

    def is_idle():
        used.append(cpu_of(family(roots, read_parents())))
        return 0 <= used[-2] and used[-1] - used[-2] < IDLE_CPU

    tools.wait_for(is_idle, IDLE_PATIENCE)


@contextlib.contextmanager
def watch(interval, look):
    """Calls look() at intervals, from a thread, and once at the end."""
    stop = threading.Event()

    def repeat():
        while not stop.wait(interval):
            look()

    thread = threading.Thread(target=repeat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
    look()


def measure(server, generate, leg):
    """Runs `generate(leg)`, a load, against `server`; returns the results as columns of a table."""
    # The run's servers neither start nor end processes during a leg.
    pids, memory = family(server.pids, read_parents()), []
    before = clocks(server, pids)
    with watch(MEMORY_INTERVAL, lambda: memory.append(memory_kb(pids))):
        load = generate(leg)
        if not load.whole:
            wait_until_idle(server.pids)
        elapsed, cpu, all_cpu = (now - then for now, then in zip(clocks(server, pids), before))
    return {
        "requests": load.requests, "failed": load.failed, "seconds": round(load.seconds, 4),
        "rate": round(load.rate, 2), "bytes": load.bytes,
        "bytes_per_response": round(stats.ratio(load.bytes, load.requests), 1),
        "p50_ms": load.p50_ms, "p95_ms": load.p95_ms, "cpu_seconds": round(cpu, 4),
        "cpu_usec_per_response": round(1e6 * stats.ratio(cpu, load.requests), 1),
        # The share of the server's CPU that other processes took.
        "foreign_share": round(max(0.0, all_cpu - cpu) / elapsed, 3),
        "memory_peak_kb": max(memory)}


def clocks(server, pids):
    """(wall, CPU of these processes, CPU of all processes on the server's CPU), in seconds."""
    return time.monotonic(), cpu_of(pids), process_seconds(server.run.server_cpu)
