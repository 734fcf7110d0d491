"""The rows of scripts/compare: ours differs from the stock modules where it is meant to, and only
there."""

import functools
import os
import sys
from pathlib import Path

import pytest

from kit import env

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

from comparekit import comparison, sites  # noqa: E402
from comparekit.row import get  # noqa: E402
from comparekit.rows import ROWS  # noqa: E402

pytestmark = pytest.mark.slow

CHAPTERS = list(dict.fromkeys(row.chapter for row in ROWS))


def ours(origin):
    return sites.ours(origin, env.MODULE)


@pytest.fixture(scope="module")
def compared():
    if not env.MODULE:
        pytest.skip("ELASTIC_MODULE does not name a mod_elastic.so")
    if not os.path.exists(env.module_path("brotli")):
        pytest.skip("the stock mod_brotli is not there")
    results, troubles = comparison.compare(sites.stock, ours, ROWS)
    # On a busy machine a script may be kept from ending for longer than the filter waits for it.
    surprising = [result.row for result in results if result.surprise]
    again, more = comparison.compare(sites.stock, ours, surprising) if surprising else ([], [])
    asked = {result.row.name: result for result in again}
    return [asked.get(result.row.name, result) for result in results], troubles + more


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_the_sides_differ_where_it_is_meant(compared, chapter):
    wrong = [f"{result.row.name} {result.surprise}\n  stock {result.stock}\n  ours  {result.ours}"
             for result in compared[0] if result.row.chapter == chapter and result.surprise]
    assert not wrong, "\n".join(wrong)


def test_ours_neither_crashes_nor_meets_a_sanitizer(compared):
    assert not compared[1]


def test_every_expected_difference_names_a_row():
    assert not comparison.unmatched(ROWS)


def test_rows_have_names_of_their_own():
    names = [row.name for row in ROWS]
    assert len(set(names)) == len(names), {name for name in names if names.count(name) > 1}


def test_an_answer_that_no_one_expects_is_noticed():
    """Stock beside stock: what is meant to differ does not, and the rest is the same."""
    rows = [row for row in ROWS if row.name in ("levels/DeflateWindowSize 8",
                                                "levels/DeflateWindowSize 9")]
    results, _ = comparison.compare(sites.stock, sites.stock, rows)
    assert [bool(result.surprise) for result in results] == [True, False]


def test_another_answer_is_noticed():
    """A row without an expected difference, which one side answers differently."""
    row = get("nothing/that is expected", "/gzip/page.html")
    odd = functools.partial(comparison.Result, row, {"status": "200", "coding": "gzip"})
    assert odd({"status": "200", "coding": "gzip"}).surprise is None
    assert "coding" in odd({"status": "200", "coding": "identity"}).surprise
    assert "vary" in odd({"status": "200", "coding": "gzip", "vary": "Accept-Encoding"}).surprise
