"""The controller's own CPU, on servers that have nothing else to do.

Three servers of a kind run for the same time: without the module, with it and `ElasticControl
off`, and with a controller that samples ten times a second.
"""

import time

from benchkit import controller, memory, rounds, sample, server, stats, verdict
from benchkit.setups import NOTHING, Setup

EVENT_CHILDREN = 4

VARIANTS = {"no module": NOTHING,
            "off": Setup(f"Elastic On\n{controller.PINNED}"),
            "on": Setup("Elastic On\nElasticInterval 100ms\n")}

WANTED = 1e-3  # of a core, for an event server of 4 children
STARTED = 3.0  # seconds until a fresh server has done what it does once


def measure(run, seconds, prefork_children, part):
    """Rows: the share of a core that each server took in each round.

    `part` is the share of the run's time that this takes, for its progress.
    """
    rows = []
    kinds = (("event", server.Httpd, {"children": EVENT_CHILDREN, "threads": 8}),
             ("prefork", memory.Prefork, {"children": prefork_children}))
    for mpm, kind, options in kinds:
        servers = {name: setup.serve(run, run.new_name("idle"), kind=kind, **options).start()
                   for name, setup in VARIANTS.items()}
        time.sleep(min(STARTED, seconds))
        run.begin_part(part / len(kinds))
        for number, _ in rounds.interleaved(run, [mpm]):
            rows += [{"mpm": mpm, "children": options["children"], "server": name, "round": number,
                      "core_share": share, "per_child": share / options["children"]}
                     for name, share in idle_shares(servers, seconds).items()]
        for httpd in servers.values():
            httpd.stop()
    return rows


def idle_shares(servers, seconds):
    """{server: its share of a core} over the same `seconds`."""
    def read():
        return {name: (sample.cpu_seconds(httpd.pids), time.monotonic())
                for name, httpd in servers.items()}

    before = read()
    time.sleep(seconds)
    return {name: (used - before[name][0]) / (at - before[name][1])
            for name, (used, at) in read().items()}


def overhead(rows, mpm, under):
    """For each round, the share that the controller took over another server's."""
    found = []
    for members in stats.group([row for row in rows if row["mpm"] == mpm], "round").values():
        of = {row["server"]: row["core_share"] for row in members}
        found.append(max(of["on"] - of[under], 1e-7))
    return found


def judge(rows):
    return [verdict.every_round(
        f"share of a core that the controller takes beyond {what}, {EVENT_CHILDREN} children of "
        "event", overhead(rows, "event", under), "at most 0.001", below=WANTED,
        origin=verdict.AIM)
        for under, what in (("off", "ElasticControl off"), ("no module", "a server without the "
                                                                         "module"))]


def sentence(rows):
    """What a server of many processes pays, and what reduces it."""
    of = [row for row in rows if row["mpm"] == "prefork"]
    shares = {name: 100 * stats.median(row["core_share"] for row in of if row["server"] == name)
              for name in VARIANTS}
    return (f"{of[0]['children']} idle children of prefork take {shares['on']:.2f} % of a "
            f"core, {shares['off']:.2f} % with ElasticControl off, and {shares['no module']:.2f} % "
            "without the module: it is mod_watchdog's thread in each child, which wakes up twice a "
            "second in the children that do not sample.")
