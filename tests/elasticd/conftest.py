"""The kit of tests/httpd serves here, too."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "httpd"))

from kit import messages  # noqa: E402


def pytest_configure(config):
    config.pluginmanager.register(messages)
