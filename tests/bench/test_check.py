"""scripts/check itself: when it asks before it installs."""

import os
import pty
import subprocess

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
