"""A day's demand: mod_deflate at level 1 against the controller with the whole range."""

from benchkit import arrivals, clients, days, plot, stats, verdict
from benchkit.site import ELASTIC

# Of the CPU, what mod_deflate must have used in the busiest hours: where it had much more left than
# is meant, because the machine was slow while its capacity was measured, there was no peak.
BUSIEST = (19, 22)
PEAK_SEEN = 0.9 * days.PEAK * arrivals.mean(arrivals.DAY, *(hour / days.HOURS for hour in BUSIEST))
RUNNING = 2  # intervals above the high threshold that are let pass
PER_HOUR = 20  # intervals, where they are not longer than the default

# The aims are of a day in four minutes: in a shorter one demand rises faster than a controller that
# samples ten times a second can follow, and a busy hour is a few samples.
LEAST = 240
STATIC = "mod_deflate 1"
ALL = {"Accept-Encoding": "gzip, br, zstd"}

VARIANTS = {
    STATIC: days.Variant(plot.IDENTITY, stock_level=1),
    "mix, gzip": days.Variant(plot.GZIP, "mix", snippet=ELASTIC),
    "mix, zstd+br+gzip": days.Variant(plot.KEPT, "mix", headers=ALL, snippet=ELASTIC),
    "step, gzip": days.Variant(plot.THRESHOLD, "step", snippet=ELASTIC),
}

# The bytes, to mod_deflate's, that are aimed at.
WANTED = {"mix, gzip": 0.86, "mix, zstd+br+gzip": 0.82}
FIGURES = {"position": ("position", 1), "cpu_share": ("CPU, share", 1), "p95_ms": ("p95, ms", 1)}


def judge(whole, seconds):
    """The verdicts on days of so many seconds."""
    static = {"variant": STATIC}
    peak = stats.median(row["cpu_share_peak"] for row in whole if row["variant"] == STATIC)
    sent = min((row["sent_share"] for row in whole), default=1)

    def if_long(one):
        if seconds >= LEAST:
            return one
        return verdict.inconclusive(one, f"a day of {seconds:g} s is too short: the aim is of one "
                                         f"of {LEAST} s")

    found = []
    for name, wanted in WANTED.items():
        ours = {"variant": name}
        members = [row for row in whole if row["variant"] == name]
        if not members:
            continue
        found += [
            if_long(verdict.every_round(
                f"{name}: bytes of the day, to {STATIC}'s",
                verdict.per_round(whole, ours, static, "bytes_per_response"),
                f"at least {100 - 100 * wanted:.0f} % fewer", below=wanted, origin=verdict.AIM)),
            if_long(verdict.exact(
                f"{name}: intervals running that saw a load above the high threshold",
                max(row["above_running"] for row in members), f"at most {RUNNING}",
                below=RUNNING + 0.5, origin=verdict.AIM)),
            if_long(judge_peak(
                f"{name}: CPU in the busiest hours, to {STATIC}'s", peak,
                verdict.per_round(whole, ours, static, "cpu_share_peak"))),
            verdict.exact(f"{name}: failed requests", max(row["failed"] for row in members),
                          "none", below=1, origin=verdict.AIM)]
    if sent >= clients.SENT:
        return found
    why = f"of a day's requests {100 * sent:.0f} % were sent in time"
    return [verdict.inconclusive(one, why) for one in found]


def judge_peak(finding, peak, ratios):
    if peak < PEAK_SEEN:
        return verdict.impossible(finding, "no more",
                                  f"{STATIC} used {peak:.2f} of the CPU: that was no peak")
    return verdict.every_round(finding, ratios, "no more", below=1.005, origin=verdict.loosened(
        verdict.AIM, "1", "the CPU is told to three digits"))
