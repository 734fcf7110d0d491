"""Makes scripts/benchkit importable, and finds the module under test."""

import os
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]

sys.path.insert(0, str(ROOT / "scripts"))


def pytest_configure(config):
    config.addinivalue_line("markers", "long: not in what CI runs for each push")


@pytest.fixture
def module():
    """The built module, named by ELASTIC_MODULE; what needs it is skipped where there is none."""
    path = os.environ.get("ELASTIC_MODULE")
    if not path or not os.path.exists(path):
        pytest.skip("ELASTIC_MODULE names no built module")
    return path


@pytest.fixture(autouse=True)
def affinity():
    """A run moves its process to one CPU; the tests after it get theirs back."""
    cpus = os.sched_getaffinity(0)
    yield
    os.sched_setaffinity(0, cpus)


@pytest.hookimpl(trylast=True)  # what is deselected has gone
def pytest_collection_modifyitems(items):
    """Has pytest-xdist's workers, each of which is given a run of tests at first, share those that
    start servers: they take most of the time.
    """
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", 1))
    share = max(len(items) // (4 * workers), 2)  # that of LoadScheduling
    slow = [item for item in items if "module" in item.fixturenames]
    others = [item for item in items if item not in slow]
    ordered = []
    for number in range(workers):
        mine = slow[number::workers]
        count = max(0, share - len(mine))
        ordered += mine + others[:count]
        others = others[count:]
    items[:] = ordered + others
