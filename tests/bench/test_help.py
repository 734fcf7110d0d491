"""--help of each script, in sources in which nothing was built, by a python3 without packages."""

import os
import shutil
import subprocess
import sys

import pytest

from benchkit import tools

COMMANDS = [*sorted(path.name for path in (tools.ROOT / "scripts").iterdir() if path.is_file()),
            "check fire"]

# What Python runs at its start: packages beside its own library are not found then.
BARE = """\
import sys
sys.path[:] = [path for path in sys.path if not path.rstrip("/").endswith("-packages")]
"""

# Nothing is to be built or installed: a call of these is noted.
PROGRAMS = ("apt-get", "autoreconf", "cc", "configure", "dnf", "gcc", "make", "sudo")


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """The sources that scripts could read, without what was made in them."""
    folder = tmp_path_factory.mktemp("clone")
    for name in ("docs", "plugins", "scripts", "tests"):
        shutil.copytree(tools.ROOT / name, folder / name,
                        ignore=shutil.ignore_patterns("__pycache__", ".*"))
    return folder


@pytest.mark.parametrize("name", COMMANDS)
def test_help_takes_no_build_and_no_package(clone, tmp_path, name):
    (tmp_path / "sitecustomize.py").write_text(BARE)
    calls = tmp_path / "calls"
    for program in PROGRAMS:
        (tmp_path / program).write_text(f'#!/bin/sh\necho "$0 $*" >>"{calls}"\nexit 1\n')
        (tmp_path / program).chmod(0o755)
    environment = {key: value for key, value in os.environ.items()
                   if not key.startswith(("ELASTIC_", "PYTHON"))}
    environment |= {"PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1",
                    "PATH": f"{tmp_path}:{os.environ['PATH']}"}

    def run(command):
        return subprocess.run(command, shell=True, env=environment, cwd=tmp_path,
                              capture_output=True, text=True, timeout=60, check=False)

    before = set(clone.rglob("*"))
    done = run(f"{clone}/scripts/{name} --help")
    assert done.returncode == 0 and done.stdout.startswith("usage: "), done
    assert not done.stderr and not calls.exists(), done
    assert set(clone.rglob("*")) == before
    # Otherwise this would show nothing.
    assert "ModuleNotFoundError" in run(f"{sys.executable} -c 'import pytest'").stderr
