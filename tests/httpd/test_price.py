"""The setup of a response: the price of a byte that follows from a goal, the ladder of setups on
which that price or the position counts, and learned costs. tests/unit proves how goals, ladders and
costs are computed, tests/sim how they follow a load."""

import pytest

from kit import CGID_RELOADED, aborts, at, bodies, check, env, faults
from kit.driven import CONFIG, START, TOP, start_driven

PAGE, SMALL = bodies.html(100_000), bodies.html(6000)
FILES = {"page.html": PAGE, "small.html": SMALL}
# Classes of lengths for which costs are kept: those of PAGE and SMALL, and one without bodies.
OF_PAGE, OF_SMALL, UNUSED = 3, 1, 0
ALL = "zstd, br, gzip" if env.HAS_ZSTD else "br, gzip"

# Loads that differ, because a constant one changes nothing.
QUIET, FULL = (20, 21) * 3, (100, 99) * 3


@pytest.fixture
def priced(httpd):
    def start(config="", goal="time", **kw):
        d = start_driven(httpd, f"ElasticGoal {goal}\n{config}\n", **kw)
        for name, body in FILES.items():
            d.server.write(name, body)
        d.built_in, d.unused = costs(d), costs(d, UNUSED)
        return d
    return start


def price(status):
    return float(status["ElasticPrice"])


def chosen(d, ae="gzip", path="/page.html"):
    """The (coding, level) of a response, and its length."""
    answer = d.server.get(path, ae=ae)
    check.encoded(answer, answer.coding, FILES[path.rpartition("/")[2]])
    return (answer.coding, int(d.server.notes(answer)["elastic-level"])), len(answer.raw)


def level(d, path="/page.html"):
    return chosen(d, path=path)[0][1]


def costs(d, of=OF_PAGE):
    """{(coding, level): (ns of CPU time for a KB, share of the bytes left)}"""
    found = {}
    for key, row in d.status().items():
        if key.startswith("ElasticCost-"):
            _, coding, level = key.split("-")
            nsec, percent = row.split()[of].split("/")
            found[coding, int(level)] = float(nsec), float(percent) / 100
    return found


# --- goals


@pytest.mark.parametrize("goal,worth", [("time 20Mbit/s", 400), ("cost 0.045/h 0.09/GB", 7200)])
def test_the_price_is_a_bytes_worth_by_the_delay_of_the_queue(priced, goal, worth):
    """A response gets the setup that its price pays for, by the costs of bodies of its length. On a
    full CPU that is the cheapest one, and still a coding."""
    d = priced(goal=goal)
    status = d.load(*QUIET)
    assert status["ElasticGoal"] == goal
    # At a load of 0.2 the delay is 1.56 with one CPU, and less with more. The price follows a delay
    # that changes by half.
    quiet = price(status)
    assert worth / 1.58 / 1.5 <= quiet <= worth
    assert float(status["ElasticPriceRate"]) == pytest.approx(8000 / quiet, rel=1e-2)

    def is_best(byte, coding, path, of):
        burden = {one: nsec + 1024 * share * byte
                  for one, (nsec, share) in costs(d, of).items() if one[0] in coding}
        return burden[chosen(d, coding, path)[0]] <= 1.05 * min(burden.values())

    def wait_for_the_best(byte):
        # A ladder is rebuilt each second.
        d.server.wait_for(lambda: all([
            is_best(byte, coding, path, of) for coding in ("gzip", "br", "gzip, br")
            for path, of in (("/page.html", OF_PAGE), ("/small.html", OF_SMALL))]), 30, "the best")

    wait_for_the_best(quiet)
    full = d.load(*FULL)
    assert price(full) < quiet / 100 and full["ElasticBypass"] == "0"
    wait_for_the_best(0)


@pytest.mark.parametrize("config,goal,levels", [
    ("ElasticLevel gzip 4", "time", (4, 4)), ("", "cost 1/h 0/GB", (1, 1)),
    ("", "cost 0/h 1/GB", (9, 9)), (at("low", "ElasticLevel gzip 1 2"), "time 1kbit/s", (9, 2))],
    ids=["pinned", "bytes for nothing", "CPU time for nothing", "a section's bounds"])
def test_bounds_hold_whatever_the_price(priced, config, goal, levels):
    d = priced(config, goal)
    d.load(10)
    assert (level(d), level(d, "/low/page.html" if "low" in config else "/page.html")) == levels


def test_the_goal_is_time_unless_a_control_or_a_goal_is_given(httpd):
    """Until the first sample the position counts."""
    server = httpd("Elastic On\nElasticGoal time\nElasticInterval 60s\n", files=FILES,
                   allow_log=[CGID_RELOADED])
    status = server.status()
    assert status["ElasticPrice"] == status["ElasticPriceRate"] == "0.000"
    assert round(float(status["ElasticPosition"]) * TOP) == START
    assert server.notes(server.get("/page.html", ae="gzip"))["elastic-level"] == "6"
    for config, goal in [
            ("", "time 5Mbit/s"), ("ElasticInterval 1s\nElasticCPU 40 70", "time 5Mbit/s"),
            ("ElasticControl step", "cpu"), ("ElasticControl mix", "cpu"),
            ("ElasticControl off", "cpu"), ("ElasticControl step\nElasticGoal time", "time"),
            ("ElasticGoal  cost  0.04/h\t0.08/GB", "cost 0.04/h 0.08/GB"),
            ("ElasticGoal cpu", "cpu")]:
        server.configure(f"Elastic On\n{config}")
        server.graceful()
        server.wait_for(lambda: server.status()["ElasticGoal"] == goal, 30, f"{config!r}: {goal}")
        assert ("ElasticPrice" in server.status()) == (goal != "cpu")


def test_the_price_outlives_a_graceful_restart(priced):
    """The previous load still counts; there is no sample until it changes. Without the goal the
    position counts again."""
    d = priced()
    before = price(d.load(10, *FULL))
    for _ in range(2):
        d.server.graceful()
        assert price(d.status()) == before
        assert level(d) <= 2
    assert price(d.load(*QUIET)) > 100 * before
    d.server.configure(CONFIG)
    d.server.graceful()
    d.wait(lambda s: s["ElasticGoal"] == "cpu", "the goal's end")
    assert "ElasticPrice" not in d.status()
    assert level(d) == d.position() + 1


def test_drop_in_filters_go_by_the_price_within_their_range(httpd):
    """Up to the stock modules' levels, or those of their directives."""
    d = start_driven(httpd, "ElasticGoal time 10kbit/s\n"
                     + at("gzip", "SetOutputFilter DEFLATE")
                     + at("br", "SetOutputFilter BROTLI_COMPRESS"),
                     base=CONFIG.replace("Elastic On", ""),
                     records=("elastic", "deflate", "brotli"))
    top = {"gzip": 6, "br": 5}
    d.server.write("page.html", PAGE)
    for loads, wanted in ((QUIET, top), (FULL, {"gzip": 1, "br": 0}), (QUIET, top)):
        d.load(*loads)
        for coding in top:
            (got, found), _ = chosen(d, coding, f"/{coding}/page.html")
            assert got == coding and abs(found - wanted[coding]) <= 1, (loads, coding, found)


def test_a_drop_in_filter_alone_goes_by_the_price(httpd):
    server = httpd("SetOutputFilter DEFLATE", records=("deflate",), files=FILES)
    server.wait_for(lambda: price(server.status()) > 0, 30, "a price")
    answer = server.get("/page.html", ae="gzip")
    check.encoded(answer, "gzip", PAGE)
    assert 1 <= int(server.notes(answer)["elastic-level"]) <= 6


# --- the ladder of clients that take several codings equally


@pytest.fixture(scope="module")
def d(httpd_shared):
    """A server whose position the tests set. It has one child, because each child sees learned
    costs only when its ladder is a second old."""
    driven = start_driven(httpd_shared, **aborts.ONE_CHILD)
    driven.server.write("page.html", PAGE)
    return driven


def test_the_ladder_rises_from_the_fastest_to_the_smallest(d):
    sizes, codings = [], set()
    for position in range(TOP + 1):
        d.walk_to(position)
        (coding, _), size = chosen(d, ALL)
        codings.add(coding)
        sizes.append(size)
        check.head_of(d.server.get("/page.html", ae=ALL), d.server.head("/page.html", ae=ALL))
    # The order of the table, on other bodies: a setup may be slightly out of place, the ends may
    # not.
    assert sizes[0] == max(sizes) and sizes[-1] <= min(sizes) * 1.02
    assert all(after <= before * 1.05 for before, after in zip(sizes, sizes[1:]))
    assert coding == "br"
    # brotli beats zlib alone at every speed.
    assert len(codings) > 1 or not (env.HAS_ZSTD or env.HAS_ISAL or env.HAS_LIBDEFLATE)


def test_only_equals_share_a_ladder(d):
    """Codings of lower weight are never chosen; the level follows the position."""
    for position in (0, 3, TOP):
        d.walk_to(position)
        for ae in ("gzip", "gzip, zstd;q=0.9, br;q=0.9", "gzip;q=0.5, br;q=0.4, zstd;q=0.1"):
            assert chosen(d, ae)[0] == ("gzip", position + 1)


@pytest.mark.parametrize("config,coding", [
    ("ElasticControl off", "br"), ("ElasticLevel br 4", "br"), ("ElasticCodings br", "br"),
    ("ElasticCodings br gzip\nElasticLevel br 4", "br"),
    ("ElasticControl off\nElasticCodings gzip br", "gzip")])
def test_where_nothing_moves_the_order_decides(httpd, config, coding):
    server = httpd("Elastic On\n" + config, files=FILES)
    for _ in range(3):
        check.encoded(server.get("/page.html", ae=ALL), coding, PAGE)


# --- costs that are learned


def serve(d, ae, until=lambda *_: True, path="/page.html"):
    """Serves until a condition of the setups of all responses, and of the measured ones, holds;
    returns both. A setup counts as measured if its own cost has changed: changes common to all
    setups change all classes of lengths alike."""
    found = []

    def done():
        with d.server.connect() as connection:
            for _ in range(50):
                answer = connection.request(path, ae=ae)
                check.encoded(answer, answer.coding, PAGE)
        used = {(notes["elastic-coding"], int(notes["elastic-level"]))
                for notes in d.server.all_notes(answer) if "elastic-level" in notes}
        now, unused = costs(d), costs(d, UNUSED)
        found[:] = used, {
            one for one, (nsec, _) in d.built_in.items()
            if abs(now[one][0] / nsec * d.unused[one][0] / unused[one][0] - 1) > 0.002}
        return until(*found)
    d.server.wait_for(done, 60, "responses")
    return found


@pytest.mark.parametrize("whole", ["1M", "0"])
def test_costs_are_learned_from_bodies_and_from_streams(priced, whole):
    """They outlive a graceful restart, and no other. White noise saves nothing, contrary to the
    table."""
    d = priced(f"ElasticLevel gzip 6\nElasticWholeBody {whole}", "cpu")
    noise = bodies.noise(60_000)
    d.server.write("noise.txt", noise)

    def serve_noise():
        for _ in range(16):
            answer = d.server.get("/noise.txt", ae="gzip, identity;q=0")
            check.encoded(answer, "gzip", noise)
        return costs(d)["gzip", 6]

    table = d.built_in["gzip", 6]
    d.server.wait_for(lambda: serve_noise()[1] > 1.8 * table[1], 60, "learning")
    learned = costs(d)["gzip", 6]
    for _ in range(2):
        d.server.graceful()
        assert costs(d)["gzip", 6] == pytest.approx(learned, rel=0.05)
    assert serve_noise()[1] >= 0.95 * learned[1]  # the new generation continues
    d.server.restart()
    assert costs(d)["gzip", 6] == table


def test_an_engine_that_becomes_slow_costs_more(priced, tmp_path):
    """The measured time counts; tests/sim/controller.c proves the rest."""
    slow = ("zstd", 3) if env.HAS_ZSTD else ("br", 3)
    d = priced(f"ElasticControl off\nElasticLevel {slow[0]} {slow[1]}", "cpu",
               wrapper=faults.wrapper(faults.library(tmp_path, f"{slow[0]}-slow")),
               environ={"ENGINE_SLOW": "{root}/switch"})

    def ratio():
        """The time relative to an engine that does the same work on the same machine."""
        return costs(d)[slow][0] / costs(d)["gzip", 9][0]

    def serve_both(until):
        serve(d, slow[0], lambda *_: serve(d, "gzip", lambda *_: True) and until())

    serve_both(lambda: True)
    before = ratio()
    (d.server.root / "switch").touch()
    serve_both(lambda: ratio() > 1.6 * before)


def test_setups_that_are_not_in_use_are_tried_within_the_bounds(priced):
    d = priced(at("bounds", "ElasticLevel gzip 4 6"), "time 1kbit/s")
    d.load(20)
    used, known = serve(d, "gzip", lambda used, _: len(used) > 1, "/bounds/page.html")
    assert ("gzip", 6) in used
    assert used | known <= {("gzip", level) for level in (4, 5, 6)}


def test_codings_that_the_client_likes_equally_are_tried_and_those_of_less_weight_not(priced):
    d = priced()
    d.load(20)
    used, known = serve(d, "gzip, br;q=0.9, zstd;q=0.5",
                        lambda used, known: len(used) > 1 and known)
    assert {coding for coding, _ in used | known} == {"gzip"}
    serve(d, "br, gzip", lambda used, _: {"br", "gzip"} <= {one[0] for one in used})


@pytest.mark.parametrize("config,goal", [
    ("", "cpu"), ("ElasticLevel gzip 5", "time"), ("ElasticControl off", "time")])
def test_where_no_price_decides_nothing_is_tried(priced, config, goal):
    d = priced(config, goal)
    d.load(60)
    for _ in range(4):
        used, _ = serve(d, "gzip")
        assert len(used) == 1


def test_nothing_is_tried_in_place_of_the_smallest_where_the_position_asks_for_it(priced):
    d = priced("ElasticLevel gzip 1 2\nElasticLevel br 5 6", "cpu", **aborts.ONE_CHILD)
    d.walk_to(TOP)
    for _ in range(4):
        used, _ = serve(d, "gzip, br")
        assert {coding for coding, _ in used} == {"br"}
