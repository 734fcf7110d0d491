"""Graceful restarts, with other levels, modes and codings each time, while clients ask as fast as
they can: no answer may fail that does not fail with the stock modules as well. The bodies are not
looked at, see reloads.py for that."""

import contextlib
import math
import time
from collections import Counter

from kit.wrk import Wrk

from . import outcome
from .reloads import Reloader
from .site import Site, kinds, make_origin

# (path, coding, whether the connection is kept) of the clients that ask at the same time. httpd
# closes kept connections when it restarts, on which a request can be on its way: that one fails.
# How often that is so grows with the share of the time in which the server has nothing of the
# connection to do, which is that between two answers: of servers that answer faster more fail, as
# many for each answer.
_CLIENTS = (("/t8000.txt", "gzip", True), ("/page.html", "br", True),
            ("/t20000.txt", "gzip", False), ("/lua?size=20000&seed=3", "zstd", False))

_CONNECTIONS = 4  # of each

_FAILED = ("status", "connect", "read", "write", "timeout")


def _beyond_chance(count, other, scale):
    """Whether `count` events are surely more than `scale` times as many as `other`."""
    return count > scale * other + 3 * math.sqrt(count + scale * scale * other)


def _storm(site, seconds, seed):
    """({kept: answers}, {(kept, kind of failure): how many}, the reloader) of one site."""
    server, reloader = site.server, Reloader(site, seed)
    clients = []
    for number, (path, coding, keep) in enumerate(_CLIENTS):
        folder = server.root / f"client-{number}"
        folder.mkdir()
        clients.append(Wrk(folder, f"http://127.0.0.1:{server.port}{path}",
                           max(2, math.ceil(seconds)), coding, keep, _CONNECTIONS))
    reloader.start()
    results = [client.result(timeout=seconds + 120) for client in clients]
    reloader.stop()
    failed, answers = Counter(), Counter()
    for (_, _, kept), result in zip(_CLIENTS, results, strict=True):
        failed.update({(kept, name): result[name] for name in _FAILED})
        answers[kept] += result["requests"]
    return answers, failed, reloader


def judge(answers, failed):
    """What is wrong: where more fail than with the stock modules, on kept connections for each
    answer.
    """
    found = []
    for name in ("elastic", "drop-in"):
        scale = {False: 1, True: answers[name][True] / max(answers["stock"][True], 1)}
        found += [f"{name}: {count} failed by {how}, of stock {failed['stock'][how]}"
                  for how, count in failed[name].items()
                  if _beyond_chance(count, failed["stock"][how], scale[how[0]])]
    return found


def run(plan):
    made = outcome.Outcome()
    began = time.monotonic()
    answers, failed = {}, {}
    with contextlib.ExitStack() as stack:
        origin = make_origin()
        stack.callback(origin.stop)
        for kind in kinds():
            site = Site(kind, origin)
            stack.callback(site.close)
            answers[kind.name], failed[kind.name], reloader = _storm(site, plan.seconds / 3,
                                                                     plan.seed)
            made.count += 0 if kind.name == "stock" else answers[kind.name].total()
            made.figures[f"restarts of {kind.name}"] = reloader.count
            for kept, how in ((True, "kept"), (False, "new")):
                made.figures[f"answers of {kind.name} on {how} connections"] = (
                    answers[kind.name][kept])
                made.figures[f"failed of {kind.name} on {how} connections"] = sum(
                    number for (of, _), number in failed[kind.name].items() if of is kept)
            made.failures += site.troubles() + ([reloader.failure] if reloader.failure else [])
            site.server.stop()
    made.failures += judge(answers, failed)
    made.seconds = time.monotonic() - began
    return made
