"""scripts/bench instructions: the instructions that a response takes in httpd, in user space.

Each server runs under valgrind's callgrind as one process, with prefork, and answers some requests
over one connection; another one of its kind answers more of them, and the difference counts. Only
the thread that answers is counted: the timer's costs by the second, not by the response.

What may vary is held fixed, so that the figures come out again to some hundred on whatever machine
has the same httpd, libraries and build, and a CPU for which they choose the same code: the bytes
that are served and their file's time, levels, the configuration, and whether the server waits for a
request. valgrind places memory, so that nothing depends on where it lies.
"""

import dataclasses
import json
import os
import pathlib
import pwd
import re
import socket
import time

from benchkit import codecs, corpus, machine, memory, server, setups, tools
from benchkit.http1 import Responses
from benchkit.run import Run, Scale
from benchkit.setups import Setup

FEW, MORE = 100, 400  # requests
SMOKE = 5, 25

KB = 1024
PAGE, PICTURE, SMALL = "/page.html", "/picture.png", "/small.html"
FILES = {PAGE: 16 * KB, PICTURE: 16 * KB, SMALL: 1000}
FILE_TIME = 1_700_000_000  # httpd writes it into the header
SETTLED = 2.1  # seconds after which a file's own numbers name it, see src/core/entry.c

PATIENCE = 120  # seconds for what takes one where nothing else runs: callgrind is 50 times slower

SELDOM = "ElasticInterval 60s\n"
FIXED = f"ElasticControl off\n{SELDOM}"
ON = f"Elastic On\n{FIXED}"
CACHED = f"{ON}ElasticLevel gzip 6 6\nElasticCache On\nElasticCacheStore shmcb\n"


def mod_deflate(level):
    return Setup("AddOutputFilterByType DEFLATE text/html\n"
                 f"DeflateCompressionLevel {level}\n", ("filter", "deflate"))


def mod_brotli(quality):
    return Setup("AddOutputFilterByType BROTLI_COMPRESS text/html\n"
                 f"BrotliCompressionQuality {quality}\n", ("filter", "brotli"), "br")


@dataclasses.dataclass(frozen=True)
class Response:
    """One kind of response; `beyond` names the one that it is compared with."""

    setup: Setup
    path: str = PAGE
    beyond: str = ""
    coding: str = ""  # that must come; `accept` is what the client sends
    accept: str = "gzip"
    kept: bool = False  # whether its encoding must be found in the cache


def encoded(setup, **more):
    return Response(setup, PAGE, "httpd alone", setup.coding, setup.coding, **more)


OURS = Setup(ON)
DROP_IN = Setup("LoadModule deflate_module ${{module}}\n" + mod_deflate(6).snippet, ("filter",))
ALONE = setups.NOTHING

RESPONSES = {
    "httpd alone": Response(ALONE),
    "httpd alone, another type": Response(ALONE, PICTURE),
    "httpd alone, 1,000 bytes": Response(ALONE, SMALL),
    "httpd alone, a client that accepts nothing": Response(ALONE, accept=""),
    "`Elastic Off`": Response(Setup(FIXED), PAGE, "httpd alone"),
    "a type that is not listed": Response(OURS, PICTURE, "httpd alone, another type"),
    "the same, mod_deflate": Response(mod_deflate(6), PICTURE, "httpd alone, another type"),
    "the same, this module in its place": Response(DROP_IN, PICTURE, "httpd alone, another type"),
    "1,000 bytes": Response(OURS, SMALL, "httpd alone, 1,000 bytes"),
    "a client that accepts nothing": Response(
        OURS, PAGE, "httpd alone, a client that accepts nothing", accept=""),
    "cached": encoded(Setup(CACHED), kept=True),
    **{f"{coding} {level}": encoded(setups.ours(coding, level, SELDOM)) for coding, level in (
        ("gzip", 1), ("gzip", 6), ("br", 1), ("br", 5), ("zstd", 3))},
    **{f"mod_deflate {level}": encoded(mod_deflate(level)) for level in (1, 6)},
    **{f"mod_brotli {level}": encoded(mod_brotli(level)) for level in (1, 5)},
}
SMOKED = ("httpd alone", "gzip 1")  # in a smoke run


class Counted(memory.Prefork):
    """An httpd of one process under callgrind; it listens as soon as it answers."""

    def __init__(self, run, folder, snippet, **options):
        super().__init__(run, folder, snippet, children=1, **options)
        self.profile = self.folder / "profile"
        user = server.unprivileged_user()
        if user:  # as which it writes its profile
            os.chown(self.folder, pwd.getpwnam(user).pw_uid, -1)

    start = server.Server.start

    def configure(self):
        # Every server has the section of the status, which takes some instructions of a request.
        status = "" if self.elastic else "<Location /elastic-status>\n</Location>\n"
        # It ends by itself: a signal while it works may leave it waiting for its own thread.
        return (f"Define module {tools.elastic_module()}\n{super().configure()}\n{status}"
                "MaxConnectionsPerChild 1\n")

    def command(self):
        return [tools.find("valgrind"), "-q", "--tool=callgrind", "--separate-threads=yes",
                f"--callgrind-out-file={self.profile}", tools.httpd(), "-X", "-f",
                str(self.configuration)]

    def waits(self):
        """Whether the thread that answers, the first, sleeps: it waits for a request."""
        text = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text(encoding="utf-8")
        return text[text.rindex(")") + 2] == "S"

    def listens(self):
        # Without a connection: the server ends after the first.
        with open("/proc/net/tcp", encoding="ascii") as file:
            return f":{self.port:04X} 00000000:0000 0A" in file.read()

    def instructions(self):
        """Those from its start to its end, when it has ended."""
        tools.wait_for(lambda: self.process.poll() is not None, PATIENCE)
        return instructions_of(pathlib.Path(f"{self.profile}-01").read_text(encoding="utf-8"))


def instructions_of(text):
    """All that a profile counts."""
    found = re.search(r"^(?:summary|totals): (\d+)", text, re.MULTILINE)
    if not found:
        raise tools.BenchError("callgrind's profile has no sum")
    return int(found.group(1))


def request_of(path, accept):
    fields = ["Host: localhost", "User-Agent: bench"]
    if accept:
        fields.append(f"Accept-Encoding: {accept}")
    return "\r\n".join((f"GET {path} HTTP/1.1", *fields, "", "")).encode()


def exchange(httpd, connection, request):
    """(status, coding, body) of a request that is sent when the server waits for it."""
    tools.wait_for(httpd.waits, PATIENCE, 0.0005)
    connection.sendall(request)
    body, parser = bytearray(), Responses()
    while data := connection.recv(1 << 16):
        for piece, complete in parser.feed(data):
            body += piece
            if complete:
                coding = parser.fields.get(b"content-encoding", b"").decode()
                return parser.status, coding, bytes(body)
    raise tools.BenchError("httpd closed the connection")


def ask(httpd, name, response, times):
    """Sends a request again and again over one connection, and checks what comes."""
    body = (httpd.site / response.path[1:]).read_bytes()
    request = request_of(response.path, response.accept)
    with socket.create_connection((httpd.address, httpd.port), PATIENCE) as connection:
        for _ in range(times):
            status, coding, sent = exchange(httpd, connection, request)
            if (status, coding) != (200, response.coding):
                raise codecs.WrongBody(f"{name}: {status}, Content-Encoding '{coding}'")
            if codecs.decode(sent, coding) != body:
                raise codecs.WrongBody(f"{name}: the body is another one")
        if response.kept:
            lines = exchange(httpd, connection, request_of("/elastic-status?auto", ""))[2].decode()
            # The first two are encoded: what was seen once is not kept.
            if server.parse_counters(lines)["ElasticCacheHits"] < times - 2:
                raise tools.BenchError(f"{name}: not found in the cache")


def count(run, site, name, response, times):
    """The instructions of a server from its start to its end."""
    modules = setups.CACHE if response.kept else ()
    httpd = response.setup.serve(run, run.new_name("server"), kind=Counted, site=site,
                                 modules=modules)
    httpd.start()
    ask(httpd, name, response, times)
    return httpd.instructions()


def make_site(run):
    """The folder of what is served: invented text, which is the same on every machine."""
    site = run.folder("site")
    for path, size in FILES.items():
        (site / path[1:]).write_bytes(corpus.invented_html(size))
        os.utime(site / path[1:], (FILE_TIME, FILE_TIME))
    time.sleep(SETTLED)
    return site


def per_response(responses, requests, say):
    """{name: instructions of one response}."""
    few, more = requests
    found = {}
    with Run("instructions", Scale(1, 0), "", say=say) as run:
        site = make_site(run)
        for name, response in responses.items():
            low, high = (count(run, site, name, response, times) for times in requests)
            found[name] = round((high - low) / (more - few))
            say(f"{name}: {found[name]}")
    return found


def table(found, baseline=None):
    """The figures in Markdown, beside those of a baseline where there is one."""
    heads = ["a response", "instructions", "beyond httpd alone"]
    heads += ["before", "difference"] if baseline is not None else []
    lines = ["| " + " | ".join(heads) + " |", "|---" + "|---:" * (len(heads) - 1) + "|"]
    for name, figure in found.items():
        alone = found.get(RESPONSES[name].beyond)
        cells = [name, f"{figure:,}", "" if alone is None else f"{figure - alone:,}"]
        if baseline is not None:
            before = baseline.get(name)
            cells += ["", ""] if before is None else [f"{before:,}", f"{figure - before:+,}"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def load(path):
    """The figures that were written to a file."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))["instructions"]
    except (ValueError, KeyError, TypeError):
        raise tools.BenchError(f"{path} has no figures of scripts/bench instructions") from None


def measure(options, say):
    """The action of the command line."""
    tools.find("valgrind")
    baseline = load(options.baseline) if options.baseline else None
    smoke = options.scale == "smoke"
    responses = {name: RESPONSES[name] for name in (SMOKED if smoke else RESPONSES)}
    found = per_response(responses, SMOKE if smoke else (FEW, MORE), say)
    versions = [machine.httpd_version(), machine.module_version(), *machine.library_versions()]
    print(f"{', '.join(versions)}\n\n{table(found, baseline)}")
    if options.json:
        options.json.write_text(json.dumps({"versions": versions, "instructions": found}, indent=1)
                                + "\n", encoding="utf-8")
