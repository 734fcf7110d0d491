"""Regret: each way to compress relative to the best of its regime. An operator does not know the
load beforehand; his alternative to a level that follows it is one pinned level."""

import math

from benchkit import arrivals, legs, plot, regimes, regret, rounds, site, stats
from benchkit.findings import Finding, compare, exact, number
from benchkit.legs import BROWSERS, DEFAULT, DEFAULT_GZIP, GOALS, IDENTITY, RATES
from benchkit.regimes import Family, Length
from benchkit.results import Outcome

TITLE = "regret: defaults, pinned levels, stock modules and nginx, to the best of each regime"
SOURCE = THERE = ""
SETUP = (
    "Pages of 12 KB (40 %), 40 KB (35 %) and 120 KB (25 %) from php-fpm, the same for each leg and "
    "load, or of 120 KB alone. A load is the share of one CPU that making them uncompressed takes, "
    "measured before each round. Arrivals are random and open, the same for all. Each piece of a "
    "response goes over a wire of R Mbit/s when it has come over the loopback and the one before "
    "has gone; the first text is when a decoder has the first of it. A leg's capacity is measured "
    "first, in a closed loop: what gets more than 0.95 of it is overloaded and has no time. The "
    "loads come one after the other, and adaptive legs have seen each for some seconds before they "
    "count. The best leg is chosen in half of the rounds and judges the other half. In the day the "
    "load goes from 0.05 to 0.8 and back; beside another process, that takes half of the CPU by "
    "turns of 50 ms. In the flood, a load of 0.15 becomes ten times as much: more than any leg can "
    "serve; clients leave after 2 s.")
SECONDS = 15, 320, 4300

# All rates come from one replay, so they add no passes. All legs get the mixed pages at all loads;
# other pages and the day get the legs that somebody would choose, at one or two loads. The full
# product would take a day.
ALL = tuple(legs.LEGS)
OLDER = tuple(name for name in ALL if name.endswith("before"))
SOME = (DEFAULT, DEFAULT_GZIP, "zstd 1", "zstd 4", "br 4", "gzip 1", "gzip 3", "gzip 6",
        "mod_deflate 1", "nginx 1", IDENTITY, *OLDER)
FEW = (DEFAULT, DEFAULT_GZIP, "zstd 1", "gzip 1", "gzip 3", IDENTITY,
       *(OLDER or ("zstd 4", "mod_deflate 1", "nginx 1")))
MIX = "12 to 120 KB"
FAMILIES = {
    "smoke": (Family(MIX, (.05,), (DEFAULT, "gzip 1", IDENTITY)),),
    "quick": (Family(MIX, (.2, .5, .7), FEW), Family("120 KB", (.5,), FEW, regimes.LARGE)),
    "normal": (
        Family(MIX, (.1, .3, .5, .7), ALL),
        Family("120 KB", (.3, .7), SOME, regimes.LARGE),
        Family("0.3 ms", (.5,), SOME, work=regimes.LIGHT),
        Family("4 ms", (.5,), SOME, work=regimes.HEAVY),
        Family("beside another process", (.3,), SOME, beside=True),
        Family("day up to", (.8,), SOME, day=True))}
LENGTHS = {"smoke": Length(.1, .2, .1, .5, .2, 1), "quick": Length(1, .8, 3, 6, .8, 2),
           "normal": Length(1, 1.2, 4, 14, 1.5, 5)}
SCALED = {"smoke": "Its figures mean nothing. ", "normal": "",
          "quick": "A quick run: without the day, the other pages and most legs. "}

# The flood: load, height, and seconds before, within and after it.
BASE, HEIGHT = 0.15, 10
PATIENCE, TRIES = 2.0, (1, 3)  # seconds until a client gives up; every other one asks again
CHEAPEST = "gzip 1"  # of all that compress
FLOODED = (DEFAULT, DEFAULT_GZIP, CHEAPEST, "zstd 1", "mod_deflate 1", "nginx 1", IDENTITY)
CURVES = {DEFAULT: plot.KEPT, "zstd 1": plot.BR, "gzip 1": plot.GZIP, "gzip 6": plot.CACHED,
          "mod_deflate 1": plot.IDENTITY, "nginx 1": plot.THRESHOLD}


def flood(run, passes, names, count):
    """(a row for each leg and round, rows of each second)."""
    before, during, after = run.pick((.3, .3, .4), (3, 3, 6), (4, 3, 8))
    total, paths = before + during + after, site.block()
    curve = arrivals.spike(before, during, after, HEIGHT)
    rate = BASE * passes.reference(Family("", (), ()))
    rows, seconds = [], []
    for turn, name in rounds.interleaved(run, names, count=count):
        httpd = passes.servers[name]
        visits = site.visits(arrivals.poisson(curve, rate, total, turn) or [0.0], turn, paths,
                             TRIES)
        seen = site.replay(httpd, visits, PATIENCE, passes.legs[name].accept)
        passes.restart(httpd)
        each = [{"round": turn, "leg": name, "second": round(start - before, 2),
                 "failed": seen.failures(start, end), "arrivals": len(seen.between(start, end)),
                 "p50_ms": seen.percentile_ms(50, start, end)}
                for start, end in arrivals.bins(total, max(1, round(total)))]
        seconds += each
        rows.append({"round": turn, "leg": name, "arrivals": len(visits),
                     "failed": sum(row["failed"] for row in each),
                     "worst_second_p50_ms": max((row["p50_ms"] for row in each
                                                 if not math.isnan(row["p50_ms"])), default=0.0),
                     **seen.conditions()})
    return rows, seconds


def regret_findings(rows, population, rate):
    """The default's worst regret for these clients, and that of the best pinned level."""
    present = dict.fromkeys(row["leg"] for row in rows)
    names = legs.serving(present, population, rate)
    ours = DEFAULT if population == BROWSERS else DEFAULT_GZIP
    if ours not in present:
        return []
    whom, key = f"{rate} Mbit/s, {legs.POPULATIONS[population]}", f"{population}-{rate}"
    time, p95, size = (regret.Regrets(rows, names, regret.FIGURES[name].format(rate))
                       for name in ("time", "time p95", "bytes"))
    single, of = time.single([name for name in names if legs.known(name).pinned])

    def worst(suffix, leg, what, of, there, **more):
        at, figure = regret.worst(of)
        return Finding(f"{key}-{suffix}", f"{whom}: worst regret of {leg}, {what}"
                       + f" ({at})" * bool(at), figure, there, **more)

    found = []
    for leg, more in {GOALS[population][rate]: "-goal", ours: ""}.items():
        if leg in present:
            found += [worst(f"mean{more}", leg, "mean time", time.of(leg), "at most 1.03",
                            aim=(0, 1.03)),
                      worst(f"p95{more}", leg, "p95", p95.of(leg), "at most 1.05", aim=(0, 1.05))]
    found.append(worst("pinned", f"what one would pin, {single or 'nothing'}", "mean time", of,
                       "larger", note="each level is overloaded somewhere"))
    if rate == RATES[0]:  # equal for all rates
        best = single.partition(" or ")[0]
        found.append(Finding(f"{population}-bytes", f"{legs.POPULATIONS[population]}: bytes of "
                             f"{ours} to those of {best or 'no leg'}",
                             regret.mean(size.between(ours, best)), "at most 1.03", aim=(0, 1.03),
                             note="nothing to compare with"))
    return found


def flood_findings(flooded):
    found = []
    for name in (DEFAULT, DEFAULT_GZIP):
        of = {leg: [row for row in flooded if row["leg"] == leg] for leg in (name, CHEAPEST)}
        if not all(of.values()):
            continue
        lost, asked = ({leg: sum(row[key] for row in one) for leg, one in of.items()}
                       for key in ("failed", "arrivals"))
        words = "; ".join(f"{leg} {lost[leg]:,} of {asked[leg]:,}" for leg in of)
        found.append(Finding(f"flood-lost {name}", f"requests that the flood loses, {name} beyond "
                             f"those of {CHEAPEST} ({words})",
                             exact(lost[name] - lost[CHEAPEST]), "at most 0", aim=(-math.inf, 0)))
        worst = {leg: max(row["worst_second_p50_ms"] for row in one) for leg, one in of.items()}
        # A median that is the clients' patience is no latency.
        gone = any(one >= 1e3 * PATIENCE for one in worst.values())
        said = ", ".join(f"{leg} " + ("had half of its clients or more give up" if
                                      one >= 1e3 * PATIENCE else f"at most {number(one)} ms")
                         for leg, one in worst.items())
        found.append(compare([] if gone else of[name] + of[CHEAPEST], f"flood-median {name}",
                             f"median latency in the flood's worst second, {name} to {CHEAPEST}",
                             {"leg": name}, {"leg": CHEAPEST}, "worst_second_p50_ms",
                             "at most 1.1", aim=(0, 1.1), note=said if gone else ""))
    return found


def draw(run, rows, seconds):
    present = dict.fromkeys(row["leg"] for row in rows)
    plot.panels(run, "", "regret by load, clients of gzip, br and zstd", "load of making the pages",
                [curves(rows, legs.serving(present, BROWSERS, rate), rate, CURVES,
                        f"{rate} Mbit/s") for rate in RATES])
    last = [row for row in seconds if row["round"] == max(one["round"] for one in seconds)]
    plot.panels(run, "flood", "a flood of ten times the load, from second 0 on (last round)",
                "seconds", [plot.Panel(label, [plot.Curve(
                    [row["second"] for row in of], [row[key] for row in of], name, colour)
                    for name, colour in CURVES.items() if (of := [
                        row for row in last if row["leg"] == name])], log)
                    for key, label, log in (
                        ("p50_ms", "median until the answer, or the client left, ms", True),
                        ("failed", "lost requests of a second's", False))],
                width=9)


def curves(rows, names, rate, colours, title):
    """The Panel of those legs of `colours` that have figures."""
    regrets = regret.Regrets(rows, names, f"last_{rate}")
    drawn = [plot.by_load(regrets, name, name, "o-" if name.endswith(DEFAULT) else "x--", colour)
             for name, colour in colours.items()]
    return plot.Panel("time to the last byte, to the best leg's", [one for one in drawn if one.x],
                      title=title, limits={"bottom": 0.9, "top": 2})


def find(tables):
    good, _ = regimes.results(tables[""])
    flooded, _ = rounds.sent(tables["flood-rounds"])
    return [one for population in legs.POPULATIONS for rate in RATES
            for one in regret_findings(good, population, rate)] + flood_findings(flooded)


def summaries(tables):
    good, _ = regimes.results(tables[""])
    found = {"rounds": (good, "each round")}
    for population, whom in legs.POPULATIONS.items():
        for rate in RATES:
            made = regret.summary(good, population, rate)
            if made:
                found[f"{population.replace(' ', '-')}-{rate}"] = (
                    made, f"to the best leg, {whom}, {rate} Mbit/s")
    return found | {"flood": (stats.median_rows(tables["flood-rounds"], ("leg",), (
        "arrivals", "failed", "worst_second_p50_ms", "sent_share", "load_cpu_share")),
        "the flood")}


def run(run):
    passes, good, said = regimes.measured(run, FAMILIES[run.scale], legs.known, LENGTHS[run.scale])
    names = [name for name in FLOODED if name in passes.servers]
    flooded, seconds = flood(run, passes, names[:run.pick(2, 4, len(names))],
                             run.pick(1, 1, passes.length.rounds))
    run.save_table("flood-rounds", flooded)
    run.save_table("flood-seconds", seconds)
    draw(run, good, seconds)
    _, drowned = rounds.sent(flooded)
    return Outcome(f"{BROWSERS}-5-mean", "With default settings a "
                   "page takes at most {here} times as long to arrive as with the best leg of the "
                   "regime.", SCALED[run.scale] + regimes.counts(good), [*said, *drowned],
                   ("nginx", "php-fpm"))
