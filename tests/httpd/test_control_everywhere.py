"""The controllers under every MPM, over HTTP/2 as over HTTP/1.1, and for several virtual hosts."""

import functools
import itertools
import time

import pytest

from kit import env
from kit.driven import CONFIG, FILES, START, TOP, start_driven

PROTOCOLS = ("http/1.1", "h2c")

# One process, where an MPM with threads serves a connection after the other.
ONE_CHILD = None if env.MPM == "prefork" else \
    "StartServers 1\nServerLimit 1\nThreadsPerChild 32\nMaxRequestWorkers 32\nMinSpareThreads 1\n"


@pytest.fixture
def driven(httpd):
    return functools.partial(start_driven, httpd, h2=True, mpm_config=ONE_CHILD)


def levels(d, protocol, count, headers=None):
    """The gzip levels of so many responses of one process, in their order."""
    if protocol == "h2c":
        answers = [d.server.get("/a.txt", ae="gzip", protocol=protocol, headers=headers)
                   for _ in range(count)]
    else:
        with d.server.connect() as connection:
            answers = [connection.request("/a.txt", ae="gzip", headers=headers)
                       for _ in range(count)]
    assert all(a.status == 200 and a.coding == "gzip" and a.body == FILES["a.txt"]
               for a in answers)
    return [int(d.server.notes(a)["elastic-level"]) for a in answers]


def raw_position(d):
    return float(d.status()["ElasticPosition"]) * TOP


def go_on(d, percent, position):
    """One sample after the other with that load, until the position is there."""
    for _ in range(40):
        if raw_position(d) == position:
            return
        d.stat.busy(percent)
        time.sleep(0.15)
    raise AssertionError(f"{raw_position(d)}, and not {position}")


def assert_mixed(found, position):
    """The fraction's share of them took the upper level: of any first few, not only of all."""
    lower = int(position) + 1
    assert set(found) == {lower, lower + 1}
    uppers = itertools.accumulate(level == lower + 1 for level in found)
    for count, upper in enumerate(uppers, 1):
        assert abs(upper - position % 1 * count) < 3, (position, found)


@pytest.mark.smoke
@pytest.mark.protocols(*PROTOCOLS)
def test_mix_serves_its_fraction_evenly(driven, protocol):
    d = driven("ElasticControl mix")
    for percent in (90, 40, 86):
        d.nudge(percent)
        position = raw_position(d)
        assert position % 1, "a whole position would show nothing"
        assert_mixed(levels(d, protocol, 60), position)


@pytest.mark.smoke
@pytest.mark.protocols(*PROTOCOLS)
@pytest.mark.parametrize("mode", ["step", "mix", "predict"])
def test_every_mode_goes_down_and_up(driven, protocol, mode):
    d = driven(f"ElasticControl {mode}")
    levels(d, protocol, 30)
    assert d.status()["ElasticControl"] == mode
    for percent, position, way in ((100, 0, START), (0, TOP, TOP)):
        began = int(d.status()["ElasticSteps"])
        go_on(d, percent, position)
        steps = int(d.status()["ElasticSteps"]) - began
        assert set(levels(d, protocol, 5)) == {position + 1}
        assert {"step": steps == way, "mix": steps > 2, "predict": steps == 1}[mode], steps


@pytest.mark.protocols(*PROTOCOLS)
def test_goals_set_the_position(driven, protocol):
    d = driven("ElasticControl predict\nElasticGoal latency p95 1us")
    for _ in range(8):
        levels(d, protocol, 25)
        d.load(60)
    assert raw_position(d) == 0, "a latency that cannot be met"
    assert set(levels(d, protocol, 3)) == {1}
    d = driven("ElasticControl predict\nElasticGoal cost 0.0001/h 1000/GB")
    levels(d, protocol, 30)
    for percent in range(10, 20):
        d.load(percent)
    assert raw_position(d) >= START - 1, "dear bytes"


@pytest.mark.parametrize("mode", ["mix", "predict"])
def test_a_graceful_restart_keeps_a_fraction(driven, mode):
    d = driven(f"ElasticControl {mode}")
    d.nudge(90)
    position = raw_position(d)
    assert position % 1
    for _ in range(2):
        d.server.graceful()
        assert raw_position(d) == position
        assert_mixed(levels(d, "http/1.1", 40), position)


HOSTS = """
ElasticControl {mode}
<VirtualHost *:{port}>
    ServerName first
</VirtualHost>
<VirtualHost *:{port}>
    ServerName second
    ElasticLevel gzip 3 5
</VirtualHost>
<VirtualHost *:{port}>
    ServerName third
    ElasticLevel gzip 4
</VirtualHost>
<VirtualHost *:{port}>
    ServerName fourth
    Elastic Off
</VirtualHost>
"""


@pytest.mark.smoke
def test_virtual_hosts_share_the_position_and_have_their_own_bounds(httpd):
    d = start_driven(httpd, HOSTS.replace("{mode}", "mix"), mpm_config=ONE_CHILD)

    def of(host, count):
        return levels(d, "http/1.1", count, headers={"Host": host})

    for percent, expected in ((100, (1, 3)), (0, (TOP + 1, 5))):
        go_on(d, percent, 0 if percent else TOP)
        assert (set(of("first", 3)), set(of("second", 3))) == ({expected[0]}, {expected[1]})
        assert set(of("third", 3)) == {4}
        plain = d.server.get("/a.txt", ae="gzip", headers={"Host": "fourth"})
        assert plain.coding is None and plain.body == FILES["a.txt"]
    d.nudge(90)
    position = raw_position(d)
    assert position % 1
    assert_mixed(of("first", 60), position)
    whole = int(position)
    assert set(of("second", 30)) == {3 + int(p / TOP * 2 + 0.5) for p in (whole, whole + 1)}


def test_a_virtual_host_has_no_controller_of_its_own(httpd):
    for line in ("ElasticControl mix", "ElasticCPU 10 20", "ElasticGoal cpu", "ElasticLoad stat"):
        server = httpd(f"{CONFIG}<VirtualHost *:1>\n{line}\n</VirtualHost>", start=False)
        good, said = server.configtest()
        assert not good and line.split()[0] in said
