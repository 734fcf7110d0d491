"""Fixtures of the tests beside other people's modules; those of tests/httpd serve here, too.

--report writes docs/results/neighbours.md.
"""

import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TOP / "tests" / "httpd"), str(TOP / "scripts")]

pytest_plugins = ["kit.fixtures", "report"]


def pytest_addoption(parser):
    parser.addoption("--report", action="store_true", help="writes docs/results/neighbours.md")
