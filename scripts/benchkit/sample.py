"""CPU, memory and counters of a server while a load runs."""

import os
import pathlib
import threading
import time

from benchkit import stats

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
MEMORY_INTERVAL = 0.25  # seconds; reading smaps_rollup stops the server for microseconds
# Of the module's counters, those that tell whether a leg did what it was meant to.
COUNTERS = ("ElasticCompressed", "ElasticBytesIn", "ElasticBytesOut", "ElasticCpuUsec",
            "ElasticPrecompressed", "ElasticSkipped-small")

IDLE_PATIENCE = 5  # seconds to wait for a server to finish requests that their client gave up


def parse_stat(text):
    """(parent, ticks) of a /proc/PID/stat: user and system time of it and its reaped children."""
    # The name, in parentheses, may itself hold blanks and parentheses.
    fields = text[text.rindex(")") + 2:].split()
    return int(fields[1]), sum(int(field) for field in fields[11:15])


def parse_rollup(text):
    """The proportional share of memory, in KB, of a /proc/PID/smaps_rollup."""
    for line in text.splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1])
    return 0


def read_stats():
    """{pid: (parent, ticks)} of every process there is."""
    found = {}
    for folder in pathlib.Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                found[int(folder.name)] = parse_stat((folder / "stat").read_text())
            except (FileNotFoundError, ProcessLookupError):
                pass  # ended since the listing
    return found


def family(root, processes):
    """`root` and its descendants."""
    members, fresh = {root}, {root}
    while fresh:
        fresh = {pid for pid, (parent, _) in processes.items() if parent in fresh} - members
        members |= fresh
    return members


def cpu_seconds(root):
    """CPU time, so far, of a process, its descendants and those of them that ended."""
    processes = read_stats()
    return sum(processes[pid][1] for pid in family(root, processes)
               if pid in processes) / TICKS_PER_SECOND


def parse_cpu_row(text, cpu):
    """Ticks that processes used of one CPU, in the text of /proc/stat (user, nice and system)."""
    for line in text.splitlines():
        name, *fields = line.split()
        if name == f"cpu{cpu}":
            return sum(int(field) for field in fields[:3])
    return 0


def process_seconds(cpu):
    """Time, so far, that all processes together ran on one CPU."""
    return parse_cpu_row(pathlib.Path("/proc/stat").read_text(), cpu) / TICKS_PER_SECOND


def memory_kb(root):
    """Memory, now, of a process and its descendants; what they share counts once."""
    total = 0
    for pid in family(root, read_stats()):
        try:
            total += parse_rollup(pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text())
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            pass
    return total


def wait_until_idle(root):
    """Waits until the processes use no CPU: a stopped load leaves requests in progress."""
    deadline = time.monotonic() + IDLE_PATIENCE
    before = cpu_seconds(root)
    while time.monotonic() < deadline:
        time.sleep(0.05)
        now = cpu_seconds(root)
        if now == before:
            return
        before = now


class MemoryPeak:
    """The largest memory_kb() seen while in the with statement."""

    def __init__(self, root):
        self.root = root
        self.peak = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def _watch(self):
        while not self._stop.wait(MEMORY_INTERVAL):
            self.peak = max(self.peak, memory_kb(self.root))

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *problem):
        self._stop.set()
        self._thread.join()
        self.peak = max(self.peak, memory_kb(self.root))


def measure(server, generate):
    """Runs `generate()`, a load, against `server`; what happened, as columns of a table."""
    counters = server.counters()
    started, cpu, all_cpu = clocks(server)
    with MemoryPeak(server.pid) as memory:
        load = generate()
        wait_until_idle(server.pid)
    elapsed, cpu, all_cpu = (after - before for after, before in
                             zip(clocks(server), (started, cpu, all_cpu)))
    row = {
        "requests": load.requests, "failed": load.failed, "seconds": round(load.seconds, 4),
        "rate": round(load.rate, 2), "bytes": load.bytes,
        "bytes_per_response": round(stats.ratio(load.bytes, load.requests), 1),
        "p50_ms": load.p50_ms, "p95_ms": load.p95_ms, "p99_ms": load.p99_ms,
        "cpu_seconds": round(cpu, 2),
        "cpu_usec_per_response": round(1e6 * stats.ratio(cpu, load.requests), 1),
        # Of the server's CPU, what processes other than the server took meanwhile.
        "foreign_share": round(max(0.0, all_cpu - cpu) / elapsed, 3),
        "memory_peak_kb": memory.peak,
    }
    after = server.counters()
    for key in COUNTERS:
        if key in after:
            row[key] = after[key] - counters.get(key, 0)
    return row


def clocks(server):
    """(wall, CPU of the server, CPU of all processes on the server's CPU), in seconds."""
    return (time.monotonic(), cpu_seconds(server.pid), process_seconds(server.run.server_cpu))
