"""Runs a function as a user without rights, for reading data from the network; or as another
user."""

import base64
import json
import os
import pwd
import resource
import signal
import sys

from dictionarykit import report
from dictionarykit.exchange import Failed

USER = "nobody"
MEMORY = 2 << 30  # bytes of a child's address space
SECONDS = 3600  # of a child's life, unless it has a limit of its own


def packed(value):
    """Bytes in a form for JSON: a pickle from such a child could run anything here."""
    if isinstance(value, bytes):
        return {"base64": base64.b64encode(value).decode()}
    raise TypeError(type(value).__name__)


def answer(function, arguments, uid):
    """The child's answer. Root is given up for good, with its groups."""
    try:
        if os.geteuid() == 0:
            user = pwd.getpwnam(USER) if uid is None else pwd.getpwuid(uid)
            os.setgroups([])
            os.setgid(user.pw_gid)
            os.setuid(user.pw_uid)
        os.chdir("/")
        return {"value": function(*arguments)}
    except MemoryError:
        return {"failed": f"more than {MEMORY >> 20} MB of memory would be needed"}
    except Exception as problem:  # pylint: disable=broad-except
        name = "" if isinstance(problem, (Failed, OSError)) else f"{type(problem).__name__}: "
        return {"failed": f"{name}{problem}"}


def child(writer, function, arguments, uid, seconds):
    status = 1
    try:
        # The kernel then ends it, whatever it does.
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(int(seconds) + 1)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        # Opened with privileges, because loading the codec may need them.
        with open(writer, "w", encoding="ascii") as file:
            file.write(json.dumps(answer(function, arguments, uid), default=packed))
        sys.stdout.flush()
        status = 0
    finally:
        os._exit(status)


def call(function, *arguments, uid=None, seconds=SECONDS):
    """The function's result, of lists, dicts with names of our own, text, numbers and bytes;
    tuples come as lists. Raises Failed if it fails or exceeds these seconds. `uid`: the user;
    None: USER."""
    reader, writer = os.pipe()
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        child(writer, function, arguments, uid, seconds)
    os.close(writer)
    try:
        with open(reader, encoding="ascii") as file:
            said = file.read()
    except BaseException:
        os.kill(pid, signal.SIGTERM)
        raise
    finally:
        status = os.waitpid(pid, 0)[1]
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM:
        raise Failed(f"it took more than {seconds:.0f} seconds")
    if not said:
        raise Failed("the process without privileges has ended early")
    found = json.loads(said, object_hook=lambda one: base64.b64decode(
        one["base64"]) if list(one) == ["base64"] else one)
    if "failed" in found:
        raise Failed(report.plain(found["failed"]))
    return found["value"]
