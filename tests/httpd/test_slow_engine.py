"""An engine that becomes slow, on a real httpd: clients that take all codings get another one."""

import collections
import os
import pathlib
import tempfile

import pytest

from kit import bodies, env, faults
from kit.driven import TOP, start_driven

PAGE = bodies.html(100_000)
ALL = "zstd, br, gzip" if env.HAS_ZSTD else "br, gzip"
SLOWED = "zstd" if env.HAS_ZSTD else "br"

# One response in 16 is measured: in the first rounds it is not known yet.
ROUND, ROUNDS = 64, 8


@pytest.fixture
def slowed(httpd, tmp_path):
    """A server, and the file that makes one of its engines slow while it is there."""
    # Where httpd's children, who are nobody, may look.
    with tempfile.TemporaryDirectory(prefix="elastic-slow-") as folder:
        os.chmod(folder, 0o755)
        switch = pathlib.Path(folder) / "switch"
        d = start_driven(httpd, wrapper=faults.wrapper(faults.library(tmp_path, f"{SLOWED}-slow")),
                         environ={"ENGINE_SLOW": str(switch)})
        d.server.write("page.html", PAGE)
        yield d, switch


def codings(d, count):
    answers = [d.server.get("/page.html", ae=ALL) for _ in range(count)]
    assert all(answer.status == 200 and answer.body == PAGE for answer in answers)
    return collections.Counter(answer.coding for answer in answers)


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
