"""The largest spike that a server survives, to its normal load, found by bisection.

That one spike is too much for a server, and another is not, follows from the rate that was chosen
for it. Where the limit is, does not.
"""

import math

from benchkit import arrivals, stats, verdict

# The first spike that is tried is the middle of these, the source's.
LEAST, MOST = 1.0, arrivals.ATTACK ** 2
SURVIVES = 0.01  # of the requests since the attack's beginning, that may fail at most
BEFORE, AFTER = 1 / 3, 1 / 3  # to the attack's length


def bisect(steps, failed_share):
    """(rows of what was tried, the limit): by `failed_share(height)` of a spike of that height."""
    low, high, rows = LEAST, MOST, []
    for _ in range(steps):
        height = math.sqrt(low * high)
        share = failed_share(height)
        survived = share <= SURVIVES
        low, high = (height, high) if survived else (low, height)
        rows.append({"height": round(height, 4), "failed_share": round(share, 4),
                     "survived": "yes" if survived else "no"})
    return rows, round(math.sqrt(low * high), 4)


def resolution(steps):
    """The factor by which limits that are found in so many steps may differ for that reason."""
    return MOST ** (0.5 ** steps)


def failed_share_of(replay, base, attack, seed):
    """The function for bisect(): of spikes from `base` pages a second, of `attack` seconds.

    `replay` takes the times of arrivals and gives a replay.Replayed.
    """
    def failed_share(height):
        curve = arrivals.spike(BEFORE, 1, AFTER, height)
        total = attack * (BEFORE + 1 + AFTER)
        # Few arrivals, as of a short try, may leave nobody in the attack.
        times = arrivals.poisson(curve, base, total, seed) or [attack * BEFORE]
        share = replay(times).failed_share(attack * BEFORE, total)
        return 0.0 if math.isnan(share) else share
    return failed_share


def judge(limits, steps, one, other, known):
    """The verdicts on rows with a variant's limit in a round; `one` is to survive more.

    `known` is the height of a spike that the source saw `one` survive, and the other not.
    """
    def of(variant):
        return [row["limit"] for row in limits if row["variant"] == variant]

    precise = {"drift": resolution(steps), "origin": verdict.SOURCE}
    return [
        verdict.judge(f"the largest spike that {one} survives, to {other}'s",
                      verdict.per_round(limits, {"variant": one}, {"variant": other}, "limit"),
                      f"{one} survived {known}, {other} did not", above=1, there=(1, math.inf),
                      **precise),
        verdict.judge(f"the largest spike that {other} survives, to its normal load", of(other),
                      f"less than {known}", below=known, **precise),
        verdict.judge(f"the largest spike that {one} survives, to its normal load", of(one),
                      f"at least {known}", above=known, **precise)]


def sentence(limits, steps):
    parts = [f"{variant} {stats.median(row['limit'] for row in members):.2f} times its normal load"
             for (variant,), members in stats.group(limits, "variant").items()]
    return (f"Of spikes from {LEAST:g} to {MOST:.2f} times, {' and '.join(parts)} is the largest "
            f"in which at most {100 * SURVIVES:.0f} % of the requests failed (medians; in {steps} "
            f"steps of a bisection, so that limits {100 * (resolution(steps) - 1):.0f} % apart are "
            "the same).")
