"""What is known of the sites that have a dictionary: a file in the folder of each."""

import contextlib
import fcntl
import json
import os

from dictionarykit import failure, files, httpd

FILE = "state.json"


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


def lock(folder):
    """Until this process ends no other one changes the folder; Failed where one does so now."""
    with contextlib.suppress(FileNotFoundError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise failure.Failed(f"another elastic-dictionary works on {folder}: try again when it "
                                 "has ended") from None


def write(folder, name, state):
    files.replace(os.path.join(folder, name, FILE),
                  json.dumps(state, indent=1, sort_keys=True).encode() + b"\n")
