"""Goals that give a saved byte a price, time and cost: each response takes the setup that it pays
for."""

import time

import pytest

from kit import at, bodies, check
from kit.driven import CONFIG, START, TOP, start_driven

PAGE = bodies.html(100_000)
CLASS = 3  # of bodies between 32 and 128 KB, among the figures of ElasticCost-…
LEVELS = {"gzip": range(1, 10), "br": range(7)}


@pytest.fixture
def priced(driven):
    def start(config="", goal="time"):
        d = driven(f"ElasticGoal {goal}\n{config}\n")
        d.server.write("page.html", PAGE)
        return d
    return start


def price(status):
    return float(status["ElasticPrice"])


def level(d, ae="gzip", path="/page.html"):
    answer = d.server.get(path, ae=ae)
    assert answer.body == PAGE
    notes = d.server.notes(answer)
    return notes.get("elastic-coding"), int(notes.get("elastic-level", -1))


def costs(status, coding):
    """{level: (ns of CPU time for a KB, share of the bytes that is left)}."""
    found = {}
    for one in LEVELS[coding]:
        nsec, percent = status[f"ElasticCost-{coding}-{one}"].split()[CLASS].split("/")
        found[one] = float(nsec), float(percent) / 100
    return found


def known_costs(d):
    """The status, whose costs the next response goes by: a ladder is built anew each second."""
    time.sleep(1.1)
    return d.server.status()


def burden(cost, saved_byte):
    """What a KB of body costs: CPU time, and its bytes at their price."""
    nsec, share = cost
    return nsec + 1024 * share * saved_byte


# Loads that differ, so that each is seen to be sampled.
QUIET, FULL = (20, 21) * 3, (100, 99) * 3


@pytest.mark.parametrize("goal,worth", [
    ("time", 1600), ("time 20Mbit/s", 400), ("time 500kbit/s", 16000), ("time 1Gbit/s", 8),
    ("cost 0.045/h 0.09/GB", 7200), ("cost 4.5/h 0.09/GB", 72)])
def test_the_price_is_a_bytes_worth_by_the_delay_of_the_queue(priced, goal, worth):
    """Its time on a wire, or what sending it costs by what a nanosecond of CPU time costs."""
    d = priced(goal=goal)
    status = d.loads(*QUIET)
    assert status["ElasticGoal"] == goal
    # The delay at a load of 0.2 is 1.56 with one CPU, and less with more; the price follows it
    # where it would be 1.5 times another.
    assert worth / 1.58 / 1.5 <= price(status) <= worth
    assert float(status["ElasticPriceRate"]) == pytest.approx(8000 / price(status), rel=1e-2)
    for coding in 20 * list(LEVELS):
        level(d, coding)
    status = known_costs(d)
    for coding in LEVELS:
        used, chosen = level(d, coding)
        found = {one: burden(cost, price(status)) for one, cost in costs(status, coding).items()}
        assert used == coding
        assert found[chosen] <= 1.02 * min(found.values()), (chosen, found)
    assert price(d.loads(*FULL)) < price(status) / 100


def test_bytes_that_cost_nothing_are_not_saved_and_cpu_time_that_costs_nothing_is_spent(priced):
    for goal, wanted in (("cost 1/h 0/GB", 1), ("cost 0/h 1/GB", 9)):
        d = priced(goal=goal)
        assert (price(d.load(10)) > 0) == (wanted == 9)
        assert level(d) == ("gzip", wanted)


def test_it_goes_by_no_threshold(priced):
    d = priced()
    before = price(d.loads(*(51, 52) * 3))
    assert price(d.loads(*(79, 78) * 3)) < before / 2


@pytest.mark.parametrize("ae", ["gzip", "br", "gzip, br"])
def test_a_full_machine_takes_the_cheapest_setup_and_still_compresses(priced, ae):
    d = priced()
    d.loads(10, *FULL)
    status = known_costs(d)
    coding, chosen = level(d, ae)
    found = {(one, lev): nsec for one in ae.split(", ")
             for lev, (nsec, _) in costs(status, one).items()}
    assert found[coding, chosen] <= 1.05 * min(found.values())
    assert status["ElasticBypass"] == "0"


def test_a_job_in_the_background_does_not_end_compression(priced):
    """It is load like any other, and it may stay for days: a nice of 19 on every CPU."""
    d = priced()
    for idle in (0, 10) * 3:
        d.stat.add(nice=1000 - idle, idle=idle)
        d.wait(lambda s: float(s["ElasticCPU"]) == 1 - idle / 1000, "its load")
        assert level(d)[0] == "gzip"
    status = d.status()
    assert status["ElasticBypass"] == status["ElasticSkipped-bypass"] == "0"
    assert level(d)[1] <= 2


def test_identity_goes_out_where_a_bypass_is_configured_and_the_load_above_it(priced):
    d = priced("ElasticBypass 95")
    assert d.loads(*FULL)["ElasticBypass"] == "1"
    answer = d.server.get("/page.html", ae="gzip")
    check.plain(answer, PAGE)
    assert d.server.reason(answer) == "bypass"
    assert d.loads(*QUIET)["ElasticBypass"] == "0" and level(d)[0] == "gzip"


def test_after_a_flood_the_price_is_back_within_two_seconds(priced):
    """At the default interval, those are four samples."""
    d = priced()
    before = price(d.loads(*QUIET))
    assert price(d.loads(*FULL)) < before / 1000
    assert price(d.loads(*QUIET[:4])) > before / 4


def test_a_load_that_stays_moves_nothing(priced):
    d = priced()
    status = d.load(55)
    for percent in (54, 55, 56, 55, 57, 53):
        again = d.load(percent, settle=0)
        assert price(again) == price(status)
    assert again["ElasticSteps"] == status["ElasticSteps"]


def test_a_pinned_level_is_exactly_that(priced):
    d = priced("ElasticLevel gzip 4")
    for percent in (5, 99):
        d.load(percent)
        assert level(d) == ("gzip", 4)


def test_off_is_the_ceiling(priced):
    d = priced("ElasticControl off\nElasticLevel gzip 1 7")
    assert level(d) == ("gzip", 7)
    assert "ElasticPrice" not in d.status()


def test_sections_have_their_own_bounds(priced):
    d = priced(at("low", "ElasticLevel gzip 1 2"), goal="time 1kbit/s")
    d.load(10)
    assert level(d)[1] == 9
    assert level(d, path="/low/page.html")[1] == 2


def test_bodies_of_each_size_have_a_ladder_of_their_own(priced):
    """A byte of a body of 3 KB costs other setups than one of a body of 100 KB."""
    small = bodies.html(6000)
    d = priced(goal="time 20Mbit/s")
    d.server.write("small.html", small)
    d.load(10)
    for _ in range(20):
        d.server.get("/small.html", ae="gzip")
    status = known_costs(d)
    answer = d.server.get("/small.html", ae="gzip")
    check.encoded(answer, "gzip", small)
    at_class = {one: status[f"ElasticCost-gzip-{one}"].split()[1].split("/")
                for one in range(1, 10)}
    found = {one: burden((float(nsec), float(percent) / 100), price(status))
             for one, (nsec, percent) in at_class.items()}
    assert found[int(d.server.notes(answer)["elastic-level"])] <= 1.05 * min(found.values())


# --- without a price


def test_without_the_goal_the_position_counts_again(priced):
    d = priced()
    assert price(d.load(10)) > 0
    d.server.configure(CONFIG)
    d.server.graceful()
    d.wait(lambda s: s["ElasticGoal"] == "cpu", "the goal's end")
    assert "ElasticPrice" not in d.status()
    assert d.level() == d.position() + 1


def test_until_the_first_sample_the_position_counts(httpd):
    server = httpd("Elastic On\nElasticGoal time\nElasticInterval 60s\n",
                   files={"page.html": PAGE})
    status = server.status()
    assert status["ElasticPrice"] == status["ElasticPriceRate"] == "0.000"
    assert round(float(status["ElasticPosition"]) * TOP) == START
    assert server.notes(server.get("/page.html", ae="gzip"))["elastic-level"] == "6"


def test_the_goal_is_time_unless_a_control_or_a_goal_is_given(httpd):
    server = httpd("Elastic On")
    for config, goal in [
            ("", "time 5Mbit/s"), ("ElasticInterval 1s\nElasticCPU 40 70", "time 5Mbit/s"),
            ("ElasticControl step", "cpu"), ("ElasticControl mix", "cpu"),
            ("ElasticControl off", "cpu"), ("ElasticControl step\nElasticGoal time", "time"),
            ("ElasticGoal  cost  0.04/h\t0.08/GB", "cost 0.04/h 0.08/GB"), ("ElasticGoal cpu", "cpu")]:
        server.configure(f"Elastic On\n{config}")
        server.graceful()
        server.wait_for(lambda: server.status()["ElasticGoal"] == goal, 30, f"{config!r}: {goal}")
        assert ("ElasticPrice" in server.status()) == (goal != "cpu")


def test_the_price_outlives_a_graceful_restart(priced):
    """What the load was counts on; there is no sample until it changes."""
    d = priced()
    before = price(d.loads(10, *FULL))
    for _ in range(2):
        d.server.graceful()
        assert price(d.status()) == before
        assert level(d)[1] <= 2
    assert price(d.loads(*QUIET)) > 100 * before


def test_elastic_max_time_lowers_the_setup_that_the_price_pays_for(priced):
    d = priced(at("tight", "ElasticMaxTime 1ms"), goal="time 10kbit/s")
    large = bodies.text(3_000_000)
    d.server.write("large.txt", large)
    d.load(10)
    answers = [d.server.get(path, ae="gzip") for path in ("/large.txt", "/tight/large.txt")]
    assert all(answer.body == large for answer in answers)
    free, bounded = (int(d.server.notes(answer)["elastic-level"]) for answer in answers)
    assert free >= 6 and bounded <= 2


def test_drop_in_filters_go_by_the_price_within_their_range(httpd):
    """Up to the stock modules' levels, or what their directives say."""
    d = start_driven(httpd, "ElasticGoal time 10kbit/s\n"
                     + at("gzip", "SetOutputFilter DEFLATE")
                     + at("br", "SetOutputFilter BROTLI_COMPRESS"),
                     base=CONFIG.replace("Elastic On", ""),
                     records=("elastic", "deflate", "brotli"))
    top = {"gzip": 6, "br": 5}
    d.server.write("page.html", PAGE)
    for loads, wanted in ((QUIET, top), (FULL, {"gzip": 1, "br": 0}), (QUIET, top)):
        d.loads(*loads)
        for coding in top:
            got, found = level(d, coding, f"/{coding}/page.html")
            assert got == coding and abs(found - wanted[coding]) <= 1, (loads, coding, found)


def test_a_drop_in_filter_alone_goes_by_the_price(httpd):
    server = httpd("SetOutputFilter DEFLATE", records=("deflate",), files={"page.html": PAGE})
    server.wait_for(lambda: float(server.status()["ElasticPrice"]) > 0, 30, "a price")
    answer = server.get("/page.html", ae="gzip")
    check.encoded(answer, "gzip", PAGE)
    assert 1 <= int(server.notes(answer)["elastic-level"]) <= 6
