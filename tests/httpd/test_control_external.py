"""ElasticControl external: a position file that the tests write, and a real elasticd. No fault of
either may fail a request."""

import contextlib
import signal

import pytest

from kit import check
from kit.driven import CONFIG, FILES, SHORT_INTERVAL, START, TOP, Driven
from kit.elasticd import Elasticd
from kit.load import Load
from kit.position import HARMS, LOCKED, PositionFile
from kit.procstat import ProcStat

ALONE = "until elasticd writes it"
FOLLOWS = "the levels follow ElasticPosition .*position"


class Follower(Driven):
    """Its own view of the load is scripted, too."""

    def __init__(self, httpd, config):
        self.server = httpd(f"{CONFIG}ElasticControl external\n"
                            f"ElasticPosition {{root}}/run/position\n{config}", start=False,
                            files=FILES, allow_log=[SHORT_INTERVAL])
        self.stat = ProcStat(self.server.root / "stat")
        self.path = self.server.root / "run" / "position"
        self.file = PositionFile(self.path)

    def wait_for(self, **values):
        self.wait(lambda status: values.items() <= status.items(), str(values), 20)

    def wait_position(self, position, **values):
        self.wait_for(ElasticFollows="1", ElasticPosition=f"{position / TOP:.3f}", **values)

    def levels(self, count=3):
        return set(super().levels(count))

    def own_step(self, percent):
        """A step of httpd's own controller. Its first sample after following only sets a baseline,
        so a second load follows if the first has no effect."""
        before = self.status()["ElasticSteps"]
        for _ in range(20):
            self.stat.busy(percent)
            with contextlib.suppress(TimeoutError):
                return self.wait(lambda status: status["ElasticSteps"] != before, "a step", 0.5)
        raise AssertionError("no step of its own")

    def count(self, pattern):
        return len(self.server.log.lines(pattern))


@pytest.mark.root
def test_with_chrootdir_the_file_that_is_there_at_the_start_is_followed(httpd):
    """httpd keeps it open: its children would not find it."""
    f = Follower(httpd, "ChrootDir /\n")
    f.file.write(6.25)
    f.server.start()
    f.wait_position(6.25)
    f.server.graceful()
    f.wait_position(6.25)


@pytest.mark.smoke
def test_a_published_position_is_followed(httpd):
    """A goal sets a price only while no position is followed. The lock tells that its writer lives:
    a killed elasticd's position is dropped at once, however long the interval is."""
    f = Follower(httpd, "ElasticGoal time\n")
    f.file.write(6.25)
    f.server.start()
    f.wait_for(ElasticFollows="1")
    status = f.server.status()
    assert (status["ElasticControl"], status["ElasticCPU"]) == ("external", "0.650")
    f.wait_position(6.25)
    f.server.graceful()
    f.wait_position(6.25)
    assert f.levels(20) == {7, 8} and f.server.status()["ElasticPrice"] == "0.000"
    f.file.write(2, load=0.4)
    f.wait_position(2, ElasticCPU="0.400")
    assert f.levels() == {3}
    f.file.write(3, top=6)
    f.wait_position(4)
    assert f.levels() == {5}
    f.file.write(0, bypass=True)
    f.wait_for(ElasticBypass="1")
    answer = f.server.get("/a.txt", ae="gzip")
    check.plain(answer, FILES["a.txt"])
    assert f.server.reason(answer) == "bypass"
    assert not f.server.log.lines("warn.*position")
    f.server.expect_log("position was left by an elasticd that has ended")
    f.file.write(6, flags=LOCKED)
    f.wait_for(ElasticFollows="0")
    f.server.wait_for(lambda: f.stat.busy(30) or float(f.server.status()["ElasticPrice"]) > 0, 20,
                      "a price")
    with f.file.locked():
        f.wait_position(6, ElasticPrice="0.000")
        assert f.levels() == {7}
    f.wait_for(ElasticFollows="0")


def test_without_a_position_its_own_controller_goes_on(httpd):
    """It logs that once for each fault, and no request fails meanwhile. At the start there is no
    file."""
    f = Follower(httpd, "")
    f.server.expect_log(f"elastic: .*position .*{ALONE}")
    f.server.start()
    f.server.wait_log(ALONE)
    assert f.levels() == {START + 1}
    with Load(f.server, "/a.txt", FILES["a.txt"], clients=2) as load:
        for count, (name, harm) in enumerate(HARMS.items(), 2):
            f.file.write(7)
            f.wait_position(7)
            assert f.levels() == {8}, name
            harm(f.file)
            f.wait_for(ElasticFollows="0")
            assert f.levels() == {8}, name
            f.own_step(90)
            assert f.levels() == {7}, name
            assert (f.count(ALONE), f.count(FOLLOWS)) == (count, count - 1), name
            if f.path.is_dir():
                f.path.rmdir()
    assert load.count and not load.failed


@pytest.mark.smoke
def test_a_real_elasticd(httpd):
    """Its position is followed, and without it httpd goes on by itself. No request fails."""
    f = Follower(httpd, "")
    elasticd = Elasticd(f.server.root, f.path)

    def follow(busy, position):
        elasticd.machine.busy = busy
        f.wait_position(position)
        assert f.levels() == {position + 1}

    with contextlib.closing(elasticd):
        elasticd.start()
        f.server.start()
        f.wait_for(ElasticFollows="1")
        with Load(f.server, "/a.txt", FILES["a.txt"]) as load:
            assert f.levels() == {START + 1}
            follow(100, 0)
            follow(0, TOP)
            assert not f.count(ALONE)
            f.server.expect_log(ALONE)
            for count, stop in enumerate((signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP), 1):
                is_stopped = stop == signal.SIGSTOP
                (elasticd.send if is_stopped else elasticd.end)(stop)
                f.wait_for(ElasticFollows="0")
                f.own_step(100)
                assert f.levels() == {TOP} and f.count(ALONE) == count, "said once"
                elasticd.send(signal.SIGCONT) if is_stopped else elasticd.start()
                follow(0, TOP)
                assert (f.count(ALONE), f.count(FOLLOWS)) == (count, count + 1)
        f.server.stop()  # first, because it would notice a missing elasticd
    assert load.count > 20 and not load.failed, load.failed[:3]
