"""One stage, in the environment of its build and its MPM: python3 -m fire.stage NAME PLAN. What it
found is the last line that it prints, in JSON like its plan."""

import importlib
import json
import sys
import time
from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Outcome:
    count: int = 0  # of what the stage counts, see runs.STAGES
    seconds: float = 0.0
    failures: list = field(default_factory=list)
    figures: Counter = field(default_factory=Counter)


@dataclass
class Plan:
    """`seconds` and `count` bound the stage, whichever comes first."""

    seconds: float
    seed: str
    first: int = 0  # the number of the first batch
    failing: int = 0  # percent of all allocations and calls of libraries
    count: float = float("inf")
    kinds: tuple = ("elastic", "drop-in", "stock")  # of sites
    options: dict = field(default_factory=dict)  # of the servers

    def goes_on(self, count, began):
        return count < self.count and time.monotonic() - began < self.seconds


def run(name, plan):
    stage = importlib.import_module(f"fire.{name}")
    made, began = Outcome(), time.monotonic()
    stage.run(plan, made)
    made.seconds = time.monotonic() - began
    return made


if __name__ == "__main__":
    print(json.dumps(vars(run(sys.argv[1], Plan(**json.loads(sys.argv[2]))))))
