"""ElasticIdle on a site whose pages are asked for by Zipf's law: bytes, waits and CPU."""

import math

from benchkit import arrivals, clients, plot, rounds, setups, site, stats
from benchkit.findings import Finding, compare, exact
from benchkit.results import Outcome, medians
from benchkit.setups import ALL_CODINGS

TITLE = "a site by Zipf's law at a load of 0.2, with and without ElasticIdle: bytes, waits, CPU"
SOURCE = THERE = ""
SETUP = ("Some 850 pages of 12 KB (40 %), 40 KB (35 %) and 120 KB (25 %) from php-fpm, asked for by "
         "Zipf's law by clients of gzip, br and zstd; random arrivals that take 0.2 of the CPU for "
         "making the pages uncompressed, measured before each round. Each pass begins with an "
         "empty cache; the findings are of its second half. ElasticIdle may take 10 % of the CPU.")
SECONDS = 15, 130, 2000

LOAD, PAGES, PARTS = 0.2, 1000, 4
CACHE = "Elastic On\nElasticCache On\n"
WITHOUT, WITH, TOP = "cache", "cache, ElasticIdle 10", "cache, ElasticIdle 10 top"
SETUPS = {WITHOUT: "", WITH: "ElasticIdle 10\n", TOP: "ElasticIdle 10 top\n"}
COLOURS = {WITHOUT: plot.IDENTITY, WITH: plot.GZIP, TOP: plot.KEPT}
FIGURES = {"bytes": ("bytes of a response", 0.95), "p50_ms": ("median latency", 1.05),
           "p95_ms": ("p95 of latency", 1.05), "cpu_share": ("the server's CPU", 0)}

COUNTERS = "Improved", "ImprovedUsec", "CacheHits", "CacheMisses"  # of a whole pass


def one_pass(dynamic, name, rate, seconds, seed):
    """A row for each part of a pass."""
    httpd = dynamic.serve(setups.Setup(CACHE + SETUPS[name], coding=None), "", setups.CACHE)
    dynamic.check(httpd, ALL_CODINGS)
    times = arrivals.poisson(arrivals.STEADY, rate, seconds, seed) or [0.0]
    paths = arrivals.popular(len(times), site.block(count=PAGES), seed)
    seen = site.replay(httpd, list(map(clients.Visit, times, paths)), accept=ALL_CODINGS)
    counters, rows = httpd.counters(), []
    httpd.stop()
    for number, (start, end) in enumerate(arrivals.bins(seconds, PARTS)):
        end = math.inf if number + 1 == PARTS else end
        answered = seen.answered(start, end)
        row = {"part": 1 + number, "arrivals": len(seen.between(start, end)),
               "failed": seen.failures(start, end),
               "bytes": stats.mean([one.bytes for one in answered], 1),
               "p50_ms": seen.percentile_ms(50, start, end),
               "p95_ms": seen.percentile_ms(95, start, end),
               "cpu_share": seen.cpu_share(start, end), **site.conditions(dynamic.run, seen)}
        rows.append(row | {key: counters[f"Elastic{key}"] for key in COUNTERS})
    return rows


def find(tables):
    rows, _ = rounds.sent(tables[""])
    late = [row for row in rows if row["part"] > PARTS / 2]
    return [
        *(compare(late, f"{column}, {name}", f"{text}, {name} to {WITHOUT}", {"leg": name},
                  {"leg": WITHOUT}, column, f"at most {most}" if most else "", ("part",),
                  aim=(0, most) if most else ())
          for name in (TOP, WITH) for column, (text, most) in FIGURES.items()),
        *(Finding(f"improved, {name}", f"copies that {name} made smaller in a pass, the median",
                  exact(stats.median(row["Improved"] for row in rows if row["leg"] == name)))
          for name in (TOP, WITH))]


summaries = medians(("leg", "part"), (*FIGURES, *COUNTERS),
                    lambda tables: rounds.sent(tables[""])[0])


def run(run):
    dynamic, seconds = site.php(run), run.pick(1, 12, 120)
    plain = dynamic.serve(setups.NOTHING)
    rates, rows = {}, []
    for number, name in rounds.interleaved(run, SETUPS):
        if number not in rates:
            rates[number] = LOAD * dynamic.working_capacity(plain, site.block(), min(2, seconds))
        rows += [{"leg": name, "round": number, **row}
                 for row in one_pass(dynamic, name, rates[number], seconds, number)]
    plain.stop()
    run.save_table("", rows)
    good, unsent = rounds.sent(rows)
    middle = stats.intervals(good, ("leg", "part"), FIGURES)
    plot.panels(run, "", "bytes, latency and CPU over a pass", "part of the pass", [
        plot.Panel(text, plot.by_group(middle, COLOURS, key, style="o-"))
        for key, (text, _) in FIGURES.items()], width=13)
    return Outcome(f"bytes, {TOP}", "With ElasticIdle a response has {here} of the bytes.",
                   conditions=[*unsent, *rounds.remarks(rows, "leg")], tools=("php-fpm",))
