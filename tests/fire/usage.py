"""What a server and all its processes hold at a moment."""

import contextlib
import os
from pathlib import Path

from kit.process import descriptors, mapped_kb, memory

_GONE = (FileNotFoundError, ProcessLookupError)


def processes(pid):
    found = [pid]
    for one in found:
        with contextlib.suppress(*_GONE):
            for task in Path(f"/proc/{one}/task").iterdir():
                found += map(int, (task / "children").read_text().split())
    return found


def _mappings(pid):
    """(how many there are, KB of those that are shared with other processes)."""
    lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
    shared = 0
    for line in lines:
        where, access = line.split()[:2]
        if access.endswith("s"):
            begin, end = (int(address, 16) for address in where.split("-"))
            shared += end - begin
    return len(lines), shared >> 10


def _system_v():
    return len(Path("/proc/sysvipc/shm").read_text().splitlines()) - 1


def of(server):
    """{column: value} of a Server; sizes in KB."""
    parent = server.parent()
    every, workers = [], []
    pids, children = processes(parent), server.children()
    for pid in pids:
        with contextlib.suppress(*_GONE):
            every.append(memory(pid))
            if pid in children:
                workers.append((every[-1].get("Anonymous", 0), descriptors(pid)))
    mappings, shared = _mappings(parent)
    return {
        "processes": len(every),
        "all_pss": sum(one.get("Pss", 0) for one in every),
        "all_rss": sum(one.get("Rss", 0) for one in every),
        "parent": every[0]["Anonymous"], "parent_rss": every[0]["Rss"],
        "parent_mapped": mapped_kb(parent), "parent_mappings": mappings,
        "parent_descriptors": descriptors(parent),
        "child": max(size for size, _ in workers), "child_descriptors": max(
            count for _, count in workers),
        "shared": shared, "system_v": _system_v(), "dev_shm": len(os.listdir("/dev/shm")),
    }
