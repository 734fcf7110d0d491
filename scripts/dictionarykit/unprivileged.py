"""Runs a function as a user who may do nothing, which reads what comes from the network; or as
another one."""

import base64
import json
import os
import pwd
import signal
import sys

from dictionarykit import failure, report, sources

USER = "nobody"


def packed(value):
    """Bytes, for JSON: a pickle of such a child could run anything here."""
    if isinstance(value, bytes):
        return {"base64": base64.b64encode(value).decode()}
    raise TypeError(type(value).__name__)


def unpacked(pairs):
    return base64.b64decode(pairs["base64"]) if list(pairs) == ["base64"] else pairs


def drop(uid):
    """Root is given up for good, with its groups."""
    if os.geteuid() == 0:
        user = pwd.getpwnam(USER) if uid is None else pwd.getpwuid(uid)
        os.setgroups([])
        os.setgid(user.pw_gid)
        os.setuid(user.pw_uid)
    os.chdir("/")


def answer(function, arguments, uid):
    """What the child sends."""
    try:
        drop(uid)
        return {"value": function(*arguments)}
    except (failure.Failed, sources.Unusable, OSError) as problem:
        return {"failed": str(problem)}


def child(writer, function, arguments, uid):
    status = 1
    try:
        sent = json.dumps(answer(function, arguments, uid), default=packed)
        sys.stdout.flush()
        with open(writer, "w", encoding="ascii") as file:
            file.write(sent)
        status = 0
    except KeyboardInterrupt:
        pass
    finally:
        os._exit(status)


def call(function, *arguments, uid=None):
    """What it returns, of lists, dicts, text, numbers and bytes; tuples come as lists. Failed where
    it raises that, Unusable or OSError. `uid`: the user; None: USER."""
    reader, writer = os.pipe()
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        child(writer, function, arguments, uid)
    os.close(writer)
    try:
        with open(reader, encoding="ascii") as file:
            said = file.read()
    except BaseException:
        os.kill(pid, signal.SIGTERM)
        raise
    finally:
        os.waitpid(pid, 0)
    if not said:
        raise failure.Failed("the process without privileges has ended early")
    found = json.loads(said, object_hook=unpacked)
    if "failed" in found:
        raise failure.Failed(report.plain(found["failed"]))
    return found["value"]
