"""This module beside other servers: pages a second of one CPU, bytes, CPU, memory, money.

A static page of 120 KB. Each server has one CPU, its compression at its defaults and as its manual
tunes it; HAProxy and Varnish have an httpd behind them on the same CPU. httpd also serves it over
TLS and HTTP/2.
"""

import dataclasses
import math

from benchkit import corpus, load, machine, plot, rounds, stats, tools, verdict
from benchkit.headline import Headline
from benchkit.others.files import Caddy, H2o, Lighttpd
from benchkit.others.proxies import Haproxy, Proxy, Varnish
from benchkit.nginx import Nginx
from benchkit.outcome import Outcome
from benchkit.run import Scale
from benchkit.server import Httpd, TlsHttpd
from benchkit.setups import CACHE, NOTHING, mod_brotli, mod_deflate, ours
from benchkit.web import wait_cached

SUMMARY = "other servers beside this module: pages a second, bytes, CPU, memory, money"
SOURCE = ""
FIXED = ("one page of 120 KB, one CPU for the server and all behind it, closed loop over HTTP/1.1 "
         "where nothing else is said")


SCALES = {"smoke": Scale(1, 0.005), "quick": Scale(6, 0.1),
          "full": Scale(30, 0.2, least=6)}
SECONDS = {"smoke": 20, "quick": 140, "normal": 270, "full": 360}
ALONE = ("quick",)

HEADLINE = Headline(
    "Does this module serve a page at least as often as nginx does, at its defaults?",
    "Yes, at least as often.", "No, less often.",
    "elastic: pages a second to those of nginx")

PAGE_BYTES = 120 * corpus.KB
CLIENTS = (4, 32)
BOUND = 50  # ms, of the 95th percentile
MILLION = 1e6
GIGABYTE, HOUR = 1e9, 3600

ALL = "zstd, br, gzip"
LIGHTTPD = 'deflate.mimetypes = ("text/html")\ndeflate.allowed-encodings = ("zstd", "br", "gzip")\n'
VARNISH_GZIP = "    set beresp.do_gzip = true;\n"
HAPROXY = "    compression algo gzip\n    compression type text/html\n"


@dataclasses.dataclass(frozen=True)
class Row:
    """A server and how it compresses, for a client that takes the codings of `accept`."""

    name: str
    kind: object  # a class, or a Setup of an httpd's
    snippet: str = ""
    accept: str = ALL
    kept: bool = False  # whether it keeps what it has encoded
    httpd: type = Httpd  # of a Setup
    http2: bool = False


NGINX = "gzip on;\ngzip_comp_level {};\n".format
OURS, NGINX_DEFAULT = "elastic", "nginx gzip 1"

WAYS = {"identity": NOTHING, "elastic gzip 6": ours("gzip", 6), "mod_deflate 6": mod_deflate(6)}
PROTOCOLS = tuple(Row(name + of, setup, accept=setup.accept, httpd=httpd, http2=http2)
                  for of, httpd, http2 in (("", Httpd, False), (", TLS", TlsHttpd, False),
                                           (", HTTP/2", TlsHttpd, True))
                  for name, setup in WAYS.items())

# What takes gzip alone asks for it alone.
ROWS = (
    *PROTOCOLS,
    Row(OURS, Httpd, "Elastic On\n"),
    Row("elastic, gzip alone", Httpd, "Elastic On\n", "gzip"),
    Row("elastic, cache", Httpd, "Elastic On\nElasticCache On\n", kept=True),
    Row("mod_deflate 1", mod_deflate(1), accept="gzip"),
    Row("mod_brotli 5", mod_brotli(5), accept="br"),
    Row(NGINX_DEFAULT, Nginx, NGINX(1), "gzip"),
    Row("nginx gzip 6", Nginx, NGINX(6), "gzip"),
    Row("lighttpd", Lighttpd, LIGHTTPD),
    Row("lighttpd gzip 1", Lighttpd, LIGHTTPD + "deflate.compression-level = 1\n", "gzip"),
    Row("lighttpd, cache", Lighttpd, LIGHTTPD + 'deflate.cache-dir = "{folder}/cache"\n',
        kept=True),
    Row("h2o", H2o, "compress: ON\n"),
    Row("h2o gzip 6, br 5", H2o, "compress:\n  gzip: 6\n  br: 5\n"),
    Row("Caddy", Caddy, "    encode zstd gzip\n"),
    Row("Caddy gzip 1", Caddy, "    encode {\n        gzip 1\n    }\n", "gzip"),
    Row("HAProxy", Haproxy, HAPROXY, "gzip"),
    Row("Varnish, cache", Varnish, VARNISH_GZIP, "gzip", kept=True),
    Row("Varnish, not kept", Varnish, VARNISH_GZIP + "    set beresp.uncacheable = true;\n",
        "gzip"),
)


def make(run, row, site):
    """The server of a row, started; BenchError where its program is missing."""
    folder = run.new_name("server")
    if not isinstance(row.kind, type):
        one = row.kind.serve(run, folder, site=site, kind=row.httpd)
    elif issubclass(row.kind, Proxy):
        # One for each: connections that a proxy keeps open are no more there for another.
        origin = NOTHING.serve(run, f"{folder}-origin", site=site).start()
        one = row.kind(run, folder, row.snippet, origin, site=site)
    else:
        options = {"modules": CACHE} if row.kind is Httpd else {}
        one = row.kind(run, folder, row.snippet, site=site, **options)
    return one.start()


def make_all(run, site):
    """{row: server} of those that are here, and sentences about the others."""
    made, notes = {}, []
    for row in ROWS:
        try:
            made[row] = make(run, row, site)
        except tools.BenchError as problem:
            notes.append(f"{row.name}: {problem}")
    return made, notes


def wait_kept(row, one, path):
    """Returns when the server has kept the page's encoding: some take a second look first."""
    if isinstance(one, Httpd):
        wait_cached(one, [path], row.accept)
    else:
        for _ in range(3):
            one.get(path, {"Accept-Encoding": row.accept})


def measure(run, servers, body, path):
    legs = [rounds.Leg({"server": row.name, "clients": clients}, one, path, body,
                       None if row.accept == ALL else row.accept.replace("identity", ""),
                       row.accept, row.http2)
            for row, one in servers.items() for clients in CLIENTS]
    for row, one in servers.items():
        if row.kept:
            wait_kept(row, one, path)
    generate = {clients: load.fixed_counts(
        run, [leg for leg in legs if leg.labels["clients"] == clients], clients)
        for clients in CLIENTS}
    return rounds.measure(run, legs, lambda leg: generate[leg.labels["clients"]](leg),
                          lambda rows: HEADLINE.is_narrow(judge(rows)))


def money(figures, prices):
    """What a million pages cost: CPU and traffic."""
    per_hour, per_gigabyte = prices
    return (figures["cpu_usec_per_response"] / HOUR * per_hour
            + MILLION * figures["sent_bytes"] / GIGABYTE * per_gigabyte)


def summarize(rows, prices):
    """A row for each server: medians at few clients, and the most pages within the bound."""
    middle = stats.medians(rows, ("server", "clients"), (
        "rate", "p95_ms", "sent_bytes", "cpu_usec_per_response", "memory_peak_kb"))
    found = []
    for name in dict.fromkeys(row["server"] for row in rows):
        few, many = (middle[name, clients] for clients in CLIENTS)
        within = [figures["rate"] for figures in (few, many) if figures["p95_ms"] <= BOUND]
        found.append({
            "server": name, "bytes": round(few["sent_bytes"]),
            "cpu_usec": round(few["cpu_usec_per_response"], 1),
            "pages_per_second": round(max(within)) if within else "",
            "p95_ms": round(few["p95_ms"], 2), "p95_ms_many": round(many["p95_ms"], 2),
            "kb_per_client": round((many["memory_peak_kb"] - few["memory_peak_kb"])
                                   / (CLIENTS[1] - CLIENTS[0])),
            "memory_kb": round(many["memory_peak_kb"]),
            "money_per_million": round(money(few, prices), 2)})
    return found


def by_protocol(rows):
    """A row for each of PROTOCOLS: medians at few clients, and their 95 % intervals."""
    columns = {"cpu_usec": "cpu_usec_per_response", "p95_ms": "p95_ms"}
    few = stats.intervals([row for row in rows if row["clients"] == CLIENTS[0]], ("server",),
                          ("sent_bytes", *columns.values()))
    return [{"server": row.name, "bytes": round(few[row.name,]["sent_bytes"][0]), **{
        column + end: round(figure, 3) for column, key in columns.items()
        for end, figure in zip(("", "_low", "_high"), few[row.name,][key])}}
            for row in PROTOCOLS if (row.name,) in few]


def judge(rows):
    present = {row["server"] for row in rows}
    # (this module's leg, another's, what it is to be at least)
    targets = ((OURS, NGINX_DEFAULT, 1.0), ("elastic, gzip alone", "mod_deflate 6", 2.5),
               (OURS, "Caddy", 1.0), (OURS, "HAProxy", 1.0), ("elastic, cache", "identity", 0.9))
    found = []
    for leg, other, least in targets:
        finding = f"{leg}: pages a second to those of {other}"
        if other not in present:
            found.append(verdict.impossible(finding, f"at least {least:g}", f"{other} is not here"))
            continue
        many = [row for row in rows if row["clients"] == CLIENTS[1]]
        found.append(verdict.compare(finding, many, ({"server": leg}, {"server": other}), "rate",
                                     f"at least {least:g}", above=least, origin=verdict.AIM))
    return found


def colour(name):
    return (plot.KEPT if name.startswith("elastic") else
            plot.IDENTITY if name.startswith("identity") else plot.GZIP)


def draw(run, rows, summary):
    names = [row["server"] for row in summary]
    panels = (("pages_per_second", f"pages a second, p95 up to {BOUND} ms"),
              ("bytes", "bytes"), ("money_per_million", "cost of a million pages"))
    spread = stats.intervals(rows, ("server", "clients"), ("rate",))

    def of_figure(key, row):
        """A server's (middle, low, high); its pages are those of the clients that it was best at.
        """
        if key != "pages_per_second":
            return row[key], 0, math.inf
        return next((spread[row["server"], clients]["rate"] for clients in CLIENTS
                     if round(spread[row["server"], clients]["rate"][0]) == row[key]),
                    (math.nan, 0, math.inf))

    with plot.figure(run, "", "pages a second of one CPU, bytes, cost", len(panels),
                     width=12, height=6.5) as all_axes:
        for axes, (key, label) in zip(all_axes, panels):
            plot.lying_bars(axes, names, [of_figure(key, row) for row in summary],
                            color=[colour(name) for name in names])
            axes.invert_yaxis()
            axes.set_xlabel(label)
            if key != "money_per_million":
                axes.set_xscale("log")
        for axes in all_axes[1:]:
            axes.set_yticklabels([])


def run(run):
    body = corpus.document(PAGE_BYTES, run)
    run.add_corpus("page", [body], corpus.document_origin(run))
    site = run.folder("pages-served")
    (site / "page.html").write_bytes(body)
    servers, notes = make_all(run, site)
    rows = measure(run, servers, body, "/page.html")
    run.save_table("", rows)
    prices = run.options.price_cpu_hour, run.options.price_gb
    summary = summarize(rows, prices)
    run.save_table("summary", summary, "medians")
    run.save_table("protocols", by_protocol(rows), "HTTP/1.1, the same over TLS, HTTP/2 over TLS")
    draw(run, rows, summary)
    programs = dict.fromkeys(one.name for one in servers.values() if one.name != "httpd")
    text = "\n".join([
        machine.heading(run, "h2load", *programs),
        f"A static page of {PAGE_BYTES // corpus.KB} KB, {CLIENTS[0]} and {CLIENTS[1]} clients "
        "over HTTP/1.1 in a closed loop; one response of each leg was decoded and compared. Pages a second "
        f"are those of one CPU, at most {BOUND} ms at the 95th percentile. HAProxy and Varnish "
        "have an httpd behind them, whose CPU and memory are counted. Over TLS each client makes "
        "one connection, whose handshake counts with its pages; all have as many. A row without a "
        "level is what the server does where compression is turned on and nothing else is said.",
        f"Prices: {prices[0]:g} for an hour of one CPU, {prices[1]:g} for a gigabyte "
        "(--price-cpu-hour, --price-gb).",
        *(f"Not measured: {note}." for note in notes)])
    return Outcome(text, judge(rows), HEADLINE,
                   [*rounds.failures(rows, "server"), *rounds.disturbance(rows)])
