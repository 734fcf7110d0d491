"""The largest spike that each server survives, in pages a second.

Normal demand is the same for all, half of what the slowest serves. Clients come over HTTP/1.1, each
at its time, whatever has come back by then; from their number a server that adapts must find out
that it has to.
"""

import dataclasses

from benchkit import clients, sample, survival, verdict

NORMAL = 0.5  # of the slowest server's pages a second
# A closed loop's pages a second, times which a spike is looked for: a queue that is empty before
# holds what comes in excess for as long as clients wait, and a server that adapts may lose some
# before it has.
RANGE = (0.25, 2)
HALVINGS = 4  # leave a seventh between what is survived and what is not
PATIENCE = 1.0  # seconds, after which a client has left
MOST = 4000  # pages a second that are tried: about what the clients' one process can ask for


@dataclasses.dataclass(frozen=True)
class Target:
    """A server whose spikes are searched, and what its clients ask for."""

    server: object
    path: str
    accept: str
    rate: float  # pages a second in a closed loop


def replay(target, times, seen):
    """One try, as a replay.Replayed; what was Seen is appended to `seen`."""
    visits = [clients.Visit(at, target.path) for at in times]
    seen.append(clients.replay(target.server, visits, {"Accept-Encoding": target.accept},
                               PATIENCE))
    sample.wait_until_idle(target.server.pids)
    return seen[-1].replayed(PATIENCE, clients.LATE)


def largest(target, normal, seconds):
    """(rows of what was tried, the largest spike in pages a second). Where all or none of those that
    were tried were survived: `>` and the largest of them, or `<` and the smallest.
    """
    seen = []
    rows, survives = survival.tries(survival.failed_share_of(
        lambda times: replay(target, times, seen), normal, seconds, seed=1))
    high = min(RANGE[1] * target.rate, MOST)
    low = high * RANGE[0] / RANGE[1]
    height = survival.halved(low / normal, high / normal, HALVINGS, survives)
    tried = [{"pages_per_second": round(row["height"] * normal), **row,
              "sent_share": one.sent_share(), "foreign_share": one.foreign_share}
             for row, one in zip(rows, seen)]
    heights = [row["pages_per_second"] for row in tried]
    outcomes = {row["survived"] for row in tried}
    if outcomes == {"yes"}:
        return tried, f">{max(heights)}"
    return tried, f"<{min(heights)}" if outcomes == {"no"} else round(height * normal)


def measure(run, targets, seconds):
    """(a row for each try, {name: its largest spike}) of {name: Target}."""
    normal = NORMAL * min((target.rate for target in targets.values()), default=0)
    tried, found = [], {}
    for number, (name, target) in enumerate(targets.items(), 1):
        rows, found[name] = largest(target, normal, seconds)
        tried += [{"server": name, **row} for row in rows]
        run.done(number / len(targets))
    return tried, found


def judge(found, one, other):
    """The verdict on how much larger a spike `one` survives than `other`."""
    finding = f"the largest spike that {one} survives, to {other}'s"
    both = [found.get(one, ""), found.get(other, "")]
    ratio = [both[0] / both[1]] if not any(isinstance(name, str) for name in both) else []
    return verdict.every_round(finding, ratio, "not measured", above=1, origin=verdict.AIM)
