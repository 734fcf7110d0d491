"""The files for those who host a CI: each job is a command that scripts/check knows, on a release
that scripts/check distribution knows."""

import itertools
import os
import re
import subprocess

import pytest
import yaml

from benchkit import tools

ROOT = tools.ROOT


def pairs(matrix, release, command):
    """[(release, command)] of a matrix, whose values are words or lists of them."""
    listed = [[one] if isinstance(one, str) else one for one in (matrix[release], matrix[command])]
    return list(itertools.product(*listed))


def github():
    job = yaml.safe_load((ROOT / ".github" / "workflows" / "check.yml").read_text())["jobs"]["check"]
    matrix = job["strategy"]["matrix"]
    assert job["container"]["image"] == "${{ matrix.release }}"
    assert job["steps"][-1]["run"] == "${{ matrix.command }}"
    return [pair for one in (matrix, *matrix["include"])
            for pair in pairs(one, "release", "command")]


def gitlab():
    job = yaml.safe_load((ROOT / ".gitlab-ci.yml").read_text())["check"]
    assert job["image"] == "$RELEASE" and job["script"] == ["$COMMAND"]
    return [pair for one in job["parallel"]["matrix"] for pair in pairs(one, "RELEASE", "COMMAND")]


def known():
    """The words that `scripts/check --help` explains."""
    told = subprocess.run([ROOT / "scripts" / "check", "--help"], capture_output=True, text=True,
                          check=True).stdout
    return set(re.findall(r"(?m)^  (\w+) ", told))


@pytest.mark.parametrize("file", [github, gitlab])
def test_each_job_is_a_command_of_ours(file):
    text = (ROOT / "scripts" / "lib" / "distribution").read_text()
    known_releases = set(re.findall(r"(?m)^([\d.]+) \| \w+\)", text))
    for release, command in file():
        path, *words = command.split()
        assert os.access(ROOT / path, os.X_OK), command
        assert not words or path == "scripts/check" and words[0] in known(), command
        assert release.partition(":")[2] in known_releases, release
    assert {release for release, command in file() if command == ".ci/run"} \
        == {f"{name}:{number}" for name, number in
            (("debian", "12"), ("debian", "13"), ("ubuntu", "24.04"))}


def test_both_run_the_same():
    assert github() == gitlab()
