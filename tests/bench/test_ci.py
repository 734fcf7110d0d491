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


def github(name="check"):
    text = (ROOT / ".github" / "workflows" / f"{name}.yml").read_text()
    job = yaml.safe_load(text)["jobs"][name]
    matrix = job["strategy"]["matrix"]
    assert job["container"]["image"] == "${{ matrix.release }}"
    assert {"run": "${{ matrix.command }}"} in job["steps"]
    return [pair for one in (matrix, *matrix.get("include", ()))
            for pair in pairs(one, "release", "command")]


def gitlab(name="check"):
    jobs = yaml.safe_load((ROOT / ".gitlab-ci.yml").read_text())
    base, job = jobs[".command"], jobs[name]
    assert job["extends"] == ".command"
    assert base["image"] == "$RELEASE" and base["script"] == ["$COMMAND"]
    return [pair for one in job["parallel"]["matrix"] for pair in pairs(one, "RELEASE", "COMMAND")]


def known():
    """The words that `scripts/check --help` explains."""
    told = subprocess.run([ROOT / "scripts" / "check", "--help"], capture_output=True, text=True,
                          check=True).stdout
    return set(re.findall(r"(?m)^  (\w+) ", told))


@pytest.mark.parametrize("name", ["check", "nightly"])
@pytest.mark.parametrize("file", [github, gitlab])
def test_each_job_is_a_command_of_ours(file, name):
    text = (ROOT / "scripts" / "lib" / "distribution").read_text()
    known_releases = set(re.findall(r"(?m)^([\d.]+) \| \w+\)", text))
    for release, command in file(name):
        path, *words = command.split()
        assert os.access(ROOT / path, os.X_OK), command
        assert not words or path == "scripts/check" and words[0] in known(), command
        assert release.partition(":")[2] in known_releases, release


@pytest.mark.parametrize("file", [github, gitlab])
def test_each_release_is_checked(file):
    assert {release for release, command in file() if command == ".ci/run"} \
        == {f"{name}:{number}" for name, number in
            (("debian", "12"), ("debian", "13"), ("ubuntu", "24.04"))}


@pytest.mark.parametrize("name", ["check", "nightly"])
def test_both_run_the_same(name):
    assert github(name) == gitlab(name)


def test_the_corpus_is_kept_where_fuzzing_keeps_it():
    """No other job may overwrite it, and it is of no use to other targets."""
    text = (ROOT / ".github" / "workflows" / "nightly.yml").read_text()
    [step] = [step for step in yaml.safe_load(text)["jobs"]["nightly"]["steps"]
              if "cache" in step.get("uses", "")]
    theirs, ours = step["with"], yaml.safe_load((ROOT / ".gitlab-ci.yml").read_text())
    cache = ours["nightly"]["cache"]
    assert [theirs["path"]] == cache["paths"] == ["build/fuzz/corpus"]
    assert '$dir/corpus/$1' in (ROOT / "scripts" / "lib" / "fuzz").read_text()
    [targets] = cache["key"]["files"]
    assert {"parsers.c", "fuzz_filter.c"} <= {path.name for path in ROOT.glob(targets)}
    assert step["if"] == "contains(matrix.command, '--keep')"
    assert cache["key"]["prefix"] == "$CI_JOB_NAME_SLUG"
    assert theirs["restore-keys"] == f"fuzz-${{{{ hashFiles('{targets}') }}}}-"
    assert theirs["key"] == theirs["restore-keys"] + "${{ github.run_id }}"


def test_codeql_sees_what_a_command_of_ours_builds():
    text = (ROOT / ".github" / "workflows" / "codeql.yml").read_text()
    job = yaml.safe_load(text)["jobs"]["codeql"]
    assert [row["language"] for row in job["strategy"]["matrix"]["include"]] == ["c-cpp", "python"]
    path, *words = next(step["run"] for step in job["steps"] if "run" in step).split()
    assert os.access(ROOT / path, os.X_OK) and words[-1] in known()


def test_the_compose_file_runs_the_image_with_the_copied_module():
    """In five lines; the folder is Debian's."""
    path = ROOT / "contrib" / "compose.yml"
    web = yaml.safe_load(path.read_text())["services"]["web"]
    made = (path.parent / web["build"]["context"] / web["build"]["dockerfile"]).read_text()
    assert len(path.read_text().splitlines()) == 5 and "COPY --from=mod_elastic " in made
    assert web["volumes"][0].split(":")[1:] == ["/var/www/html", "ro"]
    assert f"EXPOSE {web['ports'][0].partition(':')[2]}\n" in made
