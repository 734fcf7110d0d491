"""Repeated pages are not encoded again: the benefit and cost of the cache of encodings."""

import dataclasses
import itertools

from benchkit import codecs, corpus, handler, load, overhead, plot, rounds, sample, server, stats
from benchkit.findings import compare
from benchkit.results import Outcome, medians
from benchkit.setups import NOTHING, Setup, mod_deflate, ours
from benchkit.tools import BenchError

TITLE = "compressed copies that are used again: CPU and requests a second, beside mod_deflate"
SOURCE = THERE = ""
SETUP = ("Pages of 120 KB from an origin on the load's CPU, through a proxy whose figures these "
         "are; four clients in a closed loop over HTTP/1.1, with a cookie: what was encoded for "
         "one visitor is for nobody else. gzip is pinned to level 6; with all codings this module "
         "has its defaults.")
SECONDS = 10, 40, 90

PAGE_BYTES = 120 * corpus.KB
CLIENTS = 4
IN_TURN = 100
ONE, HUNDRED, UNIQUE = "one page", f"{IN_TURN} in turn", "no two alike"
IDENTITY, STOCK, WITHOUT, WITH, ALL = ("identity", "mod_deflate 6", "gzip", "gzip, cache",
                                       "all codings, cache")

SCRIPT = """
local file = assert(io.open("{page}", "rb"))
local text = file:read("a")
file:close()
local count = 0
function handle(r)
    count = count + 1
    local name = r.uri
    if name:match("^/unique") then
        name = string.format("%s %d %d", tostring(r), r:clock(), count)
    end
    local first = "<!-- " .. name .. " -->\\n"
    r.content_type = "text/html"
    r.headers_out["Content-Length"] = tostring(#first + #text)
    r.headers_out["Cache-Control"] = "private"
    r:write(first)
    r:write(text)
    return apache2.OK
end
"""
MODULES = ("proxy", "proxy_http", "socache_shmcb")
STORE = "ElasticCache On\nElasticCacheStore shmcb:(67108864)\n"
SETUPS = {
    IDENTITY: NOTHING, STOCK: mod_deflate(6), WITHOUT: ours("gzip", 6),
    WITH: ours("gzip", 6, STORE), ALL: Setup(f"Elastic On\n{STORE}", coding=None)}
COLOURS = {IDENTITY: plot.IDENTITY, STOCK: plot.BR, WITHOUT: plot.GZIP, WITH: plot.KEPT,
           ALL: plot.THRESHOLD}
# A visitor's own page, which no downstream cache may store.
COOKIE = {"Cookie": "session=b1946ac92492d2347c6235b4d2611184"}


@dataclasses.dataclass(frozen=True)
class Leg(rounds.Leg):
    """A leg whose client is a visitor with a cookie; `path` has a placeholder for a number."""

    @property
    def headers(self):
        return {**super().headers, **COOKIE}

    def check(self, text):
        """Checks that one response is the origin's page; returns its body's size."""
        status, headers, body = self.server.get(self.path.format(1), self.headers)
        coding = headers.get("Content-Encoding", "")
        if status != 200 or self.coding not in (None, coding) or not codecs.decode(
                body, coding).endswith(text):
            raise BenchError(f"{self.name}: {self.path} gave {status} and '{coding}', not the page")
        return len(body)


def make_origin(run, size):
    """(lines of a proxy in front of a started origin of pages, the text of all of them)."""
    text, from_where = corpus.document(size, run)
    run.add_corpus("page", [text], from_where)
    origin = server.Httpd(run, "origin", handler.snippet("/(page|unique)/.*"),
                          modules=handler.MODULES, elastic=False, threads=64, cpu=run.load_cpu)
    handler.write(origin.folder, text, SCRIPT)
    origin.start()
    return "".join(f"ProxyPass /{name} {origin.url('/')}{name}\n"
                   for name in ("page", "unique")), text


def make_legs(run):
    """The legs of started proxies, and the text of their pages."""
    proxy, text = make_origin(run, PAGE_BYTES)
    found = []
    for name, setup in SETUPS.items():
        httpd = setup.serve(run, run.new_name("proxy"), proxy, MODULES).start()
        kinds = {ONE: "/page/1", HUNDRED: "/page/{}"}
        kinds |= {UNIQUE: "/unique/{}"} if name in (WITH, WITHOUT) else {}
        found += [Leg({"server": name, "pages": pages}, httpd, path, b"", setup.coding,
                      setup.accept) for pages, path in kinds.items()]
    return found, text


def loads(run, legs, seconds):
    """Returns a function that loads a leg with as many requests as take about this many seconds."""
    calls = itertools.count(1)
    counts = {leg.name: load.count_requests(
        dataclasses.replace(leg, path=leg.path.format(1)), CLIENTS, seconds) for leg in legs}

    def ask(leg, requests):
        numbers = range(1, IN_TURN + 1) if leg.labels["pages"] == HUNDRED else (next(calls),)
        return load.h2load(run, [leg.server.url(leg.path.format(number)) for number in numbers],
                           leg.headers, CLIENTS, requests)

    for leg in legs * 3:  # an encoding is stored only if the page was seen before
        if leg.labels["pages"] == HUNDRED:
            ask(leg, IN_TURN)
    return lambda leg: ask(leg, counts[leg.name])


def find(tables):
    rows = tables[""]

    def of(pages):
        return [row for row in rows if row["pages"] == pages]

    def ratio(name, other, pages, column, text, there, aim):
        return compare(of(pages), f"{column}, {name}, {pages}", f"{text}: {pages}",
                       {"server": name}, {"server": other}, column, there, aim=aim)

    return [*(overhead.finding(
                f"{name}, {pages}", f"CPU beyond identity's, {name}, to {STOCK}'s: {pages}",
                of(pages), {"server": name}, {"server": STOCK}, {"server": IDENTITY},
                there=f"at most {aim}", aim=(0, aim))
              for name in (WITH, ALL) for pages, aim in ((ONE, 0.03), (HUNDRED, 0.04))),
            *(ratio(name, IDENTITY, pages, "rate", f"requests a second, {name}, to identity's",
                    "at least 0.9", (0.9, 99)) for name in (WITH, ALL) for pages in (ONE, HUNDRED)),
            ratio(WITH, WITHOUT, UNIQUE, overhead.STEADY, "CPU with the cache, to that without",
                  "at most 1.03", (0, 1.03))]


summaries = medians(("server", "pages"), ("rate", "sent_bytes", "cpu_usec_per_response", "p95_ms"))


def run(run):
    legs, text = make_legs(run)
    sizes = {leg.name: leg.check(text) for leg in legs}
    generate = loads(run, legs, run.pick(.02, .12, .3))
    rows = overhead.steady([
        {**leg.labels, "round": number, "sent_bytes": sizes[leg.name],
         **sample.measure(leg.server, generate, leg)}
        for number, leg in rounds.interleaved(run, legs)], ("server", "pages"))
    run.save_table("", rows)
    spread = stats.intervals(rows, ("server", "pages"), (overhead.STEADY,))
    groups = (ONE, HUNDRED)
    with plot.figure(run, "", "CPU of a response, the proxy's", width=6.4) as (axes,):
        plot.grouped_bars(axes, groups, {
            name: (COLOURS[name], [spread[name, pages][overhead.STEADY] for pages in groups])
            for name in SETUPS})
        axes.set(yscale="log", ylabel="CPU µs per response")
        axes.legend(fontsize=7)
    return Outcome(f"{WITH}, {ONE}", "CPU time for the compression of a "
                   "page that was seen before, beside mod_deflate's: {here}.",
                   conditions=rounds.remarks(rows, "server"), tools=("h2load",))
