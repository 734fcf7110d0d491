"""A position that another process sets, and what becomes of httpd without it."""

import time

import pytest

from kit.driven import CONFIG, FILES, SHORT_INTERVAL, START
from kit.load import Load
from kit.position import HARMS, PositionFile
from kit.procstat import ProcStat


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
        server.wait_for(there, 20, str(values))
    except TimeoutError as error:
        raise AssertionError({key: seen[key] for key in values}) from error


def own_step(server, stat, percent):
    """A step of httpd's own controller, whose first look after following is a beginning only."""
    before = server.status()["ElasticSteps"]

    def moved():
        stat.busy(percent)
        time.sleep(0.15)
        return server.status()["ElasticSteps"] != before
    server.wait_for(moved, 20, "a step of its own")


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


@pytest.mark.parametrize("harm", HARMS)
def test_without_a_position_its_own_controller_goes_on(follower, harm):
    server, file, stat = follower()
    server.expect_log("elastic: .*position .*until elasticd writes it")
    HARMS[harm](file)
    wait_for(server, ElasticFollows="0")
    assert set(levels(server, 3)) == {3}
    own_step(server, stat, 90)
    assert set(levels(server, 3)) == {2}
    time.sleep(0.5)
    assert len(server.log.lines("until elasticd writes it")) == 1, "said once"
    if file.path.is_dir():
        file.path.rmdir()
    file.write(7)
    wait_for(server, ElasticFollows="1", ElasticPosition="0.875")
    assert server.log.lines("the levels follow .*position")
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
    server.expect_log("elastic: .*position .*until elasticd writes it")
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
