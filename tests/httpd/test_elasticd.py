"""httpd and a real elasticd: the position is followed, and nothing that becomes of elasticd or its
file fails a request."""

import contextlib
import os
import signal
import time

import pytest

from kit.driven import CONFIG, FILES, SHORT_INTERVAL, START, TOP
from kit.elasticd import Elasticd
from kit.load import Load
from kit.position import PositionFile
from kit.procstat import ProcStat

PATIENCE = 20
ALONE = "until elasticd writes it"
FOLLOWS = "the levels follow .*position"


class Pair:
    """A server, the elasticd that it follows, and a load that goes on meanwhile."""

    def __init__(self, httpd):
        self.server = httpd(f"{CONFIG}ElasticControl external\n"
                            "ElasticPosition {root}/run/position\n",
                            start=False, files=FILES, allow_log=[SHORT_INTERVAL])
        self.own = ProcStat(self.server.root / "stat")  # httpd's own view of the load
        self.path = self.server.root / "run" / "position"
        self.elasticd = Elasticd(self.server.root, self.path)
        self.elasticd.start()
        self.server.start()
        self.wait(True)
        self.load = Load(self.server, "/a.txt", FILES["a.txt"])

    def status(self, key):
        return self.server.status()[key]

    def wait(self, follows):
        self.server.wait_for(lambda: self.status("ElasticFollows") == str(int(follows)), PATIENCE,
                             f"ElasticFollows {int(follows)}")

    def wait_position(self, position):
        share = f"{position / TOP:.3f}"
        self.server.wait_for(lambda: self.status("ElasticPosition") == share, PATIENCE,
                             f"the position {position}")

    def level(self):
        answer = self.server.get("/a.txt", ae="gzip")
        return int(self.server.notes(answer)["elastic-level"])

    def close(self):
        self.load.stop()
        self.elasticd.close()


@pytest.fixture
def pair(httpd):
    """At its end: no request failed."""
    with contextlib.closing(Pair(httpd)) as made:
        yield made
    assert made.load.count > 20 and not made.load.failed, made.load.failed[:3]


@pytest.mark.smoke
def test_the_position_is_followed_down_and_up(pair):
    assert pair.level() == START + 1
    pair.elasticd.machine.busy = 100
    pair.wait_position(0)
    assert pair.level() == 1
    pair.elasticd.machine.busy = 0
    pair.wait_position(TOP)
    assert pair.level() == TOP + 1
    assert not pair.server.log.lines(ALONE)


# What happens to elasticd or its file, so that there is no position; and how it ends.
OUTAGES = {
    "killed": (lambda p: p.elasticd.end(signal.SIGKILL), lambda p: p.elasticd.start()),
    "told to end": (lambda p: p.elasticd.end(signal.SIGTERM), lambda p: p.elasticd.start()),
    "interrupted": (lambda p: p.elasticd.end(signal.SIGINT), lambda p: p.elasticd.start()),
    "stopped": (lambda p: p.elasticd.send(signal.SIGSTOP),
                lambda p: p.elasticd.send(signal.SIGCONT)),
    "its file unreadable": (lambda p: os.chmod(p.path, 0), lambda p: os.chmod(p.path, 0o644)),
    "gone, and its file empty": (
        lambda p: (p.elasticd.end(signal.SIGKILL), os.truncate(p.path, 0)),
        lambda p: p.elasticd.start()),
    "gone, and its file noise": (
        lambda p: (p.elasticd.end(signal.SIGKILL), p.path.write_bytes(os.urandom(64))),
        lambda p: p.elasticd.start()),
    "replaced by an old one": (
        lambda p: (p.elasticd.end(signal.SIGKILL), PositionFile(p.path).write(0, version=0)),
        lambda p: p.elasticd.start()),
}


@pytest.mark.parametrize("outage", OUTAGES)
def test_without_elasticd_httpd_goes_on_by_itself(pair, outage):
    begin, end = OUTAGES[outage]
    pair.server.expect_log(ALONE)
    begin(pair)
    pair.wait(False)
    steps = pair.status("ElasticSteps")

    def moved():
        pair.own.busy(100)
        time.sleep(0.15)
        return pair.status("ElasticSteps") != steps

    pair.server.wait_for(moved, PATIENCE, "a step of its own")
    assert pair.level() == START
    assert len(pair.server.log.lines(ALONE)) == 1, "said once"
    end(pair)
    pair.wait(True)
    pair.elasticd.machine.busy = 0
    pair.wait_position(TOP)
    assert pair.level() == TOP + 1
    assert len(pair.server.log.lines(ALONE)) == 1
    assert len(pair.server.log.lines(FOLLOWS)) == 2, "at the start, and now"


def set_aside(path):
    path.rename(path.with_suffix(".aside"))


# What elasticd, which is there, mends by itself with its next sample.
HARMS = {
    "truncated": lambda path: os.truncate(path, 0),
    "cut": lambda path: os.truncate(path, 13),
    "noise": lambda path: path.write_bytes(os.urandom(64)),
    "longer": lambda path: path.write_bytes(path.read_bytes() + bytes(5000)),
    "removed": lambda path: path.unlink(),
    "renamed": set_aside,
    "an old version": lambda path: PositionFile(path).write(0, version=0),
}


def test_a_file_that_elasticd_mends(pair):
    pair.server.expect_log(ALONE)
    for count, harm in enumerate(HARMS.values(), 1):
        harm(pair.path)
        time.sleep(0.5)
        pair.wait(True)
        assert len(pair.server.log.lines(ALONE)) <= count, "at most once for each"
    pair.elasticd.machine.busy = 100
    pair.wait_position(0)
    assert pair.level() == 1


def test_both_begin_anew(pair):
    """A graceful restart of httpd while elasticd is not there, and the other way round."""
    pair.server.expect_log(ALONE)
    pair.elasticd.machine.busy = 0
    pair.wait_position(TOP)
    pair.elasticd.machine.busy = 65
    pair.elasticd.end(signal.SIGTERM)
    pair.server.graceful()
    pair.wait(False)
    assert pair.level() == TOP + 1, "the position is kept"
    pair.elasticd.start()
    pair.wait(True)
    pair.wait_position(TOP)
    pair.server.graceful()
    pair.wait(True)
    assert pair.level() == TOP + 1
