"""The largest spike that a server survives, to its normal load, found by search.

That one spike is too much for a server, and another is not, follows from the rate that was chosen
for it. Where the limit is, does not.
"""

import dataclasses
import math
import statistics

from benchkit import arrivals, stats, verdict

STEP = arrivals.ATTACK  # the first spike that is tried, and how much larger each next one is
LARGEST = 4  # of such steps: a server that survives that survives more than is asked here
SURVIVES = 0.01  # of the requests since the attack's beginning, that may fail at most
BEFORE, AFTER = 1 / 3, 1 / 3  # to the attack's length


def search(halvings, failed_share):
    """(rows of what was tried, the limit, its end): by `failed_share(height)` of a spike of that
    height.

    Spikes grow until one is too much; then the step before it is halved so many times. Where all
    that were tried were survived, the limit is the largest of them, and its end ">"; where none
    was, the smallest, and "<".
    """
    rows = []

    def survives(height):
        share = failed_share(height)
        rows.append({"height": round(height, 4), "failed_share": round(share, 4),
                     "survived": "yes" if share <= SURVIVES else "no"})
        return share <= SURVIVES

    steps = next((step for step in range(1, LARGEST + 1) if not survives(STEP ** step)), None)
    if steps is None:
        return rows, rows[-1]["height"], ">"
    low, high = STEP ** (steps - 1), STEP ** steps
    for _ in range(halvings):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if survives(middle) else (low, middle)
    if all(row["survived"] == "no" for row in rows):
        return rows, min(row["height"] for row in rows), "<"
    return rows, round(math.sqrt(low * high), 4), ""


def resolution(halvings):
    """The factor by which limits that are found so may differ for that reason."""
    return STEP ** (0.5 ** halvings)


def failed_share_of(replay, base, attack, seed):
    """The function for search(): of spikes from `base` pages a second, of `attack` seconds.

    `replay` takes the times of arrivals and gives what was clients.Seen of them.
    """
    def failed_share(height):
        curve = arrivals.spike(BEFORE, 1, AFTER, height)
        total = attack * (BEFORE + 1 + AFTER)
        # Few arrivals, as of a short try, may leave nobody in the attack.
        times = arrivals.poisson(curve, base, total, seed) or [attack * BEFORE]
        share = replay(times).failed_share(attack * BEFORE, total)
        return 0.0 if math.isnan(share) else share
    return failed_share


def judge(limits, halvings, one, other, known):
    """The verdicts on rows with a variant's limit in a round; `one` is to survive more.

    `known` is the height of a spike that the source saw `one` survive, and the other not.
    """
    def of(variant):
        return [row["limit"] for row in limits if row["variant"] == variant]

    def end(variant):
        """That of the limits of most rounds."""
        return next(iter(statistics.multimode(
            row["end"] for row in limits if row["variant"] == variant)), "")

    def limited(found, limit):
        return dataclasses.replace(found, limit=limit)

    precise = {"drift": resolution(halvings), "origin": verdict.SOURCE}
    ratio = verdict.judge(
        f"the largest spike that {one} survives, to {other}'s",
        verdict.per_round(limits, {"variant": one}, {"variant": other}, "limit"),
        f"{one} survived {known}, {other} did not", above=1, there=(1, math.inf), **precise)
    if end(other) == ">":
        ratio = verdict.inconclusive(ratio, f"{other} survived the largest spike that was tried")
    return [
        limited(ratio, ">" if end(one) == ">" or end(other) == "<" else ""),
        limited(verdict.judge(f"the largest spike that {other} survives, to its normal load",
                              of(other), f"less than {known}", below=known, **precise),
                end(other)),
        limited(verdict.judge(f"the largest spike that {one} survives, to its normal load",
                              of(one), f"at least {known}", above=known, **precise), end(one))]


def sentence(limits, halvings):
    parts = []
    for (variant,), members in stats.group(limits, "variant").items():
        limit = stats.median(row["limit"] for row in members)
        end = statistics.mode(row["end"] for row in members)
        parts.append(f"{variant} {end}{limit:.2f} times its normal load")
    return (f"The largest spike in which at most {100 * SURVIVES:.0f} % of the requests fail is of "
            f"{' and of '.join(parts)} (medians; limits {100 * (resolution(halvings) - 1):.0f} % "
            f"apart are the same, and larger ones than {STEP ** LARGEST:.1f} are not tried).")
