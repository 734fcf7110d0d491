"""Repeated pages are not encoded again: the benefit and cost of the cache of encodings.

Proxied private pages of 120 KB: one again and again, a hundred in turn, all different.
"""

import dataclasses

from benchkit import codecs, corpus, handler, load, overhead, plot, rounds, sample, server, stats
from benchkit.findings import Finding, paired
from benchkit.results import Outcome
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


def start(run):
    """{name: a started proxy} of SETUPS, and the text of their pages."""
    text, from_where = corpus.document(PAGE_BYTES, run)
    run.add_corpus("page", [text], from_where)
    origin = server.Httpd(run, "origin", handler.snippet("/(page|unique)/.*"),
                          modules=handler.MODULES, elastic=False, threads=64, cpu=run.load_cpu)
    (origin.folder / "page").write_bytes(text)
    (origin.folder / "page.lua").write_text(SCRIPT.format(page=origin.folder / "page"),
                                            encoding="utf-8")
    origin.start()
    proxy = "".join(f"ProxyPass /{name} {origin.url('/')}{name}\n" for name in ("page", "unique"))
    return {name: setup.serve(run, run.new_name("proxy"), proxy,
                              ("proxy", "proxy_http", "socache_shmcb")).start()
            for name, setup in SETUPS.items()}, text


def legs_of(servers):
    found = []
    for name, httpd in servers.items():
        kinds = {ONE: "/page/1", HUNDRED: "/page/{}"}
        kinds |= {UNIQUE: "/unique/{}"} if name in (WITH, WITHOUT) else {}
        found += [Leg({"server": name, "pages": pages}, httpd, path, b"", SETUPS[name].coding,
                      SETUPS[name].accept) for pages, path in kinds.items()]
    return found


def check(leg, text):
    """Checks that one response is the origin's page; returns its body's size."""
    status, headers, body = leg.server.get(leg.path.format(1), leg.headers)
    coding = headers.get("Content-Encoding", "")
    if status != 200 or leg.coding not in (None, coding) or not codecs.decode(
            body, coding).endswith(text):
        raise BenchError(f"{leg.name}: {leg.path} gave {status} and '{coding}', not the page")
    return len(body)


class Loads:
    """Loads a leg with as many requests as take about this many seconds."""

    def __init__(self, run, legs, seconds):
        self.run, self.calls = run, 0
        self.counts = {leg.name: load.count_requests(
            dataclasses.replace(leg, path=leg.path.format(1)), CLIENTS, seconds) for leg in legs}
        for leg in legs:
            if leg.labels["pages"] == HUNDRED:
                # An encoding is stored only if the page was seen before.
                for _ in range(3):
                    self.ask(leg, IN_TURN)

    def ask(self, leg, requests):
        self.calls += 1
        numbers = range(1, IN_TURN + 1) if leg.labels["pages"] == HUNDRED else (self.calls,)
        return load.h2load(self.run, [leg.server.url(leg.path.format(number))
                                      for number in numbers], leg.headers, CLIENTS, requests)

    def __call__(self, leg):
        return self.ask(leg, self.counts[leg.name])


def find(rows):
    def beside(name, pages, aim):
        of = [row for row in rows if row["pages"] == pages]
        return overhead.finding(
            f"{name}, {pages}", f"CPU beyond identity's, {name}, to {STOCK}'s: {pages}", of,
            {"server": name}, {"server": STOCK}, {"server": IDENTITY},
            there=f"at most {aim}", aim=(0, aim))

    def ratio(name, other, pages, column, text, there, aim):
        of = [row for row in rows if row["pages"] == pages]
        return Finding(f"{column}, {name}, {pages}", f"{text}: {pages}", paired(
            of, {"server": name}, {"server": other}, column), there, aim=aim)

    return [*(beside(name, pages, aim) for name in (WITH, ALL)
              for pages, aim in ((ONE, 0.03), (HUNDRED, 0.04))),
            *(ratio(name, IDENTITY, pages, "rate", f"requests a second, {name}, to identity's",
                    "at least 0.9", (0.9, 99)) for name in (WITH, ALL) for pages in (ONE, HUNDRED)),
            ratio(WITH, WITHOUT, UNIQUE, overhead.STEADY, "CPU with the cache, to that without",
                  "at most 1.03", (0, 1.03))]


def draw(run, rows):
    spread = stats.intervals(rows, ("server", "pages"), (overhead.STEADY,))
    groups = (ONE, HUNDRED)
    with plot.figure(run, "", "CPU of a response, the proxy's", width=6.4) as (axes,):
        plot.grouped_bars(axes, groups, {
            name: (COLOURS[name], [spread[name, pages][overhead.STEADY] for pages in groups])
            for name in SETUPS})
        axes.set(yscale="log", ylabel="CPU µs per response")
        axes.legend(fontsize=7)


def run(run):
    servers, text = start(run)
    legs = legs_of(servers)
    sizes = {leg.name: check(leg, text) for leg in legs}
    generate = Loads(run, legs, run.pick(.02, .12, .3))
    rows = overhead.steady([
        {**leg.labels, "round": number, "sent_bytes": sizes[leg.name],
         **sample.measure(leg.server, generate, leg)}
        for number, leg in rounds.interleaved(run, legs)], ("server", "pages"))
    run.save_table("", rows)
    run.save_medians("summary", rows, ("server", "pages"),
                     ("rate", "sent_bytes", "cpu_usec_per_response", "p95_ms"))
    draw(run, rows)
    return Outcome(find(rows), f"{WITH}, {ONE}", "A page that was seen before takes {here} of "
                   "mod_deflate's CPU for compression; less cannot be told from none.",
                   conditions=rounds.remarks(rows, "server"), tools=("h2load",))
