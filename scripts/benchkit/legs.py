"""The ways to compress that the experiments load and gain compare by the same visits."""

import dataclasses
import os

from benchkit import setups

BROWSERS, GZIP_ALONE = "browsers", "gzip alone"
POPULATIONS = {BROWSERS: "clients of gzip, br and zstd", GZIP_ALONE: "clients of gzip alone"}
RATES = (5, 20, 100)  # Mbit/s of the client's wire


@dataclasses.dataclass(frozen=True)
class Leg:
    setup: object
    accept: str = "gzip"
    adaptive: bool = False  # it adapts to earlier requests
    pinned: bool = False  # an operator of this module might pin it
    rate: int = 0  # the only client rate that it is for; 0: any
    build: str = ""  # "zlib", or a path: another build of this module

    def serves(self, population, rate):
        """True if it is a choice for these clients. One coding's leg suits all clients that accept
        it; an adaptive one only clients like those that it was measured with."""
        if self.rate not in (0, rate):
            return False
        if population == BROWSERS:
            return not self.adaptive or self.accept == setups.ALL_CODINGS
        return self.accept in ("gzip", "identity")


def default(accept=setups.ALL_CODINGS, rate=0, build=""):
    goal = f"ElasticGoal time {rate}Mbit/s\n" if rate else ""
    return Leg(setups.Setup(f"Elastic On\n{goal}", coding=None), accept, True, rate=rate,
               build=build)


def pinned(coding, level):
    return Leg(setups.ours(coding, level), coding, pinned=True)


IDENTITY, DEFAULT, DEFAULT_GZIP = "not compressed", "default", "default, gzip"
# By population: the leg of each goal; that of the default is 5 Mbit/s.
GOALS = {BROWSERS: {5: DEFAULT, 20: "time 20", 100: "time 100"},
         GZIP_ALONE: {5: DEFAULT_GZIP, 20: "time 20, gzip", 100: "time 100, gzip"}}
LEGS = {
    DEFAULT: default(), "time 20": default(rate=20), "time 100": default(rate=100),
    DEFAULT_GZIP: default("gzip"), "time 20, gzip": default("gzip", 20),
    "time 100, gzip": default("gzip", 100),
    **{f"{coding} {level}": pinned(coding, level) for coding, levels in (
        ("zstd", (1, 4, 9)), ("br", (1, 4, 5)), ("gzip", (1, 3, 6))) for level in levels},
    **{f"mod_deflate {level}": Leg(setups.mod_deflate(level)) for level in (1, 6)},
    **{f"mod_brotli {level}": Leg(setups.mod_brotli(level), "br") for level in (1, 5)},
    **{f"nginx {level}": Leg(level) for level in (1, 6)},
    IDENTITY: Leg(setups.NOTHING, "identity"),
}
# An older build of this module in the same rounds: the best way to see the effect of a change.
if os.environ.get("ELASTIC_MODULE_BEFORE"):
    BEFORE = os.environ["ELASTIC_MODULE_BEFORE"]
    LEGS |= {f"{DEFAULT}, before": default(build=BEFORE),
             f"{DEFAULT_GZIP}, before": default("gzip", build=BEFORE)}

# The value of following the load: every level of zlib, and of today's engines, each beside this
# module between level 1 and 9.
ENGINES = {"zlib": "zlib", "today": ""}
LEVELS = range(1, 10)
GAIN = {**{f"{name}, {level}": dataclasses.replace(pinned("gzip", level), build=build)
           for name, build in ENGINES.items() for level in LEVELS},
        **{f"{name}, {DEFAULT}": default("gzip", build=build) for name, build in ENGINES.items()}}


def known(name):
    """The Leg of a name, or None: results may be older than this list."""
    return LEGS.get(name) or GAIN.get(name)


def serving(names, population, rate):
    """The names that are a choice for these clients, in this list's order."""
    return [name for name, leg in {**LEGS, **GAIN}.items()
            if name in names and leg.serves(population, rate)]
