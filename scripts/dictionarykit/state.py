"""What is known of the sites that have a dictionary, as typed values, and its folder."""

import dataclasses
import fcntl
import json
import os
import re
import stat
import time
import types
import typing

from dictionarykit import failure, files, sources

VERSION = 1
FOLDER = "/var/lib/elastic-dictionary"
FILE, LOCK = "state.json", "lock"
WAIT_MOST = 900  # seconds for another command; the crawl of a renewal takes minutes
# What would end a quoted argument of the configuration.
UNQUOTED = re.compile(r'["\\\x00-\x1f\x7f]')


@dataclasses.dataclass
class Options:
    """What `enable` was given, for the next dictionary."""

    pages: str = ""
    sitemap: str = ""
    most: int = 200
    rate: float = 8
    time: int = 100
    accept_cookie: list[str] = dataclasses.field(default_factory=list)
    accept_private: bool = False
    largest: int = 512
    spread: int = 20
    cafile: str = ""


@dataclasses.dataclass
class Figures:
    """Bytes, heads counted."""

    page: float  # with brotli 5
    page_with: float
    transfer: int  # in which the dictionary goes out
    dictionary: int


@dataclasses.dataclass
class Rule:
    """Of a versioned file."""

    location: str  # regular expression of the paths
    match: str
    dest: str


@dataclasses.dataclass
class Site:
    url: str
    dictionary: str  # the file's name
    made: int  # when, in seconds
    options: Options
    figures: Figures
    pages: list[str]  # URLs of those that it is made of
    rules: list[Rule]
    renewed_at: int = 0
    renewed: str = ""  # how the last renewal went

    @property
    def host_port(self):
        _, host, port = sources.origin(self.url)
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def check(self):
        sources.origin(self.url)
        if not files.NAME.match(self.dictionary):
            raise ValueError(f"{self.dictionary}: no name of a dictionary")
        for rule in self.rules:
            if any(UNQUOTED.search(text.replace("\\", "")) for text in dataclasses.astuple(rule)):
                raise ValueError("a rule cannot be quoted")


@dataclasses.dataclass
class State:
    """Of all sites of one httpd."""

    confdir: str
    apachectl: str
    store: str = ""  # which the configuration sets; "": another file does
    made_store: bool = False
    sites: list[Site] = dataclasses.field(default_factory=list)
    version: int = VERSION

    def check(self):
        if self.version != VERSION:
            raise ValueError(f"it is of version {self.version}")
        if UNQUOTED.search(self.store):
            raise ValueError("the store cannot be quoted")

    def find(self, url):
        return next((site for site in self.sites
                     if sources.origin(site.url) == sources.origin(url)), None)

    def put(self, site):
        """Another one with this site, which has one place by its name."""
        others = [one for one in self.sites if one.host_port != site.host_port]
        return dataclasses.replace(self, sites=sorted(others + [site],
                                                      key=lambda one: one.host_port))

    def without(self, sites):
        return dataclasses.replace(self, sites=[one for one in self.sites if one not in sites])


def typed(kind, value):
    """The value as `kind`; ValueError where it is none."""
    if dataclasses.is_dataclass(kind):
        fields = {field.name: field.type for field in dataclasses.fields(kind)}
        if not isinstance(value, dict) or not set(value) <= set(fields):
            raise ValueError(f"no {kind.__name__}")
        try:
            made = kind(**{name: typed(fields[name], one) for name, one in value.items()})
        except TypeError as problem:
            raise ValueError(problem) from None
        getattr(made, "check", lambda: None)()
        return made
    if isinstance(kind, types.GenericAlias):
        if not isinstance(value, list):
            raise ValueError(f"{value!r:.60} is no list")
        return [typed(typing.get_args(kind)[0], one) for one in value]
    kinds = (int, float) if kind is float else (kind,)
    if type(value) not in kinds:
        raise ValueError(f"{value!r:.60} is no {kind.__name__}")
    return value


def read(path):
    """The state in a file; None: there is none."""
    try:
        with open(path, encoding="utf-8") as file:
            return typed(State, json.load(file))
    except FileNotFoundError:
        return None
    except (ValueError, sources.Unusable) as problem:
        raise failure.Failed(f"{path} cannot be used: {problem}") from None


def write(path, state, room=0):
    """`room`: bytes that the file has more than it needs."""
    text = json.dumps(dataclasses.asdict(state), indent=1, sort_keys=True)
    files.replace(path, text.encode() + b" " * room + b"\n", 0o600)


def check_secure(path):
    """Failed where others than root, or who runs this, could change what is there: root runs
    commands that the state names, and httpd gives out what the folder has."""
    path = os.path.realpath(path)
    while True:
        try:
            found = os.stat(path)
        except FileNotFoundError:
            found = None
        if found:
            writable = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
            if found.st_uid not in (0, os.geteuid()) or writable and not (
                    found.st_mode & stat.S_ISVTX):
                raise failure.Failed(f"{path} may be changed by others than root: take another "
                                     "one, or change its owner and mode")
        if path == "/":
            return
        path = os.path.dirname(path)


def _open_lock(path):
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as problem:
        raise failure.Failed(f"{path} cannot be written: {problem.strerror}") from None


def _take(handle, folder, until):
    said = False
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() >= until:
                raise failure.Failed(f"another elastic-dictionary works on {folder} still; nothing "
                                     "was changed") from None
        if not said:
            print(f"Waiting for another elastic-dictionary, which works on {folder} ...",
                  flush=True)
        said = True
        time.sleep(0.1)


def lock(folder, seconds=WAIT_MOST):
    """Waits until no other process changes the folder; none does before this one ends."""
    path = os.path.join(folder, LOCK)
    handle, until = None, time.monotonic() + seconds
    # Who had it may have taken away what was waited for.
    while os.path.isdir(folder) and (handle is None or not os.path.exists(path)
                                     or not os.path.samestat(os.stat(path), os.fstat(handle))):
        if handle is not None:
            os.close(handle)
        handle = _open_lock(path)
        _take(handle, folder, until)
