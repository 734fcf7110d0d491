"""The stages, and a run of one of them: python3 -m fire.stage PLAN, in the environment of its build
and its MPM. What it found is the last line that it prints, in JSON like its plan."""

import importlib
import json
import sys
import time
from collections import Counter
from dataclasses import dataclass, field

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
    "soak": ("answers", "mixed load with redis, a cache and dictionaries, a graceful restart and "
             "another mode each minute; what the server holds, each minute"),
}


@dataclass
class Plan:
    """`seconds` and `count` bound the stage, whichever comes first."""

    stage: str
    seconds: float
    seed: str
    first: int = 0  # the number of the first batch
    failing: int = 0  # percent of all allocations and calls of libraries
    count: float = float("inf")
    kinds: tuple = ("elastic", "drop-in", "stock")  # of sites
    options: dict = field(default_factory=dict)  # of the servers
    minutes: str = ""  # the file for what a soak reads each minute


@dataclass
class Outcome:
    count: int = 0  # of what the stage counts
    seconds: float = 0.0
    failures: list = field(default_factory=list)
    figures: Counter = field(default_factory=Counter)


def run(plan):
    made, began = Outcome(), time.monotonic()
    importlib.import_module(f"fire.{plan.stage}").run(plan, made)
    made.seconds = time.monotonic() - began
    if not made.count:
        made.failures.append("nothing was counted")
    return made


if __name__ == "__main__":
    print(json.dumps(vars(run(Plan(**json.loads(sys.argv[1]))))))
