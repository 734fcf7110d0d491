"""The 95th percentile of compression time at levels 2, 4 and 8 as the CPU is used more.

After "Automatic and Dynamic Configuration of Data Compression for Web Servers", section 5.4. Pages
come from php-fpm at rates that make up given shares of each level's capacity; the compression time
is what the module notes in the log: the time elapsed in the encoder, waits for the CPU included.
"""

from benchkit import arrivals, machine, plot, rounds, stats, verdict
from benchkit.outcome import Outcome
from benchkit.run import Scale
from benchkit.site import Site

SUMMARY = "compression time p95 at levels 2, 4 and 8 as CPU utilisation grows"
SOURCE = ("“Automatic and Dynamic Configuration of Data Compression for Web Servers”, section 5.4 "
          "and figure 9")

SCALES = {"smoke": Scale(1, 0.15, only=3), "quick": Scale(4, 0.8, only=3), "normal": Scale(8, 4),
          "full": Scale(10, 20)}
SECONDS = {"smoke": 8, "quick": 54, "normal": 530, "full": 3200}

LEVELS = {2: plot.KEPT, 4: plot.GZIP, 8: plot.IDENTITY}

SHARES = (0.2, 0.4, 0.6, 0.8, 0.92)  # of capacity
LOW, MIDDLE, HIGH = SHARES[0], SHARES[2], SHARES[-1]

LEAST = 0.05  # of the straight line: a smaller difference cannot be told from none

TIMEOUT = 10  # seconds; nothing is to be lost here

SETTINGS = "ElasticControl off\nElasticLevel gzip {level} {level}\n"


def measure(run, site):
    """A row for each level, share and round."""
    servers = {level: site.serve(SETTINGS.format(level=level)) for level in LEVELS}
    capacity = {level: site.working_capacity(httpd, min(2, 2 * run.scale.seconds))
                for level, httpd in servers.items()}
    shares = (LOW, MIDDLE, HIGH) if run.scale.only else SHARES
    legs = [(level, share) for share in shares for level in LEVELS]
    spans, rows = {}, []
    for number, index in rounds.interleaved(run.scale.rounds, len(legs)):
        level, share = legs[index]
        times = arrivals.poisson(arrivals.STEADY, share * capacity[level], run.scale.seconds,
                                 seed=1000 * number + index) or [0.0]
        seen = site.replay(servers[level], times, TIMEOUT)
        end = max(times)
        rows.append({"level": level, "share": share, "round": number, "requests": len(times),
                     "cpu_share": round(seen.cpu_share(0, end), 3),
                     "foreign_share": round(seen.foreign_share, 3),
                     "failed_share": round(seen.failed_share(0, end), 4),
                     "latency_p95_ms": round(1e3 * seen.percentile(95, 0, end), 2)})
        spans[number, level, share] = seen.began, seen.began + end
        run.done(len(rows) / run.scale.rounds / len(legs))
    logs = {level: site.logged(httpd) for level, httpd in servers.items()}
    for row in rows:
        add_times(row, logs[row["level"]], spans[row["round"], row["level"], row["share"]])
    return rows, capacity


def add_times(row, logged, span):
    """The compression times and bytes of the log's responses in a span of time."""
    start, end = span
    here = [one for one in logged if start <= one.at <= end]
    elapsed = [one.usec for one in here if one.elapsed]
    row["compression_p50_ms"] = round(stats.percentile(elapsed, 50) / 1e3, 3)
    row["compression_p95_ms"] = round(stats.percentile(elapsed, 95) / 1e3, 3)
    row["bytes"] = round(stats.ratio(sum(one.bytes for one in here), len(here)), 1)


def growth(rounds):
    """The difference of levels 8 and 2 at the top, to that on a straight line from the lower half.

    `rounds` are {(level, share): p95}; the differences are those of their medians, because within a
    round they are small differences of noisy figures.
    """
    apart = {share: stats.median(times[8, share] for times in rounds)
             - stats.median(times[2, share] for times in rounds) for share in (LOW, MIDDLE, HIGH)}
    slope = (apart[MIDDLE] - apart[LOW]) / (MIDDLE - LOW)
    # By noise the line may fall; then a level one is asked for.
    line = apart[MIDDLE] + max(slope, 0) * (HIGH - MIDDLE)
    return stats.ratio(max(apart[HIGH], LEAST * line), line)


def rounds_of(rows):
    """The p95 of each round, by level and share."""
    return [{(row["level"], row["share"]): row["compression_p95_ms"] for row in members}
            for members in stats.group(rows, "round").values()]


def judge(rows):
    top = [row for row in rows if row["share"] == HIGH]

    def ratios(over, under, figure):
        return verdict.per_round(top, {"level": over}, {"level": under}, figure)

    return [
        verdict.judge_interval(
            f"the differences between levels grow faster than linearly with utilisation (at "
            f"{100 * HIGH:.0f} % of capacity, to a line through {100 * LOW:.0f} and "
            f"{100 * MIDDLE:.0f} %)",
            stats.drawn_anew(rounds_of(rows), growth), len(rounds_of(rows)), "they do", above=1),
        verdict.judge("under heavy load, level 2 takes half of level 8's compression time",
                      ratios(2, 8, "compression_p95_ms"), "0.5", below=0.6),
        verdict.judge("for a tenth more bytes", ratios(2, 8, "bytes"), "1.1", above=1.03,
                      below=1.3, drift=verdict.NO_DRIFT)]


def draw(run, rows):
    figures = ("cpu_share", "compression_p95_ms", "compression_p50_ms")
    middle = stats.medians(rows, ("level", "share"), figures)
    with plot.figure(run, run.name, 2, width=9, height=3.6) as all_axes:
        for axes, figure in zip(all_axes, figures[1:]):
            for level, colour in LEVELS.items():
                shares = [share for of_level, share in middle if of_level == level]
                axes.plot([100 * middle[level, share]["cpu_share"] for share in shares],
                          [middle[level, share][figure] for share in shares], "o-", ms=4,
                          color=colour, label=f"level {level}")
            axes.set_xlabel("CPU utilisation, %")
            axes.set_ylabel(f"compression time, ms, {figure[12:15]}")
            axes.set_ylim(bottom=0)
            axes.legend()


def run(run):
    site = Site(run)
    run.corpora.append(site.composition())
    rows, capacity = measure(run, site)
    run.save_table(run.name, rows)
    keys = ("level", "share")
    run.save_table(f"{run.name}-summary", [
        {**dict(zip(keys, key)), **figures} for key, figures in stats.medians(
            rows, keys, ("cpu_share", "compression_p50_ms", "compression_p95_ms",
                         "latency_p95_ms", "bytes")).items()])
    draw(run, rows)
    capacities = ", ".join(f"{rate:.0f} at level {level}" for level, rate in capacity.items())
    return Outcome(
        f"p95. {machine.describe(run, 'h2load', 'php-fpm')}\n"
        "Pages of 120 KB from php-fpm. Of such pages, a second, a server at work has CPU for "
        f"{capacities}; arrivals are random and open, at shares of that.",
        verdict.unless_busy(judge(rows), rows), {"medians": f"{run.name}-summary"},
        {"compression time and CPU utilisation": run.name})
