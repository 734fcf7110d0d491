"""Fixtures of the tests beside other people's modules; those of tests/httpd serve here, too.

--report writes docs/results/neighbours.md.
"""

import importlib.util
import sys
from pathlib import Path


TOP = Path(__file__).resolve().parents[2]
HTTPD = TOP / "tests" / "httpd"
sys.path[:0] = [str(HTTPD), str(TOP / "scripts")]
_spec = importlib.util.spec_from_file_location("httpd_fixtures", HTTPD / "conftest.py")
httpd_fixtures = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(httpd_fixtures)

import report  # noqa: E402


def pytest_addoption(parser):
    parser.addoption("--report", action="store_true", help="writes docs/results/neighbours.md")


def pytest_configure(config):
    config.pluginmanager.register(httpd_fixtures)
    config.pluginmanager.register(report)
