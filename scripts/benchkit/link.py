"""A link of a given rate: a network namespace of the run's own, whose loopback is shaped.

Plain loopback carries tens of gigabits in segments of 32 KB, so that bytes cost nothing there. In
the namespace the loopback has an Ethernet's MTU and a token bucket of the rate asked for; nothing
outside of the namespace is touched. Requests and responses share the one bucket.
"""

import os
import re
import sys

from benchkit import tools

MARK = "ELASTIC_BENCH_NAMESPACE"
MTU = 1500


def enter(rate):
    """Runs this program again inside of a namespace, or returns where it is inside already."""
    if not re.fullmatch(r"[1-9]\d*(kbit|mbit|gbit)", rate):
        raise tools.BenchError(f"--link {rate}: give a rate such as 100mbit or 1gbit")
    if os.environ.get(MARK):
        shape(rate)
        return
    if os.geteuid() != 0:
        raise tools.BenchError("--link makes a network namespace: run it as root")
    os.environ[MARK] = "1"
    unshare = tools.find("unshare")
    os.execv(unshare, [unshare, "--net", "--", sys.executable, "-m", "benchkit", *sys.argv[1:]])


def shape(rate):
    """Gives the namespace's loopback its MTU and rate."""
    tools.output_of(tools.find("ip"), "link", "set", "lo", "mtu", str(MTU), "up")
    # 128 KB let two of the kernel's largest bundles of segments pass at once; 50 ms of queue are
    # far more than the windows of the experiments' few connections fill.
    tools.output_of(tools.find("tc"), "qdisc", "add", "dev", "lo", "root", "tbf", "rate", rate,
                    "burst", "128kb", "latency", "50ms")
