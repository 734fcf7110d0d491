"""The fixtures are kit.fixtures'."""

pytest_plugins = ["kit.fixtures"]
