"""scripts/measure-memory at its smallest."""

import subprocess

import pytest

from benchkit import tools

TABLES = ["KB of a child", "MB of 4 children", "KB of 4 streams", "ms to the first byte"]


def measure_memory(*arguments):
    return subprocess.run([tools.ROOT / "scripts" / "measure-memory", *arguments],
                          capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize("names, expected", [((), TABLES), (("busy",), TABLES[1:2])])
def test_every_table_is_made(module, names, expected):
    seen = measure_memory("--smoke", *names)
    assert seen.returncode == 0, seen.stderr
    assert [title for title in TABLES if title in seen.stdout] == expected


def test_an_unknown_table():
    seen = measure_memory("all")
    assert seen.returncode == 1 and "usage:" in seen.stderr
