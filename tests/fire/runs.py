"""The runs of the campaign: which stage, in which build, under which MPM, and how long."""

import fnmatch
from typing import NamedTuple

MINUTE, HOUR = 60, 3600

# {stage: (what it counts, what it does)}
STAGES = {
    "differential": ("answers", "random requests to both ways of this module and to the stock "
                     "modules; each answer is compared with the identity's"),
    "reloads": ("answers", "graceful restarts during requests, with other levels, modes and "
                "codings each time; beside the stock modules"),
    "aborts": ("aborts", "clients that go away, read slowly or open no window, by HTTP/1 and "
               "HTTP/2; memory, descriptors and workers afterwards"),
    "troubles": ("answers", "children that are killed, clocks that jump, a full /dev/shm, a run "
                 "folder that cannot be written"),
}


class Run(NamedTuple):
    stage: str
    mpm: str
    short: float  # seconds in the short form; 0: not in it
    long: float
    build: str = "check"  # or asan: with ASan and UBSan
    failing: int = 0  # percent of all allocations, and of the compression libraries' calls

    @property
    def name(self):
        return "-".join([self.stage, self.mpm, *["asan"] * (self.build == "asan"),
                         *[f"{self.failing}%"] * bool(self.failing)])


RUNS = (
    Run("differential", "event", 40, 2 * HOUR),
    Run("differential", "worker", 15, HOUR),
    Run("differential", "prefork", 15, HOUR),
    Run("differential", "event", 20, HOUR, "asan"),
    Run("differential", "prefork", 0, HOUR, "asan"),
    Run("differential", "event", 40, HOUR, failing=25),
    Run("differential", "prefork", 30, HOUR, failing=5),
    Run("reloads", "event", 40, 2 * HOUR),
    Run("reloads", "prefork", 0, 30 * MINUTE),
    Run("aborts", "event", 30, 30 * MINUTE),
    Run("aborts", "worker", 0, 10 * MINUTE),
    Run("troubles", "event", 40, 30 * MINUTE),
)


def chosen(pattern, is_long):
    """(run, its seconds) of those whose name matches."""
    return [(run, run.long if is_long else run.short) for run in RUNS
            if fnmatch.fnmatchcase(run.name, pattern) and (is_long or run.short)]
