"""The folder of a site's dictionaries. A name never gets another content, so that each may be kept
by browsers and caches for long."""

import hashlib
import os
import re
import tempfile
import threading
import types

from precompresskit import encoders, files, tally as tallies

PATTERN = "site-*.dict*"  # those beside them, too, which httpd sends in their place
NAME = re.compile(r"site-[0-9a-f]{16}\.dict\Z")
PRECOMPRESSED = ".br"  # every browser that knows dictionaries takes it


def name_of(content):
    return f"site-{hashlib.sha256(content).hexdigest()[:16]}.dict"


def present(folder):
    """The names of the dictionaries, the newest first."""
    names = [name for name in os.listdir(folder) if NAME.match(name)]
    return sorted(names, key=lambda name: (os.stat(os.path.join(folder, name)).st_mtime_ns, name),
                  reverse=True)


def read(folder, name):
    with open(os.path.join(folder, name), "rb") as file:
        return file.read()


def replace(path, content):
    """Writes a file that all may read, as a whole."""
    handle, temporary = tempfile.mkstemp(prefix=".new-", dir=os.path.dirname(path) or ".")
    try:
        with open(handle, "wb") as file:
            file.write(content)
            os.fchmod(file.fileno(), 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def write(folder, content):
    """The name of the dictionary, which is the newest now, with its precompressed file."""
    name = name_of(content)
    path = os.path.join(folder, name)
    replace(path, content)
    codecs = encoders.choose_codecs(types.SimpleNamespace(gz=False, br=True, zst=False))
    files.Maker(codecs, threading.Event()).make_all(path, path, tallies.Tally())
    return name


def prune(folder, keep):
    """Removes all but the newest and `keep` before it; the names of those that are gone."""
    gone = present(folder)[1 + keep:]
    for name in gone:
        for path in (os.path.join(folder, name + PRECOMPRESSED), os.path.join(folder, name)):
            if os.path.lexists(path):
                os.unlink(path)
    return gone
