"""Taking turns among the workers of pytest-xdist: many tests at a time, or one alone."""

import contextlib
import fcntl
import os

# A folder that all workers of a run share; not set where there is one only.
_FOLDER = os.environ.get("ELASTIC_TURNS")


@contextlib.contextmanager
def _locked(name, how):
    with open(os.path.join(_FOLDER, name), "w") as file:
        fcntl.flock(file, how)
        yield


@contextlib.contextmanager
def taken(alone):
    """Waits for the test's turn and keeps it."""
    if not _FOLDER:
        yield
        return
    with contextlib.ExitStack() as turn:
        # Who waits to be alone stays in the gate, so that no other test begins meanwhile.
        with _locked("gate", fcntl.LOCK_EX):
            turn.enter_context(_locked("turn", fcntl.LOCK_EX if alone else fcntl.LOCK_SH))
        yield
