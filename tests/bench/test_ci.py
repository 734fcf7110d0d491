"""The files for those who host a CI: each job is a command that scripts/check knows, on a release
that scripts/check distribution knows."""

import os
import re
import subprocess

import pytest
import yaml

from benchkit import tools

ROOT = tools.ROOT


def github():
    job = yaml.safe_load((ROOT / ".github" / "workflows" / "check.yml").read_text())["jobs"]["check"]
    matrix = job["strategy"]["matrix"]
    assert job["container"]["image"] == "debian:${{ matrix.debian }}"
    assert job["steps"][-1]["run"] == "${{ matrix.command }}"
    return matrix["debian"], matrix["command"]


def gitlab():
    job = yaml.safe_load((ROOT / ".gitlab-ci.yml").read_text())["check"]
    [matrix] = job["parallel"]["matrix"]
    assert job["image"] == "debian:$DEBIAN" and job["script"] == ["$COMMAND"]
    return matrix["DEBIAN"], matrix["COMMAND"]


def known():
    """The words that `scripts/check --help` explains."""
    told = subprocess.run([ROOT / "scripts" / "check", "--help"], capture_output=True, text=True,
                          check=True).stdout
    return set(re.findall(r"(?m)^  (\w+) ", told))


@pytest.mark.parametrize("file", [github, gitlab])
def test_each_job_is_a_command_of_ours(file):
    releases, commands = file()
    for command in commands:
        path, *words = command.split()
        assert os.access(ROOT / path, os.X_OK), command
        assert not words or path == "scripts/check" and words[0] in known(), command
    assert ".ci/run" in commands
    text = (ROOT / "scripts" / "lib" / "distribution").read_text()
    assert set(releases) <= set(re.findall(r"(?m)^(\d+) \| \w+\)", text))


def test_both_run_the_same():
    assert github() == gitlab()
