"""What a stage was asked to do, and what it found."""

import json
import time
from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Outcome:
    count: int = 0  # of what the stage counts
    seconds: float = 0.0
    failures: list = field(default_factory=list)
    figures: Counter = field(default_factory=Counter)

    def as_json(self):
        return json.dumps(vars(self))


@dataclass
class Plan:
    """`count` and `seconds` bound the stage, whichever comes first."""

    count: int
    seconds: float
    seed: str
    first: int = 0  # the number of the first batch
    failing: int = 0  # percent of all allocations
    kinds: tuple = ("elastic", "drop-in", "stock")  # of sites
    options: dict = field(default_factory=dict)  # of the servers

    def goes_on(self, count, began):
        return count < self.count and time.monotonic() - began < self.seconds
