"""A load near capacity, then 69 % more for a while: a fixed level against an elastic one."""

import math

from benchkit import arrivals, plot, rounds, setups, site, spikes, stats
from benchkit.findings import Finding, compare, exact, matches
from benchkit.results import PAPER, Outcome

TITLE = "a spike of 69 %, and the largest that is survived: level 6 fixed, elastic up to 6"
SOURCE = f"{PAPER}, section 5.2 and figures 7 and 8"
THERE = ("figure 8, an hour with the attack in it: 69 % more requests for five minutes; the static "
         "server's latency rises at once and stays high for at least ten minutes after them; the "
         "elastic level falls to the lowest during the attack, and returns.")
SETUP = ("The same arrivals and pages of 120 KB for all servers, gzip up to level 6. The normal "
         "load is 85 % of what saturates level 6, measured before each round, so that the attack "
         "asks it for 1.44 times what it can serve: that it is overrun follows from that, and its "
         "latency then is no result; what it loses is. A client leaves after a tenth of the "
         "attack's length. Elastic is ElasticControl step, the source's way.")
SECONDS = 12, 60, 650

# How long a server is watched afterwards, relative to the attack's length. The static one then
# serves its backlog with the 15 % that the normal load leaves.
AFTER = {"static": 4.0, "elastic": 1.5}
COLOURS = {"static": plot.IDENTITY, "elastic": plot.GZIP}
STEPS = 4  # of spikes.ATTACK: the largest spike has this many
SURVIVES = 0.01  # of the requests since the attack began, that may fail


def serve(dynamic, name):
    return dynamic.serve(setups.ours("gzip", spikes.CEILING) if name == "static" else
                         setups.step(spikes.CEILING, spikes.INTERVAL))


def one_pass(dynamic, name, times, length):
    """(rows, points over time) of one replay. A server has recovered, seconds after the attack,
    when no request fails any more; never, if some do in the last quarter of its length."""
    spans = spikes.phases(length, AFTER[name])
    start, total = spans["after"]
    httpd = serve(dynamic, name)
    seen = site.replay(httpd, site.pages([at for at in times if at < total]),
                       spikes.TIMEOUT * length)
    levels = [(one.at, one.level) for one in dynamic.logged(httpd)]
    rows = spikes.rows_of(dynamic.run, seen, levels, spans)
    last = max((one.at for one in seen.between(start, total) if one.lost), default=start)
    rows[-1]["recovery"] = (math.inf if last > total - length / 4 else
                            round((last - start) / length, 3))
    return rows, spikes.points_of(seen, levels, total)


def search(dynamic, name, base, length, halvings, seed):
    """(the largest spike that a server survives, relative to its normal load; its bound, "<" or ">"
    if it survived none or all; the tries)."""
    httpd = serve(dynamic, name)
    tried, total = [], length * 5 / 3

    def survives(height):
        times = arrivals.poisson(arrivals.spike(length / 3, length, length / 3, height), base,
                                 total, seed) or [0.0]
        seen = site.replay(httpd, site.pages(times), spikes.TIMEOUT * length)
        share = stats.ratio(seen.failures(length / 3, total), len(seen.between(length / 3, total)))
        tried.append({"height": round(height, 3), "failed_share": round(share, 4),
                      **site.conditions(dynamic.run, seen)})
        return not share > SURVIVES

    passed = next((step for step in range(STEPS) if not survives(spikes.ATTACK ** (step + 1))),
                  STEPS)
    low, high = spikes.ATTACK ** passed, spikes.ATTACK ** (passed + 1)
    for _ in range(0 if passed == STEPS else halvings):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if survives(middle) else (low, middle)
    httpd.stop()
    if passed == STEPS:
        return low, ">", tried
    return (high, "<", tried) if low == 1 else (math.sqrt(low * high), "", tried)


def measure(run, dynamic):
    """(rows of each phase, points over time of the last round, limits, tries)."""
    length = run.pick(.3, 1.5, 4)
    total = spikes.phases(length, max(AFTER.values()))["after"][1]
    curve = arrivals.spike(1, 1, max(AFTER.values()), spikes.ATTACK)
    calibrated = dynamic.serve(setups.ours("gzip", spikes.CEILING))
    rows, over_time, limits, tries, capacity, times = [], {}, [], [], {}, {}
    for number, name in rounds.interleaved(run, COLOURS):
        if number not in capacity:
            # For each round, because a faster machine may not notice the previous attack.
            capacity[number] = dynamic.capacity(calibrated, [dynamic.path], min(1, length))
            times[number] = arrivals.poisson(curve, spikes.NEAR * capacity[number], total,
                                             seed=number)
        labels = {"round": number, "variant": name, "capacity": round(capacity[number], 1)}
        found, over_time[name] = one_pass(dynamic, name, times[number], length)
        rows += [{**labels, **row} for row in found]
        limit, end, tried = search(dynamic, name, spikes.NEAR * capacity[number],
                                   run.pick(.2, 1, 2), run.pick(0, 1, 2), number)
        limits.append({**labels, "limit": round(limit, 3), "end": end})
        tries += [{**labels, **one} for one in tried]
    calibrated.stop()
    return rows, over_time, limits, tries


summaries = spikes.summaries


def find(tables):
    rows, limits = rounds.sent(tables[""])[0], tables["limits"]
    attack = [row for row in rows if row["phase"] == "attack"]
    static, elastic = {"variant": "static"}, {"variant": "elastic"}
    ends = {(row["variant"], row["end"]) for row in limits}
    after = min(AFTER["static"], stats.median(
        row["recovery"] for row in rows if row["phase"] == "after" and matches(row, static)))
    return [
        compare(limits, "limit", "the largest spike survived, elastic to static", elastic, static,
                "limit", "elastic survived 1.69, static did not", source=(1, math.inf),
                limit=">" if {("elastic", ">"), ("static", "<")} & ends else ""),
        *spikes.beside("lost", attack, "elastic", "static",
                       "elastic stays up; of static's nearly half"),
        compare([row for row in rows if matches(row, elastic) and row["steady"]], "latency",
                "elastic's median latency, in the attack to before it", {"phase": "attack"},
                {"phase": "before"}, "p50_ms", "it stays up", note="no steady state"),
        Finding("level", "elastic's lowest level in the attack", exact(stats.median(
            row["level_least"] for row in attack if matches(row, elastic))), "1"),
        Finding("recovery", "static: out of order after the attack, to the attack's length",
                exact(after), "at least 2", limit=">" if after >= AFTER["static"] else "")]


def run(run):
    rows, over_time, limits, tries = measure(run, site.php(run))
    run.save_table("search", tries)
    run.save_table("limits", limits, "the largest spike that is survived, to the normal load")
    unsent = spikes.save(run, rows, over_time, COLOURS)
    return Outcome("limit", "An elastic level survives spikes {here} times as "
                   "large as a fixed one.",
                   f"Level 6 is saturated by {stats.median(row['capacity'] for row in rows):.0f} "
                   "pages a second. The attack lasts "
                   f"{stats.median(r['seconds'] for r in rows if r['phase'] == 'attack'):g} s.",
                   [*unsent, *rounds.remarks(rows, "variant")], ("php-fpm",))
