"""Controllers beyond `step`: fractions, goals, other loads; over HTTP/2 as over HTTP/1.1, and for
several virtual hosts."""

import functools
import itertools
import time

import pytest

from kit import env
from kit.driven import CONFIG, FILES, SHORT_INTERVAL, START, TOP, start_driven

PROTOCOLS = ("http/1.1", "h2c")

# One process, where an MPM with threads serves a connection after the other.
ONE_CHILD = None if env.MPM == "prefork" else \
    "StartServers 1\nServerLimit 1\nThreadsPerChild 32\nMaxRequestWorkers 32\nMinSpareThreads 1\n"


@pytest.fixture
def driven(driven):
    return functools.partial(driven, h2=True, mpm_config=ONE_CHILD)


def go_on(d, percent, position):
    """One sample after the other with that load, until the position is there."""
    for _ in range(60):
        if d.raw_position() == position:
            return
        d.stat.busy(percent)
        time.sleep(0.11)
    raise AssertionError(f"{d.raw_position()}, and not {position}")


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
    assert d.raw_position() == START and set(d.levels(5, protocol)) == {START + 1}
    for percent in (90, 40, 86):
        d.nudge(percent)
        position = d.raw_position()
        if percent == 90:
            # 25 points above the middle, less the quiet 5: 0.2 × (1/2 + 1/4) of the range.
            assert position == pytest.approx(START - 0.2 * 0.75 * TOP, abs=0.02)
        assert position % 1, "a whole position would show nothing"
        assert_mixed(d.levels(60 if protocol == "http/1.1" else 30, protocol), position)


def test_mix_rests_around_the_middle(driven):
    d = driven("ElasticControl mix")
    before = d.status()
    for percent in (61, 69, 65, 62, 68):
        status = d.load(percent)
        assert status["ElasticSteps"] == before["ElasticSteps"]


@pytest.mark.smoke
@pytest.mark.protocols(*PROTOCOLS)
@pytest.mark.parametrize("mode", ["step", "mix"])
def test_every_mode_reaches_floor_and_ceiling(driven, protocol, mode):
    d = driven(f"ElasticControl {mode}")
    d.levels(30, protocol)
    assert d.status()["ElasticControl"] == mode
    for percent, position, way in ((100, 0, START), (0, TOP, TOP)):
        began = int(d.status()["ElasticSteps"])
        go_on(d, percent, position)
        steps = int(d.status()["ElasticSteps"]) - began
        assert set(d.levels(5, protocol)) == {position + 1}
        assert {"step": steps == way, "mix": steps > 2}[mode], steps


def test_a_graceful_restart_keeps_a_fraction_and_step_takes_the_next_below(driven):
    d = driven("ElasticControl mix")
    d.nudge(90)
    position = d.raw_position()
    assert position % 1
    for _ in range(2):
        d.server.graceful()
        assert d.raw_position() == position
        assert_mixed(d.levels(40), position)
    d.server.configure(CONFIG + "ElasticControl step")
    d.server.graceful()
    d.wait(lambda s: s["ElasticControl"] == "step", "the new configuration")
    assert d.raw_position() == int(position)
    assert set(d.levels(5)) == {int(position) + 1}


# --- where the load is read


@pytest.mark.parametrize("kind", ["auto", "stat", "cgroup"])
def test_what_the_load_is_read_from_is_said(httpd, kind):
    server = httpd(f"Elastic On\nElasticInterval 100ms\nElasticLoad {kind}", files=FILES,
                   allow_log=[SHORT_INTERVAL])
    text = server.status()["ElasticLoad"]
    assert text.startswith(("stat", "cgroup"))
    assert kind not in ("stat",) or text == "stat (as configured)"
    assert any(text in line for line in server.log.lines("elastic: the load is read from"))
    server.wait_for(lambda: int(server.status()["ElasticSamples"]) > 2, 20, "samples")
    answer = server.get("/a.txt", ae="gzip")
    assert answer.coding == "gzip" and answer.body == FILES["a.txt"]


def test_a_file_in_place_of_proc_stat_implies_stat(driven):
    assert driven().status()["ElasticLoad"] == "stat (as configured)"
    assert "as configured" not in driven("ElasticLoad auto").status()["ElasticLoad"]


# --- virtual hosts


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
        return d.levels(count, headers={"Host": host})

    for percent, expected in ((100, (1, 3)), (0, (TOP + 1, 5))):
        go_on(d, percent, 0 if percent else TOP)
        assert (set(of("first", 3)), set(of("second", 3))) == ({expected[0]}, {expected[1]})
        assert set(of("third", 3)) == {4}
        plain = d.server.get("/a.txt", ae="gzip", headers={"Host": "fourth"})
        assert plain.coding is None and plain.body == FILES["a.txt"]
    d.nudge(90)
    position = d.raw_position()
    assert position % 1
    assert_mixed(of("first", 60), position)
    whole = int(position)
    assert set(of("second", 30)) == {3 + int(p / TOP * 2 + 0.5) for p in (whole, whole + 1)}


def test_a_virtual_host_has_no_controller_of_its_own(httpd):
    for line in ("ElasticControl mix", "ElasticCPU 10 20", "ElasticGoal cpu", "ElasticLoad stat"):
        server = httpd(f"{CONFIG}<VirtualHost *:1>\n{line}\n</VirtualHost>", start=False)
        good, said = server.configtest()
        assert not good and line.split()[0] in said
