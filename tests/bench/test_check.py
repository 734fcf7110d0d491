"""scripts/check: when it asks before it installs, and a server under gdb."""

import json
import os
import pty
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from benchkit import tools

ASKED = f". {tools.ROOT}/scripts/lib/packages.sh; id() {{ echo $user; }}; el_apt_may wrk; echo = $?"


def may(answer=None, user=0, **environ):
    """What el_apt_may says, and its status; with an answer it has a terminal."""
    environ = {"PATH": os.environ["PATH"], "user": str(user), **environ}
    if answer is None:
        return subprocess.run(["bash", "-c", ASKED], env=environ, stdin=subprocess.DEVNULL,
                              text=True, capture_output=True, check=True, timeout=60)
    ours, theirs = pty.openpty()
    os.write(ours, answer.encode())
    try:
        # Both are the terminal; what it says comes back by a pipe, for it may be longer.
        return subprocess.run(["bash", "-c", f"exec 3>&1; {ASKED} >&3"], env=environ, stdin=theirs,
                              stdout=subprocess.PIPE, stderr=theirs, text=True, check=True,
                              timeout=60)
    finally:
        os.close(ours)
        os.close(theirs)


@pytest.mark.parametrize("answer, user, environ, status", [
    ("y\n", 1000, {}, 0), ("\n", 0, {}, 1), ("n\n", 0, {}, 1),
    ("n\n", 0, {"CI": "true"}, 0), ("n\n", 0, {"ELASTIC_INSTALL": "1"}, 0),
    (None, 0, {}, 0), (None, 1000, {}, 1), (None, 1000, {"CI": "true"}, 0)])
def test_a_terminal_is_asked_before_packages_are_installed(answer, user, environ, status):
    done = may(answer, user, **environ)
    assert done.stdout.splitlines()[-1] == f"= {status}"
    if answer is None and status:
        assert "--install" in done.stderr and "apt-get install --no-install-recommends wrk" \
            in done.stderr


def test_a_server_under_gdb(module):
    """Its test waits while it stands at a breakpoint, and passes when it goes on."""
    build = Path(module).parent.parent
    options = ["-batch", "-ex", "break el_filter_insert", "-ex", "run", "-ex", "bt 1",
               "-ex", "delete", "-ex", "continue"]
    done = subprocess.run(
        [tools.ROOT / "scripts" / "lib" / "httpd-tests", build, "-q", "-s", "-p", "kit.debug",
         "test_flush.py::test_a_body_that_starts_late"],
        env={**os.environ, "ELASTIC_GDB": shlex.join(options)}, stdin=subprocess.DEVNULL,
        text=True, capture_output=True, check=False, timeout=600)
    assert "#0  el_filter_insert (r=" in done.stdout, done
    assert "1 passed" in done.stdout and done.returncode == 0, done


def test_the_compiler_s_commands(module):
    """Each source has one that compiles it, and printing them changes nothing in the build."""
    build = Path(module).parent.parent
    before = (build / "Makefile").stat().st_mtime_ns
    done = subprocess.run([tools.ROOT / "scripts" / "lib" / "compile-commands", build], text=True,
                          stdout=subprocess.PIPE, check=True, timeout=60)
    listed = {Path(one["file"]).name: one for one in json.loads(done.stdout)}
    assert {path.name for path in (tools.ROOT / "src" / "core").glob("*.c")} <= set(listed)
    one = listed["filter.c"]
    subprocess.run([*one["arguments"], "-fsyntax-only"], cwd=one["directory"], check=True,
                   timeout=60)
    assert (build / "Makefile").stat().st_mtime_ns == before


@pytest.mark.parametrize("options, is_few", [
    ("test_flush.py -k late", True), ("-q test_flush.py::test_x", True),
    ("test_flush.py -klate", True), ("test_flush.py", False), ("-k late", False), ("test_flush.py test_keep.py -k late", False),
    ("", False), ("-m smoke", False)])
def test_some_tests_of_a_file_run_in_one_process(options, is_few):
    script = (tools.ROOT / "scripts" / "lib" / "httpd-tests").read_text()
    function = re.search(r"(?ms)^few\(\) \{.*?^\}", script)[0]
    done = subprocess.run(["sh", "-c", f"{function}\nfew {options}"], check=False, timeout=60)
    assert (done.returncode == 0) == is_few
