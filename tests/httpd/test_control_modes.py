"""Controllers beyond `step`: fractions, goals, other loads, and a position that others set."""

import collections
import itertools
import threading
import time

import pytest

from kit import env
from kit.driven import CONFIG, FILES, SHORT_INTERVAL, START, TOP
from kit.position import HARMS, PositionFile
from kit.procstat import ProcStat

CHUNKS = 40


def levels(server, count=CHUNKS):
    """The gzip levels of so many requests, each of which came whole."""
    answers = [server.get("/a.txt", ae="gzip") for _ in range(count)]
    assert all(a.coding == "gzip" and a.body == FILES["a.txt"] for a in answers)
    return [int(server.notes(a)["elastic-level"]) for a in answers]


def raw_position(status):
    return float(status["ElasticPosition"]) * TOP


@pytest.mark.smoke
def test_mix_goes_by_fractions(driven):
    d = driven("ElasticControl mix")
    assert d.status()["ElasticControl"] == "mix"
    assert raw_position(d.status()) == START
    assert set(levels(d.server, 5)) == {START + 1}
    d.nudge(90)
    # 25 points above the middle, less the quiet 5: 0.2 × (1/2 + 1/4) of the range.
    position = raw_position(d.status())
    assert position == pytest.approx(START - 0.2 * 0.75 * TOP, abs=0.02)
    seen = collections.Counter(levels(d.server))
    lower = int(position) + 1
    assert set(seen) == {lower, lower + 1}
    if env.MPM != "prefork":
        # Every process has a count of its own, and the few of a threaded server are enough.
        assert seen[lower + 1] / CHUNKS == pytest.approx(position % 1, abs=0.2)


def test_mix_rests_around_the_middle(driven):
    d = driven("ElasticControl mix")
    before = d.status()
    for percent in (61, 69, 65, 62, 68):
        status = d.load(percent)
        assert status["ElasticSteps"] == before["ElasticSteps"]


@pytest.mark.parametrize("mode", ["mix", "predict"])
def test_floor_and_ceiling_are_reached(driven, mode):
    d = driven(f"ElasticControl {mode}")
    assert d.status()["ElasticControl"] == mode
    for percent, position in ((100, 0), (0, TOP)):
        for _ in range(30):
            d.stat.busy(percent)
            time.sleep(0.12)
        d.wait(lambda s: raw_position(s) == position, f"position {position}")
        assert set(levels(d.server, 5)) == {position + 1}


def test_predict_goes_to_the_floor_at_once_and_up_after_two(driven):
    """Costs are known as soon as something was compressed; a full CPU hides what is asked of it."""
    d = driven("ElasticControl predict")
    levels(d.server, 30)
    d.nudge(100)
    assert raw_position(d.status()) == 0
    assert set(levels(d.server, 10)) == {1}
    steps = int(d.status()["ElasticSteps"])
    assert int(d.load(1)["ElasticSteps"]) == steps, "one quiet interval is not believed"
    d.nudge(2)
    assert raw_position(d.status()) == TOP


def test_a_fraction_does_not_survive_a_change_to_step(driven):
    d = driven("ElasticControl mix")
    d.nudge(90)
    assert raw_position(d.status()) % 1
    d.server.configure(CONFIG + "ElasticControl step")
    d.server.graceful()
    d.wait(lambda s: s["ElasticControl"] == "step", "the new configuration")
    assert raw_position(d.status()) == 3
    assert set(levels(d.server, 5)) == {4}


def test_a_latency_that_cannot_be_met_ends_at_the_floor(driven):
    d = driven("ElasticControl mix\nElasticGoal latency p95 1us")
    for _ in range(12):
        levels(d.server, 25)
        d.load(65)
    assert raw_position(d.status()) == 0


def test_a_latency_that_is_met_leaves_the_cpu_as_the_guard(driven):
    d = driven("ElasticControl step\nElasticGoal latency p95 60s")
    levels(d.server, 30)
    assert d.position(d.load(90)) == START - 1
    levels(d.server, 30)
    assert d.position(d.load(10)) == START


def test_a_cost_without_figures_moves_nothing(driven):
    d = driven("ElasticGoal cost 0.04/h 0.08/GB")
    assert d.position(d.load(66)) == START
    assert d.position(d.load(90)) == START - 1


def test_a_cost_ends_at_the_cheapest_setup(driven):
    """Dear CPUs: the floor. Dear bytes: from the floor up, to where a step saves next to nothing."""
    cheap_bytes = driven("ElasticControl predict\nElasticGoal cost 1000/h 0.0001/GB")
    dear_bytes = driven("ElasticControl predict\nElasticGoal cost 0.0001/h 1000/GB")
    for d in (cheap_bytes, dear_bytes):
        levels(d.server, 30)
    assert raw_position(dear_bytes.load(99)) <= 1
    for percent in range(10, 20):
        ends = [raw_position(d.load(percent)) for d in (cheap_bytes, dear_bytes)]
    assert ends[0] <= 1 and ends[1] >= START - 1


@pytest.mark.parametrize("kind", ["auto", "stat", "cgroup", "psi"])
def test_what_the_load_is_read_from_is_said(httpd, kind):
    server = httpd(f"Elastic On\nElasticInterval 100ms\nElasticLoad {kind}", files=FILES,
                   allow_log=[SHORT_INTERVAL])
    text = server.status()["ElasticLoad"]
    assert text.startswith(("stat", "cgroup"))
    assert kind not in ("stat",) or text == "stat (as configured)"
    assert any(text in line for line in server.log.lines("elastic: the load is that of"))
    server.wait_for(lambda: int(server.status()["ElasticSamples"]) > 2, 20, "samples")
    answer = server.get("/a.txt", ae="gzip")
    assert answer.coding == "gzip" and answer.body == FILES["a.txt"]


def test_a_file_in_place_of_proc_stat_implies_stat(driven):
    assert driven().status()["ElasticLoad"] == "stat (as configured)"
    assert "as configured" not in driven("ElasticLoad auto").status()["ElasticLoad"]


# ElasticControl external


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
    done = threading.Event()
    failed = []

    def ask():
        while not done.is_set():
            answer = server.get("/a.txt", ae="gzip")
            if answer.status != 200 or answer.body != FILES["a.txt"]:
                failed.append(answer)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        for harm, _ in itertools.product(HARMS.values(), range(2)):
            harm(file)
            time.sleep(0.12)
            if file.path.is_dir():
                file.path.rmdir()
            file.write(4)
            time.sleep(0.12)
            stat.busy(65)
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert not failed
    wait_for(server, ElasticFollows="1", ElasticPosition="0.500")


def test_a_followed_position_survives_a_graceful_restart(follower):
    server, file, _ = follower(position=6.25)
    wait_for(server, ElasticPosition="0.781")
    server.graceful()
    wait_for(server, ElasticFollows="1", ElasticPosition="0.781")
    file.write(1)
    wait_for(server, ElasticPosition="0.125")
