"""Files that are written as a whole."""

import hashlib
import os
import re

NAME = re.compile(r"site-[0-9a-f]{32}\.dict\Z")


def name_of(content):
    """A name never gets another content."""
    return f"site-{hashlib.sha256(content).hexdigest()[:32]}.dict"


def read(path):
    """None: it is not there."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


def temporary_of(path):
    return os.path.join(os.path.dirname(path), f".{os.path.basename(path)}.new")


def replace(path, content, mode=0o644):
    """Writes a file as a whole; what cannot be written is named."""
    # Of one name, so that what a killed process leaves behind is overwritten by the next.
    temporary = temporary_of(path)
    try:
        remove(temporary)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        with open(os.open(temporary, flags, 0o600), "wb") as file:
            file.write(content)
            os.fchmod(file.fileno(), mode)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException as problem:
        remove(temporary)
        if isinstance(problem, OSError):
            raise OSError(problem.errno, problem.strerror, path) from None
        raise


def remove(path):
    """Whether it was there."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return False
    return True
