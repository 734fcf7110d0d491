"""Clients that take several codings equally: which one they get, at which position of the
controller, and where an engine has become slow."""

import collections
import os
import pathlib
import tempfile

import pytest

from kit import bodies, check, env, faults
from kit.driven import TOP, start_driven

PAGE = bodies.html(100_000)
ALL = "zstd, br, gzip" if env.HAS_ZSTD else "br, gzip"


@pytest.fixture(scope="module")
def d(httpd_shared):
    """A server whose position the tests set."""
    driven = start_driven(httpd_shared)
    driven.server.write("page.html", PAGE)
    return driven


def setups(server, ae, count=1):
    """The (coding, level, bytes) that as many answers have."""
    found = []
    for _ in range(count):
        answer = server.get("/page.html", ae=ae)
        check.encoded(answer, answer.coding, PAGE)
        found.append((answer.coding, int(server.notes(answer)["elastic-level"]), len(answer.raw)))
    return found


def test_the_ladder_rises_from_the_fastest_to_the_smallest(d):
    sizes = []
    codings = set()
    d.walk_to(0)
    for position in range(TOP + 1):
        d.walk_to(position)
        ((coding, _, size),) = setups(d.server, ALL)
        codings.add(coding)
        sizes.append(size)
    # The table's order, on other bodies: a rung may be a little out of place, the ends may not.
    assert sizes[0] == max(sizes) and sizes[-1] <= min(sizes) * 1.02
    assert all(after <= before * 1.05 for before, after in zip(sizes, sizes[1:]))
    assert coding == "br"
    # brotli beats zlib alone at every speed.
    assert len(codings) > 1 or not (env.HAS_ZSTD or env.HAS_ISAL or env.HAS_LIBDEFLATE)


def test_a_single_coding_has_the_level_of_its_position(d):
    d.walk_to(3)
    for ae in ("gzip", "gzip, br;q=0.9", "gzip;q=0.5, br;q=0.4, zstd;q=0.1"):
        assert [(c, level) for c, level, _ in setups(d.server, ae)] == [("gzip", 4)]


def test_only_equals_share_a_ladder(d):
    """Codings that weigh less are not chosen, at whatever position."""
    for position in (0, TOP):
        d.walk_to(position)
        ((coding, _, _),) = setups(d.server, "gzip, zstd;q=0.9, br;q=0.9")
        assert coding == "gzip"


@pytest.mark.parametrize("config,coding", [
    ("ElasticControl off", "br"), ("ElasticLevel br 4", "br"), ("ElasticCodings br", "br"),
    ("ElasticCodings br gzip\nElasticLevel br 4", "br"),
    ("ElasticControl off\nElasticCodings gzip br", "gzip")])
def test_where_nothing_moves_the_order_decides(httpd, config, coding):
    server = httpd("Elastic On\n" + config, files={"page.html": PAGE})
    assert {coding for coding, _, _ in setups(server, ALL, 3)} == {coding}


def test_head_says_what_get_carries(d):
    for position in (0, 4, TOP):
        d.walk_to(position)
        check.head_of(d.server.get("/page.html", ae=ALL), d.server.head("/page.html", ae=ALL))


def test_bounds_hold_on_the_ladder(driven):
    d = driven("ElasticLevel gzip 2 3\nElasticLevel br 1 2"
               + ("\nElasticLevel zstd 4 5" if env.HAS_ZSTD else ""))
    d.server.write("page.html", PAGE)
    bounds = {"gzip": (2, 3), "br": (1, 2), "zstd": (4, 5)}
    for nudge in (99, 99, 1, 1):
        ((coding, level, _),) = setups(d.server, ALL)
        low, high = bounds[coding]
        assert low <= level <= high
        d.stat.busy(nudge)


# --- an engine that becomes slow

SLOWED = "zstd" if env.HAS_ZSTD else "br"

# One response in 16 is measured: in the first rounds it is not known yet.
# Costs follow a change within half a minute, however many responses that are.
ROUND, ROUNDS = 64, 100


@pytest.fixture
def slowed(driven, tmp_path):
    """A server, and the file that makes one of its engines slow while it is there."""
    # Where httpd's children, who are nobody, may look.
    with tempfile.TemporaryDirectory(prefix="elastic-slow-") as folder:
        os.chmod(folder, 0o755)
        switch = pathlib.Path(folder) / "switch"
        d = driven(wrapper=faults.wrapper(faults.library(tmp_path, f"{SLOWED}-slow")),
                   environ={"ENGINE_SLOW": str(switch)})
        d.server.write("page.html", PAGE)
        yield d, switch


def codings(d, count):
    return collections.Counter(coding for coding, _, _ in setups(d.server, ALL, count))


def find_position(d):
    """From the ceiling to the floor, so that everything that is on the ladder is measured, and up
    to a position at which the engine is the usual choice; the choices there."""
    for position in range(TOP, -1, -1):
        d.walk_to(position)
        codings(d, ROUND // 2)
    # Not to the ceiling: there the smallest body is taken, whatever it costs.
    for position in range(TOP):
        d.walk_to(position)
        before = codings(d, ROUND)
        if before[SLOWED] > ROUND * 3 / 4:
            return before
    raise AssertionError(f"{SLOWED} is nowhere the usual choice")


def test_a_slowed_engine_is_left(slowed):
    d, switch = slowed
    before = find_position(d)
    switch.touch()
    after = []
    while not after or after[-1][SLOWED] >= ROUND / 4:
        assert len(after) < ROUNDS, (before, after)
        after.append(codings(d, ROUND))
