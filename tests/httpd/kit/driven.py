"""A server whose controller follows a scripted /proc/stat."""

import contextlib
import time

from . import bodies, check, env
from .client import Incomplete
from .procstat import ProcStat

CONFIG = """
Elastic On
ElasticProcStat {root}/stat
ElasticInterval 100ms
ElasticControl step
ElasticCPU 50 80
"""
TOP = 8  # of the default range, gzip 1 9
START = 5  # gzip has its stock level, 6, here
FILES = {"a.txt": bodies.text(5000)}

# mod_elastic warns about intervals this short; the tests have no time for longer ones.
SHORT_INTERVAL = "ElasticInterval"


class Driven:
    def __init__(self, server, stat):
        self.server = server
        self.stat = stat
        # The first reading is only a baseline. Each value is in the dead band and above the
        # previous ones: when the last one is seen, all are read.
        for tenths in range(650, 670):
            self.stat.busy(tenths / 10)
            with contextlib.suppress(TimeoutError):
                self.wait(lambda s: s.get("ElasticCPU") == f"{tenths / 1000:.3f}", "a sample", 0.5)
                return
        raise TimeoutError("nobody samples")

    def status(self):
        """The status page; repeats the request if the child that took it was killed."""
        for _ in range(100):
            try:
                return self.server.status()
            except (OSError, Incomplete):
                time.sleep(0.05)
        return self.server.status()

    def wait(self, condition, what, timeout=10):
        self.server.wait_for(lambda: condition(self.status()), timeout, what)
        return self.status()

    def load(self, *percents):
        """One sample after another, each with that load; returns the status."""
        for percent in percents:
            before = self.status()
            self.stat.busy(percent)
            after = self.wait(lambda s: s["ElasticSamples"] != before["ElasticSamples"], "a sample")
            assert float(after["ElasticCPU"]) == percent / 100
            assert int(after["ElasticSteps"]) - int(before["ElasticSteps"]) in (0, 1)
        return after

    def position(self, status=None):
        return round(self.raw_position(status))

    def raw_position(self, status=None):
        return float((status or self.status())["ElasticPosition"]) * TOP

    def walk_to(self, target):
        while (position := self.position()) != target:
            self.nudge(99 if position > target else 1)

    def nudge(self, percent):
        steps = int(self.status()["ElasticSteps"])
        self.stat.busy(percent)
        return self.wait(lambda s: int(s["ElasticSteps"]) == steps + 1, "a step")

    def wait_for_floor(self):
        """A full CPU until the position stays at its lowest: that takes seconds if a goal has
        filters."""
        def at_floor():
            self.stat.busy(100)
            return float(self.status()["ElasticPosition"]) == 0
        self.server.wait_for(at_floor, 60, "the floor")

    def level(self, coding="gzip", path="/a.txt"):
        answer = self.server.get(path, ae=coding)
        assert answer.coding == coding and answer.body == FILES["a.txt"]
        return int(self.server.notes(answer)["elastic-level"])

    def levels(self, count=40, protocol="http/1.1", headers=None):
        """The gzip levels of this many responses in order, on one connection except with HTTP/2."""
        if protocol in env.HTTP2:
            answers = [self.server.get("/a.txt", ae="gzip", protocol=protocol, headers=headers)
                       for _ in range(count)]
        else:
            with self.server.connect(protocol) as connection:
                answers = [connection.request("/a.txt", ae="gzip", headers=headers)
                           for _ in range(count)]
        for answer in answers:
            check.encoded(answer, "gzip", FILES["a.txt"])
        return [int(self.server.notes(answer)["elastic-level"]) for answer in answers]


def start_driven(httpd, config="", cpus=(), base=CONFIG, **kw):
    """Starts a server whose script exists before it does; `httpd` is the fixture."""
    server = httpd(base + config, start=False, files=FILES, allow_log=[SHORT_INTERVAL], **kw)
    stat = ProcStat(server.root / "stat", cpus)
    server.start()
    return Driven(server, stat)
