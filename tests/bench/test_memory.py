"""scripts/measure-memory at its smallest, and what the kit reads of a process's memory."""

import subprocess

import pytest

from benchkit import memory, tools

ROLLUP = """55d-7ff ---p 00000000 00:00 0    [rollup]
Rss:                4156 kB
Pss:                 612 kB
Private_Clean:         8 kB
Private_Dirty:       204 kB
Anonymous:           500 kB
"""

TABLES = ("KB of a child", "MB of 4 children", "KB of 4 streams", "ms to the first byte")


def test_what_is_private():
    assert memory.parse_private(ROLLUP) == 212


def test_peak():
    assert memory.parse_peak("Name:\tapache2\nVmPeak:\t  99 kB\nVmHWM:\t    4156 kB\n") == 4156


def test_faults():
    assert memory.parse_faults("7 (a (b) c) S 1 7 7 0 -1 4194560 321 0 5 0 9 8") == 321


@pytest.mark.parametrize("names", [(), ("busy",)])
def test_every_table_is_made(module, names):
    seen = subprocess.run([tools.ROOT / "scripts" / "measure-memory", "--smoke", *names],
                          capture_output=True, text=True, timeout=120, check=False)
    assert seen.returncode == 0, seen.stderr
    wanted = TABLES[1:2] if names else TABLES
    assert [title for title in TABLES if title in seen.stdout] == list(wanted)


def test_an_unknown_table():
    seen = subprocess.run([tools.ROOT / "scripts" / "measure-memory", "all"],
                          capture_output=True, text=True, timeout=20, check=False)
    assert seen.returncode == 1 and "usage:" in seen.stderr
