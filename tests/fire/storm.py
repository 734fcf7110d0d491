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

# (path, coding, whether the connection is kept) of the clients that ask at the same time. httpd closes
# kept connections when it restarts, on which a request can be on its way: that one fails.
_CLIENTS = (("/t8000.txt", "gzip", True), ("/page.html", "br", True), ("/t20000.txt", "gzip", False),
            ("/lua?size=20000&seed=3", "zstd", False))

_CONNECTIONS = 4  # of each

_FAILED = ("status", "connect", "read", "write", "timeout")


def _beyond_chance(count, other):
    """Whether `count` events are surely more than `other` of the same rate."""
    return count > other + 3 * math.sqrt(count + other)


def _storm(site, seconds, seed):
    """(answers, {(kept, kind of failure): how many}, the reloader) of one site."""
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
    failed = Counter()
    for (_, _, kept), result in zip(_CLIENTS, results, strict=True):
        failed.update({(kept, name): result[name] for name in _FAILED})
    return sum(result["requests"] for result in results), failed, reloader


def run(plan):
    made = outcome.Outcome()
    began = time.monotonic()
    seen = {}
    with contextlib.ExitStack() as stack:
        origin = make_origin()
        stack.callback(origin.stop)
        for kind in kinds():
            site = Site(kind, origin)
            stack.callback(site.close)
            count, seen[kind.name], reloader = _storm(site, plan.seconds / 3, plan.seed)
            made.count += 0 if kind.name == "stock" else count
            made.figures[f"restarts of {kind.name}"] = reloader.count
            for kept, how in ((True, "kept"), (False, "new")):
                made.figures[f"failed of {kind.name} on {how} connections"] = sum(
                    number for (of, _), number in seen[kind.name].items() if of is kept)
            made.failures += site.troubles() + ([reloader.failure] if reloader.failure else [])
            site.server.stop()
    for name in ("elastic", "drop-in"):
        made.failures += [f"{name}: {count} failed by {how}, of stock {seen['stock'][how]}"
                          for how, count in seen[name].items()
                          if _beyond_chance(count, seen["stock"][how])]
    made.seconds = time.monotonic() - began
    return made
