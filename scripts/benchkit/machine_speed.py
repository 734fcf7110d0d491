"""How fast the machine itself was: a piece of work that is always the same.

A virtual machine's CPU is as fast as its neighbours leave it. Where the figures of two runs
differ, these times show whether the machine did, too. The work is a codec's, as most of what is
measured is.
"""

import os
import time
import zlib

from benchkit import corpus, stats

SIZE, LEVEL = 64 * corpus.KB, 6
PAUSE = 2  # seconds between two measurements, at least: each takes some ms of each CPU
TOLERANCE = 1.1  # a factor by which speeds differ that need no mention


class MachineSpeed:
    """What the work took, in ms of CPU time; `cpus` is {what it is used for: the CPU}."""

    def __init__(self, cpus):
        self.times = {name: [] for name in cpus}
        self._cpus, self._due = cpus, 0.0
        self._body = corpus.invented_html(SIZE)

    def measure(self):
        """Does the work on each CPU, where the last time is long enough ago."""
        if time.monotonic() < self._due:
            return
        home = os.sched_getaffinity(0)
        try:
            for name, cpu in self._cpus.items():
                os.sched_setaffinity(0, {cpu})
                # The first time fills the caches.
                self.times[name].append(min(self.time_work() for _ in range(2)))
        finally:
            os.sched_setaffinity(0, home)
        self._due = time.monotonic() + PAUSE

    def time_work(self):
        before = time.thread_time()
        zlib.compress(self._body, LEVEL)
        return 1e3 * (time.thread_time() - before)

    def figures(self):
        """For each CPU, how many measurements there were, and their least, median and most."""
        return {name: {"count": len(times), "least_ms": round(min(times), 2),
                       "median_ms": round(stats.median(times), 2), "most_ms": round(max(times), 2)}
                for name, times in self.times.items()}


def sentence(figures):
    """Of all CPUs."""
    parts = [f"{one['median_ms']:g} ms of the {name}'s CPU ({one['least_ms']:g} to "
             f"{one['most_ms']:g}; measured {one['count']} times)" for name, one in figures.items()]
    return f"A fixed piece of work took {' and '.join(parts)}."


def unsteady(figures):
    """A sentence on CPUs that were slow at times, in a list; none where they were not."""
    parts = [f"{one['least_ms']:g} to {one['most_ms']:g} ms of the {name}'s CPU"
             for name, one in figures.items() if one["most_ms"] > TOLERANCE * one["least_ms"]]
    together = " and ".join(parts)
    return [f"The machine's speed varied: the same work took {together}."] if parts else []
