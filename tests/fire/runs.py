"""The runs of the campaign: which stage, in which build, under which MPM, and how much of it."""

import fnmatch
from dataclasses import dataclass


@dataclass(frozen=True)
class Amount:
    """Whichever comes first. `count` is of what the stage counts, see STAGES."""

    count: int
    seconds: float


@dataclass(frozen=True)
class Run:
    stage: str
    mpm: str
    build: str  # check, or asan: with ASan and UBSan
    short: Amount | None  # None: only in the long form
    long: Amount
    failing: int = 0  # percent of all allocations

    @property
    def name(self):
        parts = (self.stage, self.mpm, *(("asan",) if self.build == "asan" else ()),
                 *((f"{self.failing}%",) if self.failing else ()))
        return "-".join(parts)


# {stage: (what it counts, what it does)}
STAGES = {
    "differential": ("answers", "random requests to both ways of this module and to the stock "
                     "modules; each answer is compared with the identity's"),
    "torture": ("failures", "each allocation and each call of a library fails once, in turn"),
    "reloads": ("answers", "graceful restarts during requests, with other levels, modes and "
                "codings each time; beside the stock modules"),
    "storm": ("answers", "graceful restarts while clients ask as fast as they can; beside the "
              "stock modules"),
    "aborts": ("aborts", "clients that go away, read slowly or open no window, by HTTP/1 and "
               "HTTP/2; memory, descriptors and workers afterwards"),
    "troubles": ("answers", "children that are killed, clocks that jump, a full /dev/shm, a run "
                 "folder that cannot be written"),
}

HOUR = 3600

RUNS = (
    Run("differential", "event", "check", Amount(10**6, 40), Amount(500_000, 4 * HOUR)),
    Run("differential", "worker", "check", Amount(10**6, 15), Amount(200_000, 2 * HOUR)),
    Run("differential", "prefork", "check", Amount(10**6, 15), Amount(200_000, 2 * HOUR)),
    Run("differential", "event", "asan", Amount(10**6, 20), Amount(50_000, 2 * HOUR)),
    Run("differential", "prefork", "asan", None, Amount(50_000, 2 * HOUR)),
    Run("differential", "event", "check", Amount(10**6, 15), Amount(50_000, HOUR), failing=25),
    Run("reloads", "event", "check", Amount(10**6, 30), Amount(10**6, 8 * HOUR)),
    Run("reloads", "prefork", "check", None, Amount(200_000, 2 * HOUR)),
    Run("storm", "event", "check", Amount(10**9, 15), Amount(10**9, 900)),
    Run("storm", "prefork", "check", None, Amount(10**9, 300)),
    Run("aborts", "event", "check", Amount(10**6, 30), Amount(100_000, 4 * HOUR)),
    Run("aborts", "worker", "check", None, Amount(20_000, HOUR)),
    Run("troubles", "event", "check", Amount(10**6, 40), Amount(10**6, HOUR)),
    Run("torture", "event", "check", Amount(10, 30), Amount(10**6, HOUR)),
    Run("torture", "prefork", "check", Amount(4, 40), Amount(10**6, HOUR)),
)


def chosen(pattern, is_long):
    return [run for run in RUNS if fnmatch.fnmatchcase(run.name, pattern)
            and (is_long or run.short)]
