"""How fast the machine itself was: a piece of work that is always the same.

A virtual machine's CPU is as fast as its neighbours leave it. What two runs say differently may be
the machine's doing; here is what tells. The work is a codec's, as most of what is measured is.
"""

import os
import time
import zlib

from benchkit import corpus, stats

SIZE = 64 * corpus.KB
LEVEL = 6

PAUSE = 2  # seconds between two looks, at least: looking takes some ms of the server's CPU

STEADY = 1.1  # a factor by which paces differ that need no mention


class Pace:
    """The times that the work took on one CPU, in ms of CPU time."""

    def __init__(self, cpu):
        self.seen = []
        self._cpu, self._due = cpu, 0.0
        self._body = corpus.invented_html(SIZE)

    def look(self):
        """Does the work, where the last time is long enough ago."""
        if time.monotonic() < self._due:
            return
        home = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {self._cpu})
        try:
            # The first time fills the caches.
            self.seen.append(min(self._work() for _ in range(2)))
        finally:
            os.sched_setaffinity(0, home)
        self._due = time.monotonic() + PAUSE

    def _work(self):
        before = time.thread_time()
        zlib.compress(self._body, LEVEL)
        return 1e3 * (time.thread_time() - before)

    def figures(self):
        """{"median_ms", "low_ms", "high_ms"}; eight looks of ten are between the last two."""
        return {"median_ms": round(stats.median(self.seen), 2),
                "low_ms": round(stats.percentile(self.seen, 10), 2),
                "high_ms": round(stats.percentile(self.seen, 90), 2)}


def sentence(figures):
    return (f"A fixed piece of work took {figures['median_ms']:g} ms of CPU, "
            f"{figures['low_ms']:g} to {figures['high_ms']:g} in eight looks of ten.")


def differ(one, other):
    """Whether the machine was faster in one of two runs, by their figures."""
    fast, slow = sorted((one["median_ms"], other["median_ms"]))
    return slow > STEADY * fast
