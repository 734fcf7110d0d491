"""The position file that experiments write, as the reader for programs outside of httpd sees it."""

import importlib
import pathlib
import sys
import time

import pytest

from benchkit import position

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "plugins" / "python"))
plugin = importlib.import_module("elastic_compress.position")


@pytest.mark.parametrize("held, share", ((0, 0.0), (4.5, 0.5625), (8, 1.0)))
def test_a_reader_takes_the_position(held, share):
    got = plugin.decode(position.encode(held, 8), time.monotonic())
    assert got == (pytest.approx(share, abs=1e-5), False)


def test_it_lasts_for_as_long_as_an_experiment():
    written = position.encode(3, 8, now=100.0)
    assert plugin.decode(written, 100.0 + 6 * 60 * 60) is not None
    assert plugin.decode(written, 100.0 + 11 * 60 * 60) is None
