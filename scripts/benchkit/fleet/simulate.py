"""Servers behind one balancer, simulated: requests queue for each server's CPU.

A server has one CPU and serves in the order of arrival. What a page costs is measured: handling,
and encoding at each level. A static server has one level; an elastic one goes a level up below LOW
and a level down above HIGH, each interval, as the mode `step` does. Stores are as this module's
are: an encoding is kept when its body is seen for the second time by one server, and what was used
longest ago goes first.
"""

import collections
import dataclasses
import math
import random

from benchkit import stats
from benchkit.controller import DEFAULT_INTERVAL, HIGH, LOW

NONE, OWN, SHARED = "no store", "a store each", "one store"
STATIC, ELASTIC = "static", "elastic"


@dataclasses.dataclass(frozen=True)
class Costs:
    """Measured, of one page: seconds of CPU, and bytes by level."""

    handling: float
    encoding: dict  # level: seconds
    bytes: dict  # level: bytes


@dataclasses.dataclass(frozen=True)
class Fleet:
    servers: int
    elastic: int = 0  # of them
    level: int = 6  # of the static ones
    weight: float = 1.0  # requests for an elastic server, to those for a static one
    store: str = NONE
    room: int = 0  # bodies, of each store


@dataclasses.dataclass(frozen=True)
class Served:
    at: float
    seconds: float
    kind: str
    level: int
    found: bool


class Store:
    """Encodings by body, of a bounded number."""

    def __init__(self, room):
        self.room, self.kept = room, collections.OrderedDict()

    def find(self, body):
        if body not in self.kept:
            return False
        self.kept.move_to_end(body)
        return True

    def keep(self, body):
        self.kept[body] = True
        if len(self.kept) > self.room:
            self.kept.popitem(last=False)


class Server:
    def __init__(self, kind, level, costs, store):
        self.kind, self.level, self.costs, self.store = kind, level, costs, store
        self.seen = set()  # bodies, by the doorkeeper
        self.free_at = self.watched = self.busy = 0.0
        self.tick = DEFAULT_INTERVAL

    def watch(self, now):
        """Counts how long the CPU was busy since the last look; nothing came in between."""
        self.busy += max(0.0, min(now, self.free_at) - self.watched)
        self.watched = now

    def control(self, now):
        """The controller's ticks until now."""
        while self.kind == ELASTIC and self.tick <= now:
            self.watch(self.tick)
            load, self.busy = self.busy / DEFAULT_INTERVAL, 0.0
            self.level += (load < LOW) - (load > HIGH)
            self.level = min(max(self.level, min(self.costs.encoding)), max(self.costs.encoding))
            self.tick += DEFAULT_INTERVAL

    def looks(self, body):
        """Whether the encoding is kept; it is from now on, where that is its due."""
        if self.store is None:
            return False
        if self.store.find(body):
            return True
        if body in self.seen:
            self.store.keep(body)
        self.seen.add(body)
        return False

    def serve(self, now, body):
        """(seconds until it is served, whether its encoding was kept)."""
        self.control(now)
        self.watch(now)
        found = self.looks(body)
        self.free_at = max(now, self.free_at) + self.costs.handling + (
            0 if found else self.costs.encoding[self.level])
        return self.free_at - now, found


def balance(fleet, count, seed):
    """For each of so many requests, the number of its server; the elastic ones are the first."""
    weights = [fleet.weight] * fleet.elastic + [1.0] * (fleet.servers - fleet.elastic)
    return random.Random(seed).choices(range(fleet.servers), weights=weights, k=count)


def run(fleet, costs, times, bodies, chosen):
    """A Served for each request: by its time, the number of its body and its server."""
    stores = {NONE: lambda: None, OWN: lambda: Store(fleet.room)}
    one = Store(fleet.room)
    make_store = stores.get(fleet.store, lambda: one)
    servers = [Server(ELASTIC if number < fleet.elastic else STATIC, fleet.level, costs,
                      make_store()) for number in range(fleet.servers)]
    served = []
    for at, body, number in zip(times, bodies, chosen):
        server = servers[number]
        seconds, found = server.serve(at, body)
        served.append(Served(at, seconds, server.kind, server.level, found))
    return served


def encodings(served):
    """How many of a thousand requests were encoded."""
    return 1000 * stats.ratio(sum(not one.found for one in served), len(served))


def failed_share(served, kind, span, timeout):
    """Of one kind of server, of the requests in a span of time, those that took longer."""
    start, end = span
    members = [one for one in served if one.kind == kind and start <= one.at < end]
    if not members:
        return math.nan
    return stats.ratio(sum(one.seconds > timeout for one in members), len(members))
