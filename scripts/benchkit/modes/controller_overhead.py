"""The controller's own CPU, on servers that have nothing else to do.

Three servers of a kind stand side by side for the same time: without the module, with it and
`ElasticControl off`, and with a controller that samples ten times a second.
"""

import time

from benchkit import asides, memory, sample, server, stats, verdict
from benchkit.modes import controller

EVENT, PREFORK = "event", "prefork"

EVENT_CHILDREN = 4

VARIANTS = {"no module": asides.NOTHING,
            "off": asides.Setup(f"Elastic On\n{controller.PINNED}"),
            "predict": asides.Setup("Elastic On\nElasticControl predict\n"
                                    "ElasticInterval 100ms\n")}

WANTED = 1e-3  # of a core, for an event server of 4 children

STARTED = 3.0  # seconds until a fresh server has done what it does once, and children stand by


def start(run, mpm, children, setup):
    name = run.new_name("idle")
    if mpm == PREFORK:
        return memory.Prefork(run, name, setup, children).start()
    return server.Httpd(run, name, setup.snippet, elastic=setup.is_ours, children=children,
                        threads=8).start()


def measure(run, seconds, prefork_children, done):
    """Rows: the share of a core that each server took in each round."""
    rows = []
    for mpm, children in ((EVENT, EVENT_CHILDREN), (PREFORK, prefork_children)):
        servers = {name: start(run, mpm, children, setup) for name, setup in VARIANTS.items()}
        time.sleep(min(STARTED, seconds))
        for number in range(1, run.scale.rounds + 1):
            shares = idle_shares(servers, seconds)
            rows += [{"mpm": mpm, "children": children, "server": name, "round": number,
                      "core_share": share, "per_child": share / children}
                     for name, share in shares.items()]
            done(len(rows) / run.scale.rounds / 2 / len(VARIANTS))
        for httpd in servers.values():
            httpd.stop()
    return rows


def idle_shares(servers, seconds):
    """{server: its share of a core} over the same `seconds`."""
    began = {name: (sample.cpu_seconds(httpd.pids), time.monotonic())
             for name, httpd in servers.items()}
    time.sleep(seconds)
    return {name: (sample.cpu_seconds(httpd.pids) - began[name][0])
            / (time.monotonic() - began[name][1]) for name, httpd in servers.items()}


def overhead(rows, mpm, under):
    """For each round, the share that the controller took over another server's."""
    found = []
    for members in stats.group([row for row in rows if row["mpm"] == mpm], "round").values():
        of = {row["server"]: row["core_share"] for row in members}
        found.append(max(of["predict"] - of[under], 1e-7))
    return found


def judge(rows):
    return [verdict.every_round(
        f"share of a core that the controller takes beyond {what}, {EVENT_CHILDREN} children of "
        "event", overhead(rows, EVENT, under), "at most 0.001", below=WANTED)
        for under, what in (("off", "ElasticControl off"), ("no module", "a server without the "
                                                                         "module"))]


def sentence(rows):
    """What a server of many processes pays, and what reduces it."""
    children = max(row["children"] for row in rows if row["mpm"] == PREFORK)
    shares = {name: 100 * stats.median(row["core_share"] for row in rows if row["mpm"] == PREFORK
                                       and row["server"] == name) for name in VARIANTS}
    return (f"{children} idle children of prefork take {shares['predict']:.2f} % of a core, "
            f"{shares['off']:.2f} % with ElasticControl off, and {shares['no module']:.2f} % "
            "without the module: it is mod_watchdog's thread in each child, which wakes up twice a "
            "second where the child stands by.")
