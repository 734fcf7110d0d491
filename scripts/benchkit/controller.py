"""Servers with a mode of the controller, and what it did, by its own trace in the error log."""

import dataclasses
import datetime
import re

INTERVAL = 0.1  # seconds: the shortest that ElasticInterval may be
DEFAULT_INTERVAL = 0.5
LOW, HIGH = 0.5, 0.8  # ElasticCPU's defaults

TRACED = """
LogLevel elastic:trace1
ErrorLogFormat "%{{cu}}t %M"
"""

PINNED = "ElasticControl off\n"

# One step away from the floor, and below any load: it stays at the floor, and samples the load.
FLOORED = f"""
ElasticControl step
ElasticInterval {1000 * INTERVAL:.0f}ms
ElasticCPU 0 1
ElasticLevel gzip 1 2
ElasticLevel br 0 1
ElasticLevel zstd 1 2
"""

TRACE = re.compile(r"^(\S+ \S+) elastic: load ([\d.]+), position ([\d.]+) of (\d+)$", re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class Update:
    """What a sample showed, and where the controller went."""

    at: float  # seconds since the epoch
    load: float  # busy share
    position: float
    top: int


def pinned(coding, level):
    """The settings of a server that stays at one level."""
    return f"{PINNED}ElasticLevel {coding} {level} {level}\n"


def settings(mode, more="", interval=INTERVAL):
    return f"ElasticControl {mode}\nElasticInterval {1000 * interval:.0f}ms\n{TRACED}{more}"


def parse_trace(text):
    return [Update(datetime.datetime.fromisoformat(at).timestamp(), float(load), float(position),
                   int(top)) for at, load, position, top in TRACE.findall(text)]


def updates_of(httpd, began):
    """A stopped server's updates; times are seconds since `began`."""
    text = (httpd.folder / "error.log").read_text(encoding="utf-8", errors="replace")
    return [dataclasses.replace(one, at=one.at - began) for one in parse_trace(text)]


def during(updates, start, end):
    return [one for one in updates if start <= one.at < end]


def longest_above(updates, bound):
    """The most updates running that saw a load above `bound`."""
    longest = running = 0
    for one in updates:
        running = running + 1 if one.load > bound else 0
        longest = max(longest, running)
    return longest
