"""Fixtures of the tests with real clients; those of tests/httpd serve here, too.

kind   each kind of server, see site.py
site   function: site(config, modules, ...) starts one of that kind for one test; see site.start()

At the end of the test something must have been compressed, unless it says `encodes=False`.

--report writes docs/results/clients.md. --visits N: see test_visits.py.
"""

import functools
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TOP / "tests" / "httpd"), str(TOP / "scripts")]

from kit import env  # noqa: E402

import site_of  # noqa: E402

pytest_plugins = ["kit.fixtures", "report"]


def pytest_addoption(parser):
    parser.addoption("--report", action="store_true", help="writes docs/results/clients.md")
    parser.addoption("--visits", type=int, default=1, help="so many visits of each site")
    parser.addoption("--http1", action="store_true", help="visits by HTTP/1.1, not by HTTP/2")


def pytest_collection_modifyitems(config, items):
    fuse = env.IS_ROOT and Path("/dev/fuse").exists()
    dropped = [item for item in items
               if item.get_closest_marker("ours") and item.callspec.params["kind"].stock
               or item.get_closest_marker("fuse") and not fuse]
    if dropped:
        config.hook.pytest_deselected(items=dropped)
        items[:] = [item for item in items if item not in dropped]


@pytest.fixture(params=site_of.KINDS, ids=lambda kind: kind.name)
def kind(request):
    return request.param


@pytest.fixture
def browser(request, tmp_path):
    with request.param(tmp_path) as made:
        yield made


@pytest.fixture
def site(httpd, kind, request, record_property):
    made = []
    record_property("what", site_of.row(request.node))

    def start(*args, encodes=True, **kw):
        made.append((kind.start(httpd, *args, **kw), encodes))
        return made[-1][0]

    yield start
    for server, encodes in made:
        if encodes:
            server.wait_for(functools.partial(site_of.encoded, server), 5, "an encoded answer")
        record_property("answers", len(site_of.answers(server)))
        record_property("encoded", len(site_of.encoded(server)))
