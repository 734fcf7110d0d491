"""The sites that the rows ask, and a server of each for either side."""

import contextlib
import re
from dataclasses import dataclass, field
from pathlib import Path

from kit import Server, at, env, faults, procstat
from kit.server import StartFailed

from . import row

# All files have this time: tags and Last-Modified are the same on both sides.
MTIME = 1_700_000_000

NOTES = tuple(f"{coding}-{what}" for coding in ("gzip", "br")
              for what in ("in", "out", "ratio", "plain"))

FILTER_NOTES = "".join(
    f"{module}FilterNote {what} {coding}-{note}\n"
    for module, coding in (("Deflate", "gzip"), ("Brotli", "br"))
    for what, note in (("Input", "in"), ("Output", "out"), ("Ratio", "ratio")))

# A row sets an environment variable by a request field, so that one server answers all of them.
_ENVIRONMENT = "".join(
    f"SetEnvIf {field} ^(.+)$ {name}=$1\nSetEnvIf {field} ^empty$ {name}=\n"
    for field, name in (("X-no-gzip", "no-gzip"), ("X-no-brotli", "no-brotli"),
                        ("X-gzip-only-html", "gzip-only-text/html"),
                        ("X-force-gzip", "force-gzip")))

_MODULES = ("filter", "asis", "bucketeer", "include", "proxy", "proxy_http", "negotiation",
            "request")


def proxied(name, *lines):
    return f"<Location /{name}>\nProxyPass {{origin}}\n" + "\n".join(lines) + "\n</Location>\n"


def vhost(name, *lines):
    return (f"<VirtualHost 127.0.0.1:{{port}}>\nServerName {name}\n" + "\n".join(lines) +
            "\n</VirtualHost>\n")


_PLACES = {
    "gzip": "SetOutputFilter DEFLATE",
    "br": "SetOutputFilter BROTLI_COMPRESS",
    "br-gzip": "SetOutputFilter BROTLI_COMPRESS;DEFLATE",
    "gzip-br": "SetOutputFilter DEFLATE;BROTLI_COMPRESS",
    "inflate": "SetOutputFilter INFLATE",
    "inflate-gzip": "SetOutputFilter INFLATE;DEFLATE",
    "in": "SetInputFilter DEFLATE",
}

_BASE = """\
AddHandler send-as-is .asis
AddOutputFilter INCLUDES shtml
AddType text/html shtml
KeepAliveTimeout 1
FileETag MTime Size
ErrorDocument 413 "too large"
<Directory {docs}>
Options +Includes
</Directory>
"""

_LOG = ('LogFormat "%{X-Request}i\\t' + "\\t".join("%%{%s}n" % name for name in NOTES) +
        '" filternotes\nCustomLog {root}/notes.log filternotes\n')


@dataclass
class Site:
    config: str = ""
    before: str = ""  # in front of the places
    fault: str = ""  # of kit.faults
    started: bool = True
    cgi: dict = field(default_factory=dict)

    def text(self):
        places = "".join(at(name, line) for name, line in _PLACES.items())
        places += "".join(proxied(f"proxy-{name}", line) for name, line in _PLACES.items())
        return _BASE + _LOG + _ENVIRONMENT + self.before + places + self.config


# Filled by the chapters.
SITES = {}


class NotesServer(Server):
    def filter_notes(self, answer):
        """What the filters noted of that response, {name: text}."""
        pattern = re.compile(rf"^{re.escape(answer.id)}\t(.*)$", re.M)
        path = self.root / "notes.log"
        self.wait_for(lambda: pattern.search(path.read_text()), 10, "the line of the notes")
        return dict(zip(NOTES, pattern.search(path.read_text())[1].split("\t")))


class Side:
    """One of the two: where its deflate_module and brotli_module come from."""

    def __init__(self, origin, deflate, brotli):
        self.loads = f"LoadModule deflate_module {deflate}\nLoadModule brotli_module {brotli}\n"
        self.origin = origin
        self._servers = {}
        self._stack = contextlib.ExitStack()

    def server(self, name):
        """That site's server, started when it is asked for first; raises StartFailed."""
        if name not in self._servers:
            self._servers[name] = self._start(SITES[name])
        if isinstance(self._servers[name], StartFailed):
            raise self._servers[name]
        return self._servers[name]

    def _start(self, site):
        """A server of that site, or why it does not start."""
        config = self.loads + site.text().replace("{origin}", self.origin.url)
        server = NotesServer(config, modules=_MODULES, elastic=False,
                             cgi={"say.cgi": SAY, "echo.cgi": ECHO, **site.cgi})
        server.loads = self.loads
        server.origin = self.origin
        self._stack.callback(server.remove)
        self._stack.callback(server.stop)
        procstat.ProcStat(server.root / "stat")
        for path, data in row.FILES.items():
            server.write(path, data, mtime=MTIME)
        if site.fault:
            server.wrapper = faults.wrapper(faults.library(server.root, site.fault))
        try:
            return server.start() if site.started else server
        except StartFailed as error:
            return error

    def troubles(self):
        """Crashes and sanitizers' reports of its servers so far."""
        found = []
        for server in self._servers.values():
            if isinstance(server, Server):
                reports = (server.root / "sanitizer").iterdir()
                found += server.log.lines("exit signal")
                found += [report.read_text(errors="replace") for report in reports]
        return found

    def close(self):
        self._stack.close()


def stock(origin):
    return Side(origin, env.module_path("deflate"), env.module_path("brotli"))


def ours(origin, module):
    """With the levels where stock has them: no sample shows any load."""
    path = Path(module).resolve()
    side = Side(origin, path, path)
    side.loads += f"LoadModule elastic_module {path}\nElasticProcStat {{root}}/stat\n"
    return side


def say_body(size):
    """The body of that size which SAY writes."""
    return (b"0123456789abcde\n" * (size // 16 + 1))[:size]


# A handler that does as the query says: h= a field, size= the body, wait= a file below docs that
# must be there before the second half is written.
SAY = """\
from urllib.parse import parse_qs
ask = parse_qs(os.environ['QUERY_STRING'])
while os.environ['REQUEST_METHOD'] == 'POST' and os.read(0, 65536):
    pass
head('Content-Type: text/html', *ask.get('h', []))
size = int(ask.get('size', ['0'])[0])
body = (b'0123456789abcde\\n' * (size // 16 + 1))[:size]
if 'wait' in ask:
    out(body[:size // 2])
    gate = os.path.join(os.environ['DOCUMENT_ROOT'], ask['wait'][0])
    until = time.time() + 10
    while time.time() < until and not os.path.exists(gate):
        time.sleep(0.01)
    out(body[size // 2:])
else:
    out(body)
"""

# Says what it could read of the request.
ECHO = """\
import hashlib
body = b''
try:
    while (data := os.read(0, 65536)):
        body += data
    end = 'whole'
except OSError as error:
    end = 'error'
names = ('CONTENT_LENGTH', 'HTTP_CONTENT_ENCODING', 'HTTP_CONTENT_MD5')
head('Content-Type: text/plain')
out('%s|%d|%s' % (end, len(body), hashlib.md5(body).hexdigest()) +
    ''.join('|%s=%s' % (name, os.environ.get(name, '-')) for name in names))
"""
