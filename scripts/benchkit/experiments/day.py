"""A day's demand in minutes: level 1 fixed, this module's or zlib's, against an elastic 1 to 9.

After "Automatic and Dynamic Configuration of Data Compression for Web Servers", section 5.3. The
same arrivals are replayed to each server; pages come from php-fpm.
"""

import math

from benchkit import arrivals, controller, days, machine, plot, rounds, stats, verdict
from benchkit.headline import Headline
from benchkit.outcome import PAPER, Outcome
from benchkit.run import Scale
from benchkit.site import php_site, several

SUMMARY = "a day's demand: bytes and CPU, level 1 fixed against elastic 1 to 9"
SOURCE = f"{PAPER}, section 5.3 and figure 7a"
THERE = {"": "figure 7a, the demand of a day, lowest at 5:00 and highest at 20:00. Section 5.3, "
             "without a figure: at level 1 the CPU follows the demand; the elastic level uses "
             "what is left of it for most of the day, and saves 10.62 % of the traffic"}
FIXED = "the same arrivals and pages for all servers, gzip alone, the controller's thresholds"

# Seconds are those of the day.
SCALES = {"smoke": Scale(1, 0.7, stock=(1,)), "quick": Scale(3, 9, stock=(1,)),
          "full": Scale(6, 30, stock=(1, 6, 9), least=3)}
SECONDS = {"smoke": 8, "quick": 109, "normal": 500, "full": 680}

HEADLINE = Headline("Does an elastic level save traffic over level 1 in a day?",
                    "Yes, it saves traffic.", "No, it saves no traffic worth the name.",
                    "an elastic level saves traffic over level 1 all day")

INTERVALS = 10  # of the controller, in an hour

VARIANTS = {"static": days.Variant(plot.IDENTITY, "off", "ElasticLevel gzip 1 1\n"),
            "elastic": days.Variant(plot.GZIP, "step", "ElasticLevel gzip 1 9\n")}
STOCK = "mod_deflate {}".format


def judge(whole, hours):
    elastic = [row for row in hours if row["variant"] == "elastic"]

    def compare(finding, variant, figure, reported, **bounds):
        return verdict.compare(finding, whole, ({"variant": "elastic"}, {"variant": variant}),
                               figure, reported, **bounds)

    def traffic(whose, variant):
        return compare(f"an elastic level saves traffic over {whose} all day", variant,
                       "bytes_per_response", "0.894 of it", below=0.97, drift=verdict.NO_DRIFT,
                       there=(0.894, 0.894), origin=verdict.loosened(
                           verdict.SOURCE, "0.894", "other engines, whose levels are nearer to "
                           "each other in bytes"))

    return [
        traffic("level 1", "static"), traffic(STOCK(1), STOCK(1)),
        compare("it uses CPU that level 1 leaves unused", "static", "cpu_share",
                "most of the day", above=1.1, there=(1, math.inf)),
        verdict.judge("it stays below the CPU allowed, as level 1 does, when demand is high",
                      [row["cpu_share_peak"] for row in whole if row["variant"] == "elastic"],
                      "it does", below=controller.HIGH, drift=verdict.NO_DRIFT,
                      origin="the module's: ElasticCPU's high threshold"),
        verdict.judge("it compresses harder when demand is low", [
            stats.median(days.known(row["level"] for row in days.running(members, days.QUIET, min)))
            for members in stats.group(elastic, "round").values()], "up to level 9", above=4,
                      origin=verdict.loosened(verdict.SOURCE, "9", "a mean of the hours, and how "
                                              "high it goes depends on the CPU that is left"))]


def run(run):
    site = php_site(run)
    seconds = run.scale.seconds
    log = run.options.access_log
    curve = arrivals.from_log(log) if log else arrivals.DAY
    interval = days.interval_of(seconds, INTERVALS)
    variants = VARIANTS | {STOCK(level): days.Variant(f"C{level}", stock_level=level)
                           for level in run.scale.stock}
    hours, whole = days.measure(
        run, site, variants, interval, curve,
        is_enough=lambda hours, whole: HEADLINE.is_narrow(judge(whole, hours)))
    run.save_table("", hours)
    run.save_table("days", whole, "each day")
    days.draw(run, "", "demand, level, CPU and traffic over the day (medians)", hours, variants, {
        "requests": ("requests an hour", 1), "level": ("gzip level", 1),
        "cpu_share": ("CPU, share", 1), "bytes": ("MB an hour", 1e-6)})
    return Outcome(
        f"{machine.heading(run, 'h2load', 'php-fpm')}\n"
        f"The demand {f'of {log.name}' if log else arrivals.DAY_FROM}: "
        f"24 hours in {seconds:g} s, {several([row['arrivals'] for row in whole])} arrivals, the "
        f"same for all servers; at the peak {100 * days.PEAK:.0f} % of the pages of 120 KB that "
        f"level 1 has CPU for: {several([row['capacity'] for row in whole])} a second, measured "
        f"before each round. The controller's interval is {1000 * interval:.0f} ms.",
        verdict.unless_busy(judge(whole, hours), hours), HEADLINE,
        rounds.remarks(whole, "variant"))
