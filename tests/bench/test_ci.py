"""The files for those who host a CI: each job is a command that scripts/check knows, on a release
that scripts/check distribution knows."""

import itertools
import os
import re
import subprocess

import yaml

from benchkit import tools

ROOT = tools.ROOT


def jobs(matrix, release, command):
    """[(release, command)] of a matrix, whose values are words or lists of them."""
    listed = [[one] if isinstance(one, str) else one for one in (matrix[release], matrix[command])]
    return list(itertools.product(*listed))


def test_each_job_is_a_command_of_ours_and_both_run_the_same():
    github = yaml.safe_load((ROOT / ".github/workflows/check.yml").read_text())["jobs"]["check"]
    matrix = github["strategy"]["matrix"]
    assert github["container"]["image"] == "${{ matrix.release }}"
    assert github["steps"][-1]["run"] == "${{ matrix.command }}"
    found = [job for one in (matrix, *matrix["include"]) for job in jobs(one, "release", "command")]
    gitlab = yaml.safe_load((ROOT / ".gitlab-ci.yml").read_text())["check"]
    assert gitlab["image"] == "$RELEASE" and gitlab["script"] == ["$COMMAND"]
    assert found == [job for one in gitlab["parallel"]["matrix"]
                     for job in jobs(one, "RELEASE", "COMMAND")]
    # The words that `scripts/check --help` explains, and the releases that are known.
    told = subprocess.run([ROOT / "scripts" / "check", "--help"], capture_output=True, text=True,
                          check=True).stdout
    known = re.findall(r"(?m)^  (\w+) ", told)
    releases = re.findall(r"(?m)^([\d.]+) \| \w+\)",
                          (ROOT / "scripts" / "lib" / "distribution").read_text())
    for release, command in found:
        path, *words = command.split()
        assert os.access(ROOT / path, os.X_OK), command
        assert not words or path == "scripts/check" and words[0] in known, command
        assert release.partition(":")[2] in releases, release
    assert {release for release, command in found if command == ".ci/run"} \
        == {"debian:12", "debian:13", "ubuntu:24.04"}
