"""A position that another process sets, and httpd without it: a file that the tests write, and a
real elasticd. Nothing that becomes of either fails a request."""

import contextlib
import os
import signal
import time

import pytest

from kit.driven import CONFIG, FILES, SHORT_INTERVAL, START, TOP
from kit.elasticd import Elasticd
from kit.load import Load
from kit.position import HARMS, LOCKED, PositionFile
from kit.procstat import ProcStat


PATIENCE = 20
ALONE = "until elasticd writes it"
FOLLOWS = "the levels follow .*position"


def levels(server, count):
    """The gzip levels of so many requests, each of which came whole."""
    answers = [server.get("/a.txt", ae="gzip") for _ in range(count)]
    assert all(a.coding == "gzip" and a.body == FILES["a.txt"] for a in answers)
    return [int(server.notes(a)["elastic-level"]) for a in answers]


@pytest.fixture
def follower(httpd):
    """A server that follows a file, which is there before it starts; its own load is scripted."""
    def start(config="", **first):
        server = httpd(f"{CONFIG}ElasticControl external\nElasticPosition {{root}}/position\n"
                       f"{config}", start=False, files=FILES, allow_log=[SHORT_INTERVAL])
        stat = ProcStat(server.root / "stat")
        file = PositionFile(server.root / "position")
        file.write(**{"position": 2, **first})
        server.start()
        wait_for(server, ElasticFollows="1")
        return server, file, stat
    return start


def wait_for(server, **values):
    seen = {}

    def there():
        seen.update(server.status())
        return all(seen[key] == value for key, value in values.items())
    try:
        server.wait_for(there, PATIENCE, str(values))
    except TimeoutError as error:
        raise AssertionError({key: seen[key] for key in values}) from error


def own_step(server, stat, percent):
    """A step of httpd's own controller, whose first look after following is a beginning only."""
    before = server.status()["ElasticSteps"]

    def moved():
        stat.busy(percent)
        time.sleep(0.15)
        return server.status()["ElasticSteps"] != before
    server.wait_for(moved, PATIENCE, "a step of its own")


def test_a_goal_sets_a_price_only_while_no_position_is_followed(follower):
    server, file, stat = follower("ElasticGoal time\n")
    assert server.status()["ElasticPrice"] == "0.000"
    assert set(levels(server, 5)) == {3}
    file.path.unlink()
    server.expect_log(ALONE)
    server.wait_for(lambda: stat.busy(30) or float(server.status()["ElasticPrice"]) > 0, PATIENCE,
                    "a price")
    file.write(3)
    wait_for(server, ElasticFollows="1")
    assert server.status()["ElasticPrice"] == "0.000"
    assert set(levels(server, 5)) == {4}


@pytest.mark.smoke
def test_a_published_position_is_followed(follower):
    server, file, _ = follower()
    status = server.status()
    assert status["ElasticControl"] == "external"
    assert status["ElasticCPU"] == "0.650"
    assert set(levels(server, 5)) == {3}
    file.write(6.4, load=0.4)
    wait_for(server, ElasticPosition="0.800", ElasticCPU="0.400")
    assert set(levels(server, 20)) == {7, 8}
    file.write(3, top=6)
    wait_for(server, ElasticPosition="0.500")
    assert set(levels(server, 5)) == {5}
    file.write(0, bypass=True)
    wait_for(server, ElasticBypass="1")
    answer = server.get("/a.txt", ae="gzip")
    assert answer.coding is None and answer.body == FILES["a.txt"]
    assert server.notes(answer)["elastic-reason"] == "bypass"
    assert not server.log.lines("warn.*position")


def test_the_lock_tells_that_its_writer_lives(follower):
    """At once, however long the interval: what a killed elasticd leaves is not followed."""
    server, file, _ = follower()
    server.expect_log("position was left by an elasticd that has ended")
    file.write(6, flags=LOCKED)
    wait_for(server, ElasticFollows="0")
    with file.locked():
        wait_for(server, ElasticFollows="1", ElasticPosition="0.750")
    wait_for(server, ElasticFollows="0")


@pytest.mark.parametrize("harm", HARMS)
def test_without_a_position_its_own_controller_goes_on(follower, harm):
    server, file, stat = follower()
    server.expect_log(f"elastic: .*position .*{ALONE}")
    HARMS[harm](file)
    wait_for(server, ElasticFollows="0")
    assert set(levels(server, 3)) == {3}
    own_step(server, stat, 90)
    assert set(levels(server, 3)) == {2}
    time.sleep(0.5)
    assert len(server.log.lines(ALONE)) == 1, "said once"
    if file.path.is_dir():
        file.path.rmdir()
    file.write(7)
    wait_for(server, ElasticFollows="1", ElasticPosition="0.875")
    assert server.log.lines(FOLLOWS)
    assert set(levels(server, 3)) == {8}


def test_a_file_that_is_not_there_at_the_start(httpd):
    server = httpd(f"{CONFIG}ElasticControl external\nElasticPosition {{root}}/position",
                   start=False, files=FILES,
                   allow_log=[SHORT_INTERVAL, "position cannot be read"])
    ProcStat(server.root / "stat")
    server.start()
    wait_for(server, ElasticFollows="0")
    assert set(levels(server, 3)) == {START + 1}
    PositionFile(server.root / "position").write(0)
    wait_for(server, ElasticFollows="1", ElasticPosition="0.000")


def test_no_request_fails_whatever_becomes_of_the_file(follower):
    server, file, stat = follower()
    server.expect_log(f"elastic: .*position .*{ALONE}")
    with Load(server, "/a.txt", FILES["a.txt"], clients=4) as load:
        for harm in HARMS.values():
            harm(file)
            time.sleep(0.12)
            if file.path.is_dir():
                file.path.rmdir()
            file.write(4)
            time.sleep(0.12)
            stat.busy(65)
    assert load.count and not load.failed
    wait_for(server, ElasticFollows="1", ElasticPosition="0.500")


def test_a_followed_position_survives_a_graceful_restart(follower):
    server, file, _ = follower(position=6.25)
    wait_for(server, ElasticPosition="0.781")
    server.graceful()
    wait_for(server, ElasticFollows="1", ElasticPosition="0.781")
    file.write(1)
    wait_for(server, ElasticPosition="0.125")


# --- a real elasticd


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

    def wait(self, follows):
        wait_for(self.server, ElasticFollows=str(int(follows)))

    def wait_position(self, position):
        wait_for(self.server, ElasticPosition=f"{position / TOP:.3f}")

    def level(self):
        return levels(self.server, 1)[0]

    def close(self):
        self.load.stop()
        self.server.stop()  # first, for it would notice at once that elasticd is gone
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
    "terminated": (lambda p: p.elasticd.end(signal.SIGTERM), lambda p: p.elasticd.start()),
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
    own_step(pair.server, pair.own, 100)
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
MENDED = {
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
    for count, harm in enumerate(MENDED.values(), 1):
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
