"""scripts/bench instructions: the instructions of a response in httpd, in user space. A server with
prefork under callgrind answers some requests, another one more, and the difference counts; of the
answering thread alone, because the timer's costs depend on seconds. What could vary is fixed:
bytes, file times, levels, and that the server waits for each request."""

import concurrent.futures
import dataclasses
import functools
import json
import os
import pathlib
import pwd
import re
import socket
import zlib

from benchkit import codecs, corpus, machine, server, setups, tools, web
from benchkit.http1 import Responses
from benchkit.run import CPUS, Run
from benchkit.setups import Setup
from codeckit.dictionaries import field

REQUESTS = {"normal": (100, 400), "quick": (50, 150), "smoke": (5, 15)}  # few, and more
TOLERANCE, NOISE = 0.03, 60  # of a figure beyond httpd alone, and instructions in any case
KB = 1024
PAGE, SMALL, TINY, LARGE = "/page.html", "/small.html", "/1k.html", "/120k.html"
PICTURE, PRECOMPRESSED, DICTIONARY = "/picture.png", "/kept/page.html", "/dictionary.txt"
FILES = {PAGE: 16 * KB, PICTURE: 16 * KB, SMALL: 1000, TINY: KB, LARGE: 120 * KB,
         PRECOMPRESSED: 16 * KB, DICTIONARY: 16 * KB}
FILE_TIME = 1_700_000_000  # httpd writes it into the header
PATIENCE = 120  # seconds for work of one second: callgrind is 50 times slower

SELDOM = "ElasticInterval 60s\n"
FIXED = f"ElasticControl off\n{SELDOM}"
ON = f"Elastic On\n{FIXED}"
CACHED = f"{ON}ElasticLevel gzip 6 6\nElasticCache On\nElasticCacheStore shmcb\n"
DIFFERENCE = Setup(f"""{ON}ElasticLevel zstd 3 3
ElasticDictionaryStore "{{folder}}/dictionaries"
<Location {DICTIONARY}>
    ElasticDictionary match="/*" match-dest="document"
    Header set Cache-Control "public, max-age=604800"
</Location>
""", coding="dcz")


def by_type(filter_name, setting, modules, coding="gzip"):
    return Setup(f"AddOutputFilterByType {filter_name} text/html\n{setting}\n", modules, coding)


def mod_deflate(level):
    return by_type("DEFLATE", f"DeflateCompressionLevel {level}", ("filter", "deflate"))


@dataclasses.dataclass(frozen=True)
class Response:
    setup: Setup
    path: str = PAGE
    beyond: str = "httpd alone"
    coding: str = ""  # expected; `accept` is the client's field
    accept: str = "gzip"
    method: str = "GET"
    status: int = 200  # 304: the request has the page's tag
    counted: str = ""  # a counter of the status page that nearly every request must raise


def encoded(setup, path=PAGE, beyond="httpd alone", **more):
    return Response(setup, path, beyond, setup.coding, **{"accept": setup.coding, **more})


OURS = Setup(ON)
DROP_IN = Setup("LoadModule deflate_module ${{module}}\n" + mod_deflate(6).snippet, ("filter",))
ALONE = setups.NOTHING
ANY = SELDOM + setups.ANY_SIZE

# Responses without an encoder come first: they show the module's own instructions, which CI
# compares.
PLAIN = {
    "httpd alone": Response(ALONE, beyond=""),
    "httpd alone, another type": Response(ALONE, PICTURE, ""),
    "httpd alone, 1,000 bytes": Response(ALONE, SMALL, ""),
    "httpd alone, a client that accepts nothing": Response(ALONE, beyond="", accept=""),
    "httpd alone, HEAD": Response(ALONE, beyond="", method="HEAD"),
    "httpd alone, 304": Response(ALONE, beyond="", status=304),
    "`Elastic Off`": Response(Setup(FIXED)),
    "a type that is not listed": Response(OURS, PICTURE, "httpd alone, another type"),
    "the same, mod_deflate": Response(mod_deflate(6), PICTURE, "httpd alone, another type"),
    "the same, this module in its place": Response(DROP_IN, PICTURE, "httpd alone, another type"),
    "1,000 bytes": Response(OURS, SMALL, "httpd alone, 1,000 bytes"),
    "a client that accepts nothing": Response(
        OURS, PAGE, "httpd alone, a client that accepts nothing", accept=""),
    # At a pinned level HEAD encodes the body to send its length, like the stock modules.
    "HEAD": Response(Setup(f"Elastic On\n{SELDOM}"), PAGE, "httpd alone, HEAD", "gzip",
                     method="HEAD"),
    "304": Response(OURS, PAGE, "httpd alone, 304", status=304),
    "a precompressed file": Response(Setup(f"{ON}ElasticPrecompressed On\n"), PRECOMPRESSED,
                                     coding="gzip", counted="ElasticPrecompressed"),
    "cached": encoded(Setup(CACHED), counted="ElasticCacheHits"),
}
ENCODED = {
    "httpd alone, 1 KB": Response(ALONE, TINY, ""),
    "httpd alone, 120 KB": Response(ALONE, LARGE, ""),
    **{f"{name} {level}, {size}": encoded(setup(level), path, f"httpd alone{beyond}")
       for name, setup in (("gzip", lambda level: setups.ours("gzip", level, ANY)),
                           ("mod_deflate", mod_deflate))
       for size, path, beyond in (("1 KB", TINY, ", 1 KB"), ("16 KB", PAGE, ""),
                                  ("120 KB", LARGE, ", 120 KB")) for level in (1, 6)},
    **{f"{coding} {level}": encoded(setups.ours(coding, level, SELDOM))
       for coding, level in (("br", 1), ("br", 5), ("zstd", 3))},
    "zstd 3, 120 KB": encoded(setups.ours("zstd", 3, SELDOM), LARGE, "httpd alone, 120 KB"),
    "dcz 3": encoded(DIFFERENCE, accept="dcz"),
    "mod_brotli 5": encoded(by_type("BROTLI_COMPRESS", "BrotliCompressionQuality 5",
                                    ("filter", "brotli"), "br")),
}


class Counted(server.Prefork):
    """An httpd of one process under callgrind; it listens as soon as it answers."""

    def __init__(self, run, folder, snippet, **options):
        super().__init__(run, folder, snippet, children=1, **options)
        self.profile = self.folder / "profile"
        store = self.folder / "dictionaries"
        store.mkdir(mode=0o700)
        user = server.unprivileged_user()
        if user:  # the owner of its profile and of dictionaries
            for path in (self.folder, store):
                os.chown(path, pwd.getpwnam(user).pw_uid, -1)

    start = server.Server.start

    def workers(self):
        return ""

    def configure(self):
        # Every server has the status section, which takes some instructions of a request.
        status = "" if self.elastic else "<Location /elastic-status>\n</Location>\n"
        # It ends by itself: a signal during work may leave it waiting for its own thread.
        return (f"Define module {tools.elastic_module()}\n{super().configure()}\n{status}"
                "MaxConnectionsPerChild 1\n")

    def command(self):
        return [tools.find("valgrind"), "-q", "--tool=callgrind", "--separate-threads=yes",
                f"--callgrind-out-file={self.profile}", tools.httpd(), "-X", "-f",
                str(self.configuration)]

    def waits(self):
        """True if the first thread, which answers, sleeps: it waits for a request."""
        text = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text(encoding="utf-8")
        return text[text.rindex(")") + 2] == "S"

    def listens(self):
        # Without a connection, which would end the server after one request.
        with open("/proc/net/tcp", encoding="ascii") as file:
            return f":{self.port:04X} 00000000:0000 0A" in file.read()


def instructions_of(text):
    found = re.search(r"^(?:summary|totals): (\d+)", text, re.MULTILINE)
    if not found:
        raise tools.BenchError("callgrind's profile has no sum")
    return int(found.group(1))


def exchange(httpd, connection, path, accept="", method="GET", **fields):
    """(status, fields, body) of a request, sent when the server waits for it."""
    fields = {"Host": "localhost", "User-Agent": "bench", "Accept-Encoding": accept, **fields}
    lines = (f"{name}: {value}" for name, value in fields.items() if value)
    tools.wait_for(httpd.waits, PATIENCE, 0.0005)
    connection.sendall("\r\n".join((f"{method} {path} HTTP/1.1", *lines, "", "")).encode())
    body, parser = bytearray(), Responses(method == "HEAD")
    while data := connection.recv(1 << 16):
        for piece, complete in parser.feed(data):
            body += piece
            if complete:
                return parser.status, parser.fields, bytes(body)
    raise tools.BenchError("httpd closed the connection")


def ask(httpd, name, response, times):
    body = (httpd.site / response.path[1:]).read_bytes()
    with socket.create_connection((httpd.address, httpd.port), PATIENCE) as connection:
        client, fields = functools.partial(exchange, httpd, connection), {}
        dictionary = b""
        if response.coding == "dcz":
            dictionary = (httpd.site / DICTIONARY[1:]).read_bytes()
            client(DICTIONARY, **{"Sec-Fetch-Dest": "document"})
            fields = {"Available-Dictionary": field(dictionary), "Sec-Fetch-Dest": "document",
                      "Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "navigate"}
        if response.status == 304:
            tag = client(response.path, response.accept)[1][b"etag"]
            fields = {"If-None-Match": tag.decode()}
        for _ in range(times):
            status, seen, sent = client(response.path, response.accept, response.method,
                                                 **fields)
            coding = seen.get(b"content-encoding", b"").decode()
            if (status, coding) != (response.status, response.coding):
                raise codecs.WrongBody(f"{name}: {status}, Content-Encoding '{coding}'")
            whole = response.method == "GET" and response.status == 200
            if codecs.decode(sent, coding if whole else "", dictionary) != body * whole:
                raise codecs.WrongBody(f"{name}: the body is another one")
        if response.counted:
            lines = client("/elastic-status?auto")[2].decode()
            # The first two are encoded: an encoding is cached when the page is seen again.
            if server.parse_counters(lines)[response.counted] < times - 2:
                raise tools.BenchError(f"{name}: {response.counted} counts less")


def count(run, site, name, response, times, cpu):
    modules = ("headers", *(setups.CACHE if response.counted == "ElasticCacheHits" else ()))
    httpd = response.setup.serve(run, run.new_name("server"), kind=Counted, site=site, cpu=cpu,
                                 modules=modules)
    httpd.start()
    ask(httpd, name, response, times)
    tools.wait_for(lambda: httpd.process.poll() is not None, PATIENCE)
    return instructions_of(pathlib.Path(f"{httpd.profile}-01").read_text(encoding="utf-8"))


def make_site(run):
    """The folder of served files: invented text, which is the same on every machine."""
    site = run.folder("site")
    (site / "kept").mkdir()
    for path, size in FILES.items():
        (site / path[1:]).write_bytes(corpus.invented_html(size))
    encoder = zlib.compressobj(6, zlib.DEFLATED, 31)
    body = (site / PRECOMPRESSED[1:]).read_bytes()
    (site / f"{PRECOMPRESSED[1:]}.gz").write_bytes(encoder.compress(body) + encoder.flush())
    for path in (one for one in site.rglob("*") if one.is_file()):
        os.utime(path, (FILE_TIME, FILE_TIME))
    web.wait_settled(site)
    return site


def per_response(responses, requests, say):
    """{name: instructions of one response}; runs one server for each CPU at a time."""
    few, more = requests
    with Run("instructions") as run:
        os.sched_setaffinity(0, CPUS)
        site = make_site(run)

        def measured(numbered):
            place, (name, response) = numbered
            low, high = (count(run, site, name, response, times, CPUS[place % len(CPUS)])
                         for times in requests)
            say(f"{name}: {round((high - low) / (more - few))}")
            return name, round((high - low) / (more - few))

        with concurrent.futures.ThreadPoolExecutor(len(CPUS)) as pool:
            return dict(pool.map(measured, enumerate(responses.items())))


def beyond(found):
    """{name: instructions beyond httpd alone} for the responses with a baseline."""
    named = PLAIN | ENCODED
    return {name: figure - found[named[name].beyond] for name, figure in found.items()
            if named[name].beyond in found}


def table(found, baseline=None):
    """The figures in Markdown, beside those of a baseline if there is one."""
    extra, kept = beyond(found), baseline or {}
    lines = [["a response", "instructions", "beyond httpd alone", "before", "difference"]]
    lines.append(["---", *["---:"] * 4])
    lines += [[name, f"{figure:,}", f"{extra[name]:,}" if name in extra else "",
               f"{kept[name]:,}" if name in kept else "",
               f"{figure - kept[name]:+,}" if name in kept else ""]
              for name, figure in found.items()]
    cells = [line[:3 if baseline is None else 5] for line in lines]
    return "\n".join(("|{}|" if line[0] == "---" else "| {} |").format(
        ("|" if line[0] == "---" else " | ").join(line)) for line in cells)


def moved(found, kept):
    """Sentences on the figures beyond httpd alone that are too far from the kept ones."""
    before = beyond(kept)
    return [f"{name}: {now:,} instructions beyond httpd alone, and {before[name]:,} are kept"
            for name, now in beyond(found).items()
            if name in before and abs(now - before[name]) > max(NOISE, TOLERANCE * before[name])]


def load(path):
    try:
        kept = [(facts["versions"], facts["instructions"])
                for facts in json.loads(path.read_text(encoding="utf-8"))]
    except (ValueError, KeyError, TypeError):
        kept = []
    if not kept:
        raise tools.BenchError(f"{path} has no figures of scripts/bench instructions")
    return kept


def write(path, versions, found):
    kept = [one for one in load(path) if one[0] != versions] if path.exists() else []
    facts = [{"versions": of, "instructions": figures} for of, figures in (*kept, (versions, found))]
    path.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


def measure(options, say):
    """The command line's action; 1 if a figure differs from the baseline."""
    tools.find("valgrind")
    responses = PLAIN if options.scale != "normal" else PLAIN | ENCODED
    found = per_response(responses, REQUESTS[options.scale], say)
    versions = [machine.httpd_version(), *machine.library_versions()]
    baseline = load(options.baseline) if options.baseline else []
    kept = next((figures for of, figures in baseline if of == versions), None)
    print(f"{', '.join(versions)}\n\n{table(found, kept)}")
    if options.json:
        write(options.json, versions, found)
    if baseline and kept is None:
        # Another compiler or httpd moves figures by more than what has to be seen.
        print(f"\nleft out: instructions of a response: {options.baseline} has no figures of these "
              "versions; --json adds them")
        return 0
    changed = moved(found, kept or {})
    print("\n".join(["", *changed]))
    return 1 if changed else 0
