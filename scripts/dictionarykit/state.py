"""What is known of the sites that have a dictionary: a file in the folder of each."""

import contextlib
import fcntl
import json
import os

from dictionarykit import failure, files, httpd

FILE, LOCK = "state.json", "lock"


def default_folder():
    """Where httpd may read: SELinux on Fedora and its relatives lets it below /var/www."""
    debian, other = httpd.FOLDERS
    return ("/var/www/elastic-dictionary" if os.path.isdir(other) and not os.path.isdir(debian)
            else "/var/lib/elastic-dictionary")


def add_folder(parser):
    parser.add_argument("--out", type=os.path.realpath, default=default_folder(), metavar="FOLDER",
                        help="where dictionaries are kept (%(default)s)")


def name_of(origin):
    """Of the site's folder and configuration."""
    scheme, host, port = origin
    usual = {"https": 443, "http": 80}[scheme]
    return host.replace(":", "_") + ("" if port == usual else f"_{port}")


def read_all(folder):
    """{name: state}."""
    found = {}
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        path = os.path.join(folder, name, FILE)
        if os.path.isfile(path):
            with open(path, encoding="utf-8") as file:
                found[name] = json.load(file)
    return found


def _open_lock(path):
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except OSError as problem:
        raise failure.Failed(f"{path} cannot be written: {problem.strerror}") from None


def lock(folder):
    """Waits until no other process changes the folder; none does before this one ends."""
    path = os.path.join(folder, LOCK)
    handle = None
    # remove() may have taken away what was waited for.
    while os.path.isdir(folder) and (handle is None or not os.path.exists(path)
                                     or not os.path.samestat(os.stat(path), os.fstat(handle))):
        handle = _open_lock(path)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"Waiting for another elastic-dictionary, which works on {folder} ...",
                  flush=True)
            fcntl.flock(handle, fcntl.LOCK_EX)


def remove(folder):
    """Removes the folder, under its lock, if no site is left in it."""
    if not read_all(folder):
        with contextlib.suppress(OSError):
            os.unlink(os.path.join(folder, LOCK))
            os.rmdir(folder)


def write(folder, name, state):
    files.replace(os.path.join(folder, name, FILE),
                  json.dumps(state, indent=1, sort_keys=True).encode() + b"\n")
