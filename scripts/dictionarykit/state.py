"""The sites that have a dictionary, as typed values; httpd's configuration, which follows from them
alone; files that are written atomically, and their folder."""

import contextlib
import dataclasses
import fcntl
import hashlib
import json
import os
import pathlib
import re
import stat
import time
import types
import typing

from dictionarykit import exchange, sources
from dictionarykit.exchange import Failed, Refused

VERSION = 1
FOLDER = "/var/lib/elastic-dictionary"
FILE, LOCK = "state.json", "lock"
WAIT_MOST = 900  # seconds for another command; the crawl of a renewal takes minutes
NAME = re.compile(r"site-[0-9a-f]{32}\.dict\Z")
# Characters that would end a quoted argument of the configuration.
UNQUOTED = re.compile(r'["\\\x00-\x1f\x7f]')

HEAD = ("# By elastic-dictionary, which writes this file anew; `elastic-dictionary disable` "
        "removes it.")
# With the port, so that no other origin of the host is included, such as plain http.
SITE = 'ElasticDictionaryFile "{}" match="/*" match-dest="document" host="{}"'
VERSIONED = """\
<LocationMatch "{rule.location}">
    ElasticDictionary match="{rule.match}" match-dest="{rule.dest}"
</LocationMatch>"""


def name_of(content):
    """A name never gets another content."""
    return f"site-{hashlib.sha256(content).hexdigest()[:32]}.dict"


def read_file(path):
    """Returns the content; None: there is no file."""
    with contextlib.suppress(FileNotFoundError), open(path, "rb") as file:
        return file.read()
    return None


def temporary_of(path):
    return os.path.join(os.path.dirname(path), f".{os.path.basename(path)}.new")


def replace(path, content, mode=0o644):
    """Writes a file atomically; a failure names it."""
    # A fixed name, so that the next process overwrites the remains of a killed one.
    temporary = temporary_of(path)
    try:
        remove(temporary)
        with open(temporary, "xb", opener=lambda *given: os.open(*given, mode=0o600)) as file:
            file.write(content)
            os.fchmod(file.fileno(), mode)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as problem:
        raise OSError(problem.errno, problem.strerror, path) from None
    finally:
        remove(temporary)


def remove(path):
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


@dataclasses.dataclass
class Options:
    """The options of `enable`, kept for the next dictionary."""

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
    origin: str = ""


@dataclasses.dataclass
class Figures:
    """Bytes, including headers."""

    page: float  # with brotli 5
    page_with: float
    transfer: int  # of the dictionary when it is sent
    dictionary: int


@dataclasses.dataclass
class Site:
    url: str
    dictionary: str  # the file's name
    made: int  # the time, in seconds
    options: Options
    figures: Figures
    pages: list[str]  # URLs of the pages from which it is made
    versioned: list[str]  # URLs of versioned files, which have a rule each
    renewed_at: int = 0
    renewed: str = ""  # the result of the last renewal

    @property
    def host_port(self):
        _, host, port = exchange.origin(self.url)
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def check(self):
        exchange.origin(self.url)
        if not NAME.match(self.dictionary):
            raise ValueError(f"{self.dictionary}: no name of a dictionary")


@dataclasses.dataclass
class State:
    """All sites of one httpd."""

    confdir: str
    apachectl: str
    store: str = ""  # set by the configuration; "": another file sets it
    made_store: bool = False
    sites: list[Site] = dataclasses.field(default_factory=list)
    version: int = VERSION

    def check(self):
        if self.version != VERSION or UNQUOTED.search(self.store):
            raise ValueError(f"it is of version {self.version}, or its store cannot be quoted")

    def find(self, url):
        return next((site for site in self.sites
                     if exchange.origin(site.url) == exchange.origin(url)), None)

    def put(self, site):
        """A new state with this site, whose name identifies it."""
        others = [one for one in self.sites if one.host_port != site.host_port]
        return dataclasses.replace(self, sites=sorted(others + [site],
                                                      key=lambda one: one.host_port))

    def without(self, sites):
        return dataclasses.replace(self, sites=[one for one in self.sites if one not in sites])

    def configuration(self, folder):
        """One file for all sites; None: none has a dictionary."""
        if not self.sites:
            return None
        lines = [HEAD, "<IfModule elastic_module>"]
        lines += [f'ElasticDictionaryStore "{self.store}"'] if self.store else []
        lines += [SITE.format(os.path.join(folder, site.dictionary), site.host_port)
                  for site in self.sites]
        rules = [VERSIONED.format(rule=rule) for site in self.sites
                 for rule in map(sources.rule_of, site.versioned) if rule]
        return "\n".join([*lines, *dict.fromkeys(rules), "</IfModule>", ""])


def typed(kind, value):
    """The value as `kind`; raises ValueError if it is not valid."""
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
    if type(value) is list and isinstance(kind, types.GenericAlias):
        return [typed(typing.get_args(kind)[0], one) for one in value]
    if type(value) not in ((int, float) if kind is float else (kind,)):
        raise ValueError(f"{value!r:.60} is no {kind.__name__}")
    return value


def read(path):
    """The state in a file; None: there is no file."""
    try:
        with open(path, encoding="utf-8") as file:
            return typed(State, json.load(file))
    except FileNotFoundError:
        return None
    except (ValueError, Refused) as problem:
        raise Failed(f"{path} cannot be used: {problem}") from None


def write(path, state, room=0):
    """`room`: extra bytes in the file."""
    text = json.dumps(dataclasses.asdict(state), indent=1, sort_keys=True)
    replace(path, text.encode() + b" " * room + b"\n", 0o600)


def check_secure(path):
    """Raises Failed if others than root and this user could change the path: root runs commands
    that the state names, and httpd sends the folder's files."""
    whole = pathlib.Path(os.path.realpath(path))
    for part in filter(os.path.exists, (whole, *whole.parents)):
        found = part.stat()
        writable = found.st_mode & 0o022 and not found.st_mode & stat.S_ISVTX
        if found.st_uid not in (0, os.geteuid()) or writable:
            raise Failed(f"{part} may be changed by others than root: take another one, or change "
                         "its owner and mode")


def lock(folder, seconds=WAIT_MOST):
    """Waits until no other process changes the folder; none does until this one ends."""
    path, until, said = os.path.join(folder, LOCK), time.monotonic() + seconds, False
    while os.path.isdir(folder):
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError as problem:
            raise Failed(f"{path} cannot be written: {problem.strerror}") from None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # The previous holder may have removed the file.
            if os.path.exists(path) and os.path.samestat(os.stat(path), os.fstat(handle)):
                return
        except BlockingIOError:
            if time.monotonic() >= until:
                raise Failed(f"another elastic-dictionary works on {folder} still; nothing was "
                             "changed") from None
            if not said:
                print(f"Waiting for another elastic-dictionary, which works on {folder} ...",
                      flush=True)
            said = True
            time.sleep(0.1)
        os.close(handle)
