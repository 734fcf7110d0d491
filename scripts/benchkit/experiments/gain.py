"""The value of following the load: with zlib alone, as when the idea was published, and today."""

import math

from benchkit import legs, plot, regimes, regret, stats
from benchkit.experiments import load
from benchkit.findings import Finding, exact
from benchkit.legs import DEFAULT, ENGINES, GAIN, IDENTITY, LEVELS
from benchkit.regimes import Family, Length
from benchkit.results import PAPER, Outcome

TITLE = "what following the load is worth: zlib's levels 1 to 9, and those of today's engines"
SOURCE = f"{PAPER}, section 5.3"
THERE = ("section 5.3, without a figure: over a day the elastic level uses what is left of the "
         "CPU, and saves 10.62 % of level 1's traffic.")
SETUP = ("As load, clients of gzip alone, over a wire of 5 Mbit/s. A module that has zlib alone, "
         "pinned to each level and between level 1 and 9; and the same with libdeflate and ISA-L.")
SECONDS = 12, 190, 1900

RATE = 5  # Mbit/s, the default's own goal
ALL = (*GAIN, IDENTITY)
SOME = tuple(name for name in ALL if not name.endswith(("2", "4", "5", "7", "8")))
FAMILIES = {"smoke": (Family(load.MIX, (.05,), ("today, 1", f"today, {DEFAULT}", IDENTITY)),),
            "quick": (Family(load.MIX, (.1, .5), SOME),),
            # Above this, level 1 of zlib is overloaded, and there is no choice.
            "normal": (Family(load.MIX, (.1, .3, .5), ALL),
                       Family("day up to", (.5,), ALL, day=True))}
LENGTHS = {"smoke": load.LENGTHS["smoke"], "quick": load.LENGTHS["quick"],
           "normal": Length(1, 1.2, 4, 10, 1, 5)}
DRAWN = dict(zip((1, 3, 6, 9, DEFAULT),
                 (plot.GZIP, plot.THRESHOLD, plot.IDENTITY, plot.BR, plot.KEPT)))


def names_of(engine):
    return [f"{engine}, {level}" for level in (*LEVELS, DEFAULT)]


def find(tables):
    rows, _ = regimes.results(tables[""])
    found = []
    for engine in ENGINES:
        *pinned, ours = names_of(engine)
        time, size = (regret.Regrets(rows, [*pinned, ours], column)
                      for column in (f"last_{RATE}", "bytes"))
        single, of = time.single(pinned)
        found += [
            Finding(f"{engine}-single", f"{engine}: time with {single or 'no level'}, the best to "
                    "pin, to the best leg of each regime, mean", regret.mean(of),
                    note="each level is overloaded somewhere"),
            Finding(f"{engine}-default", f"{engine}: time by default, to the best leg of each "
                    "regime, mean", regret.mean(time.of(ours))),
            Finding(f"{engine}-bytes", f"{engine}: bytes by default, to level 1's, mean",
                    regret.mean(size.between(ours, pinned[0])), "0.894", (0.894, 0.894)),
            Finding(f"{engine}-cpu", f"{engine}: CPU of a response beyond that of the page as it "
                    "is, the dearest level's to the cheapest's", exact(spread(rows, pinned)))]
    return found


def spread(rows, levels):
    """The CPU of the dearest level relative to the cheapest, at the lowest load."""
    middle = {leg: stats.median(row["cpu_usec"] for row in of) for (leg,), of in stats.group(
        [row for row in rows if row["regime"] == rows[0]["regime"] and "overload" not in row],
        "leg").items()}
    beyond = [middle[leg] - middle.get(IDENTITY, math.nan) for leg in levels if leg in middle]
    # On a busy machine, a difference may be zero.
    return max(beyond) / min(beyond) if beyond and min(beyond) > 0 else math.nan


def summaries(tables):
    good, _ = regimes.results(tables[""])
    return {"rounds": (good, "each round")} | {engine: (regret.summary(
        [row for row in good if row["leg"] in names_of(engine)], legs.GZIP_ALONE, RATE),
        f"{engine}: to the best leg, {RATE} Mbit/s") for engine in ENGINES}


def run(run):
    _, good, said = regimes.measured(run, FAMILIES[run.scale], legs.known, LENGTHS[run.scale])
    plot.panels(run, "", "regret by load, zlib alone and today's engines, clients of gzip, "
                f"{RATE} Mbit/s", "load of making the pages", [load.curves(
                    good, names_of(engine), RATE, {f"{engine}, {level}": colour
                                                   for level, colour in DRAWN.items()}, engine)
                    for engine in ENGINES], width=8)
    return Outcome("zlib-single", "With zlib alone, the level that one would pin takes "
                   "{here} times as long as the best of each load: that is what following it can "
                   "win. Below it stands the same of today's engines.", regimes.counts(good), said,
                   ("php-fpm",))
